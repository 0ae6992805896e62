//! How many things happened when, in a bounded number of cells: the cells become wider as time goes on.

/// See the module. A cell has two counts: of all, and of failures.
#[derive(Clone)]
pub(super) struct Histogram {
    most: usize,
    from: i64,
    width: i64,
    cells: Vec<(u32, u32)>,
}

impl Histogram {
    /// Of at most so many cells.
    pub(super) fn new(most: usize) -> Self {
        Histogram { most, from: 0, width: 1, cells: Vec::new() }
    }

    /// Counts what happened at an instant.
    pub(super) fn add(&mut self, at: i64, is_failure: bool) {
        if self.cells.is_empty() {
            self.from = at;
        }
        while at < self.from {
            // A clock was put back, or a fork has older blocks.
            let missing = usize::try_from((self.from - at + self.width - 1) / self.width).unwrap_or(usize::MAX);
            if missing.saturating_add(self.cells.len()) > self.most {
                self.coarsen();
                continue;
            }
            self.cells.splice(0..0, std::iter::repeat_n((0, 0), missing));
            self.from -= missing as i64 * self.width;
        }
        let mut cell = (at - self.from) / self.width;
        while cell >= self.most as i64 {
            self.coarsen();
            cell = (at - self.from) / self.width;
        }
        let cell = cell as usize;
        if cell >= self.cells.len() {
            self.cells.resize(cell + 1, (0, 0));
        }
        if is_failure { self.cells[cell].1 += 1 } else { self.cells[cell].0 += 1 }
    }

    /// Takes a failure back that was counted at an instant.
    pub(super) fn take_failure(&mut self, at: i64) {
        let cell = usize::try_from((at - self.from) / self.width).unwrap_or_default();
        if let Some(cell) = self.cells.get_mut(cell) {
            cell.1 = cell.1.saturating_sub(1);
        }
    }

    fn coarsen(&mut self) {
        self.width *= 2;
        let pairs = self.cells.chunks(2);
        self.cells = pairs.map(|pair| pair.iter().fold((0, 0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1))).collect();
    }

    /// The counts in so many equal parts of a time.
    pub(super) fn parts(&self, from: i64, to: i64, parts: usize) -> Vec<(u32, u32)> {
        let mut counts = vec![(0, 0); parts];
        for (at, cell) in (0..).zip(&self.cells) {
            // The middle of a cell says where it belongs.
            let part = part_of(self.from + at * self.width + (self.width - 1) / 2, from, to, parts);
            counts[part].0 += cell.0;
            counts[part].1 += cell.1;
        }
        counts
    }
}

/// Which of so many equal parts of a time an instant is in; the nearest for one outside of it.
pub(super) fn part_of(at: i64, from: i64, to: i64, parts: usize) -> usize {
    let (length, at) = (i128::from((to - from).max(0)) + 1, i128::from(at.saturating_sub(from).max(0)));
    usize::try_from(at * parts as i128 / length).unwrap_or(usize::MAX).min(parts.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_however_long_it_takes() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut histogram = Histogram::new(64);
        let mut times = Vec::new();
        let mut now = 1_000_000_i64;
        for step in 0..5_000 {
            now += if step % 100 == 0 { rng.i64(-400_000..600_000) } else { rng.i64(0..500) };
            times.push(now);
            histogram.add(now, step % 7 == 0);
            assert!(histogram.cells.len() <= 64);
        }
        let (from, to) = (*times.iter().min().expect("some"), *times.iter().max().expect("some"));
        let parts = histogram.parts(from, to, 16);
        assert_eq!(parts.iter().map(|part| part.0 + part.1).sum::<u32>(), 5_000);
        assert_eq!(parts.iter().map(|part| part.1).sum::<u32>(), 715);
        // A cell that lies across a border is counted on one side of it.
        let before = |part: usize| times.iter().filter(|at| part_of(**at, from, to, 16) < part).count() as i64;
        let mut sum = 0;
        for (part, counts) in parts.iter().enumerate() {
            assert!((before(part) - sum).abs() < 800, "part {part}: {sum} instead of {}", before(part));
            sum += i64::from(counts.0 + counts.1);
        }
    }
}
