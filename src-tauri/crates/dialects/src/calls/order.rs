//! The order of the Calls of a solution: a Call that reads a place waits for those that write it.
//!
//! Pure. Everything that waits is kept as bits, so that a thousand Calls which all read and write one place are ordered
//! in milliseconds.

use super::plan::Checked;

const BITS: usize = u64::BITS as usize;

/// A set of Calls, by their places in the solution.
#[derive(Clone, Debug, Default, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn of(count: usize) -> Set {
        Set(vec![0; count.div_ceil(BITS)])
    }

    fn insert(&mut self, at: usize) {
        self.0[at / BITS] |= 1 << (at % BITS);
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / BITS] & (1 << (at % BITS)) != 0
    }

    fn add(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, more)| *own |= more);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let bits = |word: u64| (0..BITS).filter(move |bit| word & (1 << bit) != 0);
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(move |(index, word)| bits(*word).map(move |bit| index * BITS + bit))
    }
}

/// For each Call the Calls that it waits for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Order {
    /// Those that have to end before it begins, directly.
    waits: Vec<Set>,
    /// All that have to end before it. In a cycle it is one of its own.
    ancestors: Vec<Set>,
}

impl Order {
    /// Of two Calls that write one place the later one waits, so that it is decided which of them is first.
    pub(super) fn of(calls: &[Option<Checked>]) -> Order {
        let count = calls.len();
        let mut waits = vec![Set::of(count); count];
        let writers: Vec<(usize, &Checked)> = calls
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((at, call.as_ref().filter(|call| !call.writes().is_empty())?)))
            .collect();
        for (at, call) in calls.iter().enumerate().filter_map(|(at, call)| Some((at, call.as_ref()?))) {
            if call.references.is_empty() {
                continue;
            }
            for (by, writer) in &writers {
                // What is there for all is seen by every instance.
                let reaches = writer.instance.is_none() || writer.instance == call.instance;
                // A Call may write over what it reads: it reads what is there before.
                if *by != at
                    && reaches
                    && call.reads().any(|read| writer.writes().iter().any(|written| read.overlaps(written)))
                {
                    waits[at].insert(*by);
                }
            }
        }
        let ancestors = closure(&waits);
        let mut order = Order { waits, ancestors };
        for (index, (at, later)) in writers.iter().enumerate() {
            // From the nearest on: whoever that one waits for is waited for already.
            for (by, earlier) in writers[..index].iter().rev() {
                let same = earlier.instance == later.instance
                    && later.writes().iter().any(|one| earlier.writes().iter().any(|other| one.overlaps(other)));
                if same && !order.ancestors[*at].contains(*by) && !order.ancestors[*by].contains(*at) {
                    order.wait(*at, *by);
                }
            }
        }
        order
    }

    /// Lets a Call wait for another one that does not wait for it.
    fn wait(&mut self, at: usize, by: usize) {
        self.waits[at].insert(by);
        let mut more = self.ancestors[by].clone();
        more.insert(by);
        for (one, ancestors) in self.ancestors.iter_mut().enumerate() {
            if one == at || ancestors.contains(at) {
                ancestors.add(&more);
            }
        }
    }

    /// Returns the Calls that it waits for itself.
    pub(super) fn waits_for(&self, at: usize) -> impl Iterator<Item = usize> {
        self.waits[at].iter()
    }

    /// Returns all Calls that have to end before it, in the order of the solution. In a cycle it is one of its own.
    pub(super) fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        self.ancestors[at].iter()
    }

    /// Returns whether a Call has to end before another one.
    pub(super) fn is_before(&self, one: usize, at: usize) -> bool {
        self.ancestors[at].contains(one)
    }

    /// Returns whether it waits for itself.
    pub(super) fn is_in_cycle(&self, at: usize) -> bool {
        self.is_before(at, at)
    }
}

/// Returns for each Call everything that it waits for, directly or not.
fn closure(waits: &[Set]) -> Vec<Set> {
    let mut all = waits.to_vec();
    for over in 0..all.len() {
        let through = all[over].clone();
        for from in &mut all {
            if from.contains(over) {
                from.add(&through);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_found_through_others_and_around_cycles() {
        let sets = |lists: &[&[usize]]| -> Vec<Set> {
            let mut all = vec![Set::of(lists.len()); lists.len()];
            lists.iter().enumerate().for_each(|(at, list)| list.iter().for_each(|one| all[at].insert(*one)));
            all
        };
        let found = |lists: &[&[usize]]| -> Vec<Vec<usize>> {
            closure(&sets(lists)).iter().map(|set| set.iter().collect()).collect()
        };
        assert_eq!(found(&[&[], &[0], &[1], &[1, 0]]), [vec![], vec![0], vec![0, 1], vec![0, 1]]);
        assert_eq!(found(&[&[1], &[0], &[1]]), [vec![0, 1], vec![0, 1], vec![0, 1]]);
        assert_eq!(found(&[&[0]]), [vec![0]]);
    }
}
