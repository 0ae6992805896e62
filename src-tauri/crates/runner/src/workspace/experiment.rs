//! Experiments: many forks of a request from just before a block, with other models, prompts, parameters, state,
//! outputs or code, compared by what they come to (ARCHITECTURE §8.13).
//!
//! Each sample is a fork like any other; an experiment only names its samples. Everything before the block is taken
//! from the log. Must not begin a model call that the budget has no room for.

mod adopt;
mod axes;
mod code;
mod culprit;
mod earlier_answers;
mod edit_check;
mod facts;
mod going_on;
mod parameters;
mod place;
mod plan;
mod report;
mod revision;
mod sample;
mod score;
mod scores;
mod spending;
pub(crate) mod statistics;
mod twins;
mod variant;
mod view;
#[cfg(test)]
mod work_tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use engine::event::{Event, RequestStatus, Seq};
use store::{ExperimentRow as Stored, SampleRow};
use tokio::sync::Semaphore;

use super::fork::{ForkPoint, MockOf};
use super::resume::Next;
use super::{At, Edits, Mock, Workspace, lock};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use crate::models::call_meter::CallMeter;
use crate::run::batch::{Bounds, Cancel, batch, cores};
use crate::views::{ExperimentView, RequestRow, StoppedBy, TryProgress};
use axes::Arm;
use going_on::StoredBody;
use place::Place;
use plan::CheckedArms;
use report::{Read, Sample};
use sample::Begun;
use score::Scored;
use spending::Spending;
use twins::Twins;
use variant::{KnownCodes, Variant};

pub use crate::models::call_meter::Budget;
pub use axes::{ModelsBy, ParameterAxis, PromptField, PromptText, SetAxis, TryQuery};
pub use culprit::{CulpritQuery, CulpritSearch};
pub use going_on::Continuation;
pub(super) use place::{AnsweredBeside, caller_of_hook, nearest};
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
    events: Arc<Vec<Event>>,
    place: Place,
    /// The arms by number. The base arm is the first one, or the only one.
    arms: Vec<(u32, Arm)>,
    mock: Mock,
    /// What was spent before, as it is stored.
    spending: Spending,
    /// Which samples may begin with a spent budget.
    twins: Twins,
    /// Whether a block that scores was refused a call. No other one begins after that: it would leave an aborted
    /// request, too.
    is_scoring_refused: Mutex<bool>,
    /// Held while a fork begins: evaluating a flow's file takes a core, and has a time limit.
    beginning: Semaphore,
    /// Where forks leave the request, by the last event in common and whether a step has another output.
    points: Mutex<HashMap<(Seq, bool), Arc<ForkPoint>>>,
    /// What arms run, by what decides it.
    codes: Mutex<KnownCodes>,
    /// Who answers models. All arms are code of one file, so they have one script.
    script: OnceLock<Result<MockOf, Fault>>,
}

impl Experiment {
    /// Where forks with these edits leave the request: what is read there is read once for all of them.
    fn point(&self, workspace: &Workspace, cut: Seq, edits: &Edits) -> Result<Arc<ForkPoint>, Fault> {
        let mut points = lock(&self.points);
        let place = (cut, edits.output.is_some());
        if let Some(known) = points.get(&place) {
            return Ok(known.clone());
        }
        let (row, events) = (self.row.clone(), self.events.clone());
        let point = Arc::new(workspace.fork_point(row, events, Some(cut), &At::Seq(cut), edits)?);
        points.insert(place, point.clone());
        Ok(point)
    }

    /// The mock script of the forks, which is read once.
    fn script(&self, workspace: &Workspace, point: &ForkPoint, flow: &LoadedFlow) -> Result<MockOf, Fault> {
        self.script.get_or_init(|| workspace.mock_of_fork(point, &self.mock, flow)).clone()
    }

    /// The model that was asked first after an event; `None` if none was, so that a fork from there spends nothing.
    fn first_model(&self, after: Seq) -> Option<String> {
        self.place.calls_after(&self.events, after).into_iter().next().map(|call| call.model)
    }

    /// How many forks run at once: as many as there are cores, or more if they wait for models.
    fn workers(&self, jobs: Option<u32>) -> usize {
        let waits = self.mock == Mock::Off && !self.place.calls(&self.events).is_empty();
        jobs.map_or(if waits { AT_ONCE } else { cores() }, |jobs| jobs as usize)
    }
}

/// An experiment that can be begun: its request was read and its code evaluated, once for its plan and to begin it.
pub struct Trial {
    experiment: Experiment,
    checked: CheckedArms,
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
    /// The model that it asks first; `None` if it is expected to ask none.
    model: Option<&'v str>,
}

/// How running a sample ended.
struct JobEnd {
    arm: u32,
    result: Result<Option<RequestStatus>, Fault>,
}

impl Workspace {
    /// Refuses to run forks in a folder or a database that does not allow it.
    pub fn check_may_experiment(&self) -> Result<(), Fault> {
        self.check_writable()?;
        self.check_trusted()
    }

    /// Begins an experiment and runs it. `progress` hears of each sample that has ended, on this thread.
    pub fn try_out(
        &self,
        query: &TryQuery,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_may_experiment()?;
        self.run_trial(&self.trial(query)?, cancel, progress)
    }

    /// As [`try_out`](Self::try_out), of an experiment that was checked.
    pub fn run_trial(
        &self,
        Trial { experiment, .. }: &Trial,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_may_experiment()?;
        let (id, query) = (experiment.id.clone(), &experiment.query);
        let body = StoredBody { query: query.clone(), ..StoredBody::default() };
        let stored = Stored { id, request: query.request.clone(), at: now_ms(), body: body.to_json()? };
        self.store.put_experiment(&stored).map_err(Fault::internal)?;
        self.carry_out(experiment, cancel, progress)
    }

    fn set_sample(&self, experiment: &str, sample: &SampleRow) -> Result<(), Fault> {
        self.store.set_sample(experiment, sample).map(drop).map_err(Fault::internal)
    }

    /// Finds the request, the place and the arms.
    fn experiment_of(&self, id: String, query: TryQuery, spending: Spending) -> Result<Experiment, Fault> {
        self.experiment_in(self.whole_log_of(&query.request)?, id, query, spending)
    }

    /// As [`experiment_of`](Self::experiment_of), of a request whose log was read.
    fn experiment_in(
        &self,
        (row, events): (RequestRow, Vec<Event>),
        id: String,
        query: TryQuery,
        spending: Spending,
    ) -> Result<Experiment, Fault> {
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
        let (events, beginning) = (Arc::new(events), Semaphore::new(cores()));
        // A mock script answers each sample for itself.
        let twins = if mock == Mock::Off { Twins::of(&arms) } else { Twins::default() };
        Ok(Experiment {
            id,
            query,
            row,
            events,
            place,
            arms,
            mock,
            spending,
            twins,
            is_scoring_refused: Mutex::default(),
            beginning,
            points: Mutex::default(),
            codes: Mutex::default(),
            script: OnceLock::new(),
        })
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
        let original = self.original_of(&query.request)?;
        let meter = self.meter_of(experiment)?;
        let known = self.store.samples(id).map_err(Fault::internal)?;
        let known: HashMap<(u32, u32), Sample> =
            known.into_iter().map(|one| ((one.0.arm, one.0.number), one)).collect();
        for ((arm, number), (_, request)) in &known {
            match request.as_ref().map(|request| Begun::of(self.request_row(request.clone()).status)) {
                Some(Begun::Stopped) => experiment.twins.was_interrupted(*arm, *number),
                Some(_) => experiment.twins.asks(*arm, *number),
                None => {}
            }
        }
        let first = experiment.first_model(experiment.place.before);
        let first_behind = experiment.place.ended.and_then(|ended| experiment.first_model(ended));
        let model_of = |arm: &Arm| {
            let recorded = if arm.output.is_some() { &first_behind } else { &first };
            recorded.clone().map(|recorded| arm.model.clone().unwrap_or(recorded))
        };
        let models: Vec<Option<String>> = arms.iter().map(|(_, arm)| model_of(arm)).collect();
        let mut jobs = Vec::new();
        // Each arm has its first sample before any has its second.
        for number in 1..=query.samples() {
            for (((arm, _), variant), model) in arms.iter().zip(&variants).zip(&models) {
                let Ok(variant) = variant else { continue };
                let (row, request) =
                    known.get(&(*arm, number)).map_or((None, None), |(row, of)| (Some(row), of.as_ref()));
                let begun = request.map(|of| (of.id.clone(), Begun::of(self.request_row(of.clone()).status)));
                let is_scored = row.is_some_and(|row| row.score.is_some()) || query.score.is_none();
                let is_done = matches!(begun, Some((_, Begun::Ended))) && is_scored;
                if !is_done && !matches!(begun, Some((_, Begun::Runs))) {
                    let gone = row.filter(|_| begun.is_none()).map(|row| row.request.clone());
                    jobs.push(Job { arm: *arm, number, begun, gone, variant, model: model.as_deref() });
                }
            }
        }
        self.share_earlier_answers(experiment, &meter, &jobs, known.values())?;
        let scorer = query.score.as_ref().map(Score::ready).transpose()?;
        let workers = experiment.workers(query.jobs);
        let of = jobs.len() as u32;
        let (mut done, mut failed, mut errors) = (0, 0, BTreeMap::new());
        let mut tell = |done, failed| progress(TryProgress { experiment_id: Some(id.clone()), done, of, failed });
        tell(0, 0);
        // Expressions, schemas and commands score without a model call. Some samples make none, and those that were
        // stopped may have made all.
        let is_free = |job: &Job<'_>| match job.begun {
            Some((_, Begun::Ended)) => !matches!(query.score, Some(Score::Model { .. })),
            Some(_) => true,
            None => job.model.is_none(),
        };
        let may_share = |job: &Job<'_>| job.begun.is_none() && experiment.twins.may_share(job.arm, job.number);
        let has_room = |job: &Job<'_>| !meter.is_exhausted() || is_free(job) || may_share(job);
        batch(
            &jobs,
            &Bounds { has_room: &has_room, ..Bounds::workers(workers) },
            cancel,
            |job| {
                let result = self.run_job(experiment, job, &meter, scorer.as_ref(), cancel);
                // Here, so that its log is not read again once all have ended.
                let ended = |read: Read| (read.row.status, self.facts_of(read, original.as_ref())).0;
                JobEnd { arm: job.arm, result: result.map(|read| read.map(ended)) }
            },
            |_, JobEnd { arm, result }| {
                done += u32::from(!matches!(result, Ok(None)));
                match result {
                    Ok(status) => failed += u32::from(status == Some(RequestStatus::Failed)),
                    Err(fault) => {
                        failed += 1;
                        errors.entry(arm).or_insert_with(|| fault.to_string());
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
        let errors = errors.into_iter().collect();
        let stored = self.stored_experiment(id)?;
        let body = StoredBody { query: query.clone(), errors, stopped, ..StoredBody::of(&stored)? }.to_json()?;
        let stored = Stored { body, ..stored };
        self.store.put_experiment(&stored).map_err(Fault::internal)?;
        self.view_of_experiment(&stored)
    }

    /// Runs a sample to its end and scores it. Returns what its log says; `None` if it was not run, because it was
    /// cancelled or the budget has no room for a call of it.
    fn run_job(
        &self,
        experiment: &Experiment,
        job: &Job<'_>,
        meter: &Arc<CallMeter>,
        scorer: Option<&score::Scorer<'_>>,
        cancel: &Cancel,
    ) -> Result<Option<Read>, Fault> {
        let Experiment { id, row, mock, .. } = experiment;
        let calls = meter.sample(job.number);
        let ran = !matches!(job.begun, Some((_, Begun::Ended)));
        let request = match &job.begun {
            Some((request, Begun::Ended | Begun::Runs)) => request.clone(),
            stopped => {
                let stopped = stopped.as_ref().map(|(request, _)| request.as_str());
                let sample = self.run_sample(experiment, job, stopped, &calls, cancel);
                calls.give_room_back();
                let Some(request) = sample? else { return Ok(None) };
                request
            }
        };
        let Some(read) = self.read_run(&request)? else { return Ok(None) };
        let status = read.row.status;
        if let Some(scorer) = scorer.filter(|_| Begun::is_over(status)) {
            let file = job.variant.loaded_flow.bundle.file.as_str();
            let scored = Scored { user: &row.user_id, file, mock: mock.clone(), calls, cancel: cancel.clone() };
            let is_refused = &experiment.is_scoring_refused;
            let Some(score) = self.score_in_budget(scorer, &self.told(&read)?, &scored, is_refused) else {
                // `--go-on` scores it.
                return Ok(if ran { Some(read) } else { None });
            };
            let scored = SampleRow { arm: job.arm, number: job.number, request, score: Some(score) };
            self.set_sample(id, &scored)?;
        }
        Ok(Some(read))
    }
}
