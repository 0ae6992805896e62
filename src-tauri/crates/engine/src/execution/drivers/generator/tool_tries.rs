//! The tries of one tool call: retries and timeouts of the tool settings (SEMANTICS §6.7).
//!
//! A try that takes too long goes on in the background, because its effects may have happened already. Must not know
//! what the call's item shows, or what the model is told.

use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, select};

use super::denied;
use super::tools::{Tool, ends_generator};
use crate::execution::ctx::Context;
use crate::execution::run::role::{BlockRole, CallTry};
use crate::execution::step::block::{WillRetry, try_block};
use crate::model::effects::ToolCall;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RecordedReturn};
use crate::model::flow::{Block, Generator, Retry, ToolSettings};
use crate::model::path::join;
use crate::model::step_value::StepValue;

/// The prefix of the name under which the log has a timeout; the call and the number of the attempt follow.
const TIMEOUT: &str = "timeout ";

/// Runs the tool's block, with the retries of the tool settings. Only the last attempt's writes are committed
/// (ARCHITECTURE §3.7).
pub(super) async fn run_with_retries(
    cx: &Context,
    generator: &Generator,
    tool: &Tool,
    place: &str,
    call: &ToolCall,
) -> Result<StepValue, FlowError> {
    let (retry, timeout_ms) = limits_of(&tool.block, &generator.tool_settings);
    let path = join(&cx.frame.path, &format!("tool:{place}"));
    let attempts = retry.as_ref().map_or(1, Retry::max_attempts);
    let was_recorded = cx.run.wait_for_recorded_end(&path, &tool.block).await;
    let mut failed = cx.run.replay_cache.failed_tries(&path).len();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let next = retry.clone().filter(|_| attempt < attempts);
        let will_retry = next.map(|retry| -> WillRetry {
            Rc::new(move |error| !ends_generator(error) && !denied::is_answer(error) && retry.lists(error))
        });
        let input = StepValue::new(call.args.clone().into());
        let (run, block, parent) = (cx.run.clone(), tool.block.clone(), Some(cx.frame.clone()));
        let timeout = CallTry::after(attempt - 1, timeout_ms);
        let role = BlockRole::Tool(timeout.clone());
        let running = try_block(run, block, parent, path.clone(), input, (role, will_retry.clone()));
        let number = format!("{TIMEOUT}{place}#{}", attempt - 1);
        let is_known = cx.run.replay_cache.callback(&cx.frame.path, &number).is_some();
        if !is_known && failed > 0 {
            // It had failed before the request was interrupted.
            failed -= 1;
            continue;
        }
        match with_timeout(cx, (timeout_ms, timeout), &tool.block.name, number, running).await {
            Err(error) if will_retry.is_some_and(|will_retry| will_retry(&error)) => {
                // If the timeout is in the log, what the log has at the path belongs to the next attempt: it is kept.
                if !is_known {
                    cx.run.replay_cache.discard_attempt(&path.as_str().into());
                }
            }
            ended => {
                let is_settled = ended.as_ref().err().is_none_or(|error| !error.is_uncatchable());
                // A replay orders results by their effects: a try that was given up may still run beside this one.
                if is_settled && cx.run.effect_log.is_none() {
                    cx.wait_to_settle(&path, was_recorded).await;
                }
                return ended;
            }
        }
        if let Some(retry) = &retry {
            cx.run.effects.sleep(retry.pause_after(attempt)).await;
        }
    }
}

/// Returns how often a tool is tried and how long one call may take: as the tool says, else as the settings for tools
/// do.
fn limits_of(tool: &Block, settings: &ToolSettings) -> (Option<Retry>, Option<u64>) {
    let retry = match (&tool.retry, &settings.retry) {
        (Some(own), Some(general)) => Some(own.or(general)),
        (own, general) => own.as_ref().or(general.as_ref()).cloned(),
    };
    (retry, tool.timeout_ms.or(settings.timeout_ms).filter(|ms| *ms > 0))
}

/// Waits for a call for at most `timeout_ms`. A call that takes longer goes on in the background: its effects may
/// already have happened, and the log must show how it ends.
async fn with_timeout(
    cx: &Context,
    (timeout_ms, exceeded): (Option<u64>, CallTry),
    name: &str,
    number: String,
    run: LocalBoxFuture<'static, Result<StepValue, FlowError>>,
) -> Result<StepValue, FlowError> {
    let Some(ms) = timeout_ms else { return run.await };
    let timeout = || FlowError {
        code: Some("timeout_error".to_owned()),
        retryable: true,
        classes: ["TimeoutError", "FlowError", "Error"].map(str::to_owned).to_vec(),
        ..FlowError::new("TimeoutError", format!("tool:{name} timed out after {ms}ms"))
    };
    // The timeout is in the log: a resume must not run the call again.
    if cx.run.recorded_callback(&cx.frame, &number, None, &[]).is_some() {
        return Err(timeout());
    }
    let time = match &cx.run.effect_log {
        None => cx.run.effects.sleep(ms),
        Some(effect_log) => match effect_log.returned(&cx.frame.path, cx.frame.attempt, &number) {
            None => return run.await,
            Some(time) => time,
        },
    };
    match select(run, time).await {
        Either::Left((result, _)) => result,
        Either::Right((_, run)) => {
            exceeded.exceed(ms);
            note_timeout(cx, number);
            cx.run.pool.spawn(run.map(drop).boxed_local());
            Err(timeout())
        }
    }
}

/// Records a timeout as a callback of the generator that returned `true`, so that a resume finds it.
fn note_timeout(cx: &Context, callback: String) {
    cx.record(EventKind::CallbackReturned {
        callback,
        fingerprint: None,
        returned: Some(RecordedReturn::Value(true.into())),
        events: Vec::new(),
        superseded: Vec::new(),
        memoized: false,
        commits: Vec::new(),
    });
}
