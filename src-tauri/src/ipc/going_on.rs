//! The window's commands that go on with a request, try it again, fork it, or play it again.

use engine::suspension::{Reply, SuspensionStatus};
use runner::{Answered, At, Cancel, Edits, Fault, Mock, PlanRow, Replay, Resolution, Running, Samples, SuspensionRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tauri::State;

use super::{off_the_main_thread, present_exact};
use crate::window::WindowState;

/// Which models answer.
#[derive(Clone, Copy, Debug, Default, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) enum Models {
    /// Those the request had.
    #[default]
    Inherit,
    /// Real ones.
    Real,
    /// The script beside the flow.
    Mock,
}

impl From<Models> for Mock {
    fn from(models: Models) -> Mock {
        match models {
            Models::Inherit => Mock::Inherit,
            Models::Real => Mock::Off,
            Models::Mock => Mock::Beside,
        }
    }
}

/// Something that may have happened outside, and is made again.
#[derive(Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenEffectRow {
    /// The block.
    path: String,
    /// `fetch`, `model` or `once`.
    effect: String,
    /// Which of its kind in its block, from 0.
    ordinal: u32,
}

/// A request that goes on, or a new one.
#[derive(Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoingOn {
    request_id: String,
    session_id: String,
    open_effects: Vec<OpenEffectRow>,
}

impl From<Answered> for GoingOn {
    fn from(answered: Answered) -> GoingOn {
        match answered {
            Answered::Resumed(running) => GoingOn::from(running),
            Answered::Taken { request_id, session_id, .. } => {
                GoingOn { request_id, session_id, open_effects: Vec::new() }
            }
        }
    }
}

impl From<Running> for GoingOn {
    fn from(running: Running) -> GoingOn {
        let effects = running.open_effects.iter().map(|effect| OpenEffectRow {
            path: effect.path.to_string(),
            effect: effect.effect.as_str().to_owned(),
            ordinal: effect.ordinal,
        });
        GoingOn { open_effects: effects.collect(), request_id: running.request_id, session_id: running.session_id }
    }
}

/// How to go on, and the answer to what the request asked.
#[derive(Debug, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResumeOptions {
    #[serde(default)]
    models: Models,
    /// Which question; the only one that is pending when absent.
    #[serde(default)]
    suspension: Option<String>,
    #[serde(default)]
    reply: Option<Reply>,
    /// What is submitted; `null` is data.
    #[specta(type = specta_typescript::Unknown)]
    #[serde(default, deserialize_with = "present_exact")]
    data: Option<Value>,
}

impl ResumeOptions {
    fn take(self) -> (Mock, Resolution) {
        let ResumeOptions { models, suspension, reply, data } = self;
        (models.into(), Resolution { suspension, reply, data, by: None })
    }
}

/// Goes on with a request.
#[tauri::command]
#[specta::specta]
pub(super) async fn resume(
    state: State<'_, WindowState>,
    request_id: String,
    options: ResumeOptions,
) -> Result<GoingOn, Fault> {
    off_the_main_thread(state, move |workspace| {
        let (mock, given) = options.take();
        workspace.resume_or_answer(&request_id, &mock, given, &Cancel::default(), || ()).map(GoingOn::from)
    })
    .await
}

/// What going on with a request will do; whatever is answered, where no answer is given.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_resume(
    state: State<'_, WindowState>,
    request_id: String,
    options: ResumeOptions,
) -> Result<PlanRow, Fault> {
    off_the_main_thread(state, move |workspace| {
        let (mock, given) = options.take();
        let given = Some(given).filter(|given| given.reply.is_some());
        workspace.plan_resume(&request_id, &mock, given)
    })
    .await
}

/// Runs a request's action once more with the same input, as a new request.
#[tauri::command]
#[specta::specta]
pub(super) async fn retry(state: State<'_, WindowState>, request_id: String, models: Models) -> Result<GoingOn, Fault> {
    off_the_main_thread(state, move |workspace| workspace.retry(&request_id, &models.into()).map(GoingOn::from)).await
}

/// What trying a request again will do.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_retry(
    state: State<'_, WindowState>,
    request_id: String,
    models: Models,
) -> Result<PlanRow, Fault> {
    off_the_main_thread(state, move |workspace| workspace.plan_retry(&request_id, &models.into())).await
}

/// A place in state and what a fork has there.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct SetValue {
    /// As `session.topic`.
    place: String,
    #[specta(type = specta_typescript::Unknown)]
    #[serde(deserialize_with = "engine::json::exact")]
    value: Value,
}

/// Where a request is forked, and what is otherwise then.
#[derive(Debug, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForkOptions {
    /// The step at this path, or ...
    #[serde(default)]
    path: Option<String>,
    /// ... the newest finished one at or before this event.
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    models: Models,
    /// Instead of the block's input, or of the action's at its beginning; `null` is an input.
    #[specta(type = specta_typescript::Unknown)]
    #[serde(default, deserialize_with = "present_exact")]
    input: Option<Value>,
    /// Instead of what the step gave.
    #[specta(type = specta_typescript::Unknown)]
    #[serde(default, deserialize_with = "present_exact")]
    output: Option<Value>,
    #[serde(default)]
    set: Vec<SetValue>,
}

impl ForkOptions {
    fn take(self) -> Result<(At, Edits, Mock), Fault> {
        let at = match (self.path, self.seq) {
            (Some(path), _) => At::Path(path),
            (None, Some(seq)) => At::Seq(seq),
            (None, None) => {
                return Err(Fault::Invalid {
                    message: "name the step that the fork goes on from, by its path or by an event".to_owned(),
                    details: Vec::new(),
                });
            }
        };
        let set = self.set.into_iter().map(|one| (one.place, one.value)).collect();
        Ok((at, Edits { input: self.input, output: self.output, set, ..Edits::default() }, self.models.into()))
    }
}

/// Goes on from a finished step of a request as a new request, in a new session.
#[tauri::command]
#[specta::specta]
pub(super) async fn fork(
    state: State<'_, WindowState>,
    request_id: String,
    options: ForkOptions,
) -> Result<GoingOn, Fault> {
    off_the_main_thread(state, move |workspace| {
        let (at, edits, mock) = options.take()?;
        workspace.fork(&request_id, &at, edits, &mock).map(GoingOn::from)
    })
    .await
}

/// What a fork will do.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_fork(
    state: State<'_, WindowState>,
    request_id: String,
    options: ForkOptions,
) -> Result<PlanRow, Fault> {
    off_the_main_thread(state, move |workspace| {
        let (at, edits, mock) = options.take()?;
        workspace.plan_fork(&request_id, &at, edits, &mock)
    })
    .await
}

/// Runs a request again in memory, with its recorded effects and the code of today.
#[tauri::command]
#[specta::specta]
pub(super) async fn replay(state: State<'_, WindowState>, request_id: String) -> Result<Replay, Fault> {
    off_the_main_thread(state, move |workspace| workspace.replay(&request_id)).await
}

/// Whose questions.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct SuspensionQuery {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    request: Option<String>,
    #[serde(default)]
    status: Option<SuspensionStatus>,
}

/// Questions that requests ask somebody outside: those of one request that wait, or those of a session or of all.
#[tauri::command]
#[specta::specta]
pub(super) async fn suspensions(
    state: State<'_, WindowState>,
    query: SuspensionQuery,
) -> Result<Vec<SuspensionRow>, Fault> {
    off_the_main_thread(state, move |workspace| match query.request {
        Some(request) => workspace.pending(&request),
        None => workspace.suspensions(query.session.as_deref(), query.status, Samples::LeftOut),
    })
    .await
}
