//! Spans as they wait in memory: a trace may have many, so all that is not needed of all of them at once is JSON text.

use std::sync::Arc;

use engine::json::parse;
use serde_json::Value;

use super::decode::{Decoded, TraceId};
use super::facts::Outline;
use super::span::ArrivedSpan;

/// A span of which only the place in its trace can be read at once.
#[derive(Debug)]
pub(crate) struct PackedSpan {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) start: u64,
    pub(super) end: u64,
    /// A hash of what it says, by which spans of one id differ; log records are no part of it.
    pub(super) variant: u64,
    /// Whether only log records of it arrived.
    pub(super) is_records: bool,
    /// What its block is called.
    pub(super) name: Box<str>,
    pub(super) outline: Outline,
    text: Box<str>,
    pub(super) resource: Arc<Value>,
    pub(super) scope: Arc<Value>,
}

impl PackedSpan {
    pub(super) fn of(span: ArrivedSpan) -> PackedSpan {
        let outline = Outline::of(&span);
        let text = span.to_json(0, 0).to_string();
        let variant = if span.records.is_empty() { hash(&text) } else { hash(&span.without_records()) };
        PackedSpan {
            id: span.id,
            parent: span.parent,
            start: span.start,
            end: span.end,
            variant,
            is_records: span.is_records(),
            name: outline.name(&span).unwrap_or(&span.name).into(),
            outline,
            text: text.into_boxed_str(),
            resource: span.resource,
            scope: span.scope,
        }
    }

    /// Its id in the trace.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<PackedSpan>() + self.name.len() + self.text.len()
    }

    /// This span with the log records of another one of its id.
    pub(super) fn with_records_of(self, other: &PackedSpan) -> PackedSpan {
        let records = other.span().records;
        if records.is_empty() {
            return self;
        }
        let mut span = self.span();
        span.add_records(records);
        PackedSpan::of(span)
    }

    /// What is known of the span with these log records; none if it has them all.
    pub(super) fn into_records_of(self, known: &PackedSpan) -> Option<PackedSpan> {
        let mut span = known.span();
        span.add_records(self.span().records).then(|| PackedSpan::of(span))
    }

    /// All of it.
    pub(super) fn span(&self) -> ArrivedSpan {
        let shared = (std::slice::from_ref(&self.resource), std::slice::from_ref(&self.scope));
        let read = parse(&self.text).ok().and_then(|json| ArrivedSpan::from_json(json, shared.0, shared.1));
        read.unwrap_or_default()
    }
}

fn hash(text: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

impl Decoded {
    /// Its spans, packed.
    pub(crate) fn packed(self) -> Vec<(TraceId, PackedSpan)> {
        self.spans.into_iter().map(|(id, span)| (id, PackedSpan::of(span))).collect()
    }
}
