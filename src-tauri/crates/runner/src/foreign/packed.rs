//! Spans as they wait in memory: a trace may have many, so all that is not needed of all of them at once is JSON text.

use std::collections::HashSet;
use std::sync::Arc;

use engine::json::parse;
use serde_json::Value;

use super::decode::{Decoded, TraceId};
use super::exact::EXACT;
use super::facts::Outline;
use super::span::{ArrivedSpan, SpanEvent};

/// Nothing starts after this, and a span without a start does not end after it: the year 2200.
pub(super) const LAST_NANOS: u64 = 7_258_118_400_000_000_000;

/// A span of which only the place in its trace can be read at once.
#[derive(Debug)]
pub(crate) struct PackedSpan {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether it says that it starts after the year 2200. Then it counts as one without a start.
    pub(super) starts_too_late: bool,
    /// A hash of what it says, by which spans of one id differ; log records and what is kept only to leave again are no
    /// part of it.
    pub(super) variant: u64,
    /// Whether only log records of it arrived. Then it starts with the first of them.
    pub(super) is_records: bool,
    /// Hashes of its log records.
    records: HashSet<u64>,
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
        let mut json = span.to_json(0, 0);
        let text = json.to_string();
        #[cfg(test)]
        counted::BYTES.set(counted::BYTES.get() + text.len());
        let others = ["logRecords", EXACT].map(|name| json.as_object_mut().and_then(|all| all.shift_remove(name)));
        let is_all = others.iter().all(Option::is_none);
        let variant = if is_all { hash(&text) } else { hash(&json.to_string()) };
        let is_records = span.is_records();
        let can_be = |at: &u64| (1..=LAST_NANOS).contains(at);
        let first_record = || span.records.iter().map(|record| record.at).filter(can_be).min();
        let start = if can_be(&span.start) { span.start } else { 0 };
        PackedSpan {
            id: span.id,
            parent: span.parent,
            start: if is_records { first_record().unwrap_or(0) } else { start },
            end: span.end,
            starts_too_late: span.start > LAST_NANOS,
            variant,
            is_records,
            records: span.records.iter().map(SpanEvent::hash).collect(),
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
        size_of::<PackedSpan>() + self.name.len() + self.text.len() + self.records.len() * size_of::<u64>()
    }

    /// Whether it has log records.
    pub(super) fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether it has a log record with this hash.
    pub(super) fn has_record(&self, record: u64) -> bool {
        self.records.contains(&record)
    }

    /// This span with the log records of another one of its id.
    pub(super) fn with_records_of(self, other: &PackedSpan) -> PackedSpan {
        if other.records.is_empty() { self } else { self.with_records(other.span().records) }
    }

    /// This span with more log records.
    pub(super) fn with_records(&self, records: Vec<SpanEvent>) -> PackedSpan {
        let mut span = self.span();
        span.add_records(records);
        PackedSpan::of(span)
    }

    /// All of it.
    pub(super) fn span(&self) -> ArrivedSpan {
        let shared = (std::slice::from_ref(&self.resource), std::slice::from_ref(&self.scope));
        let read = parse(&self.text).ok().and_then(|json| ArrivedSpan::from_json(json, shared.0, shared.1));
        read.unwrap_or_default()
    }
}

pub(super) fn hash(text: &str) -> u64 {
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

/// How much was packed, for tests of costs.
#[cfg(test)]
pub(super) mod counted {
    use std::cell::Cell;

    thread_local! {
        pub(crate) static BYTES: Cell<usize> = const { Cell::new(0) };
    }
}
