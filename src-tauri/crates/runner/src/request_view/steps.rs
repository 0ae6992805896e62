//! Where the slider goes: to ends, failures and boundaries, and to an instant.

use engine::event::Seq;

use super::RequestView;
use crate::views::StepTo;

impl RequestView {
    /// The event that the slider goes to from another one.
    pub(crate) fn step(&self, seq: Seq, to: StepTo) -> Option<Seq> {
        let ended = match to {
            StepTo::PreviousEnd | StepTo::NextEnd => self.spans.ended(),
            StepTo::PreviousFailure | StepTo::NextFailure => &self.failures,
            StepTo::PreviousBoundary | StepTo::NextBoundary => &self.boundaries,
        };
        let end = |index: &u32| self.spans.get(*index).seq_end;
        let found = match to {
            StepTo::PreviousEnd | StepTo::PreviousFailure | StepTo::PreviousBoundary => {
                let after = ended.partition_point(|index| end(index) < seq);
                after.checked_sub(1).and_then(|before| ended.get(before))
            }
            _ => ended.get(ended.partition_point(|index| end(index) <= seq)),
        };
        found.map(end)
    }

    /// Between which events the last one at or before a time is: the last at which a block began or ended by then (that
    /// before the root's first where there is none), and the last one before the next begin or end. Where a clock was
    /// put back, some that fit.
    pub(crate) fn seqs_at(&self, time: i64) -> (Seq, Seq) {
        let start = |at: usize| (at < self.spans.len()).then(|| self.spans.get(at as u32).seq_start);
        let began = partition(self.spans.len(), |at| self.spans.get(at as u32).started_at <= time);
        let ends = self.spans.ended();
        let end = |at: usize| ends.get(at).map(|index| self.spans.get(*index).seq_end);
        let ended = ends.partition_point(|index| self.spans.get(*index).finished_at().is_some_and(|end| end <= time));
        let before = began.checked_sub(1).and_then(start).max(ended.checked_sub(1).and_then(end));
        let first = before.unwrap_or(self.start());
        let next = [start(began), end(ended)].into_iter().flatten().filter(|next| *next > first).min();
        (first, next.map_or(self.seq().max(first), |next| next - 1))
    }
}

/// How many numbers, of those below a length, are before the first that does not hold.
fn partition(length: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, length);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) { from = middle + 1 } else { to = middle }
    }
    from
}
