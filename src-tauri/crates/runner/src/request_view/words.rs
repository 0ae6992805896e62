//! What tells the turns of a loop and the entries of a list from each other: words of what each was called with. They
//! are read for the rows that are shown, so that a request costs nothing for the others.

use engine::event::Seq;

use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{GroupOf, ViewRow};

/// When more are known, all are forgotten, and those that are shown are read again.
const MOST_KEPT: usize = 8_192;

impl RequestView {
    /// Adds the words to rows whose place has an index.
    pub(crate) fn add_words(&mut self, source: &impl Source, rows: &mut [ViewRow]) -> Result<(), Fault> {
        let turns = || rows.iter().filter(|row| is_turn(row)).map(|row| row.seq_start);
        let mut unread: Vec<Seq> = turns().filter(|seq| !self.words.contains_key(seq)).collect();
        if self.words.len() + unread.len() > MOST_KEPT {
            self.words.clear();
            unread = turns().collect();
        }
        if !unread.is_empty() {
            let words = source.words(&unread)?;
            self.words.extend(unread.into_iter().zip(words));
        }
        for row in rows.iter_mut().filter(|row| is_turn(row)) {
            row.words = self.words.get(&row.seq_start).cloned().flatten();
        }
        Ok(())
    }
}

/// `forEach:read[0]` is a turn; the row of its group is not.
fn is_turn(row: &ViewRow) -> bool {
    row.label.contains('[') && row.group.as_ref().is_none_or(|group| group.of == GroupOf::Attempts)
}
