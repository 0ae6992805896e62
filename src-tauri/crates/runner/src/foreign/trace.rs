//! The spans of one trace, as far as they arrived.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind};
use serde_json::Value;

use super::decode::TraceId;
use super::packed::PackedSpan;
use super::span::ArrivedSpan;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) id: TraceId,
    pub(super) spans: Vec<PackedSpan>,
    places: HashMap<u64, usize>,
    /// How much memory its spans take, about.
    pub(crate) bytes: usize,
}

impl Trace {
    pub(crate) fn new(id: TraceId) -> Trace {
        Trace { id, ..Trace::default() }
    }

    /// The trace that a foreign request's log was made from.
    pub(crate) fn of_log(id: TraceId, events: &[Event]) -> Trace {
        let mut trace = Trace::new(id);
        let Some(EventKind::RequestStarted { foreign: Some(foreign), .. }) = events.first().map(|event| &event.kind)
        else {
            return trace;
        };
        let shared = |all: &[Value]| all.iter().cloned().map(Arc::new).collect::<Vec<_>>();
        let (resources, scopes) = (shared(&foreign.resources), shared(&foreign.scopes));
        for event in events {
            let EventKind::SpanReceived { span } = &event.kind else { continue };
            if let Some(span) = ArrivedSpan::from_json(span.clone(), &resources, &scopes) {
                trace.add(PackedSpan::of(span));
            }
        }
        trace
    }

    /// Adds a span. One that is known changes nothing, unless what is known had not ended. Returns whether the trace
    /// has changed.
    pub(crate) fn add(&mut self, span: PackedSpan) -> bool {
        let bytes = span.bytes();
        match self.places.get(&span.id).map(|at| &mut self.spans[*at]) {
            None => {
                self.places.insert(span.id, self.spans.len());
                self.spans.push(span);
                self.bytes += bytes;
                true
            }
            Some(known) if known.end == 0 && span.end > 0 => {
                self.bytes = self.bytes + bytes - known.bytes();
                *known = span;
                true
            }
            Some(_) => false,
        }
    }

    /// Its spans.
    pub(crate) fn into_spans(self) -> impl Iterator<Item = PackedSpan> {
        self.spans.into_iter()
    }

    /// How many spans it has.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }
}
