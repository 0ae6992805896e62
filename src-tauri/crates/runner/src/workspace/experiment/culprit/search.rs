//! The search for the step at which a failure was decided: which fork points to sample next, by what was seen so far.
//!
//! Forks from before the deciding step fail by chance, forks from after it as the recording did. Both rates are
//! unknown, so every step has a probability of being the deciding one, summed over all pairs of rates. Each round
//! samples the point that halves this probability (Burnashev and Zigangirov 1974), until one step has nearly all of it;
//! then the two points around that step are sampled until the interval of their difference excludes 0. Must not run
//! anything.

use crate::workspace::experiment::statistics::{difference, rate};

/// What was seen of forks from one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) failures: u32,
    pub(crate) samples: u32,
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally { failures: self.failures + other.failures, samples: self.samples + other.samples }
    }

    /// The logarithm of the probability of this tally, if each fork fails with a rate.
    fn log_likelihood(self, rate: f64) -> f64 {
        f64::from(self.failures) * rate.ln() + f64::from(self.samples - self.failures) * (1.0 - rate).ln()
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
    /// So few forks do not tell.
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
}

/// How many forks are run between two looks.
const ROUND: u32 = 4;
/// Nothing is left to be decided if the rate before the first step is surely at least this.
const DECIDED: f64 = 0.8;
/// How many forks from before the first step may look into that before the search goes on.
const MAX_FIRST: u32 = 40;
/// The likelihood ratio, as a logarithm, at which something is left to be decided: one error in twenty.
const OPEN: f64 = 3.0;
/// How probable the deciding step is at least.
const CLEAR: f64 = 0.95;
/// The rates that forks from before and from after the deciding step may have; a flow may fail now and then for other
/// reasons, and may now and then not fail.
const BEFORE: [f64; 12] = [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9];
/// The second ones with how likely they are: the recording was one such run, and most flows repeat it.
const AFTER: [(f64, f64); 5] = [(0.8, 0.05), (0.9, 0.15), (0.95, 0.2), (0.98, 0.25), (0.995, 0.35)];
/// The rate behind the last step, less what a recording may be by chance.
const LAST: f64 = 0.97;
/// How far the two rates are apart at least.
const APART: f64 = 0.09;

impl Search {
    /// A search among so many steps with at most `most` forks.
    pub(crate) fn new(steps: usize, wanted: u32, most: u32, is_deterministic: bool) -> Search {
        let points = vec![Tally::default(); steps];
        let wanted = if is_deterministic { 1 } else { wanted.max(2) };
        Search { points, wanted, most, unjudged: 0, is_deterministic }
    }

    /// Goes on among forks that differ by chance: one drew something, although the request had not.
    pub(crate) fn differ_by_chance(&mut self, wanted: u32) {
        (self.is_deterministic, self.wanted) = (false, wanted.max(2));
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
            *point = point.plus(seen);
        }
    }

    /// Decides what is next.
    pub(crate) fn next(&self) -> Next {
        let Some(first) = self.points.first().copied() else { return Next::BeforeFirst };
        if first.samples < self.wanted {
            return self.sample(0, self.wanted - first.samples);
        }
        if self.is_deterministic {
            return self.halve(first);
        }
        if rate(first.failures, first.samples).low >= DECIDED {
            return Next::BeforeFirst;
        }
        let is_open = first.log_likelihood(DECIDED) - first.log_likelihood(0.95) >= OPEN;
        if !is_open && first.samples < MAX_FIRST {
            return self.sample(0, ROUND);
        }
        if self.points.len() == 1 {
            return self.confirm(0);
        }
        let Deciding { step, probability, middle } = self.deciding();
        if probability < CLEAR { self.sample(middle, ROUND) } else { self.confirm(step) }
    }

    fn sample(&self, point: usize, forks: u32) -> Next {
        match self.most.saturating_sub(self.forks()) {
            0 => Next::NotEnough,
            left => Next::Sample { point, forks: forks.min(left) },
        }
    }

    /// Halves the steps where one fork from a point tells all.
    fn halve(&self, first: Tally) -> Next {
        if first.failures > 0 {
            return Next::BeforeFirst;
        }
        let (mut low, mut high) = (0, self.points.len());
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            match self.points[middle] {
                Tally { samples: 0, .. } => return self.sample(middle, 1),
                Tally { failures: 0, .. } => low = middle,
                _ => high = middle,
            }
        }
        Next::Found(low)
    }

    /// Weighs the steps, of which there are at least two. Between two points that were sampled, all steps are equally
    /// probable.
    fn deciding(&self) -> Deciding {
        let steps = self.points.len();
        let all = self.points.iter().fold(Tally::default(), |sum, point| sum.plus(*point));
        // The ends of the parts in which steps are alike, and the sum of the tallies up to there.
        let (mut parts, mut sum, mut from) = (Vec::new(), Tally::default(), 0);
        for (at, point) in self.points.iter().enumerate().filter(|(_, point)| point.samples > 0) {
            if at > from {
                parts.push((from..at, sum));
                from = at;
            }
            sum = sum.plus(*point);
        }
        parts.push((from..steps, sum));
        let weight_of = |before: Tally| -> f64 {
            let after = Tally { failures: all.failures - before.failures, samples: all.samples - before.samples };
            let pairs = BEFORE.iter().flat_map(|low| AFTER.iter().map(move |high| (*low, *high)));
            let pairs = pairs.filter(|(low, (high, _))| high - low > APART);
            pairs
                .map(|(low, (high, share))| share * (before.log_likelihood(low) + after.log_likelihood(high)).exp())
                .sum()
        };
        let weighed: Vec<(std::ops::Range<usize>, f64)> =
            parts.into_iter().map(|(steps, before)| (steps, weight_of(before))).collect();
        let total: f64 = weighed.iter().map(|(steps, weight)| steps.len() as f64 * weight).sum();
        let (mut step, mut best, mut middle, mut below) = (0, -1.0, None, 0.0);
        for (steps, weight) in weighed {
            if weight > best {
                (step, best) = (steps.start, weight);
            }
            let part = steps.len() as f64 * weight;
            if middle.is_none() && below + part >= total / 2.0 {
                let inside = ((total / 2.0 - below) / weight).round() as usize;
                middle = Some((steps.start + inside.min(steps.len())).clamp(1, self.points.len() - 1));
            }
            below += part;
        }
        Deciding { step, probability: best / total, middle: middle.unwrap_or(0) }
    }

    /// Samples the points around a step until their difference is beyond doubt.
    fn confirm(&self, step: usize) -> Next {
        let (low, high) = (self.points[step], self.points.get(step + 1).copied());
        for (point, tally) in [(step, Some(low)), (step + 1, high)] {
            if let Some(tally) = tally.filter(|tally| tally.samples < self.wanted) {
                return self.sample(point, (self.wanted - tally.samples).max(1));
            }
        }
        let jump = match high {
            Some(high) => difference((high.failures, high.samples), (low.failures, low.samples)).low,
            // Behind the last step the outcome is known.
            None => LAST - rate(low.failures, low.samples).high,
        };
        if jump > 0.0 {
            return Next::Found(step);
        }
        match high {
            Some(high) if high.samples < low.samples => self.sample(step + 1, ROUND),
            _ => self.sample(step, ROUND),
        }
    }
}

/// What is known of the deciding step.
struct Deciding {
    /// The most probable one.
    step: usize,
    /// How probable it is.
    probability: f64,
    /// The point that has half of the probability before it.
    middle: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches in a made-up flow: forks from before the planted step fail with one rate, those from after it with
    /// another.
    fn search(steps: usize, planted: usize, rates: (f64, f64), random: &mut fastrand::Rng) -> (Next, u32) {
        search_with(8, steps, planted, rates, random)
    }

    fn search_with(
        wanted: u32,
        steps: usize,
        planted: usize,
        rates: (f64, f64),
        random: &mut fastrand::Rng,
    ) -> (Next, u32) {
        let mut search = Search::new(steps, wanted, 200, false);
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

    /// Seven of eight forks, or two of two, were taken for a flow that always fails.
    #[test]
    fn a_step_that_fails_seven_times_in_ten_is_found() {
        for (wanted, steps) in [(8, 21), (2, 21), (8, 60)] {
            let mut random = fastrand::Rng::with_seed(5);
            let (rounds, mut found, mut before) = (400, 0, 0);
            for _ in 0..rounds {
                let planted = random.usize(..steps);
                let (end, forks) = search_with(wanted, steps, planted, (0.7, 1.0), &mut random);
                assert!(forks <= 200, "{forks}");
                found += u32::from(end == Next::Found(planted));
                before += u32::from(end == Next::BeforeFirst);
            }
            assert!(found * 10 >= rounds * 9 && before * 50 <= rounds, "{found} and {before} of {rounds} in {steps}");
        }
    }

    /// A search that cannot tell says so, and names no wrong step.
    #[test]
    fn what_is_hard_to_tell_is_seldom_told_wrong() {
        for rates in [(0.85, 0.95), (0.9, 1.0), (0.6, 0.9), (0.3, 0.8)] {
            let mut random = fastrand::Rng::with_seed(11);
            let (rounds, mut wrong) = (200, 0);
            for _ in 0..rounds {
                let planted = random.usize(..21);
                let (end, _) = search(21, planted, rates, &mut random);
                wrong += u32::from(matches!(end, Next::Found(step) if step != planted));
            }
            assert!(wrong * 10 <= rounds, "{wrong} of {rounds} with {rates:?}");
        }
    }

    #[test]
    fn what_fails_from_the_beginning_was_decided_before_it() {
        let mut random = fastrand::Rng::with_seed(3);
        assert_eq!(search(10, 0, (1.0, 1.0), &mut random), (Next::BeforeFirst, 16));
        assert_eq!(Search::new(0, 8, 200, false).next(), Next::BeforeFirst);
    }

    #[test]
    fn one_step_is_the_deciding_one_or_the_failure_was_decided_before_it() {
        let mut random = fastrand::Rng::with_seed(7);
        assert!(matches!(search(1, 0, (0.5, 1.0), &mut random).0, Next::Found(0)));
        assert!(matches!(search(1, 0, (0.0, 1.0), &mut random).0, Next::Found(0)));
        assert_eq!(search(1, 0, (1.0, 1.0), &mut random).0, Next::BeforeFirst);
        for (failures, end) in [(0, Next::Found(0)), (1, Next::BeforeFirst)] {
            let mut search = Search::new(1, 8, 200, true);
            assert_eq!(search.next(), Next::Sample { point: 0, forks: 1 });
            search.add(0, Tally { failures, samples: 1 });
            assert_eq!(search.next(), end);
        }
        for is_deterministic in [false, true] {
            assert_eq!(Search::new(0, 8, 200, is_deterministic).next(), Next::BeforeFirst);
        }
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
    fn a_search_goes_on_when_a_fork_draws_something() {
        let mut search = Search::new(10, 8, 200, true);
        assert_eq!(search.next(), Next::Sample { point: 0, forks: 1 });
        search.add(0, Tally { failures: 1, samples: 1 });
        search.differ_by_chance(8);
        assert_eq!(search.next(), Next::Sample { point: 0, forks: 7 });
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
