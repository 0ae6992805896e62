//! Spans that went on after an interruption: their rows have not ended any more.

use std::collections::{HashMap, HashSet};

use engine::views::spans::{SpanEnd, SpanIndex};

use super::changed::touch_around;
use super::clock::Edge;
use super::sums::Figures;
use super::tree::State;
use super::{Open, RequestView};

impl RequestView {
    /// Takes in which spans went on after an interruption. Those that were known have not ended any more. Returns when
    /// runs before the newest ended, and when later ones began, of what is not known yet.
    pub(super) fn reopen(&mut self, known: SpanIndex, fresh: &mut Vec<SpanIndex>) -> Vec<Edge> {
        self.revoke(known);
        let mut edges: Vec<Edge> = Vec::new();
        let mut times: HashMap<SpanIndex, usize> = HashMap::new();
        let went_on = self.spans.went_on()[self.went_on..].to_vec();
        self.went_on = self.spans.went_on().len();
        went_on.iter().for_each(|index| *times.entry(*index).or_default() += 1);
        let mut reopened: HashSet<SpanIndex> = HashSet::new();
        for (index, times) in times {
            let runs = self.spans.earlier_runs(index);
            let runs = &runs[runs.len() - times..];
            let mut is_known = index < known;
            for run in runs {
                edges.extend(Edge::of(index, run, !is_known));
                is_known = false;
            }
            if index >= known {
                continue;
            }
            match self.open.iter_mut().find(|open| open.span == index) {
                Some(open) => open.is_cut = false,
                None => {
                    self.ended -= 1;
                    self.suspended -= u64::from(runs[0].end == Some(SpanEnd::Suspended));
                    reopened.insert(index);
                    // What it did since comes as news.
                    let shown = Figures::before(&self.spans, index, &runs[0]);
                    self.open.push(Open { span: index, is_cut: false, shown });
                }
            }
            self.tree.set_state(&self.spans, index, State::Open, self.spans.get(index).started_at);
            self.touch_with_groups(index);
            fresh.push(index);
        }
        for seqs in [&mut self.failures, &mut self.boundaries].into_iter().filter(|_| !reopened.is_empty()) {
            seqs.retain(|other| !reopened.contains(other));
        }
        edges.sort_by_key(|edge| edge.seq);
        edges
    }

    /// Takes in that changes of spans which were known to have ended count no more.
    fn revoke(&mut self, known: SpanIndex) {
        let revoked = self.spans.revoked()[self.revoked..].to_vec();
        self.revoked += revoked.len();
        let open: HashSet<SpanIndex> = self.open.iter().map(|open| open.span).collect();
        for (index, by) in revoked.into_iter().filter(|(index, _)| *index < known && !open.contains(index)) {
            if self.sums.advance(&self.tree, index, &Figures::of_changes(by), &Figures::default()) {
                touch_around(&mut self.changed, &self.tree, index);
            }
            self.touch_with_groups(index);
        }
    }
}
