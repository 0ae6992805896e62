//! What the rows below a row asked of models and wrote, added up.
//!
//! A span that advances costs its depth: what is new is added to each block around it. Groups come and go as their
//! members do, so their sums are added up when they are shown. Costs are known once somebody knows prices; until then
//! no answer of a model is read.

use engine::event::Seq;
use engine::views::spans::{Span, SpanIndex, Spans};
use rustc_hash::FxHashMap;

use super::tree::{Node, Tree};
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::Sums;

/// What a span did itself, as far as rows show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) items: u32,
    model_calls: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    changes: u32,
}

impl Figures {
    pub(super) fn of(span: &Span, changes: u32) -> Figures {
        let Span { items, model_calls, prompt_tokens, completion_tokens, .. } = *span;
        Figures { items, model_calls, prompt_tokens, completion_tokens, changes }
    }
}

/// Sums that may shrink: what is rolled back was not written.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    model_calls: i64,
    prompt_tokens: i64,
    completion_tokens: i64,
    changes: i64,
}

impl Below {
    fn add(&mut self, before: &Figures, now: &Figures) {
        let more = |before: u64, now: u64| now as i64 - before as i64;
        self.model_calls += more(before.model_calls.into(), now.model_calls.into());
        self.prompt_tokens += more(before.prompt_tokens, now.prompt_tokens);
        self.completion_tokens += more(before.completion_tokens, now.completion_tokens);
        self.changes += more(before.changes.into(), now.changes.into());
    }
}

/// What calls of models cost, and how many have no price.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    dollars: Option<f64>,
    unpriced: u64,
}

/// The sums of a request, by the spans around what is summed up.
#[derive(Default)]
pub(super) struct RowSums {
    all: Below,
    below: FxHashMap<SpanIndex, Below>,
    /// Of each span that asked models, and of those around it: what is at it and below it.
    costs: FxHashMap<SpanIndex, Costs>,
    all_costs: Costs,
    /// How many of the calls were asked for their cost.
    priced: usize,
}

impl RowSums {
    /// Notes what a span did since. Answers whether that changes sums.
    pub(super) fn advance(&mut self, spans: &Spans, index: SpanIndex, before: &Figures, now: &Figures) -> bool {
        let (before, now) = (Figures { items: 0, ..*before }, Figures { items: 0, ..*now });
        if before == now {
            return false;
        }
        let (before, now) = (&before, &now);
        self.all.add(before, now);
        let mut around = spans.get(index).parent;
        while let Some(index) = around {
            self.below.entry(index).or_default().add(before, now);
            around = spans.get(index).parent;
        }
        true
    }

    /// Asks what the calls cost that are new.
    pub(super) fn price(&mut self, spans: &Spans, source: &impl Source) -> Result<(), Fault> {
        let calls = &spans.model_calls()[self.priced..];
        if calls.is_empty() {
            return Ok(());
        }
        let seqs: Vec<Seq> = calls.iter().map(|(seq, _)| *seq).collect();
        for ((_, index), cost) in calls.iter().zip(source.costs(&seqs)?) {
            let add = |costs: &mut Costs| match cost {
                Some(cost) => costs.dollars = Some(costs.dollars.unwrap_or(0.0) + cost),
                None => costs.unpriced += 1,
            };
            add(&mut self.all_costs);
            let mut at = Some(*index);
            while let Some(index) = at {
                add(self.costs.entry(index).or_default());
                at = spans.get(index).parent;
            }
        }
        self.priced = spans.model_calls().len();
        Ok(())
    }

    fn sums(below: Below, costs: Costs) -> Sums {
        let count = |sum: i64| u64::try_from(sum).unwrap_or(0);
        Sums {
            model_calls: count(below.model_calls),
            prompt_tokens: count(below.prompt_tokens),
            completion_tokens: count(below.completion_tokens),
            changes: count(below.changes),
            cost: costs.dollars,
            unpriced: costs.unpriced,
        }
    }
}

impl RequestView {
    /// What the whole request asked and wrote.
    pub(crate) fn sums(&self) -> Sums {
        RowSums::sums(self.sums.all, self.sums.all_costs)
    }

    /// What a row and everything below it asked and wrote; nothing of what had not ended at the instant.
    pub(super) fn sums_of(&self, node: Node, at: Option<Seq>) -> Sums {
        let tree: &Tree = &self.tree;
        if tree.group(node).is_some() {
            let mut sums = Sums::default();
            tree.children(Some(node)).for_each(|child| sums.add(&self.sums_of(child, at)));
            return sums;
        }
        let span = self.spans.get(node);
        if at.is_some_and(|at| span.end.is_none() || span.seq_end > at) {
            return Sums::default();
        }
        let mut below = self.sums.below.get(&node).copied().unwrap_or_default();
        below.add(&Figures::default(), &self.figures(span));
        RowSums::sums(below, self.sums.costs.get(&node).copied().unwrap_or_default())
    }
}
