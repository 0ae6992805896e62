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
    /// By the span's id, and by that and its content.
    places: HashMap<u64, usize>,
    variants: HashMap<(u64, u64), usize>,
    /// Whether its senders are done: if no span is without a parent, those whose parents did not arrive are the
    /// request.
    pub(crate) is_settled: bool,
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
        let (resources, scopes) = shared_of(events);
        for event in events {
            if let EventKind::RequestFinished { .. } = &event.kind {
                trace.settle();
            }
            let EventKind::SpanReceived { span } = &event.kind else { continue };
            if let Some(span) = ArrivedSpan::from_json(span.clone(), &resources, &scopes) {
                trace.add(PackedSpan::of(span));
            }
        }
        trace
    }

    /// Adds a span. One that is known changes nothing, unless what is known had not ended; one of the same id with
    /// other content is another span. Log records are added to the span that they belong to. Returns whether the trace
    /// has changed.
    pub(crate) fn add(&mut self, span: PackedSpan) -> bool {
        let is_changed = match self.places.get(&span.id).copied() {
            None => {
                self.push(span);
                true
            }
            Some(at) if span.is_records || self.spans[at].is_records => self.merge(at, span),
            Some(at) if self.spans[at].end == 0 && span.end > 0 => {
                let span = span.with_records_of(&self.spans[at]);
                self.put(at, span);
                true
            }
            Some(_) if span.end == 0 || self.variants.contains_key(&(span.id, span.variant)) => false,
            Some(_) => {
                self.push(span);
                true
            }
        };
        self.is_settled &= !is_changed;
        is_changed
    }

    fn push(&mut self, span: PackedSpan) {
        let at = self.spans.len();
        self.places.entry(span.id).or_insert(at);
        self.variants.insert((span.id, span.variant), at);
        self.bytes += span.bytes();
        self.spans.push(span);
    }

    fn put(&mut self, at: usize, span: PackedSpan) {
        let known = &self.spans[at];
        self.variants.remove(&(known.id, known.variant));
        self.variants.insert((span.id, span.variant), at);
        self.bytes = self.bytes + span.bytes() - known.bytes();
        self.spans[at] = span;
    }

    /// Puts log records and their span together.
    fn merge(&mut self, at: usize, span: PackedSpan) -> bool {
        let known = &self.spans[at];
        let merged = if span.is_records { span.into_records_of(known) } else { Some(span.with_records_of(known)) };
        let is_new = merged.is_some();
        if let Some(merged) = merged {
            self.put(at, merged);
        }
        is_new
    }

    /// Ends a trace of which nothing more is expected. Returns whether that changes it.
    pub(crate) fn settle(&mut self) -> bool {
        let are_inside = || self.spans.iter().all(|span| span.parent.is_some() || span.is_records);
        let is_open = !self.is_settled && are_inside();
        self.is_settled |= is_open;
        is_open
    }

    /// Its spans.
    pub(crate) fn into_spans(self) -> impl Iterator<Item = PackedSpan> {
        self.spans.into_iter()
    }

    /// When its first span began, in nanoseconds since the epoch.
    pub(crate) fn began(&self) -> u64 {
        self.spans.iter().map(|span| span.start).filter(|start| *start > 0).min().unwrap_or(0)
    }

    /// How many spans it has.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }
}

/// The resources and the scopes that the spans of a log name by their places.
pub(super) fn shared_of(events: &[Event]) -> (Vec<Arc<Value>>, Vec<Arc<Value>>) {
    let Some(EventKind::RequestStarted { foreign: Some(foreign), .. }) = events.first().map(|event| &event.kind) else {
        return (Vec::new(), Vec::new());
    };
    let shared = |all: &[Value]| all.iter().cloned().map(Arc::new).collect();
    (shared(&foreign.resources), shared(&foreign.scopes))
}
