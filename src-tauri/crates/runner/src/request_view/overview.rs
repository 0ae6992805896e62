//! A request, or a part of its time, in as many cells as a screen has.

use engine::views::spans::SpanEnd;

use super::RequestView;
use super::critical::{critical, parts};
use super::histogram::part_of;
use crate::views::Overview;

/// More cells than any screen has.
const MOST_CELLS: u32 = 8_192;
/// More gaps than a person looks at.
const MOST_GAPS: usize = 200;

impl RequestView {
    /// Notes when its newest event was. Spans have only begins and ends of blocks, and much happens in between.
    pub(crate) fn reaches(&mut self, began: i64, newest: i64) {
        self.events = Some((began, newest));
    }

    /// When its first event was, as far as that is known.
    pub(crate) fn began(&self) -> Option<i64> {
        self.events.map(|(began, _)| began)
    }

    /// The first and the last instant of its blocks and of its events.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        let ranges = [self.clock.range(), self.events].into_iter().flatten();
        ranges.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Whether it is known which rows are critical.
    pub(crate) fn knows_critical(&self) -> bool {
        self.critical.is_some()
    }

    /// See [`Overview`]. The whole costs the same for every request; a part of its time is counted span by span.
    pub(crate) fn overview(&mut self, width: u32, from: Option<i64>, to: Option<i64>) -> Overview {
        let width = width.clamp(1, MOST_CELLS) as usize;
        let (first, last) = self.range().unwrap_or_default();
        let (start, end) = (from.unwrap_or(first), to.unwrap_or(last));
        let end = end.max(start);
        let counts = match (from, to) {
            (None, None) => self.clock.happened.parts(start, end, width),
            _ => self.count(start, end, width),
        };
        self.find_critical();
        let length = end - start;
        let critical = self
            .critical
            .as_ref()
            .map(|critical| parts(&self.spans, critical, (start, end), (length / width as i64).max(1)));
        Overview {
            from: start,
            to: end,
            cells: counts.iter().map(|count| count.0).collect(),
            failures: counts.iter().map(|count| count.1).collect(),
            gaps: self.clock.gaps(start, end, MOST_GAPS),
            critical: critical.unwrap_or_default(),
        }
    }

    /// Finds the critical path, once the request does not run. Until then, and until somebody wants it, rows are shown
    /// without: a page that opens a long request waits for its first rows.
    pub(crate) fn find_critical(&mut self) {
        if self.critical.is_none() && !self.is_live {
            self.critical = Some(critical(&self.spans, &self.tree));
            self.changed = None;
        }
    }

    fn count(&self, from: i64, to: i64, width: usize) -> Vec<(u32, u32)> {
        let mut counts = vec![(0, 0); width];
        let cell = |at: i64| (from..=to).contains(&at).then(|| part_of(at, from, to, width));
        for span in self.spans.iter() {
            if let Some(cell) = cell(span.started_at) {
                counts[cell].0 += 1;
            }
            if let Some(cell) = span.finished_at().and_then(cell) {
                counts[cell].0 += 1;
                counts[cell].1 += u32::from(span.end.is_some_and(SpanEnd::is_failure));
            }
        }
        counts
    }
}
