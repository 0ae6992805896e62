//! The spans of one trace, as far as they arrived.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{Event, EventKind};
use serde_json::Value;

use super::decode::TraceId;
use super::packed::PackedSpan;
use super::span::{ArrivedSpan, SpanEvent};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) id: TraceId,
    pub(super) spans: Vec<PackedSpan>,
    /// By the span's id, and by that and its content.
    places: HashMap<u64, usize>,
    variants: HashMap<(u64, u64), usize>,
    /// Log records that arrived after their spans, by the places of these: to pack one span again for each of its
    /// records would be quadratic.
    late: HashMap<usize, Late>,
    /// Whether its senders are done: if no span is without a parent, those whose parents did not arrive are the
    /// request.
    pub(crate) is_settled: bool,
    /// How much memory its spans take, about.
    pub(crate) bytes: usize,
}

/// Log records of a span that are not in it yet.
#[derive(Debug, Default)]
struct Late {
    records: Vec<SpanEvent>,
    hashes: HashSet<u64>,
    bytes: usize,
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
    /// other content is another span. Log records are added to the span that they belong to, even if that is known.
    /// Returns whether the trace has changed.
    pub(crate) fn add(&mut self, span: PackedSpan) -> bool {
        let is_changed = match self.places.get(&span.id).copied() {
            None => {
                self.push(span);
                true
            }
            Some(at) if span.is_records => self.add_late(at, &span),
            Some(at) if self.spans[at].is_records => {
                let span = span.with_records_of(&self.spans[at]);
                self.put(at, span);
                true
            }
            Some(at) if self.spans[at].end == 0 && span.end > 0 => {
                let span = span.with_records_of(&self.spans[at]);
                self.put(at, span);
                true
            }
            Some(first) => match self.variants.get(&(span.id, span.variant)).copied() {
                // Log records are no part of the variant: another process may have written this span without them.
                Some(at) => self.add_late(at, &span),
                None if span.end == 0 => self.add_late(first, &span),
                None => {
                    self.push(span);
                    true
                }
            },
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

    /// Keeps the log records of `span` for the span that is known at `at`. Returns whether some are new.
    fn add_late(&mut self, at: usize, span: &PackedSpan) -> bool {
        if !span.has_records() {
            return false;
        }
        let (known, late) = (&self.spans[at], self.late.entry(at).or_default());
        let before = late.records.len();
        for record in span.span().records {
            let hash = record.hash();
            if !known.has_record(hash) && late.hashes.insert(hash) {
                late.records.push(record);
            }
        }
        let is_new = late.records.len() > before;
        if is_new {
            late.bytes += span.bytes();
            self.bytes += span.bytes();
        } else if before == 0 {
            self.late.remove(&at);
        }
        is_new
    }

    /// Puts log records into the spans that they belong to. Must come before what its events are taken of.
    pub(crate) fn take_in_records(&mut self) {
        for (at, late) in std::mem::take(&mut self.late) {
            self.bytes = self.bytes.saturating_sub(late.bytes);
            let span = self.spans[at].with_records(late.records);
            self.put(at, span);
        }
    }

    /// Ends a trace of which nothing more is expected. Returns whether that changes it.
    pub(crate) fn settle(&mut self) -> bool {
        let are_inside = || self.spans.iter().all(|span| span.parent.is_some() || span.is_records);
        let is_open = !self.is_settled && are_inside();
        self.is_settled |= is_open;
        is_open
    }

    /// Its spans, with all their log records.
    pub(crate) fn into_spans(mut self) -> impl Iterator<Item = PackedSpan> {
        self.take_in_records();
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
