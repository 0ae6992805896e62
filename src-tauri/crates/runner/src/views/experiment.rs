//! What an experiment found: its arms, each with its samples and what they tell.

use engine::event::RequestStatus;
use serde::{Deserialize, Serialize};

use super::{ErrorInfo, Json};

/// Forks of a request from one place, compared.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentView {
    /// Its id.
    pub id: String,
    /// The request.
    pub request_id: String,
    /// Whether the request was deleted, so that nothing of it can be run or scored any more.
    pub is_request_gone: bool,
    /// The path of the block that the forks begin with.
    pub at: String,
    /// When it was begun, in milliseconds since the epoch.
    pub started_at: i64,
    /// The arm in which everything is as it was. If nothing is varied it is the only arm.
    pub base: ArmView,
    /// The arms, in order of the axes.
    pub arms: Vec<ArmView>,
    /// Why samples are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedBy>,
    /// How many samples have not been run to their end.
    pub missing: u32,
    /// How many samples have ended and are not scored yet.
    pub unscored: u32,
    /// What one must know to read it.
    pub notes: Vec<String>,
}

/// Why an experiment stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Its budget is spent.
    Budget,
    /// Somebody cancelled it, or its process ended.
    Cancelled,
}

/// One combination of values.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ArmView {
    /// `base`, or its number from 1.
    pub id: String,
    /// Its values by axis.
    pub axes: Json,
    /// Its samples.
    pub samples: Vec<SampleView>,
    /// What they tell.
    pub summary: ArmSummary,
    /// The numbers of the samples that are missing: they did not end.
    pub missing: Vec<u32>,
    /// The numbers of those among them that were never started, so that they have no request.
    pub not_started: Vec<u32>,
    /// Why it cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One fork.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SampleView {
    /// Its number in its arm, from 1.
    pub number: u32,
    /// The request.
    pub request_id: String,
    /// The status of the request.
    pub status: RequestStatus,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// What failed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// How good it is: a number, or whether it passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Json>,
    /// Why it has no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_error: Option<String>,
    /// What it asked of models itself.
    pub usage: SampleUsage,
    /// What that cost in US dollars, if all calls have a price; without answers that it shares with another sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What the shared answers cost that another sample has paid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_usd: Option<f64>,
    /// How long it ran, with the time that shared answers took.
    pub duration_ms: i64,
    /// Whether it came to something else than the request.
    pub differs: SampleDiffers,
}

/// What a sample asked of models itself, without what it took from the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SampleUsage {
    /// How many answers it got.
    pub model_calls: u32,
    /// What models were told.
    pub prompt_tokens: u64,
    /// What they said.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// How many of the answers another sample had asked for.
    pub shared_calls: u32,
    /// How many of the tokens are those of shared answers, which count once in what was spent.
    pub shared_tokens: u64,
}

/// What of a sample's end is not as the request's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
pub struct SampleDiffers {
    /// Its status, output or error.
    pub output: bool,
    /// The state of the session, the user, the project or the request.
    pub state: bool,
}

/// What the samples of an arm tell.
#[derive(Clone, Debug, Default, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ArmSummary {
    /// How many samples have ended.
    pub n: u32,
    /// How many wait for an answer.
    pub waiting: u32,
    /// How many of those that have ended did not complete.
    pub failed: u32,
    /// How many pass, if the score says whether one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// How many of them pass: 0 to 1. A sample that did not complete, so that it cannot be scored, does not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// How many samples have ended and are not counted in the rate or the mean, because they have no score.
    pub unscored: u32,
    /// The mean score, if it is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The lower end of the interval that holds the true rate or mean in 95 of 100 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Beside the base arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside_base: Option<BesideBase>,
    /// The median duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<f64>,
    /// The lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_ms: Option<f64>,
    /// The upper end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_ms: Option<f64>,
    /// The median of the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_tokens: Option<f64>,
    /// What all samples cost together, if all calls have a price; an answer that samples share counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What shared answers cost that a sample of another arm has paid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_usd: Option<f64>,
    /// How many came to something else than the request.
    pub differing: u32,
}

/// How an arm's scores stand beside those of the base arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum BesideBase {
    /// Higher.
    Better,
    /// Lower.
    Worse,
    /// Nobody can tell from so few samples.
    NotEnoughSamples,
    /// Models are mocked, and the scores are equal.
    Same,
}

/// What an experiment will take.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct TryPlan {
    /// How many arms.
    pub arms: u32,
    /// How many samples of each.
    pub samples: u32,
    /// What is left to do, of an experiment that goes on: the figures are of that alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftToDo>,
    /// How many model calls all samples are expected to make at most, with those of the base arm, by what was recorded
    /// and without retries.
    pub model_calls: u32,
    /// How many of them are those of the base arm, if it is sampled beside the arms.
    pub base_model_calls: u32,
    /// How many of them score samples.
    pub score_model_calls: u32,
    /// The action, as `flow.action`, that scores samples: what it asks of models was never recorded, and is in no
    /// figure here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scored_by: Option<String>,
    /// How many tokens, if the calls were recorded with theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// What that costs in US dollars, if every model has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The models that are asked.
    pub models: Vec<String>,
    /// Other models that the code names, which may be asked if a sample goes another way than the request.
    pub other_models: Vec<String>,
    /// The hosts that the request fetched from after the place, which are asked again.
    pub hosts: Vec<String>,
    /// Blocks after the place that were approved or answered: each sample asks anew.
    pub asks_again: Vec<String>,
    /// Arms that cannot be run, and why.
    pub cannot_run: Vec<String>,
    /// Whether models are mocked.
    pub mock: bool,
    /// What one must know to read the figures.
    pub notes: Vec<String>,
}

/// What is left to do of an experiment that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LeftToDo {
    /// How many samples are begun.
    pub to_begin: u32,
    /// How many samples that were stopped go on.
    pub to_continue: u32,
    /// How many samples that have ended are only scored.
    pub to_score: u32,
}

/// An experiment in a list.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentRow {
    /// Its id.
    pub id: String,
    /// The request.
    pub request_id: String,
    /// The flow of the request, if that is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The path of the block that the forks begin with.
    pub at: String,
    /// When it was begun, in milliseconds since the epoch.
    pub started_at: i64,
    /// The names of what it varies.
    pub axes: Vec<String>,
    /// How many arms.
    pub arms: u32,
    /// How many samples it has, all arms together.
    pub samples: u32,
    /// How many it is to have.
    pub wanted: u32,
}

/// How far an experiment is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct TryProgress {
    /// Its id; absent for a search for a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment_id: Option<String>,
    /// How many samples have ended.
    pub done: u32,
    /// Of how many.
    pub of: u32,
    /// How many of them failed.
    pub failed: u32,
}

/// Where a failure was decided.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct CulpritView {
    /// The request.
    pub request_id: String,
    /// What was found.
    pub verdict: WhereDecided,
    /// The step, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// The steps that forks were run from, in their order.
    pub curve: Vec<CurvePoint>,
    /// All steps of the request, in their order.
    pub steps: Vec<CulpritStep>,
    /// How many forks were run.
    pub forks: u32,
    /// What one must know to read it.
    pub notes: Vec<String>,
}

/// What a search for the deciding step found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum WhereDecided {
    /// A step.
    Found,
    /// Forks from before the first step fail, too.
    BeforeTheFirstStep,
    /// Nobody can tell from so few forks.
    NotEnoughSamples,
}

/// The step at which a failure was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct Culprit {
    /// Its path.
    pub path: String,
    /// Which execution of that path, from 0.
    pub attempt: u32,
    /// The event with which it began.
    pub seq: u64,
}

/// A step of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct CulpritStep {
    /// Its path.
    pub path: String,
    /// Which execution of that path, from 0.
    pub attempt: u32,
    /// The event with which it began.
    pub seq: u64,
}

/// How often forks from before a step fail.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct CurvePoint {
    /// The step's path.
    pub path: String,
    /// Which execution of that path, from 0.
    pub attempt: u32,
    /// The event with which it began.
    pub seq: u64,
    /// How many forks failed.
    pub failures: u32,
    /// Of how many.
    pub samples: u32,
    /// The share: 0 to 1.
    pub rate: f64,
    /// The lower end of the interval that holds the true rate in 95 of 100 cases.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The edit that makes an arm what the flow does.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Adopted {
    /// The file, relative to the workspace.
    pub file: String,
    /// The lines that differ.
    pub difference: String,
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
    /// The values of the arm that the edit has, by their names.
    pub values: Vec<String>,
    /// The values of the arm that it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Whether the file was written.
    pub is_written: bool,
}

/// A value of an arm that adopting it does not write.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct LeftOut {
    /// As `session.mode`.
    pub name: String,
    /// Why it is not written.
    pub why: String,
}
