//! Records what each execution of a block runs: how often each statement, in which order, and between which events.
//!
//! It is called for every statement, so it does little: the executions between which statements alternate are few.

use std::collections::{BTreeSet, HashMap};

use crate::vm::probed::{Execution, Probed, Ran, Spell};

/// What a digest is multiplied by for each statement (FNV-1a).
const PRIME: u64 = 0x0100_0000_01b3;
/// An empty digest.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Records the statements of executions.
#[derive(Default)]
pub(super) struct Recorder {
    /// Whether hits and spells are recorded, too.
    has_all: bool,
    /// By the number of the execution, less 1.
    ran: Vec<Digest>,
    hits: HashMap<(u32, u32), u64>,
    spells: Vec<Spell>,
    operations: BTreeSet<String>,
}

/// The statements of one execution so far.
#[derive(Clone, Copy)]
struct Digest {
    ticks: u64,
    digest: u64,
}

impl Recorder {
    /// Records everything.
    pub(super) fn of_all() -> Recorder {
        Recorder { has_all: true, ..Recorder::default() }
    }

    /// Records only which statements they are.
    pub(super) fn of_digests() -> Recorder {
        Recorder::default()
    }

    /// An operation of the host was asked for.
    pub(super) fn asked(&mut self, operation: &str) {
        if !self.has_all && !self.operations.contains(operation) {
            self.operations.insert(operation.to_owned());
        }
    }

    /// A statement of an execution is about to run.
    pub(super) fn ran(&mut self, id: u32, site: u32, order: u64, newest: impl FnOnce() -> u64) {
        let Some(of) = id.checked_sub(1) else { return };
        if self.ran.len() <= of as usize {
            self.ran.resize(of as usize + 1, Digest { ticks: 0, digest: BASIS });
        }
        let ran = &mut self.ran[of as usize];
        ran.ticks += 1;
        ran.digest = (ran.digest ^ u64::from(site)).wrapping_mul(PRIME);
        if !self.has_all {
            return;
        }
        *self.hits.entry((of, site)).or_default() += 1;
        let seq = newest();
        match self.spells.last_mut() {
            Some(last) if last.of == of && last.seq == seq && last.order + last.count == order => last.count += 1,
            _ => self.spells.push(Spell { of, tick: ran.ticks, order, count: 1, seq }),
        }
    }

    /// Adds what was recorded. `executions` are those of the numbers.
    pub(super) fn write(self, executions: &[Execution], probed: &mut Probed) {
        let known = executions.iter().enumerate().map(|(at, execution)| {
            let Digest { ticks, digest } = self.ran.get(at).copied().unwrap_or(Digest { ticks: 0, digest: BASIS });
            let Execution { path, attempt } = execution.clone();
            Ran { path, attempt, ticks, digest, hits: Vec::new() }
        });
        probed.ran = known.collect();
        for ((of, site), hits) in self.hits {
            if let Some(ran) = probed.ran.get_mut(of as usize) {
                ran.hits.push((site, hits));
            }
        }
        probed.ran.iter_mut().for_each(|ran| ran.hits.sort_unstable());
        probed.spells = self.spells;
        probed.operations = self.operations;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(path: &str) -> Execution {
        Execution { path: path.into(), attempt: 0 }
    }

    fn recorded(recorder: Recorder) -> Probed {
        let mut probed = Probed::default();
        recorder.write(&[execution("a"), execution("b")], &mut probed);
        probed
    }

    #[test]
    fn statements_are_counted_by_execution_and_by_spell() {
        let mut recorder = Recorder::of_all();
        // Who, which statement, and the newest event.
        let ran = [(1, 7, 3), (1, 8, 3), (2, 7, 3), (1, 7, 3), (1, 8, 4)];
        for (at, (id, site, seq)) in ran.into_iter().enumerate() {
            recorder.ran(id, site, at as u64 + 1, || seq);
        }
        recorder.ran(0, 7, 6, || 4);
        let probed = recorded(recorder);
        assert_eq!(probed.ran[0].hits, [(7, 2), (8, 2)]);
        assert_eq!((probed.ran[1].ticks, &probed.ran[1].hits[..]), (1, &[(7, 1)][..]));
        let spells: Vec<_> = probed.spells.iter().map(|it| (it.of, it.tick, it.order, it.count, it.seq)).collect();
        assert_eq!(spells, [(0, 1, 1, 2, 3), (1, 1, 3, 1, 3), (0, 3, 4, 1, 3), (0, 4, 5, 1, 4)]);
    }

    #[test]
    fn a_digest_depends_on_the_order_of_the_statements() {
        let digest = |sites: &[u32]| {
            let mut recorder = Recorder::of_digests();
            sites.iter().for_each(|site| recorder.ran(1, *site, 0, || 0));
            let probed = recorded(recorder);
            assert!(probed.spells.is_empty() && probed.ran[0].hits.is_empty());
            probed.ran[0].digest
        };
        assert_eq!(digest(&[1, 2, 3]), digest(&[1, 2, 3]));
        assert_ne!(digest(&[1, 2, 3]), digest(&[2, 1, 3]));
        assert_ne!(digest(&[1]), digest(&[1, 1]));
    }
}
