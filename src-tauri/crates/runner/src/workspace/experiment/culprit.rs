//! The step of a request at which its failure was decided: forks from before its steps, and how often they fail.
//!
//! The forks change nothing. What they ask anew may come out differently, which is what is measured.

mod search;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::effects::EffectKind;
use engine::event::{BlockKind, Event, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::Place;
use super::sample::Begun;
use super::score::expression;
use super::statistics::rate;
use super::variant::Variant;
use super::{Budget, Experiment, ModelsBy, TryQuery, Unlogged};
use crate::core::fault::Fault;
use crate::run::batch::{Cancel, batch};
use crate::views::{Culprit, CulpritStep, CulpritView, CurvePoint, TryProgress, WhereDecided};
use crate::workspace::{Edits, Mock, Workspace, new_request};
use search::{Next, Search, Tally};

/// How many forks a search runs at most.
const MAX_FORKS: u32 = 200;
/// How many samples a point has by default.
const SAMPLES: u32 = 8;

/// Which failure of which request to look into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase", default)]
pub struct CulpritQuery {
    /// The request.
    pub request: String,
    /// A TypeScript expression that is true of a run that fails.
    pub fails: String,
    /// How many samples a point has at least; 0 is 8.
    pub samples: u32,
    /// What may be spent.
    pub budget: Option<Budget>,
    /// Who answers models.
    pub models_by: ModelsBy,
    /// How many forks run at once.
    pub jobs: Option<u32>,
}

/// A place at which forks begin.
struct Step {
    path: String,
    attempt: u32,
    /// The event with which the block began.
    seq: u64,
    /// The event with which it ended, if it did.
    ended: Option<u64>,
    /// Whether it drew something or asked for something that another run may give otherwise.
    draws: bool,
}

impl Workspace {
    /// Looks for the step at which a failure was decided. `progress` hears of each round of forks, on this thread.
    pub fn culprit(
        &self,
        query: &CulpritQuery,
        cancel: &Cancel,
        mut progress: impl FnMut(TryProgress),
    ) -> Result<CulpritView, Fault> {
        self.check_writable()?;
        self.check_trusted()?;
        let fails = expression("--fails", &query.fails)?;
        let (_, events) = self.whole_log_of(&query.request)?;
        let read = self
            .read_run(&query.request)?
            .ok_or_else(|| Fault::not_found(format!("unknown request \"{}\"", query.request)))?;
        if Begun::of(read.row.status) == Begun::Runs {
            return Err(Fault::refused(format!("request \"{}\" is still running", query.request)));
        }
        match fails.evaluate(&self.told(&read)?) {
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
        let experiment = self.forks_of(query, steps.first())?;
        let is_mock = experiment.mock != Mock::Off;
        let first = steps.first().map_or(u64::MAX, |step| step.seq);
        let is_deterministic = !draws(&events, first, is_mock);
        let wanted = if query.samples == 0 { SAMPLES } else { query.samples };
        let meter = self.meter_of(&experiment)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&experiment.row.flow))?;
        let workers = experiment.workers(query.jobs);
        let mut search = Search::new(steps.len(), wanted, MAX_FORKS, is_deterministic);
        let (numbers, mut notes, mut failed) = (AtomicU32::new(1), Vec::new(), 0);
        let verdict = loop {
            let (point, forks) = match search.next() {
                Next::Sample { point, forks } => (point, forks),
                Next::Found(step) => break (WhereDecided::Found, Some(step)),
                Next::BeforeFirst => break (WhereDecided::BeforeTheFirstStep, None),
                Next::NotEnough => break (WhereDecided::NotEnoughSamples, None),
            };
            let cut = steps[point].seq - 1;
            // What was in flight there runs again: it may be what decides.
            let (answered, facts) = (Arc::default(), Arc::default());
            let variant = Variant { loaded_flow: loaded_flow.clone(), cut, edits: Edits::default(), answered, facts };
            let (mut seen, mut errors) = (Tally::default(), Vec::new());
            let jobs: Vec<u32> = (0..forks).collect();
            batch(
                &jobs,
                workers,
                cancel,
                |_| -> Result<Option<bool>, String> {
                    let id = new_request();
                    let calls = meter.sample(numbers.fetch_add(1, Ordering::Relaxed));
                    let run = self.begin_sample(&id, &experiment, &variant, &calls, cancel);
                    let Some(running) = run.map_err(|fault| fault.to_string())? else { return Ok(None) };
                    self.finish_sample(running, &calls, cancel).map_err(|fault| fault.to_string())?;
                    let read = self.read_run(&id).map_err(|fault| fault.to_string())?;
                    let Some(read) = read.filter(|read| Begun::is_over(read.row.status)) else {
                        return Ok(None);
                    };
                    let told = self.told(&read).map_err(|fault| fault.to_string())?;
                    match fails.evaluate(&told)? {
                        Some(Value::Bool(fails)) => Ok(Some(fails)),
                        other => Err(format!("the expression is {}", other.unwrap_or_default())),
                    }
                },
                |_, result| match result {
                    Ok(Some(fails)) => {
                        seen.samples += 1;
                        seen.failures += u32::from(fails);
                    }
                    Ok(None) => {}
                    Err(error) => errors.push(error),
                },
            )?;
            search.add(point, seen);
            search.add_unjudged(forks.saturating_sub(seen.samples));
            failed += seen.failures;
            progress(TryProgress { experiment_id: None, done: search.forks(), of: MAX_FORKS, failed });
            if let Some(error) = errors.first() {
                notes.push(format!("{} of {forks} forks from {}: {error}", errors.len(), steps[point].path));
            }
            if cancel.is_cancelled() || meter.is_exhausted() || seen.samples == 0 {
                let why = match () {
                    () if cancel.is_cancelled() => "the search was cancelled",
                    () if meter.is_exhausted() => "the budget is spent",
                    () => "no fork could be judged",
                };
                notes.push(why.to_owned());
                break (WhereDecided::NotEnoughSamples, None);
            }
        };
        if is_deterministic {
            notes.push("the flow draws nothing and asks no real model, so one fork a step is enough".to_owned());
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
        let step = step.map(|step| deciding(&steps, step, &mut notes));
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

    /// What the forks of a search have in common with those of an experiment.
    fn forks_of(&self, query: &CulpritQuery, first: Option<&Step>) -> Result<Experiment, Fault> {
        let path = first.map_or("root", |step| step.path.as_str());
        let try_query = TryQuery {
            request: query.request.clone(),
            at: path.to_owned(),
            budget: query.budget,
            models_by: query.models_by.clone(),
            ..TryQuery::default()
        };
        let mut experiment = self.experiment_of(String::new(), try_query, Unlogged::default())?;
        // Model calls from the first step on, and none that is on its way.
        experiment.place = Place {
            path: experiment.place.path,
            before: first.map_or(0, |step| step.seq.saturating_sub(1)),
            ended: None,
        };
        self.check_query(&experiment)?;
        Ok(experiment)
    }
}

/// The steps of a request, in order: blocks that do something themselves and run in chains, each execution that ended
/// by itself.
fn steps(events: &[Event]) -> Vec<Step> {
    let mut doers: HashSet<&str> = HashSet::new();
    let memoized: HashSet<(&str, u32)> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::BlockFinished { memoized: true, .. }))
        .filter_map(|event| Some((event.path.as_deref()?, event.attempt)))
        .collect();
    let mut steps = Vec::new();
    for event in events {
        let (Some(path), EventKind::BlockStarted { block, .. }) = (&event.path, &event.kind) else { continue };
        let is_inside = path.match_indices('/').any(|(at, _)| doers.contains(&path[..at]));
        if matches!(block, BlockKind::Handler | BlockKind::Generator) {
            doers.insert(path);
            // What a handler or a generator calls goes with it.
            if !is_inside && !memoized.contains(&(&**path, event.attempt)) {
                steps.push(Step {
                    path: path.to_string(),
                    attempt: event.attempt,
                    seq: event.seq,
                    ended: None,
                    draws: false,
                });
            }
        }
    }
    let mut by_execution: HashMap<(String, u32), usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        by_execution.insert((step.path.clone(), step.attempt), at);
    }
    for event in events {
        let Some(path) = &event.path else { continue };
        let Some(step) = by_execution.get(&(path.to_string(), event.attempt)).and_then(|at| steps.get_mut(*at)) else {
            continue;
        };
        match &event.kind {
            EventKind::BlockFinished { .. } => step.ended = Some(event.seq),
            EventKind::EffectFinished { effect, .. } => {
                step.draws |= !matches!(effect, EffectKind::Sleep | EffectKind::Clock);
            }
            _ => {}
        }
    }
    steps
}

/// Which step decided, of those that ended between the fork point before this one and the next: what was in flight at a
/// fork point runs again. One that drew nothing decides nothing.
fn deciding(steps: &[Step], found: usize, notes: &mut Vec<String>) -> usize {
    let from = steps.get(found).map_or(0, |step| step.seq);
    let to = steps.get(found + 1).map_or(u64::MAX, |step| step.seq);
    let has_ended_there = |step: &Step| step.ended.is_some_and(|ended| from < ended && ended < to);
    let candidates: Vec<usize> =
        (0..steps.len()).filter(|at| steps[*at].draws && has_ended_there(&steps[*at])).collect();
    if candidates.len() > 1 {
        let paths: Vec<&str> = candidates.iter().map(|at| steps[*at].path.as_str()).collect();
        notes.push(format!("these steps ran beside each other, and one of them decided: {}", paths.join(", ")));
    }
    candidates.first().copied().unwrap_or(found)
}

/// Whether forks of a request may differ by themselves: by chance, a real model, or the network.
fn draws(events: &[Event], from: u64, is_mock: bool) -> bool {
    events.iter().filter(|event| event.seq >= from).any(|event| match &event.kind {
        EventKind::EffectStarted { effect, .. } | EventKind::EffectFinished { effect, .. } => match effect {
            EffectKind::Model => !is_mock,
            EffectKind::Fetch | EffectKind::Random | EffectKind::Uuid | EffectKind::Once => true,
            EffectKind::Sleep | EffectKind::Clock => false,
        },
        _ => false,
    })
}
