//! What tells the turns of a loop and the entries of a list from each other: words of what each was called with. They
//! are read for the rows that are shown, so that a request costs nothing for the others.

use std::collections::HashMap;

use engine::event::Seq;

use super::tree::Node;
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{GroupOf, ViewRow};

/// When more are known, all are forgotten, and those that are shown are read again.
const MOST_KEPT: usize = 8_192;
/// So many turns of a loop, from its first one on, are compared to find out whether their words tell them apart.
const MOST_COMPARED: usize = 32;

impl RequestView {
    /// Adds the words to rows whose place has an index, unless all turns of their loop have the same ones.
    pub(crate) fn add_words(&mut self, source: &impl Source, rows: &mut [ViewRow]) -> Result<(), Fault> {
        let loops = self.loops(rows);
        let wanted = || {
            let turns = rows.iter().filter(|row| is_turn(row)).map(|row| row.seq_start);
            turns.chain(loops.values().flatten().copied())
        };
        let mut unread: Vec<Seq> = wanted().filter(|seq| !self.words.contains_key(seq)).collect();
        if self.words.len() + unread.len() > MOST_KEPT {
            self.words.clear();
            unread = wanted().collect();
        }
        unread.sort_unstable();
        unread.dedup();
        if !unread.is_empty() {
            let words = source.words(&unread)?;
            self.words.extend(unread.into_iter().zip(words));
        }
        let words_at = |seq: Seq| self.words.get(&seq).cloned().flatten();
        let same: HashMap<Node, Option<String>> = loops
            .into_iter()
            .filter_map(|(first, turns)| {
                let words = words_at(*turns.first()?);
                (turns.len() > 1 && turns.iter().all(|turn| words_at(*turn) == words)).then_some((first, words))
            })
            .collect();
        for row in rows.iter_mut().filter(|row| is_turn(row)) {
            let words = words_at(row.seq_start);
            let is_same = self.first_turn(row).and_then(|first| same.get(&first)).is_some_and(|same| *same == words);
            row.words = words.filter(|_| !is_same);
        }
        Ok(())
    }

    /// The loops of which rows show turns, by their first turns: the first events of the turns to compare.
    fn loops(&self, rows: &[ViewRow]) -> HashMap<Node, Vec<Seq>> {
        let mut loops = HashMap::new();
        for row in rows.iter().filter(|row| is_turn(row)) {
            let Some(first) = self.first_turn(row) else { continue };
            loops.entry(first).or_insert_with(|| {
                let turns = self.tree.turns_of(&self.spans, first, MOST_COMPARED);
                turns.into_iter().map(|turn| self.spans.get(self.tree.oldest(turn)).seq_start).collect()
            });
        }
        loops
    }

    fn first_turn(&self, row: &ViewRow) -> Option<Node> {
        let node = Node::try_from(row.node).ok()?;
        self.tree.turns_of(&self.spans, node, 1).first().copied()
    }
}

/// `forEach:read[0]` is a turn; the row of its group is not.
fn is_turn(row: &ViewRow) -> bool {
    row.label.contains('[') && row.group.as_ref().is_none_or(|group| group.of == GroupOf::Attempts)
}
