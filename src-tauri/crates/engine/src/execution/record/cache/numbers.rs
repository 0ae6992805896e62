//! The ordinals of a block's effects, as a resume counts them.
//!
//! A resume does not call a callback again that has returned, so its effects take no ordinals then, and the effects
//! after them get lower ones than recorded. Must not know which effects there are.

use std::collections::{BTreeMap, HashMap};

use super::Attempt;
use crate::model::event::Seq;

/// Where an effect is recorded.
#[derive(Clone, Debug)]
struct Place {
    attempt: Attempt,
    /// Its recorded ordinal.
    ordinal: u32,
    seq: Seq,
}

/// The effects of one kind of one block, by the ordinals that a resume counts.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    effects: BTreeMap<u32, (Place, T)>,
    /// The recorded ordinals of effects of callbacks that have returned, in ascending order.
    gone: HashMap<Attempt, Vec<u32>>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { effects: BTreeMap::new(), gone: HashMap::new() }
    }
}

impl<T> Numbered<T> {
    /// Returns the effect to which a resume gives this ordinal.
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.effects.get(&number).map(|(_, effect)| effect)
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.effects.len()
    }

    /// Iterates over all effects.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.effects.values_mut().map(|(_, effect)| effect)
    }

    /// Adds an effect with its recorded ordinal.
    pub(super) fn insert(&mut self, attempt: &Attempt, ordinal: u32, seq: Seq, effect: T) {
        let place = Place { attempt: attempt.clone(), ordinal, seq };
        self.effects.insert(self.number(&place), (place, effect));
    }

    /// Removes the effects of a callback that has returned, and renumbers the others.
    pub(super) fn take_out(&mut self, is_own: impl Fn(Seq) -> bool) {
        let (own, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.effects).into_iter().partition(|(_, (place, _))| is_own(place.seq));
        for (_, (Place { attempt, ordinal, .. }, _)) in own {
            let gone = self.gone.entry(attempt).or_default();
            gone.insert(gone.partition_point(|at| *at < ordinal), ordinal);
        }
        self.effects = rest.into_iter().map(|(_, (place, effect))| (self.number(&place), (place, effect))).collect();
    }

    /// Removes the last effect.
    pub(super) fn pop(&mut self) {
        self.effects.pop_last();
    }

    fn number(&self, place: &Place) -> u32 {
        let gone = self.gone.get(&place.attempt).map_or(0, |gone| gone.partition_point(|at| *at < place.ordinal));
        place.ordinal - gone as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockRun;
    use super::*;

    #[test]
    fn what_comes_after_a_function_has_the_lower_numbers() {
        let run = |attempt| ("root".into(), BlockRun { attempt, resumed: 0 });
        let (first, second): (Attempt, Attempt) = (run(0), run(1));
        let mut numbered = Numbered::default();
        for (ordinal, name) in ["own", "function", "later"].into_iter().enumerate() {
            numbered.insert(&first, ordinal as u32, ordinal as Seq, name);
        }
        numbered.take_out(|seq| seq == 1);
        numbered.insert(&first, 3, 3, "last");
        let found: Vec<_> = (0..4).filter_map(|number| numbered.get(number).copied()).collect();
        assert_eq!(found, ["own", "later", "last"]);
        // The next attempt does not call the function.
        numbered.insert(&second, 2, 9, "again");
        assert_eq!((numbered.get(1), numbered.get(2)), (Some(&"later"), Some(&"again")));
    }
}
