//! What blocks asked of models and wrote, added up.

use serde::Serialize;

/// Sums of a request, or of a row and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    /// How many answers of models they got.
    pub model_calls: u64,
    /// Tokens that models were told.
    pub prompt_tokens: u64,
    /// Tokens that models said.
    pub completion_tokens: u64,
    /// How many state operations they made.
    pub changes: u64,
    /// US dollars, as far as `prices` of `flowglass.json` knows the models; absent where it knows none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How many of the calls have no price, where there are prices.
    pub unpriced: u64,
}

impl Sums {
    /// Adds others.
    pub(crate) fn add(&mut self, other: &Sums) {
        self.model_calls += other.model_calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.changes += other.changes;
        self.unpriced += other.unpriced;
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(other)) => Some(one + other),
        };
    }
}

/// What a request came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, specta::Type)]
pub struct Totals {
    /// How many executions of blocks it has.
    pub blocks: u64,
    /// Those that failed, without those that failed only because a block inside them did.
    pub failed: u64,
    /// What they asked and wrote.
    #[serde(flatten)]
    pub sums: Sums,
}
