//! Everything that the rows of an ended request show at any instant, for a copy that is looked at elsewhere.
//!
//! How a row stood follows from its first and its last event. If it does not, because the block went on after an
//! interruption or was cut off, its row is made for each event at which it changed.

use engine::event::Seq;
use engine::views::blocks::BlockStatus;
use engine::views::spans::SpanIndex;

use crate::core::fault::Fault;
use crate::request_view::tree::{GROUP, Node};
use crate::request_view::{RequestView, Source};
use crate::views::ViewRow;

/// How many rows are made at once.
const BATCH: usize = 2_000;

/// A row of a copy.
pub(crate) struct WholeRow {
    /// As of now; folded as it is when the request is opened.
    pub(crate) row: ViewRow,
    /// How it stood from an event on, until the next one; empty where its first and its last event say it.
    pub(crate) earlier: Vec<(Seq, ViewRow)>,
}

/// Where the slider stops: the events with which blocks ended, failed, and with which steps of the root ended.
pub(crate) struct Stops {
    pub(crate) ends: Vec<Seq>,
    pub(crate) failures: Vec<Seq>,
    pub(crate) boundaries: Vec<Seq>,
}

impl RequestView {
    /// All rows, each below the one around it, also those that are folded away.
    pub(crate) fn whole(&mut self, source: &impl Source) -> Result<Vec<WholeRow>, Fault> {
        let mut nodes: Vec<(Node, u32)> = Vec::new();
        let mut rest: Vec<(Node, u32)> = self.tree.shown(None).map(|node| (node, 0)).collect();
        rest.reverse();
        while let Some((node, depth)) = rest.pop() {
            nodes.push((node, depth));
            let first = rest.len();
            rest.extend(self.tree.shown(Some(node)).map(|child| (child, depth + 1)));
            rest[first..].reverse();
        }
        let mut rows = Vec::with_capacity(nodes.len());
        for batch in nodes.chunks(BATCH) {
            let mut now = self.rows_of(source, batch.to_vec(), None)?;
            self.add_words(source, &mut now)?;
            for ((node, depth), row) in batch.iter().zip(now) {
                let mut earlier = Vec::new();
                for at in self.changes_of(*node) {
                    let then = self.rows_of(source, vec![(*node, *depth)], Some(at))?.pop();
                    earlier.extend(then.map(|then| (at, ViewRow { words: row.words.clone(), ..then })));
                }
                rows.push(WholeRow { row, earlier });
            }
        }
        Ok(rows)
    }

    /// The events at which a row changed whose first and last event do not say it.
    fn changes_of(&self, node: Node) -> Vec<Seq> {
        if node & GROUP != 0 {
            return Vec::new();
        }
        let runs = self.spans.earlier_runs(node);
        if runs.is_empty() && self.status(node, None) != Some(BlockStatus::Abandoned) {
            return Vec::new();
        }
        let span = self.spans.get(node);
        let begins = std::iter::once(span.seq_start).chain(runs.iter().map(|run| run.resumed));
        // What was cut off is told when the request is taken up again.
        let resumes = self.spans.resumes();
        let cuts =
            begins.clone().filter_map(|begin| resumes.get(resumes.partition_point(|seq| *seq <= begin)).copied());
        let ends = runs.iter().map(|run| run.seq_end).chain([span.seq_end]).filter(|seq| *seq > 0);
        let mut seqs: Vec<Seq> = begins.clone().chain(cuts).chain(ends).collect();
        seqs.sort_unstable();
        seqs.dedup();
        seqs
    }

    /// See [`Stops`].
    pub(crate) fn stops(&self) -> Stops {
        let seqs = |spans: &[SpanIndex]| spans.iter().map(|index| self.spans.get(*index).seq_end).collect();
        Stops { ends: seqs(self.spans.ended()), failures: seqs(&self.failures), boundaries: seqs(&self.boundaries) }
    }
}
