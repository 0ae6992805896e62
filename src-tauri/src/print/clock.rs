//! Draws the times of a request's blocks as text bars.
//!
//! A fork has blocks that are older than itself. As in the window, the time between the shared blocks and its own start
//! is left out.

use runner::{BlockRow, Gap, RequestRow, ViewRow};

const WIDTH: i64 = 32;

/// When a block ran.
#[derive(Clone, Copy)]
pub(super) struct Ran<'r> {
    started_at: i64,
    /// The time until its end, or until the last event at which it ran; `None` while it runs.
    for_ms: Option<i64>,
    /// The times in between in which it did not run.
    gaps: &'r [Gap],
}

impl<'r> From<&'r BlockRow> for Ran<'r> {
    fn from(row: &'r BlockRow) -> Ran<'r> {
        let gaps = row.gaps.as_deref().unwrap_or_default();
        let idle: i64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
        Ran { started_at: row.started_at, for_ms: row.duration_ms.or(row.cut_ms).map(|ran| ran + idle), gaps }
    }
}

impl<'r> From<&'r ViewRow> for Ran<'r> {
    fn from(row: &'r ViewRow) -> Ran<'r> {
        let gaps = row.gaps.as_deref().unwrap_or_default();
        Ran { started_at: row.started_at, for_ms: row.duration_ms.or(row.cut_ms), gaps }
    }
}

/// The time of a request.
pub(super) struct Clock {
    start: i64,
    /// How long it took, at least 1 ms.
    span: i64,
    /// In a fork, the time between the shared blocks and its own start.
    pause: Option<(i64, i64)>,
}

impl Clock {
    pub(super) fn of<'r>(request: &RequestRow, rows: impl Iterator<Item = Ran<'r>> + Clone) -> Clock {
        let start = rows.clone().map(|row| row.started_at).min().unwrap_or(request.started_at);
        let mut clock = Clock { start, span: 1, pause: None };
        if request.forked_from.is_some() {
            let first_end = |row: Ran<'_>| match row.gaps.first() {
                Some(gap) => gap.from,
                None => row.started_at + row.for_ms.unwrap_or(0),
            };
            let left = rows.clone().map(first_end).filter(|end| *end <= request.started_at).max();
            clock.pause = left.map(|left| (left, request.started_at));
        }
        // The end may be before the start, because a clock can be set back.
        let end = rows.map(|row| clock.at(row.started_at + row.for_ms.unwrap_or(0))).max();
        clock.span = (end.unwrap_or(start) - start).max(1);
        clock
    }

    /// A time, as if there had been no pause.
    fn at(&self, time: i64) -> i64 {
        match self.pause {
            Some((from, to)) if time > from => from + (time - to).max(0),
            _ => time,
        }
    }

    /// The duration of a block that started at a time, without the pause.
    pub(super) fn took(&self, started_at: i64, duration_ms: Option<i64>) -> Option<i64> {
        duration_ms.map(|took| self.at(started_at + took) - self.at(started_at))
    }

    /// The bar of a block: full where it ran.
    pub(super) fn bar(&self, row: Ran<'_>) -> String {
        let cell = |at: i64| (((self.at(at) - self.start) * WIDTH) / self.span).clamp(0, WIDTH) as usize;
        let began = self.at(row.started_at) - self.start;
        let from = (began * (WIDTH - 1) / self.span).clamp(0, WIDTH - 1);
        let took = self.took(row.started_at, row.for_ms).unwrap_or(self.span - began);
        let length = (took * WIDTH / self.span).clamp(1, WIDTH - from);
        let mut cells: Vec<char> = vec![' '; WIDTH as usize];
        cells[from as usize..(from + length) as usize].fill('█');
        for gap in row.gaps {
            // Cells in which it also ran stay full.
            let first = (cell(gap.from) + 1).min(cells.len());
            let to = cell(gap.to).min((from + length - 1) as usize).max(first);
            cells[first..to].iter_mut().filter(|cell| **cell != ' ').for_each(|cell| *cell = '┄');
        }
        cells.into_iter().collect()
    }
}
