//! The search for the step at which a failure was decided: which fork points to sample next, by what was seen so far.
//!
//! Forks from before the deciding step fail by chance, forks from after it as the recording did. The search halves the
//! steps by a sequential test (Wald 1945), so that a point costs few forks where the answer is clear, and then samples
//! the two points around the jump until their rates differ beyond doubt. Must not run anything.

use crate::workspace::experiment::statistics::{difference, rate};

/// What was seen of forks from one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) failures: u32,
    pub(crate) samples: u32,
}

impl Tally {
    fn rate(self) -> f64 {
        f64::from(self.failures) / f64::from(self.samples.max(1))
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Run so many forks from this point.
    Sample { point: usize, forks: u32 },
    /// It was decided at this step.
    Found(usize),
    /// Forks from before the first step fail, too.
    BeforeFirst,
    /// Nobody can tell from so few forks.
    NotEnough,
}

/// The state of a search. Point `n` is before step `n`; behind the last step the outcome is the recorded one.
pub(crate) struct Search {
    /// By point.
    pub(crate) points: Vec<Tally>,
    /// How many samples a point has at least that the answer rests on.
    wanted: u32,
    most: u32,
    /// How many forks could not be judged.
    unjudged: u32,
    is_deterministic: bool,
    /// A point whose forks fail by chance.
    low: usize,
    /// A point whose forks fail as the recording did; the number of steps is behind the last one.
    high: usize,
}

/// How many forks are run between two looks.
const ROUND: u32 = 4;
/// From which rate on before the first step nothing is left to be decided.
const DECIDED: f64 = 0.8;
/// How many samples the halving spends on one point.
const MAX_HALVING: u32 = 20;
/// The likelihood ratio, as a logarithm, at which a point is on one side: one error in a hundred.
const CLEAR: f64 = 4.6;
/// Until so many samples a point behind the deciding step is doubted whose rate is surely lower than this.
const MIN_SURE: u32 = 36;
const SURE: f64 = 0.95;
/// How many samples one of the two last points gets.
const MAX_CONFIRMING: u32 = 48;

impl Search {
    /// A search among so many steps with at most `most` forks.
    pub(crate) fn new(steps: usize, wanted: u32, most: u32, is_deterministic: bool) -> Search {
        let points = vec![Tally::default(); steps];
        let wanted = if is_deterministic { 1 } else { wanted.max(2) };
        Search { points, wanted, most, unjudged: 0, is_deterministic, low: 0, high: steps }
    }

    /// How many forks have been run.
    pub(crate) fn forks(&self) -> u32 {
        self.points.iter().map(|point| point.samples).sum::<u32>() + self.unjudged
    }

    /// Takes in how many forks could not be judged.
    pub(crate) fn add_unjudged(&mut self, forks: u32) {
        self.unjudged += forks;
    }

    /// Takes in what forks from a point did.
    pub(crate) fn add(&mut self, point: usize, seen: Tally) {
        if let Some(point) = self.points.get_mut(point) {
            point.failures += seen.failures;
            point.samples += seen.samples;
        }
    }

    /// Decides what is next.
    pub(crate) fn next(&mut self) -> Next {
        let Some(first) = self.points.first().copied() else { return Next::BeforeFirst };
        if first.samples < self.wanted {
            return self.sample(0, self.wanted - first.samples);
        }
        if first.rate() >= DECIDED {
            return Next::BeforeFirst;
        }
        while self.high - self.low > 1 {
            let middle = self.low.midpoint(self.high);
            match self.side(middle) {
                Some(true) => self.high = middle,
                Some(false) => self.low = middle,
                None => return self.sample(middle, if self.is_deterministic { 1 } else { ROUND }),
            }
        }
        self.confirm()
    }

    fn sample(&self, point: usize, forks: u32) -> Next {
        match self.most.saturating_sub(self.forks()) {
            0 => Next::NotEnough,
            left => Next::Sample { point, forks: forks.min(left) },
        }
    }

    /// The rates that forks from before and after the deciding step are taken to have.
    fn rates(&self) -> (f64, f64) {
        let after = self.points.get(self.high).map_or(0.97, |point| point.rate());
        let after = after.clamp(0.2, 0.97);
        let before = self.points[self.low].rate().clamp(0.03, after - 0.1);
        (before, after)
    }

    /// Whether forks from a point fail as after the deciding step; `None` if that is not clear yet.
    fn side(&self, point: usize) -> Option<bool> {
        let Tally { failures, samples } = self.points[point];
        if samples == 0 {
            return None;
        }
        if self.is_deterministic {
            return Some(failures > 0);
        }
        let (before, after) = self.rates();
        let ratio = f64::from(failures) * (after / before).ln()
            + f64::from(samples - failures) * ((1.0 - after) / (1.0 - before)).ln();
        (ratio.abs() >= CLEAR || samples >= MAX_HALVING).then_some(ratio > 0.0)
    }

    /// Samples the points around the jump until it is beyond doubt.
    fn confirm(&mut self) -> Next {
        let (low, high) = (self.points[self.low], self.points.get(self.high).copied());
        if self.is_deterministic {
            return Next::Found(self.low);
        }
        for (point, tally) in [(self.low, Some(low)), (self.high, high)] {
            if let Some(tally) = tally.filter(|tally| tally.samples < self.wanted) {
                return self.sample(point, (self.wanted - tally.samples).max(1));
            }
        }
        // More samples may have shown that a point is on the other side.
        let middle = f64::midpoint(self.points[0].rate(), 1.0);
        if self.low > 0 && low.rate() >= middle && rate(low.failures, low.samples).low > self.points[0].rate() {
            self.high = self.low;
            self.low = (0..self.high).rev().find(|at| self.is_low(*at, middle)).unwrap_or(0);
            return self.next();
        }
        if let Some(found) =
            high.filter(|found| found.rate() < middle && rate(found.failures, found.samples).high < 1.0)
        {
            let _ = found;
            self.low = self.high;
            let mut behind = (self.low + 1)..self.points.len();
            let is_high = |at: &usize| self.points[*at].samples > 0 && self.points[*at].rate() >= middle;
            self.high = behind.find(is_high).unwrap_or(self.points.len());
            return self.next();
        }
        // A rate that is neither that from before nor that of the recording may be one by chance.
        if high.is_some_and(|high| high.samples < MIN_SURE && rate(high.failures, high.samples).high < SURE) {
            return self.sample(self.high, ROUND);
        }
        let jump = match high {
            Some(high) => difference((high.failures, high.samples), (low.failures, low.samples)).low,
            // Behind the last step the outcome is known.
            None => 0.9 - rate(low.failures, low.samples).high,
        };
        if jump > 0.0 {
            return Next::Found(self.low);
        }
        let less = match high {
            Some(high) if high.samples < low.samples => (self.high, high.samples),
            _ => (self.low, low.samples),
        };
        if less.1 >= MAX_CONFIRMING { Next::NotEnough } else { self.sample(less.0, ROUND) }
    }

    fn is_low(&self, point: usize, middle: f64) -> bool {
        self.points[point].samples > 0 && self.points[point].rate() < middle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches in a made-up flow: forks from before the planted step fail with one rate, those from after it with
    /// another.
    fn search(steps: usize, planted: usize, rates: (f64, f64), random: &mut fastrand::Rng) -> (Next, u32) {
        let mut search = Search::new(steps, 8, 200, false);
        loop {
            match search.next() {
                Next::Sample { point, forks } => {
                    let rate = if point <= planted { rates.0 } else { rates.1 };
                    let failures = (0..forks).filter(|_| random.f64() < rate).count() as u32;
                    search.add(point, Tally { failures, samples: forks });
                }
                end => return (end, search.forks()),
            }
        }
    }

    #[test]
    fn a_planted_step_is_found_in_nine_of_ten_flows_with_at_most_200_forks() {
        for seed in 0..4 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut found = 0;
            for _ in 0..50 {
                let steps = random.usize(3..60);
                let planted = random.usize(..steps);
                let rates = (random.f64() * 0.5, 0.85 + random.f64() * 0.15);
                let (end, forks) = search(steps, planted, rates, &mut random);
                assert!(forks <= 200, "{forks}");
                found += u32::from(end == Next::Found(planted));
            }
            assert!(found >= 45, "{found} of 50 with seed {seed}");
        }
    }

    #[test]
    fn what_fails_from_the_beginning_was_decided_before_it() {
        let mut random = fastrand::Rng::with_seed(3);
        assert_eq!(search(10, 0, (1.0, 1.0), &mut random), (Next::BeforeFirst, 8));
        assert_eq!(Search::new(0, 8, 200, false).next(), Next::BeforeFirst);
    }

    #[test]
    fn a_deterministic_flow_costs_one_fork_a_point() {
        let mut search = Search::new(64, 8, 200, true);
        let mut asked = Vec::new();
        let end = loop {
            match search.next() {
                Next::Sample { point, forks } => {
                    assert_eq!(forks, 1);
                    asked.push(point);
                    search.add(point, Tally { failures: u32::from(point > 40), samples: 1 });
                }
                end => break end,
            }
        };
        assert_eq!(end, Next::Found(40));
        assert!(asked.len() <= 7, "{asked:?}");
    }

    #[test]
    fn too_few_forks_find_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut search = Search::new(40, 8, 10, false);
        let end = loop {
            match search.next() {
                Next::Sample { point, forks } => {
                    let failures = (0..forks).filter(|_| random.f64() < 0.4).count() as u32;
                    search.add(point, Tally { failures, samples: forks });
                }
                end => break end,
            }
        };
        assert_eq!((end, search.forks()), (Next::NotEnough, 10));
    }
}
