//! The runs of a span that went on after interruptions, and how it stood at any instant.

use super::{SpanEnd, SpanIndex, Spans};
use crate::model::event::Seq;
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
    /// How many of its state operations no longer count since then.
    pub revoked: u32,
}

impl Spans {
    /// The runs of a span before its newest, if it went on after interruptions.
    pub fn earlier_runs(&self, index: SpanIndex) -> &[EarlierRun] {
        self.before.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The spans that went on after an interruption, as often as they did, in that order.
    pub fn went_on(&self) -> &[SpanIndex] {
        &self.went_on
    }

    /// Notes that a span goes on that was interrupted, waited or failed.
    pub(super) fn go_on(&mut self, index: SpanIndex, seq: Seq, at: i64) {
        let until = self.spans[index as usize].finished_at().unwrap_or_else(|| self.cut_at(index));
        let span = &mut self.spans[index as usize];
        let (end, seq_end) = (span.end.take(), std::mem::take(&mut span.seq_end));
        let mut earlier = EarlierRun { end, seq_end, until, resumed: seq, resumed_at: at.max(until), revoked: 0 };
        span.finished_at = 0;
        if let Some(mut writes) = self.writes_of.remove(&index) {
            span.changes -= writes.revocable;
            earlier.revoked = writes.revocable;
            for seq in std::mem::take(&mut writes.seqs) {
                self.writes.remove(&seq);
            }
        }
        self.before.entry(index).or_default().push(earlier);
        self.went_on.push(index);
        if end.is_some()
            && let Some(at) = self.ended.iter().rposition(|ended| *ended == index)
        {
            self.ended.remove(at);
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
            return Some(end.status());
        }
        let is_cut = self.has_resumed_since(start, at)
            || self.ends.iter().any(|end| (start..=at).contains(end) && !is_live)
            || (at >= self.last && !is_live);
        Some(if is_cut { BlockStatus::Abandoned } else { BlockStatus::Running })
    }

    /// Until when a span ran that has no end, as far as the log tells: its request ended, or its process did.
    pub fn cut_at(&self, index: SpanIndex) -> i64 {
        let start = self.run_start(index);
        let next = self.cuts.partition_point(|(seq, _)| *seq < start);
        self.cuts.get(next).map_or(self.last_at, |(_, at)| *at).max(self.get(index).started_at)
    }

    /// How a span stands now.
    pub fn status(&self, index: SpanIndex, is_live: bool) -> BlockStatus {
        self.status_at(index, Seq::MAX, is_live).unwrap_or(BlockStatus::Running)
    }
}
