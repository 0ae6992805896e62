//! What an experiment will take, told before it runs, and what it cannot be.

use std::collections::BTreeMap;

use engine::event::{Event, EventKind};
use serde_json::json;

use super::axes::Arm;
use super::parameters::check_parameters;
use super::place::{Place, RecordedCall};
use super::score::Score;
use super::variant::Variant;
use super::{Budget, Experiment, Spending, Trial, TryQuery};
use crate::catalogue::runnable::{Wanted, named};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::models::target::problem_of;
use crate::run::batch::Cancel;
use crate::views::TryPlan;
use crate::workspace::fork::NewFork;
use crate::workspace::{Mock, Workspace, new_request};

/// What arms run, by their numbers.
pub(super) type CheckedArms = Vec<(u32, Result<Variant, String>)>;

/// How many samples of an arm are left to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOfArm {
    /// How many are begun.
    pub(super) begins: u32,
    /// How many that were stopped go on.
    pub(super) continues: u32,
    /// How many that have ended are only scored.
    pub(super) scores: u32,
}

/// How many bundles are made to see whether the arms can be run.
const MAX_CHECKED: usize = 20;

impl Workspace {
    /// What an experiment will take. Writes and runs nothing.
    pub fn plan_try(&self, query: &TryQuery) -> Result<TryPlan, Fault> {
        Ok(self.plan_trial(&self.trial(query)?))
    }

    /// As [`plan_try`](Self::plan_try), of an experiment that was checked.
    pub fn plan_trial(&self, Trial { experiment, checked }: &Trial) -> TryPlan {
        let all = LeftOfArm { begins: experiment.query.samples(), ..LeftOfArm::default() };
        self.plan_of_experiment(experiment, checked, &|_| all)
    }

    /// Prepares an experiment, or refuses one that cannot be begun. Writes and runs nothing.
    pub fn trial(&self, query: &TryQuery) -> Result<Trial, Fault> {
        let id = format!("exp_{}", crate::effects::outside::new_id().simple());
        let experiment = self.experiment_of(id, query.clone(), Spending::default())?;
        let checked = self.check_query(&experiment)?;
        Ok(Trial { experiment, checked })
    }

    /// Refuses what cannot be tried before anything is written. Returns what the arms run that were looked at, by their
    /// numbers.
    pub(super) fn check_query(&self, experiment: &Experiment) -> Result<CheckedArms, Fault> {
        let Experiment { query, events, place, .. } = experiment;
        if query.needs_generator() {
            place.generator(events)?;
        }
        if let Some(score) = &query.score {
            score.ready()?;
            if let Score::Block { flow, action } = score {
                let found = self.with_catalogue(|catalogue| catalogue.find(flow))?;
                named(&found.flow, action, &Wanted::Action)?;
            }
            if let (Score::Model { model, .. }, Mock::Off) = (score, &experiment.mock)
                && let Some(problem) = problem_of(model, "score", &self.config.models, BTreeMap::new())
            {
                return Err(Fault::invalid(format!("--score-model {model}: {problem}")));
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
        let generator = if query.parameters.is_empty() { None } else { Some(place.generator(events)?) };
        if let Some(generator) = generator {
            let own: Vec<RecordedCall> =
                place.calls(events).into_iter().filter(|call| call.generator == *generator).collect();
            check_parameters(&query.parameters, &place.path, &own)?;
        }
        // What a fork refuses is refused here, before the base arm costs anything.
        let has_many = query.versions() > MAX_CHECKED;
        let checked = if has_many { experiment.arms.len().min(2) } else { experiment.arms.len() };
        let looked_at = experiment.arms.get(..checked).unwrap_or_default();
        let arms: Vec<Arm> = looked_at.iter().map(|(_, arm)| arm.clone()).collect();
        let mut variants = self.variants(experiment, &arms, &Cancel::default())?;
        self.refuse_edits(experiment, &arms, &mut variants)?;
        let is_only = experiment.arms.len() == 1;
        let mut own =
            variants.iter().zip(&arms).filter(|(_, arm)| is_only || !arm.is_base()).map(|(variant, _)| variant);
        let reason = own.clone().find_map(|variant| variant.as_ref().err().cloned());
        match (own.find_map(|variant| variant.as_ref().ok()), reason) {
            (Some(Variant { loaded_flow, cut, edits, answered, .. }), _) => {
                let (loaded_flow, answered) = (loaded_flow.clone(), answered.clone());
                let point = experiment.point(self, *cut, edits)?;
                let script = experiment.script(self, &point, &loaded_flow)?;
                let fork = NewFork { id: new_request(), loaded_flow, point, answered };
                self.forking_as(fork, edits.clone(), script)?;
            }
            (None, Some(reason)) => return Err(Fault::invalid(reason)),
            (None, None) => {}
        }
        Ok(looked_at.iter().map(|(number, _)| *number).zip(variants).collect())
    }

    /// Refuses a budget that has no room for one call, by what was recorded.
    fn check_budget(&self, experiment: &Experiment) -> Result<(), Fault> {
        let calls = experiment.place.calls(&experiment.events);
        let tokens = calls.iter().filter_map(|call| call.tokens).map(|tokens| tokens.sum()).max();
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

    /// Estimates what the remaining samples take; `left_of` returns how many an arm has.
    pub(super) fn plan_of_experiment(
        &self,
        experiment: &Experiment,
        checked: &CheckedArms,
        left_of: &dyn Fn(u32) -> LeftOfArm,
    ) -> TryPlan {
        let Experiment { query, events, place, arms, .. } = experiment;
        let all = place.calls(events);
        // Of an arm with an output of its own, the block is not run.
        let behind = place.ended.map(|ended| place.calls_after(events, ended)).unwrap_or_default();
        let generator = if query.needs_generator() { place.generator(events).ok() } else { None };
        let has_base = arms.len() > 1;
        let (mut cost, mut tokens, mut models) = (Some(0.0), Some(0.0), Vec::<String>::new());
        let (mut other_models, mut cannot_run) = (Vec::<String>::new(), Vec::<String>::new());
        let (mut model_calls, mut base_model_calls, mut scored) = (0, 0, 0);
        let put = |list: &mut Vec<String>, name: &String| {
            if !list.contains(name) {
                list.push(name.clone());
            }
        };
        let ever_asked = place.generators_asked(events);
        let first_known = checked.iter().find_map(|(_, variant)| variant.as_ref().ok());
        // Those that were looked at are the first ones.
        for (at, (number, arm)) in arms.iter().enumerate() {
            let facts = match checked.get(at).map(|(_, variant)| variant) {
                Some(Err(reason)) => {
                    let name = if arm.is_base() { "base".to_owned() } else { format!("arm {number}") };
                    cannot_run.push(format!("{name}: {reason}"));
                    continue;
                }
                Some(Ok(variant)) => Some(&variant.facts),
                None => first_known.map(|variant| &variant.facts),
            };
            let left = left_of(*number);
            let samples = left.begins + left.continues;
            scored += samples + left.scores;
            if samples == 0 {
                continue;
            }
            let calls = if arm.output.is_some() { &behind } else { &all };
            model_calls += calls.len() as u32 * samples;
            base_model_calls += if has_base && arm.is_base() { calls.len() as u32 * samples } else { 0 };
            for call in calls {
                let RecordedCall { path, model, generator: asker, tokens: used, .. } = call;
                let is_edited = generator.as_ref().is_some_and(|generator| generator == asker)
                    && (facts.is_none_or(|facts| facts.count(asker) < 2) || place.is_same_operation(path));
                // The code says what is asked, not the recording: the code may have been edited since.
                let today = facts.and_then(|facts| facts.models_of(asker));
                let asked = match (&arm.model, today) {
                    (Some(model), _) if is_edited => std::slice::from_ref(model),
                    (_, Some(models)) if !models.is_empty() => models,
                    _ => std::slice::from_ref(model),
                };
                let price = used.and_then(|used| self.config.price_of(&asked[0], used));
                cost = cost.zip(price).map(|(cost, price)| cost + price * f64::from(samples));
                let used = used.map(|used| (used.input + used.output) as f64 * f64::from(samples));
                tokens = tokens.zip(used).map(|(tokens, used)| tokens + used);
                asked.iter().for_each(|model| put(&mut models, model));
            }
            // What the request did not come by, a sample may.
            let others = facts.map(|facts| facts.generators.as_slice()).unwrap_or_default();
            for other in others.iter().filter(|other| !ever_asked.contains(&other.name)) {
                other.models.iter().flatten().for_each(|model| put(&mut other_models, model));
            }
        }
        other_models.retain(|model| !models.contains(model));
        let Outside { hosts, asks_again, sent } = Outside::after(events, place, &experiment.row.flow);
        let mut notes = notes(experiment, model_calls);
        let is_scored_by_model = matches!(query.score, Some(Score::Model { .. })) && scored > 0;
        if experiment.mock == Mock::Off && (model_calls > 0 || is_scored_by_model) {
            notes.push(RETRIES.to_owned());
        }
        if !sent.is_empty() {
            notes.push(format!("samples start requests of {} beside them, which ask what they ask", sent.join(", ")));
        }
        let mut other_hosts = self.config.fetch_hosts();
        other_hosts.retain(|allowed| !hosts.iter().any(|host| is_host(allowed, host)));
        if !other_hosts.is_empty() {
            notes.push(format!("another way through the flow may fetch from {}", other_hosts.join(", ")));
        }
        let mut score_model_calls = 0;
        if let Some(Score::Model { model, .. }) = &query.score {
            score_model_calls = scored;
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
            samples: query.samples(),
            left: None,
            model_calls: model_calls + score_model_calls,
            base_model_calls,
            score_model_calls,
            scored_by,
            tokens: tokens.filter(|_| asks),
            cost_usd: cost.filter(|_| asks),
            models,
            other_models,
            hosts,
            asks_again,
            cannot_run,
            mock: experiment.mock != Mock::Off,
            notes,
        }
    }
}

/// What the figures of a plan leave out.
const RETRIES: &str = "calls are counted as they were recorded; retries and fallbacks come on top, as of a call \
                       that a provider refuses for now, and each request that is sent counts against the budget";

/// What one must know to read the figures of a plan.
fn notes(Experiment { arms, mock, .. }: &Experiment, model_calls: u32) -> Vec<String> {
    let shares = *mock == Mock::Off && arms.len() > 1 && model_calls > 0;
    let note = "arms that ask a model the same share the answer of each sample number, so fewer calls may be made";
    shares.then(|| note.to_owned()).into_iter().collect()
}

/// Whether an allowed host is this one, whatever its port.
fn is_host(allowed: &str, host: &str) -> bool {
    allowed.strip_prefix(host).is_some_and(|port| port.is_empty() || port.starts_with(':'))
}

/// What of the outside a request used after a place.
#[derive(Default)]
struct Outside {
    /// The hosts that it fetched from.
    hosts: Vec<String>,
    /// The blocks that asked and were answered.
    asks_again: Vec<String>,
    /// The entries that it sent requests to, as `flow.entry`.
    sent: Vec<String>,
}

impl Outside {
    fn after(events: &[Event], place: &Place, flow: &str) -> Outside {
        let mut outside = Outside::default();
        let put = |list: &mut Vec<String>, name: String| {
            if !list.contains(&name) {
                list.push(name);
            }
        };
        let beside = place.beside(events, place.before);
        for event in events {
            let is_after = event.seq > place.before || place.is_own(event);
            // A block that is under way asks again what it had asked, whatever it was answered.
            let open = event.path.as_ref().and_then(|path| beside.get(path));
            let is_beside = open.is_some_and(|open| !open.is_around);
            match &event.kind {
                EventKind::EffectStarted { request: Some(request), .. } if is_after && !is_beside => {
                    let host = request["url"].as_str().and_then(|url| reqwest::Url::parse(url).ok());
                    if let Some(host) = host.and_then(|url| url.host_str().map(str::to_owned)) {
                        put(&mut outside.hosts, host);
                    }
                }
                EventKind::EffectFinished { dispatch: Some(sent), .. } if is_after && !is_beside => {
                    let of = sent["flowKind"].as_str().unwrap_or(flow);
                    put(&mut outside.sent, format!("{of}.{}", sent["target"].as_str().unwrap_or_default()));
                }
                EventKind::Suspended(_) if is_after || open.is_some() => {
                    put(&mut outside.asks_again, event.path.as_deref().unwrap_or_default().to_owned());
                }
                _ => {}
            }
        }
        outside
    }
}
