//! What an experiment has spent, and what it may still spend. It is stored at each call, because the logs of samples
//! lack calls in progress, requests that providers refused, and scores. It is stored apart from the experiment, which
//! grows with its arms.

use std::sync::Arc;

use serde_json::{Value, json};
use store::Store;

use super::going_on::StoredBody;
use super::{Experiment, Mock};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::models::call_meter::{CallMeter, ExpectedCall, SaveSpent, Spent};
use crate::workspace::Workspace;

/// The spending of an experiment, as stored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spending {
    /// The total. `None` before the first call, and in experiments of versions that did not store it.
    pub(super) spent: Option<Spent>,
    /// In experiments of those versions: the spending that is not in the logs of samples.
    pub(super) unlogged: Spent,
}

impl Spending {
    /// Returns the total, given the spending in the samples' logs.
    fn total(&self, logged: Spent) -> Spent {
        match self.spent {
            Some(Spent { calls, tokens, usd }) => {
                Spent { calls: calls.max(logged.calls), tokens: tokens.max(logged.tokens), usd: usd.max(logged.usd) }
            }
            None => {
                let mut total = logged;
                total.add(self.unlogged);
                total
            }
        }
    }
}

impl Workspace {
    /// The spending of an experiment that continues. `body` is the rest of what is stored of it.
    pub(super) fn spending_of(&self, id: &str, body: &StoredBody) -> Result<Spending, Fault> {
        let stored = self.store.spending(id).map_err(Fault::internal)?;
        Ok(Spending { spent: stored.as_ref().and_then(spent_of).or(body.spent), unlogged: body.unlogged })
    }

    /// Returns a meter of an experiment's calls that includes earlier ones.
    pub(super) fn meter_of(&self, experiment: &Experiment) -> Result<Arc<CallMeter>, Fault> {
        let calls = experiment.place.calls(&experiment.events);
        let most = |of: fn(&CallTokens) -> u64| calls.iter().filter_map(|call| call.tokens.as_ref().map(of)).max();
        let tokens = CallTokens {
            input: most(|tokens| tokens.input).unwrap_or(0),
            cached: 0,
            output: most(|tokens| tokens.output).unwrap_or(0),
        };
        let config = self.config.clone();
        let cost = move |model: &str, tokens: CallTokens| config.price_of(model, tokens);
        let Experiment { id, query, spending, mock, .. } = experiment;
        let rows = self.store.samples(id).map_err(Fault::internal)?;
        let (calls, tokens_of_logs, usd) = self.spent(&rows, &query.request)?;
        let spent = spending.total(Spent { calls, tokens: tokens_of_logs as f64, usd });
        // The forks of a search never continue, and mocked calls are free unless there is a budget.
        let saves = !id.is_empty() && (query.budget.is_some() || *mock == Mock::Off);
        let save = saves.then(|| saving(self.store.clone(), id.clone()));
        Ok(CallMeter::new((query.budget, spent), ExpectedCall { tokens }, Box::new(cost), save))
    }
}

/// Stores what an experiment has spent.
fn saving(store: Arc<Store>, id: String) -> SaveSpent {
    Box::new(move |before, now| {
        let change = move |known: Option<Value>| now_spent(known.as_ref().and_then(spent_of), before, now);
        let changed = store.change_spending(&id, change).map_err(|error| error.to_string())?;
        // A deleted experiment does not continue.
        Ok(changed.as_ref().and_then(spent_of).unwrap_or(now))
    })
}

fn spent_of(stored: &Value) -> Option<Spent> {
    engine::json::from_value(stored.clone()).ok()
}

/// Returns the new stored total. `known` is the stored one, to which another process that runs samples may have added.
fn now_spent(known: Option<Spent>, before: Spent, now: Spent) -> Value {
    match known {
        Some(known) if known != before => json!(Spent {
            calls: (known.calls + now.calls).saturating_sub(before.calls),
            tokens: known.tokens + (now.tokens - before.tokens),
            usd: known.usd + (now.usd - before.usd),
        }),
        _ => json!(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(calls: u32) -> Spent {
        Spent { calls, tokens: f64::from(calls) * 10.0, usd: f64::from(calls) / 4.0 }
    }

    #[test]
    fn the_stored_spending_counts_unless_the_logs_have_more() {
        let stored = Spending { spent: Some(spent(3)), ..Spending::default() };
        assert_eq!((stored.total(spent(2)), stored.total(spent(4))), (spent(3), spent(4)));
        let older = Spending { spent: None, unlogged: spent(2) };
        assert_eq!(older.total(spent(3)), spent(5));
    }

    #[test]
    fn the_spending_of_another_process_is_added() {
        assert_eq!(now_spent(None, spent(1), spent(2)), json!(spent(2)));
        assert_eq!(now_spent(Some(spent(1)), spent(1), spent(2)), json!(spent(2)));
        assert_eq!(now_spent(Some(spent(5)), spent(1), spent(2)), json!(spent(6)));
    }
}
