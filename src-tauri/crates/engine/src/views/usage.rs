//! What the models of one request used, and what a budget makes of that (SEMANTICS §1.5).

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind};
use crate::model::flow::{OnExceeded, TokenBudget};
use crate::views::Events;

/// Tokens of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// What the model was told.
    pub prompt: u64,
    /// What it said.
    pub completion: u64,
    /// Both.
    pub total: u64,
    /// Of the prompt, read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Of the prompt, put there.
    pub cache_creation_tokens: u64,
}

/// Tokens by the model's name as the flow wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Over all models.
    pub total_consumed: u64,
    /// In order of first use.
    pub by_model: IndexMap<String, Tokens>,
}

impl Usage {
    /// What the recorded model calls of a request used.
    pub fn of(events: &[Event]) -> Usage {
        let (mut usage, view) = (Usage::default(), Events::new(events));
        for event in events {
            if let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } = &event.kind {
                let model = view.effect_request(&event.kind).and_then(|request| request["model"].as_str());
                usage.add(model.unwrap_or_default(), result.get("usage"));
            }
        }
        usage
    }

    /// Adds one reply's usage, as a provider tells it.
    pub fn add(&mut self, model: &str, usage: Option<&Value>) {
        let Some(json) = usage else { return };
        let count = |name: &str| json[name].as_u64().unwrap_or(0);
        let (prompt, completion) = (count("promptTokens"), count("completionTokens"));
        let total = json["totalTokens"].as_u64().unwrap_or(prompt.saturating_add(completion));
        let sum = self.by_model.entry(model.to_owned()).or_default();
        // A provider's number may be anything.
        let more = |sum: &mut u64, count: u64| *sum = sum.saturating_add(count);
        more(&mut sum.prompt, prompt);
        more(&mut sum.completion, completion);
        more(&mut sum.total, total);
        more(&mut sum.cache_read_tokens, count("cacheReadInputTokens"));
        more(&mut sum.cache_creation_tokens, count("cacheCreationInputTokens"));
        more(&mut self.total_consumed, total);
    }

    /// What a budget says of this usage.
    pub fn verdict(&self, budget: &TokenBudget) -> Verdict {
        let used = self.total_consumed;
        let words = format!("token budget: {used} of {} tokens used", budget.max_total_tokens);
        match budget.on_exceeded {
            OnExceeded::Error if used > budget.max_total_tokens => {
                Verdict::Fail(FlowError::validation(format!("{words}; tokenBudget.maxTotalTokens is exceeded"), None))
            }
            OnExceeded::Stop if used > budget.max_total_tokens => Verdict::Stop(words),
            _ if used > budget.max_total_tokens || budget.warn_at.is_some_and(|at| used >= at) => Verdict::Warn(words),
            _ => Verdict::Fine,
        }
    }
}

/// What a budget makes of a request's usage.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// A status item says so.
    Warn(String),
    /// The request ends `incomplete`.
    Stop(String),
    /// The request fails.
    Fail(FlowError),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_count_that_cannot_be_ends_no_sum() {
        let mut usage = Usage::default();
        let absurd =
            json!({ "promptTokens": u64::MAX, "completionTokens": u64::MAX, "cacheReadInputTokens": u64::MAX });
        usage.add("m", Some(&absurd));
        usage.add("m", Some(&absurd));
        let most = u64::MAX;
        assert_eq!((usage.total_consumed, usage.by_model["m"].prompt, usage.by_model["m"].total), (most, most, most));
    }
}
