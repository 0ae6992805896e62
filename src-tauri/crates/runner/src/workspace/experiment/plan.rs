//! What an experiment will take, told before it runs, and what it cannot be.

use engine::event::{Event, EventKind};
use serde_json::json;

use super::axes::Arm;
use super::place::{Place, RecordedCall};
use super::score::Score;
use super::variant::Variant;
use super::{Budget, Experiment, TryQuery};
use crate::catalogue::runnable::{Wanted, named};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::views::TryPlan;
use crate::workspace::fork::NewFork;
use crate::workspace::{At, Mock, Workspace, new_request};

/// How many bundles are made to see whether the arms can be run.
const MAX_CHECKED: usize = 20;

impl Workspace {
    /// What an experiment will take. Writes and runs nothing.
    pub fn plan_try(&self, query: &TryQuery) -> Result<TryPlan, Fault> {
        let experiment = self.experiment_of(String::new(), query.clone())?;
        self.check_query(&experiment)?;
        Ok(self.plan_of_experiment(&experiment))
    }

    /// Refuses what cannot be tried before anything is written.
    pub(super) fn check_query(&self, experiment: &Experiment) -> Result<(), Fault> {
        let Experiment { query, row, events, place, .. } = experiment;
        if query.needs_generator() {
            place.generator(events)?;
        }
        if let Some(score) = &query.score {
            score.ready()?;
            if let Score::Block { flow, action } = score {
                let found = self.with_catalogue(|catalogue| catalogue.find(flow))?;
                named(&found.flow, action, &Wanted::Action)?;
            }
        }
        if let (Some(Budget::Usd(_)), Some(model)) = (query.budget, self.unpriced(experiment)) {
            return Err(Fault::invalid(format!(
                "--budget: nobody knows what model \"{model}\" costs: give its price under \"prices\" in \
                 flowglass.json, or a budget in calls or tokens"
            )));
        }
        self.check_budget(experiment)?;
        for axis in &query.parameters {
            for value in &axis.values {
                let mut fields = json!({ axis.name.as_str(): value });
                self.config.redaction().value(&mut fields);
                if fields[&axis.name] != *value {
                    return Err(Fault::invalid(format!(
                        "--parameter {}: this is a secret, which would stand in the log; keys stand in flowglass.json",
                        axis.name
                    )));
                }
            }
        }
        // What a fork refuses is refused here, before the base arm costs anything.
        let own: Vec<Arm> = experiment.arms.iter().map(|(_, arm)| arm.clone()).filter(|arm| !arm.is_base()).collect();
        let checked = if query.prompts.len() * query.code.len().max(1) > MAX_CHECKED { 1 } else { own.len() };
        let variants = self.variants(query, &row.flow, events, place, own.get(..checked).unwrap_or_default())?;
        let mut reasons = variants.iter().filter_map(|variant| variant.as_ref().err());
        match (variants.iter().find_map(|variant| variant.as_ref().ok()), reasons.next()) {
            (Some(Variant { loaded_flow, cut, edits }), _) => {
                let loaded_flow = loaded_flow.clone();
                let fork = NewFork { id: new_request(), loaded_flow, row, events, cut: Some(*cut) };
                self.forking_as(fork, &At::Seq(*cut), edits.clone(), &experiment.mock).map(drop)
            }
            (None, Some(reason)) => Err(Fault::invalid(reason.clone())),
            (None, None) => Ok(()),
        }
    }

    /// Refuses a budget that has no room for one call, by what was recorded.
    fn check_budget(&self, experiment: &Experiment) -> Result<(), Fault> {
        let calls = experiment.place.calls(&experiment.events);
        let tokens = calls.iter().filter_map(|call| call.tokens).map(|tokens| tokens.input + tokens.output).max();
        let price = |call: &RecordedCall| self.config.price_of(&call.model, call.tokens?);
        let cheapest = calls.iter().filter_map(price).min_by(f64::total_cmp);
        match (experiment.query.budget, tokens, cheapest) {
            (Some(Budget::Tokens(most)), Some(tokens), _) if u64::from(most) < tokens => Err(Fault::invalid(format!(
                "--budget: {most} tokens have no room for one call, which took {tokens} when it was recorded"
            ))),
            (Some(Budget::Usd(most)), _, Some(price)) if most < price => Err(Fault::invalid(format!(
                "--budget: {most} US dollars have no room for one call, which took {price:.4} when it was recorded"
            ))),
            _ => Ok(()),
        }
    }

    /// A model of an experiment without a price.
    fn unpriced(&self, experiment: &Experiment) -> Option<String> {
        let calls = experiment.place.calls(&experiment.events);
        let recorded = calls.into_iter().map(|call| call.model);
        let judge = match &experiment.query.score {
            Some(Score::Model { model, .. }) => Some(model.clone()),
            _ => None,
        };
        let tried = experiment.query.models.iter().cloned().chain(judge);
        recorded.chain(tried).find(|model| self.config.price_of(model, CallTokens::default()).is_none())
    }

    fn plan_of_experiment(&self, experiment: &Experiment) -> TryPlan {
        let Experiment { query, events, place, arms, .. } = experiment;
        let all = place.calls(events);
        // Of an arm with an output of its own, the block is not run.
        let behind = place.ended.map(|ended| place.calls_after(events, ended)).unwrap_or_default();
        let samples = query.samples();
        let generator = if query.needs_generator() { place.generator(events).ok() } else { None };
        let has_base = arms.len() > 1;
        let (mut cost, mut tokens, mut models) = (Some(0.0), Some(0.0), Vec::<String>::new());
        let mut model_calls = 0;
        for (_, arm) in arms {
            let calls = if arm.output.is_some() { &behind } else { &all };
            model_calls += calls.len() as u32 * samples;
            for call in calls {
                let RecordedCall { model, generator: asker, tokens: used } = call;
                let is_edited = generator.as_ref().is_some_and(|generator| generator == asker);
                let model = arm.model.as_ref().filter(|_| is_edited).unwrap_or(model);
                let price = used.and_then(|used| self.config.price_of(model, used));
                cost = cost.zip(price).map(|(cost, price)| cost + price * f64::from(samples));
                let used = used.map(|used| (used.input + used.output) as f64 * f64::from(samples));
                tokens = tokens.zip(used).map(|(tokens, used)| tokens + used);
                if !models.contains(model) {
                    models.push(model.clone());
                }
            }
        }
        let (hosts, asks_again) = outside_after(events, place);
        let base_model_calls = if has_base { all.len() as u32 * samples } else { 0 };
        let mut score_model_calls = 0;
        if let Some(Score::Model { model, .. }) = &query.score {
            score_model_calls = samples * arms.len() as u32;
            // What judging takes was never recorded.
            (cost, tokens) = (None, None);
            if !models.contains(model) {
                models.push(model.clone());
            }
        }
        let mut scored_by = None;
        if let Some(Score::Block { flow, action }) = &query.score {
            scored_by = Some(format!("{flow}.{action}"));
            (cost, tokens) = (None, None);
        }
        let asks = model_calls + score_model_calls > 0;
        TryPlan {
            arms: arms.len() as u32 - u32::from(has_base),
            samples,
            model_calls: model_calls + score_model_calls,
            base_model_calls,
            score_model_calls,
            scored_by,
            tokens: tokens.filter(|_| asks),
            cost_usd: cost.filter(|_| asks),
            models,
            hosts,
            asks_again,
            mock: experiment.mock != Mock::Off,
        }
    }
}

/// What of the outside a request used after a place: hosts, and questions that were answered.
fn outside_after(events: &[Event], place: &Place) -> (Vec<String>, Vec<String>) {
    let (mut hosts, mut asked) = (Vec::<String>::new(), Vec::<String>::new());
    let put = |list: &mut Vec<String>, name: String| {
        if !list.contains(&name) {
            list.push(name);
        }
    };
    for event in events.iter().filter(|event| event.seq > place.before || place.is_own(event)) {
        match &event.kind {
            EventKind::EffectStarted { request: Some(request), .. } => {
                let host = request["url"].as_str().and_then(|url| reqwest::Url::parse(url).ok());
                if let Some(host) = host.and_then(|url| url.host_str().map(str::to_owned)) {
                    put(&mut hosts, host);
                }
            }
            EventKind::Suspended(_) => {
                put(&mut asked, event.path.as_deref().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
    (hosts, asked)
}
