//! How long things took, in milliseconds: the one place that says what counts.

use engine::event::Seq;
use engine::views::spans::{SpanIndex, Spans};

/// How long something took. A clock that was put back in its middle cannot tell; nothing took less than
/// no time.
pub(crate) fn span(start: i64, end: i64) -> i64 {
    end.saturating_sub(start).max(0)
}

/// How long something ran between its start and its end: without its gaps.
pub(crate) fn worked(start: i64, end: i64, gaps: impl Iterator<Item = (i64, i64)>) -> i64 {
    gaps.fold(span(start, end), |rest, (from, to)| rest.saturating_sub(span(from, to))).max(0)
}

/// The same of a span; `None` if it has not ended.
pub(crate) fn span_worked(spans: &Spans, index: SpanIndex) -> Option<i64> {
    let span = spans.get(index);
    span.finished_at().map(|end| worked(span.started_at, end, spans.gaps(index)))
}

/// Whether a span ran after an event. Of a fork: whether it ran in the fork itself, and is not only kept.
pub(crate) fn span_ran_after(spans: &Spans, index: SpanIndex, seq: Seq) -> bool {
    spans.get(index).seq_start > seq || spans.earlier_runs(index).iter().any(|run| run.resumed > seq)
}

/// The part of [`span_worked`] that comes after an event; `None` if the span did not end after it.
pub(crate) fn span_worked_after(spans: &Spans, index: SpanIndex, seq: Seq) -> Option<i64> {
    let span = spans.get(index);
    let end = span.finished_at().filter(|_| span.seq_end > seq)?;
    let mut own = spans.earlier_runs(index).iter().filter(|run| run.resumed > seq);
    let began = if span.seq_start > seq { span.started_at } else { own.next()?.resumed_at };
    Some(worked(began, end, own.map(|run| (run.until, run.resumed_at))))
}

#[cfg(test)]
mod tests {
    use super::worked;

    #[test]
    fn gaps_are_no_work() {
        assert_eq!(worked(0, 100, std::iter::empty()), 100);
        assert_eq!(worked(0, 100, [(10, 30), (40, 90)].into_iter()), 30);
        assert_eq!(worked(100, 0, std::iter::empty()), 0, "a clock that was put back");
        assert_eq!(worked(0, 10, [(0, 100)].into_iter()), 0);
    }
}
