//! The coverage of a request: how often and when each execution ran each statement. Questions use it to find the
//! executions that they are about. Must not compute it: `first_pass` does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use engine::event::Seq;
use script::{Execution, Ran, Spell, Stretch};
use serde::{Deserialize, Serialize};

use crate::core::sync::lock;

/// How many coverages a process keeps.
const KEPT: usize = 16;

/// The statements that each execution of a request ran.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    recorded: RecordedCoverage,
    /// The index of each execution in `recorded.ran`.
    places: HashMap<Execution, usize>,
    /// For each execution, the indexes of its spells in `recorded.spells`, in order of its statements.
    spells_of: Vec<Vec<u32>>,
}

/// The part of a coverage that the cache stores.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordedCoverage {
    pub(super) ran: Vec<Ran>,
    /// Each `seq` is that of a recorded event, not of the replay.
    pub(super) spells: Vec<Spell>,
    /// Whether the log has a placeholder for a secret that a block made.
    pub(super) is_redacted: bool,
}

/// The newest coverages, by a key of everything that they depend on.
#[derive(Default)]
pub(crate) struct Coverages(Mutex<VecDeque<(String, Option<Arc<Coverage>>)>>);

impl Coverages {
    /// Returns a known coverage by its key; `Some(None)` if a replay of the request differs.
    pub(super) fn get(&self, of: &str) -> Option<Option<Arc<Coverage>>> {
        lock(&self.0).iter().find(|(known, _)| known == of).map(|(_, known)| known.clone())
    }

    pub(super) fn keep(&self, of: String, coverage: Option<Arc<Coverage>>) {
        let mut kept = lock(&self.0);
        kept.push_back((of, coverage));
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
}

impl Coverage {
    /// Builds the indexes that questions use.
    pub(super) fn of(recorded: RecordedCoverage) -> Coverage {
        let execution = |ran: &Ran| Execution { path: ran.path.clone(), attempt: ran.attempt };
        let places = recorded.ran.iter().enumerate().map(|(at, ran)| (execution(ran), at)).collect();
        let mut spells_of = vec![Vec::new(); recorded.ran.len()];
        for (at, spell) in recorded.spells.iter().enumerate() {
            if let Some(of) = spells_of.get_mut(spell.of as usize) {
                of.push(at as u32);
            }
        }
        Coverage { recorded, places, spells_of }
    }

    /// Whether the log lacks a secret that a block made: secrets are not recorded.
    pub(super) fn is_redacted(&self) -> bool {
        self.recorded.is_redacted
    }

    /// What an execution ran; `None` if it ran no statement.
    pub(super) fn ran(&self, execution: &Execution) -> Option<&Ran> {
        self.recorded.ran.get(*self.places.get(execution)?).filter(|ran| ran.ticks > 0)
    }

    /// How often each statement ran, in all executions.
    pub(super) fn counts(&self) -> HashMap<u32, u64> {
        let mut counts = HashMap::new();
        for (site, hits) in self.recorded.ran.iter().flat_map(|ran| &ran.hits) {
            *counts.entry(*site).or_default() += hits;
        }
        counts
    }

    /// How often some statements ran; without `sites`, all statements.
    pub(super) fn total(&self, sites: Option<&[u32]>) -> u64 {
        self.recorded.ran.iter().map(|ran| hits_of(ran, sites)).sum()
    }

    /// Returns the executions that ran some statements, in the order in which they began. With a limit, only executions
    /// that may have one of the first `limit` runs.
    pub(super) fn reached(&self, sites: Option<&[u32]>, limit: Option<u64>) -> Vec<Execution> {
        let spells = &self.recorded.spells;
        let span = |at: usize| {
            let of = &self.spells_of[at];
            let (first, last) = (spells[*of.first()? as usize], spells[*of.last()? as usize]);
            Some((first.order, last.order + last.count))
        };
        let all = self.recorded.ran.iter().enumerate();
        let mut reached: Vec<_> = all
            .filter_map(|(at, ran)| Some((span(at)?, hits_of(ran, sites), ran)).filter(|(_, hits, _)| *hits > 0))
            .collect();
        reached.sort_by_key(|((began, _), ..)| *began);
        if let Some(limit) = limit {
            let (mut found, mut until) = (0, 0);
            // An execution that began before the limit was reached may have one of these runs.
            reached.retain(|((began, ended), hits, _)| {
                let is_wanted = found < limit || *began < until;
                if found < limit {
                    until = until.max(*ended);
                }
                found += hits;
                is_wanted
            });
        }
        reached.into_iter().map(|(.., ran)| Execution { path: ran.path.clone(), attempt: ran.attempt }).collect()
    }

    /// Returns the number of an execution's statement among those of all executions, and the recorded event before it.
    pub(super) fn at(&self, execution: &Execution, tick: u64) -> Option<(u64, Seq)> {
        let of = &self.spells_of[*self.places.get(execution)?];
        let spells = &self.recorded.spells;
        let after = of.partition_point(|at| spells[*at as usize].tick <= tick);
        let spell = spells[of[after.checked_sub(1)?] as usize];
        (tick < spell.tick + spell.count).then(|| (spell.order + (tick - spell.tick), spell.seq))
    }

    /// Returns in which order the executions ran their statements.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for spell in &self.recorded.spells {
            let ran = &self.recorded.ran[spell.of as usize];
            match stretches.last_mut() {
                Some(last)
                    if last.order + last.count == spell.order
                        && last.execution.path == ran.path
                        && last.execution.attempt == ran.attempt =>
                {
                    last.count += spell.count;
                }
                _ => stretches.push(Stretch {
                    execution: Execution { path: ran.path.clone(), attempt: ran.attempt },
                    tick: spell.tick,
                    order: spell.order,
                    count: spell.count,
                }),
            }
        }
        stretches
    }
}

/// How often an execution ran some statements; without `sites`, all statements.
fn hits_of(ran: &Ran, sites: Option<&[u32]>) -> u64 {
    match sites {
        None => ran.ticks,
        Some(sites) => ran.hits.iter().filter(|(site, _)| sites.contains(site)).map(|(_, hits)| hits).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(path: &str, hits: &[(u32, u64)]) -> Ran {
        let ticks = hits.iter().map(|(_, hits)| hits).sum();
        Ran { path: path.into(), attempt: 0, ticks, digest: 0, hits: hits.to_vec() }
    }

    fn coverage() -> Coverage {
        // a and b side by side, and then c.
        let spell = |of, tick, order, count, seq| Spell { of, tick, order, count, seq };
        let spells = vec![
            spell(0, 1, 1, 2, 3),
            spell(1, 1, 3, 1, 4),
            spell(0, 3, 4, 1, 4),
            spell(2, 1, 5, 1, 9),
            spell(2, 2, 6, 1, 10),
        ];
        let ran = vec![ran("a", &[(1, 2), (2, 1)]), ran("b", &[(1, 1)]), ran("c", &[(2, 2)])];
        Coverage::of(RecordedCoverage { ran, spells, is_redacted: false })
    }

    fn names(executions: &[Execution]) -> Vec<&str> {
        executions.iter().map(|execution| &*execution.path).collect()
    }

    #[test]
    fn reached_finds_the_executions_that_ran_a_statement() {
        let coverage = coverage();
        assert_eq!(names(&coverage.reached(Some(&[1]), None)), ["a", "b"]);
        assert_eq!(names(&coverage.reached(Some(&[2]), None)), ["a", "c"]);
        assert_eq!(names(&coverage.reached(Some(&[7]), None)), [""; 0]);
        assert_eq!(names(&coverage.reached(None, None)), ["a", "b", "c"]);
        assert_eq!((coverage.total(Some(&[1])), coverage.total(Some(&[2])), coverage.total(None)), (3, 3, 6));
        assert_eq!(coverage.counts(), HashMap::from([(1, 3), (2, 3)]));
    }

    #[test]
    fn executions_that_began_after_the_limit_was_reached_are_left_out() {
        let coverage = coverage();
        // b began before a had ended.
        assert_eq!(names(&coverage.reached(None, Some(1))), ["a", "b"]);
        assert_eq!(names(&coverage.reached(Some(&[2]), Some(1))), ["a"]);
    }

    #[test]
    fn statements_are_numbered_across_executions() {
        let coverage = coverage();
        let execution = |path: &str| Execution { path: path.into(), attempt: 0 };
        assert_eq!(coverage.at(&execution("a"), 2), Some((2, 3)));
        assert_eq!(coverage.at(&execution("a"), 3), Some((4, 4)));
        assert_eq!(coverage.at(&execution("a"), 4), None);
        assert_eq!(coverage.at(&execution("b"), 1), Some((3, 4)));
        assert_eq!(coverage.at(&execution("gone"), 1), None);
        let stretches = coverage.stretches();
        let stretches: Vec<_> = stretches.iter().map(|it| (&*it.execution.path, it.tick, it.order, it.count)).collect();
        assert_eq!(stretches, [("a", 1, 1, 2), ("b", 1, 3, 1), ("a", 3, 4, 1), ("c", 1, 5, 2)]);
    }
}
