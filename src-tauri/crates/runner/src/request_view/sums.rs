//! What the rows below a row asked of models and wrote, added up.
//!
//! A span that advances costs its depth: what is new is added to each block around it. The members of a group are added
//! up when it is first shown; from then on what is new is added to it as well. Costs are known once somebody knows
//! prices; until then no answer of a model is read.

use engine::event::Seq;
use engine::views::spans::{EarlierRun, SpanIndex, Spans, Usage};
use rustc_hash::FxHashMap;

use super::tree::{Node, Tree};
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::core::prices::added;
use crate::views::Sums;

/// What a span did itself, as far as rows show it. What it asked before a fork is not the fork's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) items: u32,
    model_calls: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    changes: u32,
}

impl Figures {
    pub(super) fn of(spans: &Spans, index: SpanIndex, is_live: bool) -> Figures {
        let own = spans.usage(index).without(spans.kept_usage(index));
        let Usage { model_calls, prompt_tokens, completion_tokens } = own;
        let changes = spans.changes(index, is_live);
        Figures { items: spans.get(index).items, model_calls, prompt_tokens, completion_tokens, changes }
    }

    /// What a span had done when it went on after a run.
    pub(super) fn before(spans: &Spans, index: SpanIndex, run: &EarlierRun) -> Figures {
        let EarlierRun { items, changes, usage, .. } = *run;
        let Usage { model_calls, prompt_tokens, completion_tokens } = usage.without(spans.kept_usage(index));
        Figures { items, model_calls, prompt_tokens, completion_tokens, changes }
    }

    /// Changes alone.
    pub(super) fn of_changes(changes: u32) -> Figures {
        Figures { changes, ..Figures::default() }
    }
}

/// Sums that may shrink: what is rolled back was not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Below {
    model_calls: i64,
    prompt_tokens: i64,
    completion_tokens: i64,
    changes: i64,
}

impl Below {
    fn add(&mut self, before: &Figures, now: &Figures) {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let more = |sum: &mut i64, before: u64, now: u64| {
            *sum = sum.saturating_add(count(now).saturating_sub(count(before)));
        };
        more(&mut self.model_calls, before.model_calls.into(), now.model_calls.into());
        more(&mut self.prompt_tokens, before.prompt_tokens, now.prompt_tokens);
        more(&mut self.completion_tokens, before.completion_tokens, now.completion_tokens);
        more(&mut self.changes, before.changes.into(), now.changes.into());
    }

    fn add_all(&mut self, other: &Below) {
        self.model_calls += other.model_calls;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.changes += other.changes;
    }
}

/// What calls of models cost, and how many have no price.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    dollars: Option<f64>,
    unpriced: u64,
}

impl Costs {
    fn add_all(&mut self, other: &Costs) {
        self.dollars = match (self.dollars, other.dollars) {
            (None, dollars) | (dollars, None) => dollars,
            (Some(one), Some(other)) => Some(added(one, other)),
        };
        self.unpriced += other.unpriced;
    }
}

/// The sums of a request, by the nodes around what is summed up.
#[derive(Default)]
pub(super) struct RowSums {
    all: Below,
    /// What is below spans, and what all members of a group came to, where that was shown.
    below: FxHashMap<Node, Below>,
    /// Of each span that asked models, and of the nodes around it: what is at it and below it.
    costs: FxHashMap<Node, Costs>,
    all_costs: Costs,
    /// What the calls cost that a fork keeps: they are in no other sum.
    kept_costs: Costs,
    /// How many of the calls were asked for their cost.
    priced: usize,
}

impl RowSums {
    /// Adds up all spans of a request that is opened. Each is added to the block around it only, from the newest to the
    /// oldest: what is in a block began after it.
    pub(super) fn begin(&mut self, spans: &Spans, is_live: bool) {
        for index in (0..spans.len() as SpanIndex).rev() {
            let figures = Figures { items: 0, ..Figures::of(spans, index, is_live) };
            let mut whole = self.below.get(&index).copied().unwrap_or_default();
            if figures != Figures::default() {
                self.all.add(&Figures::default(), &figures);
                whole.add(&Figures::default(), &figures);
            }
            if whole != Below::default()
                && let Some(parent) = spans.get(index).parent()
            {
                self.below.entry(parent).or_default().add_all(&whole);
            }
        }
    }

    /// Notes what a span did since. Answers whether that changes sums.
    pub(super) fn advance(&mut self, tree: &Tree, index: SpanIndex, before: &Figures, now: &Figures) -> bool {
        let (before, now) = (Figures { items: 0, ..*before }, Figures { items: 0, ..*now });
        if before == now {
            return false;
        }
        let (before, now) = (&before, &now);
        self.all.add(before, now);
        for node in tree.ancestors(index) {
            if self.is_kept(tree, node) {
                self.below.entry(node).or_default().add(before, now);
            }
        }
        true
    }

    /// Whether the sums of a node are kept up to date: those of a group once it was shown.
    fn is_kept(&self, tree: &Tree, node: Node) -> bool {
        tree.group(node).is_none() || self.below.contains_key(&node)
    }

    /// Asks what the calls cost that are new.
    pub(super) fn price(&mut self, spans: &Spans, tree: &Tree, source: &impl Source) -> Result<(), Fault> {
        let calls = &spans.model_calls()[self.priced..];
        if calls.is_empty() {
            return Ok(());
        }
        let seqs: Vec<Seq> = calls.iter().map(|(seq, _)| *seq).collect();
        for ((seq, index), cost) in calls.iter().zip(source.costs(&seqs)?) {
            let add = |costs: &mut Costs| match cost {
                Some(cost) => costs.dollars = Some(added(costs.dollars.unwrap_or(0.0), cost)),
                None => costs.unpriced += 1,
            };
            if *seq <= spans.kept_until() {
                add(&mut self.kept_costs);
                continue;
            }
            add(&mut self.all_costs);
            for node in std::iter::once(*index).chain(tree.ancestors(*index)) {
                if self.is_kept(tree, node) {
                    add(self.costs.entry(node).or_default());
                }
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
    /// What the whole request asked and wrote. A fork did not ask what it keeps.
    pub(crate) fn sums(&self) -> Sums {
        RowSums::sums(self.sums.all, self.sums.all_costs)
    }

    /// What a fork keeps of answers that the request that it comes from paid for; none if it keeps none.
    pub(crate) fn kept(&self) -> Option<Sums> {
        let Usage { model_calls, prompt_tokens, completion_tokens } = self.spans.whole_kept_usage();
        let Costs { dollars, unpriced } = self.sums.kept_costs;
        let kept = Sums {
            model_calls: model_calls.into(),
            prompt_tokens,
            completion_tokens,
            cost: dollars,
            unpriced,
            ..Sums::default()
        };
        (model_calls > 0).then_some(kept)
    }

    /// What a sample of an experiment got of answers that another sample paid for; none if it shares none.
    pub(crate) fn shared(&self) -> Option<Sums> {
        let Usage { model_calls, prompt_tokens, completion_tokens } = self.spans.whole_shared_usage();
        let shared = Sums { model_calls: model_calls.into(), prompt_tokens, completion_tokens, ..Sums::default() };
        (model_calls > 0).then_some(shared)
    }

    /// Adds up the members of a group that is shown, if that was not done before.
    pub(super) fn keep_sums(&mut self, group: Node) {
        if self.sums.is_kept(&self.tree, group) {
            return;
        }
        let (mut all, mut costs) = (Below::default(), Costs::default());
        let mut nodes: Vec<Node> = vec![group];
        while let Some(node) = nodes.pop() {
            if self.tree.group(node).is_some() {
                nodes.extend(self.tree.children(Some(node)));
                continue;
            }
            let below = self.sums.below.get(&node).copied().unwrap_or_default();
            all.add_all(&below);
            all.add(&Figures::default(), &self.figures(node));
            costs.add_all(&self.sums.costs.get(&node).copied().unwrap_or_default());
        }
        self.sums.below.insert(group, all);
        self.sums.costs.insert(group, costs);
    }

    /// What a row and everything below it asked and wrote; nothing of what had not ended at the instant.
    pub(super) fn sums_of(&self, node: Node, at: Option<Seq>) -> Sums {
        let tree: &Tree = &self.tree;
        if tree.group(node).is_some() {
            if at.is_none() && self.sums.is_kept(tree, node) {
                let below = self.sums.below.get(&node).copied().unwrap_or_default();
                return RowSums::sums(below, self.sums.costs.get(&node).copied().unwrap_or_default());
            }
            return self.sums_of_members(node, at);
        }
        let span = self.spans.get(node);
        if at.is_some_and(|at| span.end.is_none() || span.seq_end > at) {
            return Sums::default();
        }
        let mut below = self.sums.below.get(&node).copied().unwrap_or_default();
        below.add(&Figures::default(), &self.figures(node));
        RowSums::sums(below, self.sums.costs.get(&node).copied().unwrap_or_default())
    }

    /// The same of a group, added up from its members.
    pub(super) fn sums_of_members(&self, group: Node, at: Option<Seq>) -> Sums {
        let mut sums = Sums::default();
        self.tree.children(Some(group)).for_each(|child| sums.add(&self.sums_of(child, at)));
        sums
    }
}
