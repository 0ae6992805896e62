//! Where the blocks of a request lie in its time, as bars of text.
//!
//! A fork has blocks that are older than itself: the time between what it shares with its request and its own start
//! counts for nothing, as in the window.

use runner::{BlockRow, Gap, RequestRow, ViewRow};

const WIDTH: i64 = 32;

/// When a block ran.
#[derive(Clone, Copy)]
pub(super) struct Ran<'r> {
    started_at: i64,
    /// Until its end, or until it is last known to run; `None` while it runs.
    for_ms: Option<i64>,
    /// When it did not run in between.
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
    /// Of a fork: from when until when there was nothing to run.
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
        // A clock may be set back.
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

    /// How long something took that began at a time.
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
            // The cells in which it ran before and after stay full.
            let first = (cell(gap.from) + 1).min(cells.len());
            let to = cell(gap.to).min((from + length - 1) as usize).max(first);
            cells[first..to].iter_mut().filter(|cell| **cell != ' ').for_each(|cell| *cell = '┄');
        }
        cells.into_iter().collect()
    }
}
