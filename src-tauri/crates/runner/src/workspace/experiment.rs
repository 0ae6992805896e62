//! Experiments: many forks of a request from just before a block, with other models, prompts, parameters, state,
//! outputs or code, compared by what they come to (ARCHITECTURE §8.13).
//!
//! Each sample is a fork like any other; an experiment only names its samples. Everything before the block is taken
//! from the log. Must not begin a model call that the budget has no room for.

mod adopt;
mod axes;
mod code;
mod culprit;
mod edit_check;
mod place;
mod plan;
mod report;
mod revision;
mod sample;
mod score;
mod scores;
mod statistics;
mod variant;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::Event;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{ExperimentRow as Stored, SampleRow};
use tokio::sync::Semaphore;

use super::resume::Next;
use super::{Mock, Workspace, new_request};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::effects::outside::now_ms;
use crate::models::call_meter::{CallMeter, ExpectedCall};
use crate::run::batch::{Bounds, Cancel, batch, cores};
use crate::views::{ExperimentView, RequestRow, StoppedBy, TryProgress};
use axes::Arm;
use place::Place;
use sample::Begun;
use score::Scored;
use variant::Variant;

pub use crate::models::call_meter::Budget;
pub use axes::{ModelsBy, ParameterAxis, PromptField, PromptText, SetAxis, TryQuery};
pub use culprit::CulpritQuery;
pub(super) use place::{AnsweredBeside, nearest};
pub use score::Score;

/// How many forks that ask real models run at once: they wait for the network most of the time.
const AT_ONCE: usize = 100;
/// The number of the base arm.
const BASE: u32 = 0;

/// An experiment whose request and place are known.
struct Experiment {
    id: String,
    query: TryQuery,
    row: RequestRow,
    events: Vec<Event>,
    place: Place,
    /// The arms by number. The base arm is the first one, or the only one.
    arms: Vec<(u32, Arm)>,
    mock: Mock,
    /// What was spent before that is in no log of a sample.
    unlogged: Unlogged,
    /// Held while a fork begins: evaluating a flow's file takes a core, and has a time limit.
    beginning: Semaphore,
}

impl Experiment {
    /// How many forks run at once: as many as there are cores, or more if they wait for models.
    fn workers(&self, jobs: Option<u32>) -> usize {
        let waits = self.mock == Mock::Off && !self.place.calls(&self.events).is_empty();
        jobs.map_or(if waits { AT_ONCE } else { cores() }, |jobs| jobs as usize)
    }
}

/// One sample that is to be run.
struct Job<'v> {
    arm: u32,
    number: u32,
    /// The request of a sample that was begun earlier.
    begun: Option<(String, Begun)>,
    /// The request that it had, and that is not there.
    gone: Option<String>,
    variant: &'v Variant,
}

/// How running a sample ended.
struct JobEnd {
    arm: u32,
    result: Result<Option<String>, Fault>,
}

impl Workspace {
    /// Begins an experiment and runs it. `progress` hears of each sample that has ended, on this thread.
    pub fn try_out(
        &self,
        query: &TryQuery,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_writable()?;
        self.check_trusted()?;
        let id = format!("exp_{}", crate::effects::outside::new_id().simple());
        let experiment = self.experiment_of(id.clone(), query.clone(), Unlogged::default())?;
        self.check_query(&experiment)?;
        let body = StoredBody { query: query.clone(), ..StoredBody::default() };
        let stored = Stored { id, request: query.request.clone(), at: now_ms(), body: body.to_json()? };
        self.store.put_experiment(&stored).map_err(Fault::of_write)?;
        self.carry_out(&experiment, cancel, progress)
    }

    /// Goes on with an experiment: runs the samples that are missing, and scores those that have no score. A score or a
    /// budget that is given takes the place of the one it was begun with; `samples` may be more than before.
    pub fn go_on_trying(
        &self,
        id: &str,
        changed: &TryQuery,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_writable()?;
        self.check_trusted()?;
        let stored = self.stored_experiment(id)?;
        let StoredBody { mut query, unlogged, .. } = StoredBody::of(&stored)?;
        let is_scored_anew = changed.score.is_some() && changed.score != query.score;
        query.score = changed.score.clone().or(query.score);
        query.budget = changed.budget.or(query.budget);
        query.jobs = changed.jobs.or(query.jobs);
        query.samples = query.samples().max(changed.samples);
        let experiment = self.experiment_of(id.to_owned(), query.clone(), unlogged)?;
        self.check_query(&experiment)?;
        let body = StoredBody { query: query.clone(), unlogged, ..StoredBody::default() }.to_json()?;
        self.store.put_experiment(&Stored { body, ..stored }).map_err(Fault::of_write)?;
        if is_scored_anew {
            for row in self.store.samples(id).map_err(Fault::internal)? {
                self.set_sample(id, &SampleRow { score: None, ..row })?;
            }
        }
        self.carry_out(&experiment, cancel, progress)
    }

    fn stored_experiment(&self, id: &str) -> Result<Stored, Fault> {
        let found = self.store.experiment(id).map_err(Fault::internal)?;
        found.ok_or_else(|| Fault::not_found(format!("unknown experiment \"{id}\"")))
    }

    fn set_sample(&self, experiment: &str, sample: &SampleRow) -> Result<(), Fault> {
        self.store.set_sample(experiment, sample).map(drop).map_err(Fault::of_write)
    }

    /// Finds the request, the place and the arms.
    fn experiment_of(&self, id: String, query: TryQuery, unlogged: Unlogged) -> Result<Experiment, Fault> {
        let (row, events) = self.whole_log_of(&query.request)?;
        let place = Place::find(&query.request, &events, &query.at)?;
        let own = query.arms()?;
        let base = (BASE, Arm::default());
        let arms = if own.iter().all(Arm::is_base) {
            vec![(1, Arm::default())]
        } else {
            std::iter::once(base).chain((1..).zip(own)).collect()
        };
        let mock = Mock::from(&query.models_by);
        let mock = match mock {
            Mock::Inherit => {
                let (_, origin) = self.asked_before(&row, &events)?;
                let file = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?.bundle.file.clone();
                match self.mode(&Mock::Inherit, origin.as_deref(), &file) {
                    Mock::Inherit => Mock::Off,
                    mode => mode,
                }
            }
            other => other,
        };
        let beginning = Semaphore::new(cores());
        Ok(Experiment { id, query, row, events, place, arms, mock, unlogged, beginning })
    }

    /// Runs the samples that have not ended, and scores those that have.
    fn carry_out(
        &self,
        experiment: &Experiment,
        cancel: &Cancel,
        mut progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        let Experiment { id, query, arms, .. } = experiment;
        let of_arms: Vec<Arm> = arms.iter().map(|(_, arm)| arm.clone()).collect();
        let variants = self.variants(experiment, &of_arms, cancel)?;
        let meter = self.meter_of(experiment)?;
        let known = self.store.samples(id).map_err(Fault::internal)?;
        let known: HashMap<(u32, u32), SampleRow> = known.into_iter().map(|row| ((row.arm, row.number), row)).collect();
        let mut jobs = Vec::new();
        // Each arm has its first sample before any has its second.
        for number in 1..=query.samples() {
            for ((arm, _), variant) in arms.iter().zip(&variants) {
                let Ok(variant) = variant else { continue };
                let row = known.get(&(*arm, number));
                let begun = match row {
                    None => None,
                    Some(row) => self.begun(row)?.map(|begun| (row.request.clone(), begun)),
                };
                let is_scored = row.is_some_and(|row| row.score.is_some()) || query.score.is_none();
                let is_done = matches!(begun, Some((_, Begun::Ended))) && is_scored;
                if !is_done && !matches!(begun, Some((_, Begun::Runs))) {
                    let gone = row.filter(|_| begun.is_none()).map(|row| row.request.clone());
                    jobs.push(Job { arm: *arm, number, begun, gone, variant });
                }
            }
        }
        let scorer = query.score.as_ref().map(Score::ready).transpose()?;
        let workers = experiment.workers(query.jobs);
        let of = jobs.len() as u32;
        let (mut done, mut failed, mut errors) = (0, 0, Vec::new());
        let mut tell = |done, failed| progress(TryProgress { experiment_id: Some(id.clone()), done, of, failed });
        tell(0, 0);
        // What has ended is scored without a call.
        let has_room = |job: &Job<'_>| !meter.is_exhausted() || matches!(job.begun, Some((_, Begun::Ended)));
        batch(
            &jobs,
            &Bounds { has_room: &has_room, ..Bounds::workers(workers) },
            cancel,
            |job| {
                let result = self.run_job(experiment, job, &meter, scorer.as_ref(), cancel);
                JobEnd { arm: job.arm, result }
            },
            |_, JobEnd { arm, result }| {
                done += 1;
                match result {
                    Ok(status) => failed += u32::from(status.is_some_and(|status| status == "failed")),
                    Err(fault) => {
                        failed += 1;
                        if !errors.iter().any(|(known, _)| *known == arm) {
                            errors.push((arm, fault.to_string()));
                        }
                    }
                }
                tell(done, failed);
            },
        )?;
        for ((arm, _), variant) in arms.iter().zip(&variants) {
            errors.extend(variant.as_ref().err().map(|reason| (*arm, reason.clone())));
        }
        let stopped = match (meter.is_exhausted(), cancel.is_cancelled()) {
            (true, _) => Some(StoppedBy::Budget),
            (false, true) => Some(StoppedBy::Cancelled),
            _ => None,
        };
        let unlogged = self.unlogged(experiment, &meter)?;
        let body = StoredBody { query: query.clone(), errors, stopped, unlogged }.to_json()?;
        let stored = Stored { body, ..self.stored_experiment(id)? };
        self.store.put_experiment(&stored).map_err(Fault::of_write)?;
        self.view_of_experiment(&stored)
    }

    /// How a sample was begun. `None` if its request is gone, or was never written.
    fn begun(&self, row: &SampleRow) -> Result<Option<Begun>, Fault> {
        match self.request(&row.request) {
            Ok(found) => Ok(Some(Begun::of(found.status))),
            Err(Fault::NotFound { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Runs a sample to its end and scores it. Returns its status.
    fn run_job(
        &self,
        experiment: &Experiment,
        job: &Job<'_>,
        meter: &Arc<CallMeter>,
        scorer: Option<&score::Scorer<'_>>,
        cancel: &Cancel,
    ) -> Result<Option<String>, Fault> {
        let Experiment { id, row, mock, .. } = experiment;
        let calls = meter.sample(job.number);
        let request = match &job.begun {
            Some((request, begun)) => {
                if *begun == Begun::Stopped && cancel.is_cancelled() {
                    return Ok(None);
                }
                if *begun == Begun::Stopped {
                    let running = self.resume_sample(request, job.variant, &calls)?;
                    self.finish_sample(running, &calls, cancel)?;
                }
                request.clone()
            }
            None => {
                let request = new_request();
                // Before it begins, so that whoever goes on after this process was ended finds it.
                let begun = SampleRow { arm: job.arm, number: job.number, request: request.clone(), score: None };
                let is_ours = self.store.claim_sample(id, &begun, job.gone.as_deref()).map_err(Fault::of_write)?;
                if !is_ours {
                    return Ok(None);
                }
                let Some(running) = self.begin_sample(&request, experiment, job.variant, &calls, cancel)? else {
                    return Ok(None);
                };
                self.finish_sample(running, &calls, cancel)?;
                request
            }
        };
        let Some(read) = self.read_run(&request)? else { return Ok(None) };
        let status = read.row.status;
        if let Some(scorer) = scorer.filter(|_| Begun::is_over(status)) {
            let file = job.variant.loaded_flow.bundle.file.as_str();
            let scored = Scored { user: &row.user_id, file, mock: mock.clone(), calls, cancel: cancel.clone() };
            let score = match self.score(scorer, &self.told(&read)?, &scored) {
                Ok(value) => json!({ "value": value }),
                // Whoever goes on scores it.
                Err(_) if scored.calls.is_refused() || cancel.is_cancelled() => {
                    return Ok(Some(status.as_str().to_owned()));
                }
                Err(why) => json!({ "error": why }),
            };
            let scored = SampleRow { arm: job.arm, number: job.number, request, score: Some(score) };
            self.set_sample(id, &scored)?;
        }
        Ok(Some(status.as_str().to_owned()))
    }

    /// What has been spent by now that is in no log of a sample.
    fn unlogged(&self, experiment: &Experiment, meter: &CallMeter) -> Result<Unlogged, Fault> {
        let rows = self.store.samples(&experiment.id).map_err(Fault::internal)?;
        let (logged, logged_tokens, logged_usd) = self.spent(&rows, experiment.mock == Mock::Off)?;
        let (calls, tokens, usd) = meter.settled();
        Ok(Unlogged {
            calls: calls.saturating_sub(logged),
            tokens: (tokens - logged_tokens as f64).max(0.0),
            usd: (usd - logged_usd).max(0.0),
        })
    }

    /// Counts the calls of an experiment, with those of samples that have run before.
    fn meter_of(&self, experiment: &Experiment) -> Result<Arc<CallMeter>, Fault> {
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
        let (calls, tokens, usd) = self.spent(&rows, experiment.mock == Mock::Off)?;
        let more = experiment.unlogged;
        meter.add_spent(calls + more.calls, tokens as f64 + more.tokens, usd + more.usd);
        Ok(meter)
    }
}

/// What is stored of an experiment besides its samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredBody {
    query: TryQuery,
    /// Why arms could not be run, by their numbers.
    errors: Vec<(u32, String)>,
    stopped: Option<StoppedBy>,
    unlogged: Unlogged,
}

/// What an experiment has spent that is in no log of a sample: requests that providers refused, and scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Unlogged {
    calls: u32,
    tokens: f64,
    usd: f64,
}

impl StoredBody {
    fn of(stored: &Stored) -> Result<StoredBody, Fault> {
        engine::json::from_value(stored.body.clone())
            .map_err(|error| Fault::internal(format!("experiment \"{}\" cannot be read: {error}", stored.id)))
    }

    fn to_json(&self) -> Result<Value, Fault> {
        serde_json::to_value(self).map_err(Fault::internal)
    }
}
