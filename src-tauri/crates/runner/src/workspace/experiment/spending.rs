//! What an experiment has spent, and what it may still spend: its budget counts what is in the logs of its samples, and
//! what is in none of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::models::call_meter::{CallMeter, ExpectedCall};
use crate::workspace::Workspace;

/// What an experiment has spent that is in no log of a sample: requests that providers refused, and scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Unlogged {
    calls: u32,
    tokens: f64,
    usd: f64,
}

impl Workspace {
    /// What has been spent by now that is in no log of a sample.
    pub(super) fn unlogged(&self, experiment: &Experiment, meter: &CallMeter) -> Result<Unlogged, Fault> {
        let rows = self.store.samples(&experiment.id).map_err(Fault::internal)?;
        let (logged, logged_tokens, logged_usd) = self.spent(&rows, &experiment.query.request)?;
        let (calls, tokens, usd) = meter.settled();
        Ok(Unlogged {
            calls: calls.saturating_sub(logged),
            tokens: (tokens - logged_tokens as f64).max(0.0),
            usd: (usd - logged_usd).max(0.0),
        })
    }

    /// Counts the calls of an experiment, with those of samples that have run before.
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
        let meter = CallMeter::new(experiment.query.budget, ExpectedCall { tokens }, Box::new(cost));
        // Also without a budget, because what no log tells is the difference to what the logs of all samples do.
        let rows = self.store.samples(&experiment.id).map_err(Fault::internal)?;
        let (calls, tokens, usd) = self.spent(&rows, &experiment.query.request)?;
        let more = experiment.unlogged;
        meter.add_spent(calls + more.calls, tokens as f64 + more.tokens, usd + more.usd);
        Ok(meter)
    }
}
