//! The runs of a span that went on after interruptions, and how it stood at any instant.

use super::{Fact, SpanEnd, SpanEvent, SpanIndex, Spans, Usage};
use crate::model::event::{BlockKind, Seq};
use crate::views::asked_again::AskedAgain;
use crate::views::blocks::BlockStatus;

/// An uninterrupted run of a span that went on later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierRun {
    /// How it ended, if it did: it waited, or failed.
    pub end: Option<SpanEnd>,
    /// Its last event; 0 if it was cut off.
    pub seq_end: Seq,
    /// When it ended or was cut off, in milliseconds since 1970.
    pub until: i64,
    /// The event with which the span went on.
    pub resumed: Seq,
    /// When that was, in milliseconds since 1970.
    pub resumed_at: i64,
    /// How many items the span had added by then.
    pub items: u32,
    /// How many state operations it had made by then that still count.
    pub changes: u32,
    /// What it had asked of models by then.
    pub usage: Usage,
}

/// What a run did that is without effect if it is cut off or waits, and the span goes on then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undecided {
    /// A write to a durable record.
    Write,
    /// An item.
    Item,
}

impl Spans {
    /// The runs of a span before its newest, if it went on after interruptions.
    pub fn earlier_runs(&self, index: SpanIndex) -> &[EarlierRun] {
        self.before.get(&index).map_or(&[], Vec::as_slice)
    }

    /// When a span did not run between its start and its end, from and to, in milliseconds since 1970: it was
    /// interrupted, waited, or stood before a fork, and went on.
    pub fn gaps(&self, index: SpanIndex) -> impl Iterator<Item = (i64, i64)> {
        self.earlier_runs(index).iter().map(|run| (run.until, run.resumed_at))
    }

    /// Spans whose count of changes fell after they had ended, and by how many, in that order.
    pub fn revoked(&self) -> &[(SpanIndex, u32)] {
        &self.revoked
    }

    /// The spans that went on after an interruption, as often as they did, in that order.
    pub fn went_on(&self) -> &[SpanIndex] {
        &self.went_on
    }

    /// Notes that something ran when an event was recorded, if it shows that. Returns when that was known of last.
    pub(super) fn note_life(&mut self, event: &SpanEvent) -> i64 {
        let (newest, before) = self.alive;
        let shows_life = event.fact != Fact::Lived || event.path.is_some();
        if shows_life && event.seq >= newest {
            self.alive = (event.seq, event.at);
        }
        before
    }

    /// Whether a resume brought writes from the log into force again in a span.
    pub fn has_repeated(&self, index: SpanIndex) -> bool {
        self.repeated.contains(&index)
    }

    /// Notes that a span goes on that was interrupted, waited or failed.
    pub(super) fn go_on(&mut self, index: SpanIndex, seq: Seq, at: i64) {
        let is_in_vain = self.was_cut(index) || self.get(index).end.is_none_or(SpanEnd::is_rolled_back);
        let until = self.spans[index as usize].finished_at().unwrap_or_else(|| self.cut_at(index));
        self.revoke(index);
        self.failure_causes -= u64::from(self.failed_by_themselves.remove(&index));
        let usage = self.usage(index);
        let span = &mut self.spans[index as usize];
        let earlier = EarlierRun {
            end: span.end.take(),
            seq_end: std::mem::take(&mut span.seq_end),
            until,
            resumed: seq,
            resumed_at: at.max(until),
            items: span.items,
            changes: span.changes,
            usage,
        };
        let end = earlier.end;
        span.finished_at = 0;
        let undecided = self.undecided.remove(&index).unwrap_or_default();
        if is_in_vain {
            let in_vain = |what| undecided.values().filter(|did| **did == what).count() as u32;
            span.changes -= in_vain(Undecided::Write);
            span.items -= in_vain(Undecided::Item);
        }
        self.before.entry(index).or_default().push(earlier);
        self.went_on.push(index);
        if end.is_some()
            && let Some(at) = self.ended.iter().rposition(|ended| *ended == index)
        {
            self.ended.remove(at);
        }
    }

    /// Counts no more what a span wrote to shared memory so far, but what its callbacks that returned wrote.
    pub(super) fn revoke(&mut self, index: SpanIndex) {
        let counted = !self.was_cut(index) && self.get(index).end.is_some_and(|end| !end.is_rolled_back());
        let Some(writes) = self.writes_of.remove(&index) else { return };
        self.spans[index as usize].changes -= writes.revocable;
        if counted && writes.revocable > 0 {
            self.revoked.push((index, writes.revocable));
        }
        for seq in writes.seqs {
            self.writes.remove(&seq);
        }
    }

    /// The first event of the newest run of a span.
    pub fn run_start(&self, index: SpanIndex) -> Seq {
        self.earlier_runs(index).last().map_or(self.get(index).seq_start, |run| run.resumed)
    }

    /// How a span stood just after an event; none if it had not begun. `is_live` says whether the request's process
    /// still runs it now, at its newest event.
    pub fn status_at(&self, index: SpanIndex, at: Seq, is_live: bool) -> Option<BlockStatus> {
        let span = self.get(index);
        if span.seq_start > at {
            return None;
        }
        let earlier = self.earlier_runs(index);
        let run = earlier.partition_point(|run| run.resumed <= at);
        let start = run.checked_sub(1).map_or(span.seq_start, |before| earlier[before].resumed);
        let (end, seq_end) = earlier.get(run).map_or((span.end, span.seq_end), |run| (run.end, run.seq_end));
        if let Some(end) = end.filter(|_| seq_end <= at) {
            let is_newest = || run == earlier.len() && self.find(span.path, span.attempt + 1).is_none();
            let waits = self.asked_again().is_some_and(|asked| asked.waits((end.status(), seq_end), is_newest()));
            return Some(if waits { BlockStatus::Suspended } else { end.status() });
        }
        let is_cut = self.has_resumed_since(start, at)
            || self.ends.iter().any(|end| (start..=at).contains(end) && !is_live)
            || (at >= self.last && !is_live);
        Some(if is_cut { BlockStatus::Abandoned } else { BlockStatus::Running })
    }

    /// Sets whether the request waits for an answer now. No fact says that.
    pub fn set_waiting(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Whether the request waits for an answer.
    pub fn is_waiting(&self) -> bool {
        self.waits
    }

    fn asked_again(&self) -> Option<AskedAgain> {
        self.waits.then(|| AskedAgain { taken_up: self.resumes.last().copied().unwrap_or(0) })
    }

    /// Until when a span ran that has no end, as far as the log tells: its request ended, or its process did.
    pub fn cut_at(&self, index: SpanIndex) -> i64 {
        let start = self.run_start(index);
        let next = self.cuts.partition_point(|(seq, _)| *seq < start);
        self.cuts.get(next).map_or(self.alive.1, |(_, at)| *at).max(self.get(index).started_at)
    }

    /// How a span stands now.
    pub fn status(&self, index: SpanIndex, is_live: bool) -> BlockStatus {
        self.status_at(index, Seq::MAX, is_live).unwrap_or(BlockStatus::Running)
    }

    /// Notes what a span did that may go on: only one that runs others does.
    pub(super) fn may_be_in_vain(&mut self, index: SpanIndex, seq: Seq, what: Undecided) {
        if !matches!(self.get(index).kind, BlockKind::Handler | BlockKind::Hook) {
            self.undecided.entry(index).or_default().insert(seq, what);
        }
    }

    /// Whether a span was running when the request ended.
    pub(super) fn was_cut(&self, index: SpanIndex) -> bool {
        let (start, end) = (self.run_start(index), self.get(index).seq_end);
        let is_open = |at: &&Seq| start < **at && (end == 0 || end > **at);
        self.ends.iter().filter(is_open).any(|at| !self.has_resumed_since(start, *at))
    }

    pub(super) fn has_resumed_since(&self, seq: Seq, until: Seq) -> bool {
        self.resumes.iter().any(|resumed| (seq + 1..=until).contains(resumed))
    }
}
