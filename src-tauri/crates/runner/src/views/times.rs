//! How long things took, in milliseconds: the one place that says what counts.

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
