//! Hooks: blocks that run around the root block of a request (SEMANTICS §1.4).
//!
//! The failure of an `onCompleted` hook fails the request. The failure of any other hook leaves a `step_error` item.
//! The callers decide when each runs.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::execution::ctx::Context;
use crate::execution::run::Run;
use crate::execution::run::role::BlockRole;
use crate::execution::step::block::{run_block, run_block_as};
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RequestStatus};
use crate::model::flow::{Action, Block};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::path::{ON_STEP_ERRORED, encode, is_of_step_hook, join};
use crate::model::step_value::StepValue;

/// Runs `request.onStarted`, with the action's input.
pub(crate) async fn started(run: &Rc<Run>, input: StepValue) {
    run_observer(run, "request.onStarted", run.flow.hooks.on_started.as_ref(), input).await;
}

/// Runs the `onCompleted` hooks, with the output: the action's, then the request's.
pub(crate) async fn completed(run: &Rc<Run>, action: &Action, output: &StepValue) -> Result<(), FlowError> {
    let hooks =
        [("action.onCompleted", &action.hooks.on_completed), ("request.onCompleted", &run.flow.hooks.on_completed)];
    for (place, hook) in hooks {
        let Some(block) = hook else { continue };
        run_block(run.clone(), block.clone(), None, path(place, block), output.clone()).await?;
    }
    Ok(())
}

/// Runs the `onErrored` hooks, with the error: the action's, then the request's.
pub(crate) async fn errored(run: &Rc<Run>, action: &Action, error: &FlowError) {
    run_observer(run, "action.onErrored", action.hooks.on_errored.as_ref(), StepValue::thrown(error)).await;
    run_observer(run, "request.onErrored", run.flow.hooks.on_errored.as_ref(), StepValue::thrown(error)).await;
}

/// Runs `request.onFinished`, with the status the request will end with.
pub(crate) async fn finished(run: &Rc<Run>, status: RequestStatus) {
    let input = StepValue::new(json!({ "status": status.as_str() }).into());
    run_observer(run, "request.onFinished", run.flow.hooks.on_finished.as_ref(), input).await;
}

/// Reports a failure that does not end the request: a `step_error` item (SEMANTICS §7.1), and the hook
/// `request.onStepErrored`. The hook's path is below the failed block, so that a resume which takes the failure from
/// the log takes the hook from the log, too.
pub(crate) async fn step_errored(cx: &Context, failed: &str, error: &FlowError) {
    if error.is_uncatchable() {
        return;
    }
    // A failure that a resume takes from the log may have been reported before.
    if !cx.run.replay_cache.has_reported(failed) {
        cx.record(step_error(failed, error));
    }
    let Some(block) = &cx.run.flow.hooks.on_step_errored else { return };
    // A failure inside the hook is not reported to the hook again.
    if is_of_step_hook(failed) {
        return;
    }
    let path = join(failed, &format!("{ON_STEP_ERRORED}{}", encode(&block.name)));
    let input = StepValue::thrown(error);
    let parent = Some(cx.frame.clone());
    let ended = run_block_as(cx.run.clone(), block.clone(), parent, path.clone(), input, BlockRole::Hook).await;
    if let Err(error) = ended.as_ref()
        && !error.is_uncatchable()
        && !cx.run.replay_cache.has_reported(&path)
    {
        cx.record(step_error(&path, error));
    }
}

/// Runs a hook whose failure is only reported.
async fn run_observer(run: &Rc<Run>, place: &str, hook: Option<&Rc<Block>>, input: StepValue) {
    let Some(block) = hook else { return };
    let path = path(place, block);
    let ended = run_block_as(run.clone(), block.clone(), None, path.clone(), input, BlockRole::Hook).await;
    if let Err(error) = ended.as_ref()
        && !error.is_uncatchable()
        && !run.replay_cache.has_reported(&path)
    {
        run.recorder.record(None, 0, step_error(&path, error));
    }
}

fn path(place: &str, block: &Block) -> String {
    format!("{place}:{}", encode(&block.name))
}

fn step_error(path: &str, error: &FlowError) -> EventKind {
    let mut payload = Map::new();
    payload.insert("name".to_owned(), error.name.as_str().into());
    payload.insert("message".to_owned(), error.message.as_str().into());
    payload.insert("path".to_owned(), path.into());
    if let Some(code) = &error.code {
        payload.insert("code".to_owned(), Value::String(code.clone()));
    }
    EventKind::ItemAdded { item: NewItem::plain("step_error", ItemStatus::Completed, payload) }
}
