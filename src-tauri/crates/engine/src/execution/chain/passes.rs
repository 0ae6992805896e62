//! How often a chain's loopBacks have sent it back, and what that makes of its children's paths.
//!
//! Every pass gives its children instances of their own (SEMANTICS §3.4), so every pass needs
//! paths of its own: each loopBack that a step stands in puts its segment before the step's, the
//! outer one first. Counts are never set back, so no path comes twice.

use std::collections::BTreeMap;

/// The loopBacks of one chain that have jumped, by their place in it.
#[derive(Default)]
pub(crate) struct Passes(BTreeMap<usize, Pass>);

struct Pass {
    target: usize,
    jumps: u32,
}

impl Passes {
    /// How often the loopBack at a place has jumped.
    pub(crate) fn jumps(&self, at: usize) -> u32 {
        self.0.get(&at).map_or(0, |pass| pass.jumps)
    }

    /// Counts one more jump.
    pub(crate) fn jump(&mut self, at: usize, target: usize) {
        self.0.entry(at).or_insert(Pass { target, jumps: 0 }).jumps += 1;
    }

    /// What stands before the segment of a step: `loop[2]/`, or `loop~2[1]/loop[2]/` within two, or
    /// nothing. `segment` gives a loopBack's own segment.
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
