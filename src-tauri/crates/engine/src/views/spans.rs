//! View: the structure of a request, one span for each execution of a block, without any values.
//!
//! A span is made from a few facts. An event says at most one of them, and a fact never needs the event's values
//! again, so the store keeps facts in pages, and a reader of a long request decodes no bodies. Facts are taken in one
//! after the other: a running request's spans cost what is new. Must agree with [`blocks`](super::blocks), which reads
//! whole events.

mod fact;
mod names;
mod newest;
mod runs;
mod span;
mod usage;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::event::{BlockKind, Seq};

pub use fact::{Fact, SpanEnd, SpanEvent, fact};
pub use names::{NameNumber, Names};
use newest::Newest;
pub use runs::EarlierRun;
use runs::Undecided;
use span::NO_PARENT;
pub use span::Span;
pub use usage::Usage;

/// The number of a path. Whoever keeps the events gives numbers to paths, and knows their texts.
pub type PathNumber = u32;

/// The place of a span among its request's spans, in start order.
pub type SpanIndex = u32;

/// What a span wrote to shared memory.
#[derive(Clone, Debug, Default)]
struct SharedWrites {
    /// The events that did, while the span may still be rolled back.
    seqs: Vec<Seq>,
    /// How many come to nothing if the span is rolled back.
    revocable: u32,
}

/// The spans of one request, in start order.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    spans: Vec<Span>,
    names: Names,
    newest: Newest,
    /// Writes to shared memory of spans that have not ended well: the span, and whether a callback that returned did
    /// it.
    writes: FxHashMap<Seq, (SpanIndex, bool)>,
    /// What those spans wrote to shared memory.
    writes_of: FxHashMap<SpanIndex, SharedWrites>,
    /// Items and writes to records in the newest run of a span that may go on, but for callbacks that returned.
    undecided: FxHashMap<SpanIndex, FxHashMap<Seq, Undecided>>,
    /// The spans in which a resume brought writes from the log into force again.
    repeated: FxHashSet<SpanIndex>,
    /// What spans asked of models, of those that did.
    usage: FxHashMap<SpanIndex, Usage>,
    /// The part of it that another request paid for, of which this one is a fork.
    kept_usage: FxHashMap<SpanIndex, Usage>,
    /// What of it another sample of an experiment paid for.
    shared_usage: Usage,
    /// The last event that a fork has in common with that request; 0 if this is no fork.
    kept_until: Seq,
    /// When the request was taken up again, and when it ended.
    resumes: Vec<Seq>,
    ends: Vec<Seq>,
    /// Where spans that ran on were cut off: the event with which the request ended or was taken up again, and the time
    /// of the newest fact before it.
    cuts: Vec<(Seq, i64)>,
    /// The newest event that shows that something ran, and its time.
    alive: (Seq, i64),
    /// How many spans failed, without those that failed only because a block inside them did.
    failure_causes: u64,
    /// Those of them that run others: they may go on.
    failed_by_themselves: FxHashSet<SpanIndex>,
    /// Those in which a block failed whose error nothing caught, until they end.
    passing_on: FxHashSet<SpanIndex>,
    /// The spans that ended, in that order.
    ended: Vec<SpanIndex>,
    /// How spans stood that went on after an interruption: for each, its runs before the newest, in order.
    before: FxHashMap<SpanIndex, Vec<EarlierRun>>,
    /// Those spans, as often as they went on, in that order.
    went_on: Vec<SpanIndex>,
    /// Spans whose count of changes fell after they had ended, and by how many.
    revoked: Vec<(SpanIndex, u32)>,
    /// The events that ended calls of models, and whose they were.
    model_calls: Vec<(Seq, SpanIndex)>,
    /// Whether the request waits for an answer.
    waits: bool,
    /// The newest event taken in.
    last: Seq,
}

impl Spans {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// All of them, in start order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Span> {
        self.spans.iter()
    }

    /// The span at a place. There must be one.
    pub fn get(&self, index: SpanIndex) -> &Span {
        &self.spans[index as usize]
    }

    /// The newest span of an execution of a path.
    pub fn find(&self, path: PathNumber, attempt: u32) -> Option<SpanIndex> {
        self.newest.get(path, attempt)
    }

    /// The name of a span.
    pub fn name(&self, span: &Span) -> &Arc<str> {
        self.names.text(span.name)
    }

    /// The number of a name, if a span has it.
    pub fn name_number(&self, name: &str) -> Option<NameNumber> {
        self.names.find(name)
    }

    /// The names of its facts. Whoever reads facts while others are taken in takes them out, and puts them back.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Makes room for so many more spans.
    pub fn reserve(&mut self, more: usize) {
        self.spans.reserve(more);
    }

    /// How many spans failed, without those that failed only because a block inside them did.
    pub fn failure_causes(&self) -> u64 {
        self.failure_causes
    }

    /// The spans that ended, in that order.
    pub fn ended(&self) -> &[SpanIndex] {
        &self.ended
    }

    /// Takes back memory that growing left over.
    pub fn shrink(&mut self) {
        self.spans.shrink_to_fit();
        self.ended.shrink_to_fit();
    }

    /// The newest event taken in.
    pub fn last(&self) -> Seq {
        self.last
    }

    /// The events that ended calls of models, ascending, and the spans that called.
    pub fn model_calls(&self) -> &[(Seq, SpanIndex)] {
        &self.model_calls
    }

    /// The events with which the request was taken up again, ascending.
    pub fn resumes(&self) -> &[Seq] {
        &self.resumes
    }

    /// Says that the events up to `seq` were taken in, also those that say nothing.
    pub fn set_last(&mut self, seq: Seq) {
        self.last = self.last.max(seq);
    }

    /// Takes in the next fact. Returns the span that it changes.
    pub fn push(&mut self, event: SpanEvent) -> Option<SpanIndex> {
        self.last = self.last.max(event.seq);
        let before = self.note_life(&event);
        match event.fact {
            Fact::Lived => {}
            Fact::RequestResumed => {
                self.resumes.push(event.seq);
                self.cuts.push((event.seq, before));
            }
            Fact::RequestFinished => {
                self.ends.push(event.seq);
                // If the process died, a later abort wrote this event. What ran had stopped before it.
                self.cuts.push((event.seq, before));
            }
            Fact::CallbackReturned { is_memoized, events, superseded } => {
                self.settle(is_memoized, &events, &superseded);
                let of_run = event.path.and_then(|path| self.find(path, event.attempt));
                if let Some(undecided) = of_run.and_then(|index| self.undecided.get_mut(&index)) {
                    for seq in &events {
                        undecided.remove(seq);
                    }
                }
            }
            Fact::Started { name, kind, parent, replaces_failed } => {
                let execution = (event.path?, event.attempt);
                if let Some(before) = event.attempt.checked_sub(1).filter(|_| replaces_failed)
                    && let Some(failed) = self.find(execution.0, before)
                {
                    self.revoke(failed);
                }
                return Some(self.start(execution, (event.seq, event.at), name, kind, parent));
            }
            Fact::WentOn => {
                let index = self.find(event.path?, event.attempt)?;
                self.go_on(index, event.seq, event.at);
                return Some(index);
            }
            Fact::Finished { end, is_memoized, is_caught } => {
                let index = self.open(event.path?, event.attempt)?;
                let span = &mut self.spans[index as usize];
                (span.end, span.is_memoized, span.is_caught) = (Some(end), is_memoized, is_caught);
                (span.finished_at, span.seq_end) = (event.at, event.seq);
                if is_memoized {
                    // What is put in force again is no change of its own.
                    span.changes = 0;
                }
                self.ended.push(index);
                self.count_failure(index);
                if !end.may_go_on() {
                    self.undecided.remove(&index);
                }
                if is_memoized || !end.is_rolled_back() {
                    self.keep_writes(index, is_memoized);
                }
                return Some(index);
            }
            fact => {
                let index = self.open(event.path?, event.attempt)?;
                let span = &mut self.spans[index as usize];
                match fact {
                    Fact::Wrote { is_shared } => {
                        span.changes += 1;
                        if is_shared {
                            self.writes.insert(event.seq, (index, false));
                            let writes = self.writes_of.entry(index).or_default();
                            writes.seqs.push(event.seq);
                            writes.revocable += 1;
                        } else {
                            self.may_be_in_vain(index, event.seq, Undecided::Write);
                        }
                    }
                    Fact::ItemAdded { is_told_failure } => {
                        span.items += 1;
                        if !is_told_failure {
                            self.may_be_in_vain(index, event.seq, Undecided::Item);
                        }
                    }
                    Fact::ModelCalled { prompt, completion } => {
                        let call = Usage { model_calls: 1, prompt_tokens: prompt, completion_tokens: completion };
                        self.usage.entry(index).or_default().add(call);
                        if event.seq <= self.kept_until {
                            self.kept_usage.entry(index).or_default().add(call);
                        }
                        self.model_calls.push((event.seq, index));
                    }
                    _ => {}
                }
                return Some(index);
            }
        }
        None
    }

    fn start(
        &mut self,
        (path, attempt): (PathNumber, u32),
        (seq, at): (Seq, i64),
        name: NameNumber,
        kind: BlockKind,
        parent: Option<(PathNumber, u32)>,
    ) -> SpanIndex {
        let index = self.spans.len() as SpanIndex;
        let parent = parent.and_then(|(path, attempt)| self.find(path, attempt));
        if let Some(parent) = parent {
            self.spans[parent as usize].children += 1;
        }
        self.newest.insert(path, attempt, index);
        self.spans.push(Span {
            path,
            attempt,
            parent: parent.unwrap_or(NO_PARENT),
            name,
            kind,
            end: None,
            is_memoized: false,
            is_caught: false,
            started_at: at,
            finished_at: 0,
            seq_start: seq,
            seq_end: 0,
            children: 0,
            items: 0,
            changes: 0,
        });
        index
    }

    /// Counts a span that has just ended, if it failed by itself.
    fn count_failure(&mut self, index: SpanIndex) {
        let span = &self.spans[index as usize];
        let passes_on = self.passing_on.remove(&index);
        match span.end {
            Some(SpanEnd::Failed | SpanEnd::Stopped) => {
                self.failure_causes += u64::from(!passes_on);
                self.failed_by_themselves.extend((!passes_on && span.kind != BlockKind::Handler).then_some(index));
                self.passing_on.extend(span.parent().filter(|_| !span.is_caught));
            }
            Some(SpanEnd::ReturnedError | SpanEnd::TimedOut) => self.failure_causes += 1,
            _ => {}
        }
    }

    /// The newest span of an execution, if it has not ended.
    fn open(&self, path: PathNumber, attempt: u32) -> Option<SpanIndex> {
        self.find(path, attempt).filter(|index| self.get(*index).end.is_none())
    }

    /// The executions that have begun and not ended, as the request stands: those that were under way when it ended or
    /// was taken up again are not among them.
    pub fn unfinished(&self) -> impl Iterator<Item = &Span> {
        let cut = self.resumes.last().max(self.ends.last()).copied().unwrap_or(0);
        let is_open =
            move |(index, span): &(usize, &Span)| span.end.is_none() && self.run_start(*index as SpanIndex) > cut;
        self.spans.iter().enumerate().filter(is_open).map(|(_, span)| span)
    }

    /// Notes that a span ended well: what it wrote stays, unless its request had ended before it.
    fn keep_writes(&mut self, index: SpanIndex, is_memoized: bool) {
        let Some(mut writes) = self.writes_of.remove(&index) else { return };
        for seq in std::mem::take(&mut writes.seqs) {
            self.writes.remove(&seq);
        }
        // A resume may run again what failed.
        if !is_memoized && (self.was_cut(index) || self.get(index).end.is_some_and(SpanEnd::is_failure)) {
            self.writes_of.insert(index, writes);
        }
    }

    fn revoke_less(&mut self, index: SpanIndex) {
        if let Some(writes) = self.writes_of.get_mut(&index) {
            writes.revocable -= 1;
        }
    }

    /// Counts what a callback did that returned, and no longer what its earlier calls did. Notes where a
    /// resume did that.
    fn settle(&mut self, is_memoized: bool, events: &[Seq], superseded: &[Seq]) {
        if self.writes.is_empty() {
            return;
        }
        for seq in events {
            if let Some((index, is_kept)) = self.writes.get_mut(seq).filter(|(_, is_kept)| !is_kept) {
                *is_kept = true;
                let index = *index;
                self.revoke_less(index);
                if is_memoized {
                    self.repeated.insert(index);
                }
            }
        }
        for seq in superseded.iter().filter(|_| !is_memoized) {
            if let Some((index, is_kept)) = self.writes.remove(seq) {
                self.spans[index as usize].changes -= 1;
                if !is_kept {
                    self.revoke_less(index);
                }
            }
        }
    }

    /// How many state operations a span made itself, without those on shared memory that were rolled back. `is_live`
    /// says whether the request's process still runs it.
    pub fn changes(&self, index: SpanIndex, is_live: bool) -> u32 {
        let span = self.get(index);
        let Some(writes) = self.writes_of.get(&index) else { return span.changes };
        let is_rolled_back = self.was_cut(index)
            || match span.end {
                None => !is_live || self.has_resumed_since(self.run_start(index), self.last),
                Some(end) => end.is_rolled_back(),
            };
        if is_rolled_back { span.changes - writes.revocable } else { span.changes }
    }
}
