//! Which samples may begin with a spent budget: those that may ask only what another arm has asked for the same sample
//! number, so that they share its answers.
//!
//! What a sample asks is known when it asks. Before, it is judged by what the arms differ in. Must not know a budget.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;

use serde_json::json;

use super::axes::Arm;
use crate::core::sync::lock;

/// How many arms may turn out to ask something else. Each leaves a sample that was stopped, and after so many no other
/// sample begins with a spent budget.
const MAX_OTHERS: usize = 5;

/// The arms of an experiment that ask models the same, as far as that is known before they run.
#[derive(Default)]
pub(super) struct Twins {
    /// The group of each arm. Empty if no answers are shared.
    groups: HashMap<u32, usize>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The group and the number of samples that ask, or have asked.
    asked: HashSet<(usize, u32)>,
    /// The arms that ask something else than those of their group.
    others: HashSet<u32>,
    /// The arm and the number of each sample that was stopped before it was known whether it asks the same.
    interrupted: BTreeSet<(u32, u32)>,
}

impl Twins {
    /// Groups arms by the model, the texts and the parameters of their calls. Arms that differ in state, output or code
    /// may ask the same.
    pub(super) fn of(arms: &[(u32, Arm)]) -> Twins {
        let mut known: HashMap<String, usize> = HashMap::new();
        let group = |(number, arm): &(u32, Arm)| {
            let texts: Vec<_> = arm.prompts.iter().map(|prompt| (prompt.field, &prompt.text)).collect();
            let asked = json!({ "model": arm.model, "texts": texts, "options": arm.options }).to_string();
            let next = known.len();
            (*number, *known.entry(asked).or_insert(next))
        };
        Twins { groups: arms.iter().map(group).collect(), seen: Mutex::default() }
    }

    /// A sample has begun that asks.
    pub(super) fn asks(&self, arm: u32, number: u32) {
        if let Some(group) = self.groups.get(&arm) {
            lock(&self.seen).asked.insert((*group, number));
        }
    }

    /// Whether a sample may find all answers that it needs: one of its number has asked, of an arm of its group.
    pub(super) fn may_share(&self, arm: u32, number: u32) -> bool {
        let Some(group) = self.groups.get(&arm) else { return false };
        let seen = lock(&self.seen);
        let is_interrupted = seen.interrupted.range((arm, 0)..=(arm, u32::MAX)).next().is_some();
        let is_compared = !seen.others.contains(&arm) && !is_interrupted;
        seen.others.len() < MAX_OTHERS && is_compared && seen.asked.contains(&(*group, number))
    }

    /// A sample of an arm has asked what no other one had asked.
    pub(super) fn asks_otherwise(&self, arm: u32) {
        lock(&self.seen).others.insert(arm);
    }

    /// A sample of an arm was stopped: what it would have asked is not known.
    pub(super) fn was_interrupted(&self, arm: u32, number: u32) {
        lock(&self.seen).interrupted.insert((arm, number));
    }

    /// A sample of an arm went on to its end, and asked nothing that another one had not asked.
    pub(super) fn has_gone_on(&self, arm: u32, number: u32) {
        lock(&self.seen).interrupted.remove(&(arm, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(model: Option<&str>, n: u32) -> Arm {
        let set = vec![("session.n".to_owned(), json!(n))];
        Arm { model: model.map(str::to_owned), set, ..Arm::default() }
    }

    #[test]
    fn arms_that_differ_in_state_alone_may_share() {
        let arms = [(0, Arm::default()), (1, arm(None, 1)), (2, arm(None, 2)), (3, arm(Some("m"), 1))];
        let twins = Twins::of(&arms);
        assert!(!twins.may_share(1, 1), "none has asked");
        twins.asks(0, 1);
        assert!(twins.may_share(1, 1) && twins.may_share(2, 1));
        assert!(!twins.may_share(3, 1), "it asks another model");
        assert!(!twins.may_share(1, 2), "samples of another number ask for themselves");
        twins.asks_otherwise(1);
        assert!(!twins.may_share(1, 1) && twins.may_share(2, 1));
        assert!(!Twins::default().may_share(1, 1));
    }

    /// Those that a killed process left say nothing of the other arms.
    #[test]
    fn an_arm_that_was_interrupted_is_not_one_that_asks_otherwise() {
        let arms: Vec<(u32, Arm)> = (0..20).map(|n| (n, arm(None, n))).collect();
        let twins = Twins::of(&arms);
        twins.asks(0, 1);
        for arm in 1..=2 * MAX_OTHERS as u32 {
            twins.was_interrupted(arm, 1);
        }
        twins.was_interrupted(1, 2);
        assert!(!twins.may_share(1, 1), "whether it asks the same is not known");
        assert!(twins.may_share(19, 1), "the others are as they were");
        twins.has_gone_on(1, 1);
        assert!(!twins.may_share(1, 3), "its second sample was interrupted, too");
        twins.has_gone_on(1, 2);
        assert!(twins.may_share(1, 1) && !twins.may_share(2, 1));
        twins.asks_otherwise(1);
        twins.has_gone_on(1, 1);
        assert!(!twins.may_share(1, 1), "it was compared");
    }

    #[test]
    fn few_samples_begin_in_vain() {
        let arms: Vec<(u32, Arm)> = (0..20).map(|n| (n, arm(None, n))).collect();
        let twins = Twins::of(&arms);
        twins.asks(0, 1);
        for arm in 1..=MAX_OTHERS as u32 {
            assert!(twins.may_share(arm, 1), "{arm}");
            twins.asks_otherwise(arm);
        }
        assert!(!twins.may_share(19, 1));
    }
}
