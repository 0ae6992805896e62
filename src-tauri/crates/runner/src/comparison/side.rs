//! One of the two requests of a comparison.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::views::Events;
use engine::views::spans::{PathNumber, Span, SpanEnd, SpanEvent, SpanIndex, Spans, fact};
use rustc_hash::FxHashMap;
use serde_json::Value;
use store::Digests;

use crate::views::{ComparedSide, RequestRow, worked};

/// Its blocks, and what they got and made as numbers.
pub(crate) struct Side {
    pub(crate) request: String,
    pub(crate) spans: Spans,
    pub(crate) digests: Digests,
    pub(crate) is_live: bool,
    /// Of a replay that stopped: the path of the block at which it did.
    pub(super) stop: Option<PathNumber>,
    /// Of a fork: the time between what it has from its origin and what it did itself.
    pause: Option<Pause>,
    /// Of a replay: when nothing ran of what it replays. Nothing otherwise: its blocks know their own gaps.
    idle: Option<Vec<(i64, i64)>>,
    /// How often each path ran, where it has more than one attempt.
    again: FxHashMap<PathNumber, u32>,
    /// Of each path that was taken from the log: the newest execution that it may have been taken from.
    source: FxHashMap<PathNumber, SpanIndex>,
}

/// The time between a fork and its origin, in which neither ran.
#[derive(Clone, Copy)]
struct Pause {
    /// The last event that the fork has from its origin.
    last: Seq,
    /// When it began.
    from: i64,
    /// How long it was, in milliseconds.
    ms: i64,
}

impl Side {
    pub(crate) fn new(request: &str, status: RequestStatus, spans: Spans, digests: Digests) -> Side {
        let mut again: FxHashMap<PathNumber, u32> = FxHashMap::default();
        again.extend(spans.iter().filter(|span| span.attempt > 0).map(|span| (span.path, 0)));
        // What a resume took from the log did not run again.
        for span in spans.iter().filter(|span| !span.is_memoized) {
            again.entry(span.path).and_modify(|ran| *ran += 1);
        }
        let source = sources(&spans);
        let is_live = !status.is_terminal();
        Side {
            request: request.to_owned(),
            spans,
            digests,
            is_live,
            stop: None,
            pause: None,
            idle: None,
            again,
            source,
        }
    }

    /// A replay whose first difference is at a path. It stopped if that stopped its root.
    pub(crate) fn diverged(mut self, path: PathNumber) -> Side {
        let is_stopped = self.spans.iter().any(|span| span.parent().is_none() && span.end == Some(SpanEnd::Stopped));
        self.stop = is_stopped.then_some(path);
        self
    }

    /// Whether a block of a replay ended by itself.
    pub(super) fn has_finished(&self, index: SpanIndex) -> bool {
        self.spans.get(index).end.is_some_and(|end| end != SpanEnd::Stopped)
    }

    /// A fork from an event on, which began at a time: the time between is no part of how long it took. It is left out
    /// of the blocks that the fork went on with, too, so that what runs in them is drawn inside them.
    pub(crate) fn forked(mut self, seq: Seq, began_at: i64) -> Side {
        let runs = (0..self.spans.len() as SpanIndex).flat_map(|index| self.spans.earlier_runs(index));
        let taken_up = runs.filter(|run| run.resumed > seq).min_by_key(|run| run.resumed);
        let pause = taken_up.map(|run| (run.until, run.resumed_at - run.until)).or_else(|| {
            let ends = |span: &Span| span.finished_at().filter(|_| span.seq_end <= seq).unwrap_or(span.started_at);
            let left = self.spans.iter().filter(|span| span.seq_start <= seq).map(ends).max();
            left.map(|left| (left, began_at - left))
        });
        self.pause = pause.map(|(from, ms)| Pause { last: seq, from, ms: ms.max(0) });
        self
    }

    /// A replay of another side. Its clock is the recorded one, so time in which nothing of the recording ran passes in
    /// its blocks; they have no gaps of their own.
    pub(crate) fn replays(mut self, recorded: &Side) -> Side {
        let roots = (0..).zip(recorded.spans.iter()).filter(|(_, span)| span.parent().is_none());
        let mut idle: Vec<(i64, i64)> = roots.flat_map(|(index, _)| recorded.spans.gaps(index)).collect();
        idle.extend(recorded.pause.map(|pause| (pause.from, pause.from + pause.ms)));
        idle.sort_unstable();
        let mut apart: Vec<(i64, i64)> = Vec::with_capacity(idle.len());
        for (from, to) in idle {
            match apart.last_mut().filter(|(_, last)| from <= *last) {
                Some((_, last)) => *last = to.max(*last),
                None => apart.push((from, to)),
            }
        }
        (self.pause, self.idle) = (recorded.pause, Some(apart));
        self
    }

    /// When something was, on the clock of the request itself.
    pub(super) fn at(&self, seq: Seq, time: i64) -> i64 {
        match self.pause {
            // A replay numbers its events itself.
            Some(pause) if self.is_replay() => time - (time - pause.from).clamp(0, pause.ms),
            Some(pause) if seq > pause.last => time - pause.ms,
            _ => time,
        }
    }

    /// Whether it is a replay.
    pub(super) fn is_replay(&self) -> bool {
        self.idle.is_some()
    }

    /// How long a block of a replay would have run: without the time in which nothing of the recording ran.
    pub(super) fn ran(&self, from: i64, until: i64) -> i64 {
        let idle = self.idle.iter().flatten();
        worked(from, until, idle.map(|(begin, end)| ((*begin).max(from), (*end).min(until))))
    }

    /// The execution that did what a block stands for: what was taken from the log did nothing itself.
    pub(super) fn source(&self, index: SpanIndex) -> SpanIndex {
        let span = self.spans.get(index);
        if span.is_memoized { self.source.get(&span.path).copied().unwrap_or(index) } else { index }
    }

    /// How many items a block added itself.
    pub(super) fn items(&self, index: SpanIndex) -> u32 {
        self.spans.get(self.source(index)).items
    }

    /// How many state operations a block made itself.
    pub(super) fn changes(&self, index: SpanIndex) -> u32 {
        self.spans.changes(self.source(index), self.is_live)
    }

    /// Whether a resume made writes again in a block, those of others among them: how many are its own is not known.
    pub(super) fn has_repeated(&self, index: SpanIndex) -> bool {
        self.spans.has_repeated(self.source(index))
    }

    /// How often a path ran.
    pub(super) fn attempts(&self, path: PathNumber) -> u32 {
        self.again.get(&path).map_or(1, |ran| (*ran).max(1))
    }

    pub(super) fn name(&self, index: SpanIndex) -> String {
        self.spans.name(self.spans.get(index)).to_string()
    }

    /// When its first block began.
    pub(super) fn began(&self) -> i64 {
        self.spans.iter().next().map_or(0, |span| span.started_at)
    }

    /// What it comes to as a whole.
    pub(super) fn summary(&self, request: RequestRow) -> ComparedSide {
        let began = self.began();
        let ends = self.spans.iter().filter_map(|span| Some(self.at(span.seq_end, span.finished_at()?)));
        let ended = ends.max().unwrap_or(began);
        let usage = self.spans.whole_usage();
        let sum = |of: fn(&engine::views::spans::Span) -> u64| self.spans.iter().map(of).sum();
        ComparedSide {
            request,
            blocks: self.spans.len() as u64,
            failed: self.spans.failure_causes(),
            items: sum(|span| span.items.into()),
            model_calls: usage.model_calls.into(),
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            length_ms: ended - began,
        }
    }
}

/// Of each path with an execution that was taken from the log: its newest one that ran and ended.
fn sources(spans: &Spans) -> FxHashMap<PathNumber, SpanIndex> {
    let mut sources: FxHashMap<PathNumber, SpanIndex> = FxHashMap::default();
    sources.extend((0..).zip(spans.iter()).filter(|(_, span)| span.is_memoized).map(|(at, span)| (span.path, at)));
    if sources.is_empty() {
        return sources;
    }
    for (at, span) in (0..).zip(spans.iter()) {
        let has_result = |end| matches!(end, SpanEnd::Completed | SpanEnd::ReturnedError | SpanEnd::Failed);
        if !span.is_memoized && span.end.is_some_and(has_result) {
            sources.entry(span.path).and_modify(|source| *source = at);
        }
    }
    sources
}

/// The spans of events that are in memory. `number` gives each path its number.
pub(crate) fn spans_of(events: &[Event], mut number: impl FnMut(&str) -> PathNumber) -> Spans {
    let mut spans = Spans::default();
    let mut names = std::mem::take(spans.names_mut());
    for event in events {
        let path = event.path.as_deref().map(&mut number);
        if let Some(fact) = fact(&event.kind, |name| names.number(name), |path| Some(number(path))) {
            spans.push(SpanEvent { seq: event.seq, at: event.at, path, attempt: event.attempt, fact });
        }
        spans.set_last(event.seq);
    }
    *spans.names_mut() = names;
    spans
}

/// The digests of events that are in memory: equal to each other where the values are, and to none of the store.
pub(crate) fn digests_of(events: &[Event]) -> Digests {
    let view = Events::new(events);
    let mut found = Digests { inputs: HashMap::new(), outputs: HashMap::new() };
    for event in events {
        match &event.kind {
            EventKind::BlockStarted { input, .. } => {
                found.inputs.insert(event.seq, digest(view.value(input)));
            }
            EventKind::HookStarted { .. } => drop(found.inputs.insert(event.seq, digest(None))),
            EventKind::HookReturned { before, after, error: None } => {
                let value = after.as_ref().or(before.as_ref()).and_then(|value| view.value(value));
                found.outputs.insert(event.seq, digest(value));
            }
            EventKind::BlockFinished { error: Some(error), .. }
            | EventKind::HookReturned { error: Some(error), .. } => {
                let text = Value::String(format!("{}\n{}", error.name, error.message));
                found.outputs.insert(event.seq, digest(Some(&text)).wrapping_add(1));
            }
            EventKind::BlockFinished { output, .. } => {
                let value = output.as_ref().and_then(|output| view.value(output));
                found.outputs.insert(event.seq, digest(value));
            }
            _ => {}
        }
    }
    found
}

fn digest(value: Option<&Value>) -> u64 {
    let text = value.map(ToString::to_string).unwrap_or_default();
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// Numbers for the paths of a replay: those of the store where it knows them, others from the end of all numbers down.
pub(crate) struct PathNumbers {
    known: HashMap<Arc<str>, PathNumber>,
    next: PathNumber,
}

impl Default for PathNumbers {
    fn default() -> Self {
        PathNumbers { known: HashMap::new(), next: PathNumber::MAX }
    }
}

impl PathNumbers {
    /// The number of a path. `stored` looks it up in the store.
    pub(crate) fn number(&mut self, path: &str, stored: impl FnOnce(&str) -> Option<PathNumber>) -> PathNumber {
        if let Some(number) = self.known.get(path) {
            return *number;
        }
        let number = stored(path).unwrap_or_else(|| {
            self.next -= 1;
            self.next
        });
        self.known.insert(path.into(), number);
        number
    }

    /// The paths by their numbers.
    pub(crate) fn texts(self) -> HashMap<PathNumber, Arc<str>> {
        self.known.into_iter().map(|(text, number)| (number, text)).collect()
    }
}
