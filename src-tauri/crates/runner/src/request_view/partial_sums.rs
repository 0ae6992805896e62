//! Sums of the first numbers of a list, as a binary indexed tree: each step costs the logarithm of its length.

/// See the module.
#[derive(Clone, Default)]
pub(super) struct PartialSums {
    /// Each the sum of its own number and of some before it.
    sums: Vec<u32>,
    total: u32,
}

/// The lowest bit: how many numbers a sum covers.
fn low(at: usize) -> usize {
    at & at.wrapping_neg()
}

impl PartialSums {
    pub(super) fn of(numbers: impl Iterator<Item = u32>) -> Self {
        let mut sums: Vec<u32> = numbers.collect();
        let total = sums.iter().sum();
        for at in 1..=sums.len() {
            let sum = sums[at - 1];
            if let Some(above) = sums.get_mut(at + low(at) - 1) {
                *above += sum;
            }
        }
        PartialSums { sums, total }
    }

    /// The sum of all numbers.
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    pub(super) fn push(&mut self, number: u32) {
        let at = self.sums.len() + 1;
        let mut sum = number;
        let mut below = at - 1;
        while below > at - low(at) {
            sum += self.sums[below - 1];
            below -= low(below);
        }
        self.sums.push(sum);
        self.total += number;
    }

    /// Changes a number.
    pub(super) fn add(&mut self, at: u32, by: i64) {
        let mut at = at as usize + 1;
        while let Some(sum) = self.sums.get_mut(at - 1) {
            *sum = (i64::from(*sum) + by) as u32;
            at += low(at);
        }
        self.total = (i64::from(self.total) + by) as u32;
    }

    pub(super) fn get(&self, at: u32) -> u32 {
        self.before(at + 1) - self.before(at)
    }

    /// The sum of the numbers before a place.
    pub(super) fn before(&self, at: u32) -> u32 {
        let (mut at, mut sum) = (at as usize, 0);
        while at > 0 {
            sum += self.sums[at - 1];
            at -= low(at);
        }
        sum
    }

    /// The place whose number reaches beyond a count, and how much of the count is left there. The total must be more
    /// than the count.
    pub(super) fn find(&self, count: u32) -> (u32, u32) {
        let (mut at, mut rest) = (0, count);
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            if let Some(sum) = self.sums.get(at + step - 1).filter(|sum| **sum <= rest) {
                at += step;
                rest -= sum;
            }
            step /= 2;
        }
        (at as u32, rest)
    }

    /// Takes back memory that growing left over.
    pub(super) fn shrink(&mut self) {
        self.sums.shrink_to_fit();
    }
}
