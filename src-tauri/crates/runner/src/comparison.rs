//! Two requests laid beside each other: their blocks by path, and in what each pair differs.
//!
//! Made from spans and digests, so that it never holds inputs and outputs. Of a path that ran more than once the newest
//! execution is compared; if that was taken from the log, the original one. How long something took, how often
//! it ran and how many tokens it cost are shown and make no difference.

mod align;
pub(crate) mod side;

use std::sync::Arc;

use engine::views::spans::{PathNumber, Span, SpanIndex};

use crate::core::fault::Fault;
use crate::views::{
    BlockDifference, ComparedBlock, ComparedRow, ComparedSide, Replay, RequestRow, span as length, span_worked,
};
use align::{Pair, align};
pub(crate) use side::Side;

/// More rows than a page can show.
const MOST: u32 = 2_000;

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Pair(u32),
    /// So many pairs from one on, which are equal, or all of which a replay did not reach.
    Quiet(u32, u32),
}

/// See the module.
pub(crate) struct Comparison {
    left: Side,
    right: Side,
    pairs: Vec<Pair>,
    /// The rows that are shown where only differences are asked for.
    differing: Vec<Entry>,
    /// The result of the replay, if the right side is one.
    pub(crate) replay: Option<Replay>,
}

impl Comparison {
    pub(crate) fn new(left: Side, right: Side, replay: Option<Replay>) -> Comparison {
        let pairs = align(&left, &right);
        let differing = only_differing(&pairs);
        Comparison { left, right, pairs, differing, replay }
    }

    /// How many pairs there are, and how many of them differ themselves.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.pairs.len() as u64, self.pairs.iter().filter(|pair| pair.differs != 0).count() as u64)
    }

    /// Of a replay that stopped: how many pairs it says nothing about.
    pub(crate) fn uncompared(&self) -> Option<u64> {
        self.right.stop.map(|_| self.pairs.iter().filter(|pair| pair.is_uncompared).count() as u64)
    }

    pub(crate) fn row_count(&self, all: bool) -> u64 {
        if all { self.pairs.len() as u64 } else { self.differing.len() as u64 }
    }

    fn entry(&self, row: u64, all: bool) -> Option<Entry> {
        let row = usize::try_from(row).ok()?;
        if all {
            return (row < self.pairs.len()).then_some(Entry::Pair(row as u32));
        }
        self.differing.get(row).copied()
    }

    /// Both sides as a whole.
    pub(crate) fn sides(&self, left: RequestRow, right: RequestRow) -> (ComparedSide, ComparedSide) {
        (self.left.summary(left), self.right.summary(right))
    }

    /// The requests of both sides; of a replay both are one.
    pub(crate) fn requests(&self) -> (&str, &str) {
        (&self.left.request, &self.right.request)
    }

    /// The row of the difference that came first: others may follow from it.
    pub(crate) fn first(&self) -> Option<u64> {
        let when = |pair: &Pair| {
            let (side, index) = match (pair.left, pair.right) {
                (Some(index), _) => (&self.left, index),
                (None, index) => (&self.right, index?),
            };
            let span = side.spans.get(index);
            // What it was called with is known when it begins; what became of it, when it ends.
            let began =
                BlockDifference::Input.bit() | BlockDifference::OnlyLeft.bit() | BlockDifference::OnlyRight.bit();
            Some(if pair.differs & began != 0 || span.seq_end == 0 { span.seq_start } else { span.seq_end })
        };
        let differing = (0_u64..).zip(&self.differing).filter_map(|(row, entry)| match entry {
            Entry::Pair(pair) => Some((row, &self.pairs[*pair as usize])).filter(|(_, pair)| pair.differs != 0),
            Entry::Quiet(..) => None,
        });
        differing.min_by_key(|(_, pair)| when(pair)).map(|(row, _)| row)
    }

    /// The next row whose blocks differ themselves.
    pub(crate) fn next(&self, from: Option<u64>, backwards: bool, all: bool) -> Option<u64> {
        let count = self.row_count(all);
        let is_other = |row: &u64| match self.entry(*row, all) {
            Some(Entry::Pair(pair)) => self.pairs[pair as usize].differs != 0,
            _ => false,
        };
        match (from, backwards) {
            (from, false) => (from.map_or(0, |from| from + 1)..count).find(is_other),
            (from, true) => (0..from.unwrap_or(count).min(count)).rev().find(is_other),
        }
    }

    /// A part of the rows, without their words. `texts` resolves the numbers of paths.
    pub(crate) fn rows(
        &self,
        (offset, limit): (u64, u32),
        all: bool,
        texts: impl Fn(&[PathNumber]) -> Result<Vec<Arc<str>>, Fault>,
    ) -> Result<Vec<ComparedRow>, Fault> {
        let last = offset.saturating_add(limit.min(MOST).into()).min(self.row_count(all));
        let entries: Vec<(u64, Entry)> = (offset..last).filter_map(|row| Some((row, self.entry(row, all)?))).collect();
        let pair = |entry: &Entry| match entry {
            Entry::Pair(at) | Entry::Quiet(at, _) => &self.pairs[*at as usize],
        };
        let paths: Vec<PathNumber> = entries.iter().map(|(_, entry)| pair(entry).path).collect();
        let texts = texts(&paths)?;
        let row = |((row, entry), path): ((u64, Entry), Arc<str>)| self.row(row, entry, pair(&entry), &path);
        Ok(entries.into_iter().zip(texts).map(row).collect())
    }

    fn row(&self, row: u64, entry: Entry, pair: &Pair, path: &str) -> ComparedRow {
        let equal = match entry {
            Entry::Quiet(_, count) => count,
            Entry::Pair(_) => 0,
        };
        let known = pair.left.map(|index| (&self.left, index)).or(pair.right.map(|index| (&self.right, index)));
        let (name, kind) = match known {
            Some((side, index)) => (side.name(index), Some(side.spans.get(index).kind)),
            None => (String::new(), None),
        };
        ComparedRow {
            row,
            equal: equal.into(),
            depth: pair.depth,
            path: path.to_owned(),
            name,
            words: None,
            kind,
            differs: BlockDifference::ALL.into_iter().filter(|one| pair.differs & one.bit() != 0).collect(),
            inside: pair.inside,
            uncompared: pair.is_uncompared,
            left: pair.left.filter(|_| equal == 0).map(|index| self.left.block(index, path)),
            right: pair.right.filter(|_| equal == 0).map(|index| self.right.block(index, path)),
        }
    }
}

/// Pairs that differ and those around them. The pairs between are counted and not listed.
fn only_differing(pairs: &[Pair]) -> Vec<Entry> {
    let is_shown = |pair: &Pair| pair.differs != 0 || pair.inside;
    if !pairs.iter().any(is_shown) {
        return Vec::new();
    }
    let mut shown = Vec::new();
    for (at, pair) in (0_u32..).zip(pairs) {
        match shown.last_mut() {
            _ if is_shown(pair) => shown.push(Entry::Pair(at)),
            Some(Entry::Quiet(first, count)) if pairs[*first as usize].is_uncompared == pair.is_uncompared => {
                *count += 1
            }
            _ => shown.push(Entry::Quiet(at, 1)),
        }
    }
    shown
}

impl Side {
    fn block(&self, index: SpanIndex, path: &str) -> ComparedBlock {
        let span: &Span = self.spans.get(index);
        let usage = self.spans.usage(self.source(index));
        let began = self.at(span.seq_start, span.started_at);
        // A block that a fork took up went on with it, so the pause before the fork is one of its gaps.
        let took = match self.spans.earlier_runs(index) {
            _ if self.is_replay() => span.finished_at().map(|end| self.ran(span.started_at, end)),
            [] => span.finished_at().map(|end| length(began, self.at(span.seq_end, end))),
            _ => span_worked(&self.spans, index),
        };
        ComparedBlock {
            instance_id: format!("{}:{path}:{}", self.request, span.attempt),
            status: self.spans.status(index, self.is_live),
            started_ms: length(self.began(), began),
            duration_ms: took,
            attempts: self.attempts(span.path),
            memoized: span.is_memoized,
            items: self.items(index),
            changes: self.changes(index),
            model_calls: usage.model_calls,
            tokens: usage.prompt_tokens.saturating_add(usage.completion_tokens),
            seq_start: span.seq_start,
            seq_end: Some(span.seq_end).filter(|seq| *seq != 0),
        }
    }
}

#[cfg(test)]
mod tests;
