//! How often each loopBack of a chain has jumped, and the path prefixes that follow from it.
//!
//! Every pass runs new instances of its blocks (SEMANTICS §3.4), so every pass needs its own paths: each loopBack
//! around a step puts its segment before the step's, the outer one first. Counts are never reset, so no path is
//! used twice.

use std::collections::BTreeMap;

/// The loopBacks of one chain that have jumped, by their index in it.
#[derive(Default)]
pub(crate) struct Passes(BTreeMap<usize, Pass>);

struct Pass {
    target: usize,
    jumps: u32,
}

impl Passes {
    /// Returns how often the loopBack at an index has jumped.
    pub(crate) fn jumps(&self, at: usize) -> u32 {
        self.0.get(&at).map_or(0, |pass| pass.jumps)
    }

    /// Counts one more jump.
    pub(crate) fn jump(&mut self, at: usize, target: usize) {
        self.0.entry(at).or_insert(Pass { target, jumps: 0 }).jumps += 1;
    }

    /// Returns the prefix of a step's segment: `loop[2]/`, or `loop~2[1]/loop[2]/` within two loopBacks, or nothing.
    /// `segment` returns a loopBack's own segment.
    pub(crate) fn before<'s>(&self, step: usize, segment: impl Fn(usize) -> &'s str) -> String {
        let mut around: Vec<(usize, &Pass)> = self
            .0
            .iter()
            .filter(|(at, pass)| (pass.target..**at).contains(&step))
            .map(|(at, pass)| (*at, pass))
            .collect();
        // The outer loop begins earlier, or ends later.
        around.sort_by_key(|(at, pass)| (pass.target, std::cmp::Reverse(*at)));
        around.iter().map(|(at, pass)| format!("{}[{}]/", segment(*at), pass.jumps)).collect()
    }
}
