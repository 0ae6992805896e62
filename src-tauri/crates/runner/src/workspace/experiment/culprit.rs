//! Finds the step at which a request's failure was decided, by how often forks from before its steps fail.
//!
//! The forks change nothing. Only their new model calls and other effects may differ, and this is measured.

mod search;
mod steps;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::views::Events;
use script::Expression;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::Place;
use super::plan::{CheckedArms, LeftOfArm};
use super::sample::Begun;
use super::score::expression;
use super::statistics::rate;
use super::variant::Variant;
use super::{Budget, Experiment, ModelsBy, Spending, TryQuery};
use crate::core::fault::Fault;
use crate::models::call_meter::SampleCalls;
use crate::run::batch::{Bounds, Cancel, batch};
use crate::views::{Culprit, CulpritStep, CulpritView, CurvePoint, RequestRow, TryPlan, TryProgress, WhereDecided};
use crate::workspace::{Edits, Mock, Workspace, new_request};
use search::{Next, Search, Tally};
use steps::{Step, deciding, may_differ, steps};

/// How many forks a search runs at most.
const MAX_FORKS: u32 = 200;
/// How many samples a point has by default.
const SAMPLES: u32 = 8;

/// The request and its failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase", default)]
pub struct CulpritQuery {
    /// The request.
    pub request: String,
    /// A TypeScript expression that is true for a failing run.
    pub fails: String,
    /// How many samples a point has at least; 0 is 8.
    pub samples: u32,
    /// The limit of the spending.
    pub budget: Option<Budget>,
    /// How model calls are answered.
    pub models_by: ModelsBy,
    /// How many forks run at once.
    pub jobs: Option<u32>,
}

/// The model of the first call that a request made after an event, or that was in progress there; `None` if a fork from
/// there spends nothing.
fn model_after(events: &[Event], cut: Seq) -> Option<String> {
    let view = Events::new(events);
    let asked = events.iter().filter(|event| event.seq > cut).find_map(|event| match &event.kind {
        EventKind::EffectStarted { effect: EffectKind::Model, request, .. } => request.as_ref(),
        EventKind::EffectFinished { effect: EffectKind::Model, memoized: false, .. } => {
            view.effect_request(&event.kind)
        }
        _ => None,
    });
    asked.map(|request| request["model"].as_str().unwrap_or_default().to_owned())
}

/// A checked search. Its request was read and its code evaluated, once for both the plan and the forks.
pub struct CulpritSearch {
    query: CulpritQuery,
    fails: Expression,
    steps: Vec<Step>,
    experiment: Experiment,
    checked: CheckedArms,
}

/// The result of one fork.
enum ForkEnd {
    /// Whether it fails, and whether it used anything random (a model, a random number, the time).
    Judged { fails: bool, drew: bool },
    /// It waits for an answer that the request was given.
    Waits,
    /// It was stopped or deleted.
    Gone,
    /// It did not begin: the search was cancelled, or the budget does not allow another call.
    NotBegun,
}

impl Workspace {
    /// Searches for the step at which a failure was decided. `progress` is called for each round of forks, on this
    /// thread.
    pub fn culprit(
        &self,
        query: &CulpritQuery,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<CulpritView, Fault> {
        self.check_may_experiment()?;
        self.run_search(&self.culprit_search(query)?, cancel, progress)
    }

    /// Like [`culprit`](Self::culprit), for a checked search.
    pub fn run_search(
        &self,
        CulpritSearch { query, fails, steps, experiment, .. }: &CulpritSearch,
        cancel: &Cancel,
        mut progress: impl FnMut(TryProgress),
    ) -> Result<CulpritView, Fault> {
        self.check_may_experiment()?;
        let events: &[Event] = &experiment.events;
        let is_mock = experiment.mock != Mock::Off;
        let first = steps.first().map_or(u64::MAX, |step| step.seq);
        let mut is_deterministic = !may_differ(events, first, is_mock);
        let wanted = if query.samples == 0 { SAMPLES } else { query.samples };
        let meter = self.meter_of(experiment)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&experiment.row.flow))?;
        let workers = experiment.workers(query.jobs);
        let mut search = Search::new(steps.len(), wanted, MAX_FORKS, is_deterministic);
        let (numbers, mut notes, mut failed, mut waiting) = (AtomicU32::new(1), Vec::new(), 0, 0);
        // Why no further fork is run.
        let mut over: Option<&str> = None;
        let verdict = loop {
            let (point, forks) = match search.next() {
                Next::Sample { point, forks } if over.is_none() => (point, forks),
                Next::Sample { .. } | Next::NotEnough => {
                    notes.extend(over.map(str::to_owned));
                    break (WhereDecided::NotEnoughSamples, None);
                }
                Next::Found(step) => break (WhereDecided::Found, Some(step)),
                Next::BeforeFirst => break (WhereDecided::BeforeTheFirstStep, None),
            };
            let cut = steps[point].seq - 1;
            // Calls in progress at this point run again, because they may decide the outcome.
            let (answered, facts) = (Arc::default(), Arc::default());
            let variant = Variant { loaded_flow: loaded_flow.clone(), cut, edits: Edits::default(), answered, facts };
            let (mut seen, mut errors, mut has_drawn) = (Tally::default(), Vec::new(), false);
            let (mut begun, model) = (0, model_after(events, cut));
            let jobs: Vec<u32> = (0..forks).collect();
            batch(
                &jobs,
                &Bounds { has_room: &|_| !meter.is_exhausted() || model.is_none(), ..Bounds::workers(workers) },
                cancel,
                |_| -> Result<ForkEnd, String> {
                    let calls = meter.sample(numbers.fetch_add(1, Ordering::Relaxed));
                    let ran = self.run_fork(experiment, &variant, model.as_deref(), &calls, cancel);
                    calls.give_room_back();
                    let Some(id) = ran.map_err(|fault| fault.to_string())? else { return Ok(ForkEnd::NotBegun) };
                    let read = self.read_run(&id).map_err(|fault| fault.to_string())?;
                    let read = match read {
                        Some(read) if Begun::is_over(read.row.status) => read,
                        Some(read) if read.row.status == RequestStatus::Suspended => return Ok(ForkEnd::Waits),
                        _ => return Ok(ForkEnd::Gone),
                    };
                    let told = self.told(&read).map_err(|fault| fault.to_string())?;
                    match fails.evaluate(&told)? {
                        Some(Value::Bool(fails)) => {
                            Ok(ForkEnd::Judged { fails, drew: may_differ(&read.events, 0, is_mock) })
                        }
                        other => Err(format!("the expression is {}", other.unwrap_or_default())),
                    }
                },
                |_, result| {
                    begun += u32::from(!matches!(result, Ok(ForkEnd::NotBegun)));
                    match result {
                        Ok(ForkEnd::Judged { fails, drew }) => {
                            seen.samples += 1;
                            seen.failures += u32::from(fails);
                            has_drawn |= drew;
                        }
                        Ok(ForkEnd::Waits) => waiting += 1,
                        Ok(ForkEnd::Gone | ForkEnd::NotBegun) => {}
                        Err(error) => errors.push(error),
                    }
                },
            )?;
            search.add(point, seen);
            search.add_unjudged(begun - seen.samples);
            failed += seen.failures;
            // It may take another path than the request, and use something random there.
            if is_deterministic && has_drawn {
                is_deterministic = false;
                search.differ_by_chance(wanted);
            }
            progress(TryProgress { experiment_id: None, done: search.forks(), of: MAX_FORKS, failed });
            if let Some(error) = errors.first() {
                notes.push(format!("{} of {forks} forks from {}: {error}", errors.len(), steps[point].path));
            }
            over = match () {
                () if cancel.is_cancelled() => Some("the search was cancelled"),
                () if meter.is_exhausted() => Some("the budget is spent"),
                () if seen.samples == 0 => Some("no fork could be judged"),
                () => None,
            };
        };
        if waiting > 0 {
            notes.push(format!(
                "{waiting} of {} forks wait for an answer that the request was given: no approval is carried over",
                search.forks()
            ));
        }
        if is_deterministic && verdict.0 != WhereDecided::NotEnoughSamples {
            let note = "the flow draws nothing, reads no clock and asks no real model, so one fork a step is enough";
            notes.push(note.to_owned());
        }
        let point = |(step, tally): (&Step, &Tally)| {
            let interval = rate(tally.failures, tally.samples);
            CurvePoint {
                path: step.path.clone(),
                attempt: step.attempt,
                seq: step.seq,
                failures: tally.failures,
                samples: tally.samples,
                rate: f64::from(tally.failures) / f64::from(tally.samples.max(1)),
                low: interval.low,
                high: interval.high,
            }
        };
        let curve = steps.iter().zip(&search.points).filter(|(_, tally)| tally.samples > 0).map(point).collect();
        let (verdict, step) = verdict;
        let step = step.map(|step| deciding(steps, step, &mut notes));
        let culprit = step.and_then(|step| steps.get(step)).map(|step| Culprit {
            path: step.path.clone(),
            attempt: step.attempt,
            seq: step.seq,
        });
        let all = steps
            .iter()
            .map(|step| CulpritStep { path: step.path.clone(), attempt: step.attempt, seq: step.seq })
            .collect();
        Ok(CulpritView {
            request_id: query.request.clone(),
            verdict,
            culprit,
            curve,
            steps: all,
            forks: search.forks(),
            notes,
        })
    }

    /// Checks and prepares a search before any fork runs.
    pub fn culprit_search(&self, query: &CulpritQuery) -> Result<CulpritSearch, Fault> {
        let fails = expression("--fails", &query.fails)?;
        let (row, events) = self.whole_log_of(&query.request)?;
        if Begun::of(row.status) == Begun::Runs {
            return Err(Fault::refused(format!("request \"{}\" is still running", query.request)));
        }
        match fails.evaluate(&self.told(&self.run_in(row.clone(), &events)?)?) {
            Ok(Some(Value::Bool(true))) => {}
            Ok(Some(Value::Bool(false))) => {
                return Err(Fault::invalid(format!(
                    "--fails: the expression is false of request \"{}\" itself: write what is wrong with it",
                    query.request
                )));
            }
            Ok(other) => {
                let other = other.map_or_else(|| "undefined".to_owned(), |value| value.to_string());
                return Err(Fault::invalid(format!("--fails: the expression is to be true or false, not {other}")));
            }
            Err(error) => return Err(Fault::invalid(format!("--fails: {error}"))),
        }
        let steps = steps(&events);
        let (experiment, checked) = self.forks_of(query, (row, events), steps.first())?;
        Ok(CulpritSearch { query: query.clone(), fails, steps, experiment, checked })
    }

    /// Runs a fork of a search to its end. Returns its request; `None` if it did not begin.
    fn run_fork(
        &self,
        experiment: &Experiment,
        variant: &Variant,
        model: Option<&str>,
        calls: &SampleCalls,
        cancel: &Cancel,
    ) -> Result<Option<String>, Fault> {
        let has_room = |model| calls.wait_for_room(model, &|| cancel.is_cancelled(), &|| false);
        if cancel.is_cancelled() || !model.is_none_or(has_room) {
            return Ok(None);
        }
        let id = new_request();
        self.store.claim_part(&id).map_err(Fault::internal)?;
        let Some(running) = self.begin_sample(&id, experiment, variant, calls, cancel)? else { return Ok(None) };
        self.finish_sample(running, calls, cancel)?;
        Ok(Some(id))
    }

    /// Returns the maximum calls of a search. It makes fewer if the result is clear earlier. Writes and runs nothing.
    pub fn plan_culprit(&self, query: &CulpritQuery) -> Result<TryPlan, Fault> {
        let (row, events) = self.whole_log_of(&query.request)?;
        let steps = steps(&events);
        let (experiment, checked) = self.forks_of(query, (row, events), steps.first())?;
        Ok(self.plan_of_forks(query, &experiment, &checked))
    }

    /// Like [`plan_culprit`](Self::plan_culprit), for a checked search.
    pub fn plan_search(&self, CulpritSearch { query, experiment, checked, .. }: &CulpritSearch) -> TryPlan {
        self.plan_of_forks(query, experiment, checked)
    }

    fn plan_of_forks(&self, query: &CulpritQuery, experiment: &Experiment, checked: &CheckedArms) -> TryPlan {
        let each = LeftOfArm { begins: 1, ..LeftOfArm::default() };
        let plan = self.plan_of_experiment(experiment, checked, &|_| each);
        let all = f64::from(MAX_FORKS);
        let budget = query.budget.and_then(|budget| if let Budget::Calls(calls) = budget { Some(calls) } else { None });
        TryPlan {
            samples: MAX_FORKS,
            model_calls: plan.model_calls.saturating_mul(MAX_FORKS).min(budget.unwrap_or(u32::MAX)),
            tokens: plan.tokens.map(|tokens| tokens * all),
            cost_usd: plan.cost_usd.map(|cost| cost * all),
            ..plan
        }
    }

    /// Describes the forks of a search as an experiment, with the code that they run.
    fn forks_of(
        &self,
        query: &CulpritQuery,
        log: (RequestRow, Vec<Event>),
        first: Option<&Step>,
    ) -> Result<(Experiment, CheckedArms), Fault> {
        let path = first.map_or("root", |step| step.path.as_str());
        let try_query = TryQuery {
            request: query.request.clone(),
            at: path.to_owned(),
            budget: query.budget,
            models_by: query.models_by.clone(),
            ..TryQuery::default()
        };
        let mut experiment = self.experiment_in(log, String::new(), try_query, Spending::default())?;
        // Model calls from the first step on, without those in progress.
        experiment.place = Place {
            path: experiment.place.path,
            before: first.map_or(0, |step| step.seq.saturating_sub(1)),
            ended: None,
        };
        let checked = self.check_query(&experiment)?;
        Ok((experiment, checked))
    }
}
