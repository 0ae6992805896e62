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
        PackedSpan {
            id: span.id,
            parent: span.parent,
            start: span.start,
            end: span.end,
            name: outline.name(&span).unwrap_or(&span.name).into(),
            outline,
            text: text.into_boxed_str(),
            resource: span.resource,
            scope: span.scope,
        }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<PackedSpan>() + self.name.len() + self.text.len()
    }

    /// All of it.
    pub(super) fn span(&self) -> ArrivedSpan {
        let shared = (std::slice::from_ref(&self.resource), std::slice::from_ref(&self.scope));
        let read = parse(&self.text).ok().and_then(|json| ArrivedSpan::from_json(json, shared.0, shared.1));
        read.unwrap_or_default()
    }
}

impl Decoded {
    /// Its spans, packed.
    pub(crate) fn packed(self) -> Vec<(TraceId, PackedSpan)> {
        self.spans.into_iter().map(|(id, span)| (id, PackedSpan::of(span))).collect()
    }
}
