//! What an experiment will take, told before it runs, and what it cannot be.

use engine::event::{Event, EventKind};

use super::place::{Place, RecordedCall};
use super::score::Score;
use super::variant::Variant;
use super::{Budget, Experiment, TryQuery};
use crate::catalogue::runnable::{Wanted, named};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::views::TryPlan;
use crate::workspace::{Mock, Workspace, new_request};

impl Workspace {
    /// What an experiment will take. Writes and runs nothing.
    pub fn plan_try(&self, query: &TryQuery) -> Result<TryPlan, Fault> {
        let experiment = self.experiment_of(String::new(), query.clone())?;
        self.check_query(&experiment)?;
        Ok(self.plan_of_experiment(&experiment))
    }

    /// Refuses what cannot be tried before anything is written.
    pub(super) fn check_query(&self, experiment: &Experiment) -> Result<(), Fault> {
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
        }
        if let (Some(Budget::Usd(_)), Some(model)) = (query.budget, self.unpriced(experiment)) {
            return Err(Fault::invalid(format!(
                "--budget: nobody knows what model \"{model}\" costs: give its price under \"prices\" in \
                 flowglass.json, or a budget in calls or tokens"
            )));
        }
        // What a fork refuses, it refuses here.
        if let Some((_, arm)) = experiment.arms.last() {
            let variants = self.variants(query, &experiment.flow, events, place, std::slice::from_ref(arm))?;
            if let Some(Ok(Variant { loaded_flow, at, edits })) = variants.into_iter().next() {
                self.forking_as(new_request(), loaded_flow, &query.request, &at, edits, &experiment.mock)?;
            }
        }
        Ok(())
    }

    /// A model of an experiment without a price.
    fn unpriced(&self, experiment: &Experiment) -> Option<String> {
        let calls = experiment.place.calls(&experiment.events);
        let recorded = calls.into_iter().map(|call| call.model);
        let tried = experiment.query.models.iter().cloned();
        recorded.chain(tried).find(|model| self.config.price_of(model, CallTokens::default()).is_none())
    }

    fn plan_of_experiment(&self, experiment: &Experiment) -> TryPlan {
        let Experiment { query, events, place, arms, .. } = experiment;
        let calls = place.calls(events);
        let samples = query.samples();
        let generator = if query.needs_generator() { place.generator(events).ok() } else { None };
        let has_base = arms.len() > 1;
        let (mut cost, mut tokens, mut models) = (Some(0.0), Some(0.0), Vec::<String>::new());
        for (_, arm) in arms {
            for call in &calls {
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
        let base_model_calls = if has_base { calls.len() as u32 * samples } else { 0 };
        TryPlan {
            arms: arms.len() as u32 - u32::from(has_base),
            samples,
            model_calls: calls.len() as u32 * samples * arms.len() as u32,
            base_model_calls,
            tokens: tokens.filter(|_| !calls.is_empty()),
            cost_usd: cost.filter(|_| !calls.is_empty()),
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
    for event in events.iter().filter(|event| event.seq > place.before) {
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
