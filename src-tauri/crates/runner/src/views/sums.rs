//! Sums of the model calls and writes of blocks.

use serde::Serialize;

use crate::core::prices::added;

/// Sums of a request, or of a row and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    /// How many answers of models they got.
    pub model_calls: u64,
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// The number of state operations.
    pub changes: u64,
    /// US dollars, as far as `prices` of `flowglass.json` knows the models; absent where it knows none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How many of the calls have no price, where there are prices.
    pub unpriced: u64,
}

impl Sums {
    /// Adds other sums.
    pub(crate) fn add(&mut self, other: &Sums) {
        self.model_calls += other.model_calls;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.changes += other.changes;
        self.unpriced += other.unpriced;
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(other)) => Some(added(one, other)),
        };
    }
}

/// Statistics of the blocks of an action over several runs.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockSums {
    /// How many runs were read, the newest ones.
    pub runs: u64,
    /// Whether there may be more of them.
    pub is_cut: bool,
    /// By place.
    pub blocks: Vec<BlockSum>,
}

/// Statistics of one block of an action over several runs.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockSum {
    /// Its path without passes, items and calls.
    pub place: String,
    /// Its name.
    pub name: String,
    /// How often it ran. What a fork keeps from its origin ran in the origin.
    pub count: u64,
    /// How often it failed.
    pub failed: u64,
    /// The median of its duration; absent if it never ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<i64>,
    /// The 95th percentile of its duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<i64>,
    /// Its total duration.
    pub total_ms: i64,
}

/// What a request came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, specta::Type)]
pub struct Totals {
    /// How many executions of blocks it has.
    pub blocks: u64,
    /// Those that failed, without those that failed only because a block inside them did.
    pub failed: u64,
    /// The answers of models that a fork keeps, and that its origin paid for; absent if it keeps none, and in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Sums>,
    /// What they asked and wrote. A fork has not asked for the answers that it keeps.
    #[serde(flatten)]
    pub sums: Sums,
}
