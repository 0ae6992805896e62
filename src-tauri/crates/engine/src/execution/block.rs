//! The run of one block: the pipeline every kind passes through (SEMANTICS §2.2).
//!
//! Every block passes one gate before it starts and one commit after it ends; abort, retry and
//! conflicts act there and nowhere else.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, select};
use serde_json::Value;

use crate::execution::boundary::{Attempt, CommitPermit, abandon, end_attempt};
use crate::execution::caught::{Caller, caught_by};
use crate::execution::context::{Context, EmitOptions};
use crate::execution::frame::Frame;
use crate::execution::hooks::step_errored;
use crate::execution::replay::prior_attempt::AttemptEffects;
use crate::execution::replay::resume::RecordedEnd;
use crate::execution::request::Run;
use crate::execution::{callback, container, driver, schema_check};
use crate::model::callable::Arg;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded};
use crate::model::flow::{Block, Rescue, Text};
use crate::model::path::{encode, join};

use crate::execution::step_value::StepValue;

/// Every level of nesting takes native stack, and a lost stack would take the app with it.
const DEEPEST: u32 = 300;

/// Runs a block at a path. The answer is its output, with the event that holds it.
pub(crate) fn run_block(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    run_block_as(run, block, parent, path, input, Caller::Plain)
}

/// As [`run_block`]; `caller` says what the block around it makes of a failure.
pub(crate) fn run_block_as(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
    caller: Caller,
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    try_block(run, block, parent, path, input, (caller, None))
}

/// Whether the caller of a block tries it again after a failure.
pub(crate) type Again = Rc<dyn Fn(&FlowError) -> bool>;

/// Runs a block that its caller may try again: a failure of which `again` says so has no effect.
pub(crate) fn try_block(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
    (caller, again): (Caller, Option<Again>),
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    async move {
        let path: Arc<str> = path.into();
        if parent.as_ref().is_some_and(|parent| parent.depth >= DEEPEST) {
            return Err(FlowError {
                code: Some("limit_exceeded".to_owned()),
                ..FlowError::new("LimitError", format!("blocks are nested deeper than {DEEPEST} levels"))
            });
        }
        let mut tries = 0;
        let mut conflicts = 0;
        // Kept while a body runs again because a record changed under it.
        let mut permit: Option<CommitPermit<'_>> = None;
        // What the try got from outside that a conflict came to nothing.
        let mut superseded_try = None;
        // How the log has it that the block ended, where it is only gone through again.
        let mut recorded = None;
        loop {
            if run.abort.is_set() {
                return Err(FlowError::aborted());
            }
            if tries == 0 && conflicts == 0 {
                match run.recall(&block, &path, parent.as_ref(), &input)? {
                    RecordedEnd::Nothing => {}
                    RecordedEnd::Ended(_, Ok(output)) => return Ok(output),
                    RecordedEnd::Ended(frame, Err(error)) => {
                        *frame.caller.borrow_mut() = caller;
                        // Known from the log; the arms of an operation count it again.
                        caught_by(&frame, &error);
                        return rescue(&run, &frame, error).await;
                    }
                    RecordedEnd::HasBackgroundWork(end, given) => recorded = Some((end, given)),
                }
            }
            if !block.only_runs_others() {
                run.replay_all_shared_state(parent.as_ref());
            }
            let frame = run.frame(block.clone(), path.clone(), parent.clone(), input.data.clone(), tries);
            if let Some(earlier) = superseded_try.take() {
                frame.effects.replace(AttemptEffects::after(earlier));
            }
            caller.begin();
            *frame.caller.borrow_mut() = caller.clone();
            run.wait_for_commit_order(&frame).await;
            let versions = run.see_records(&frame, &frame.transaction)?;
            run.record(
                &frame,
                EventKind::BlockStarted {
                    name: block.name.clone(),
                    block: block.kind(),
                    parent: parent.as_ref().map(|frame| frame.instance.clone()),
                    input: input.recorded(),
                    versions,
                    fingerprint: block.fingerprint(),
                },
            );
            if let Some(own) = &frame.own {
                run.record(
                    &frame,
                    EventKind::StateInitialized {
                        scope: own.key.clone(),
                        state: own.recordable(),
                        durable: block.has_checkpoints(),
                    },
                );
            }
            let mut result = body_until_abort(&run, &frame, &input).await;
            frame.finish();
            if result.as_ref().is_err_and(FlowError::is_suspension) {
                run.suspend(&frame);
                return result;
            }
            if result.as_ref().is_err_and(FlowError::parks_request) {
                // It has not failed: it goes on when the code fits again.
                abandon(&run, &frame, None).await?;
                return result;
            }
            if let (true, Some((end, given))) = (result.is_ok(), recorded.take()) {
                run.record(&frame, end);
                frame.end(&Ok(given.clone()));
                return Ok(given);
            }
            if result.as_ref().is_err_and(FlowError::is_abort) {
                // Cut off in the middle: it has no effect.
                frame.transaction.clear();
            }
            // More than once only where the attempt gives up: then that is what came of it.
            loop {
                match result {
                    Err(error) if should_retry(&block, &error, tries) && !run.abort.is_set() => {
                        (permit, conflicts) = (None, 0);
                        // What a retry asks for is live.
                        frame.effects.borrow().end();
                        abandon(&run, &frame, Some(error)).await?;
                        let pause = pause_before(&block, tries);
                        tries += 1;
                        run.effects.sleep(pause).await;
                        break;
                    }
                    Err(error)
                        if !run.abort.is_set()
                            && !error.is_uncatchable()
                            && again.as_ref().is_some_and(|again| again(&error)) =>
                    {
                        abandon(&run, &frame, Some(error.clone())).await?;
                        return Err(error);
                    }
                    // In a future of its own, which takes no room while the body runs.
                    ended => match end_attempt(&run, &frame, ended, &mut permit, conflicts).boxed_local().await? {
                        Attempt::Ended(Ok(flowing)) => return Ok(flowing),
                        Attempt::Ended(Err(error)) => {
                            drop(permit);
                            return rescue(&run, &frame, error).await;
                        }
                        Attempt::GivesUp(error) => result = Err(error),
                        Attempt::RunAgain => {
                            conflicts += 1;
                            superseded_try = Some(frame.effects.borrow().clone());
                            break;
                        }
                    },
                }
            }
        }
    }
    .boxed_local()
}

/// Answers a failure with the first handler that matches; without one it stays a failure.
async fn rescue(run: &Rc<Run>, frame: &Rc<Frame>, error: FlowError) -> Result<StepValue, FlowError> {
    // A sequencer's handlers have had their chance inside it.
    if frame.block.rescues_inside() {
        return Err(error);
    }
    let Some(handler) = handler_of(&frame.block.rescue, &error) else { return Err(error) };
    frame.mark_rescued();
    let cx = Context::new(run.clone(), frame.clone());
    step_errored(&cx, &frame.path, &error).await;
    run_handler(&cx, handler, &error).await
}

pub(crate) fn handler_of<'a>(handlers: &'a [Rescue], error: &FlowError) -> Option<&'a Rescue> {
    if error.is_uncatchable() {
        return None;
    }
    handlers
        .iter()
        .find(|handler| handler.when.is_empty() || error.classes.iter().any(|class| handler.when.contains(class)))
}

pub(crate) async fn run_handler(cx: &Context, handler: &Rescue, error: &FlowError) -> Result<StepValue, FlowError> {
    let path = join(&cx.frame.path, &format!("rescue:{}", encode(&handler.block.name)));
    let input = StepValue::thrown(error);
    run_block_as(cx.run.clone(), handler.block.clone(), Some(cx.frame.clone()), path, input, Caller::Rescue).await
}

async fn body_until_abort(run: &Rc<Run>, frame: &Rc<Frame>, input: &StepValue) -> Result<StepValue, FlowError> {
    let cx = Context::new(run.clone(), frame.clone());
    let block = frame.block.clone();
    let work = Box::pin(pipeline(&cx, &block, input));
    let result = match select(work, Box::pin(run.abort.wait())).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => return Err(FlowError::aborted()),
    };
    match result {
        // It goes on another time, and nothing about it has ended (ARCHITECTURE §5.5).
        Err(error) if error.is_suspension() || error.parks_request() => return Err(error),
        _ => container::close(&cx, &result),
    }
    match result {
        Err(mut error) => {
            if let Some(hook) = &block.on_errored {
                // Its own failure is swallowed (SEMANTICS §2.2).
                let _ = callback::call(&cx, "onErrored", hook, vec![Arg::Error(error.clone())]).await;
            }
            error.path.get_or_insert_with(|| frame.path.to_string());
            Err(error)
        }
        good => good,
    }
}

async fn pipeline(cx: &Context, block: &Rc<Block>, given: &StepValue) -> Result<StepValue, FlowError> {
    let mut input = given.clone();
    if let Some(connect) = &block.connect_input {
        let connected = callback::call(cx, "connectInput", connect, vec![input.argument()]).await?.into_data()?;
        if connected != input.data {
            input = StepValue::new(connected);
        }
    }
    if let Some(schema) = &block.input_schema {
        input = schema_check::parse(schema, input, &block.name, "input")?;
    }
    if input.data != given.data {
        let seq = cx.record(EventKind::BlockInput { input: Recorded::inline(&input.data) });
        input.origin = Some(seq);
    }
    *cx.frame.input.borrow_mut() = input.data.clone();
    container::open(cx, block, &input.data).await?;
    if let Some(status) = &block.active_status {
        let text = text(cx, "activeStatusMessage", status, &input.data).await?;
        cx.emit_status(text.as_str().map(str::to_owned), Default::default(), EmitOptions::default());
    }
    let mut output = driver::drive(cx, block, input).await?;
    if let Some(connect) = &block.connect_output {
        output = StepValue::new(
            callback::call(cx, "connectOutput", connect, vec![Arg::Data(output.data)]).await?.into_data()?,
        );
    }
    if let Some(schema) = &block.output_schema {
        output = driver::check_output(cx, block, schema, output).await?;
    }
    if let Some(hook) = &block.on_completed {
        let mut args = vec![Arg::Data(output.data.clone())];
        let model = cx.frame.model.borrow().clone();
        args.extend(model.map(|model| Arg::Data(serde_json::json!({ "model": model }).into())));
        callback::call(cx, "onCompleted", hook, args).await?;
    }
    Ok(output)
}

/// A fixed text, or what the author's function makes of the input.
pub(crate) async fn text(cx: &Context, role: &str, text: &Text, input: &Data) -> Result<Value, FlowError> {
    match text {
        Text::Fixed(value) => Ok(value.clone()),
        Text::Call(call) => {
            Ok(callback::call(cx, role, call, vec![Arg::Data(input.clone())]).await?.into_data()?.to_json())
        }
    }
}

fn should_retry(block: &Block, error: &FlowError, tries: u32) -> bool {
    let Some(retry) = &block.retry else { return false };
    if tries + 1 >= retry.max_attempts || error.is_uncatchable() {
        return false;
    }
    let is_flow_error = error.classes.iter().any(|class| class == "FlowError");
    if is_flow_error && !error.retryable {
        return false;
    }
    retry.retryable_errors.is_empty() || error.classes.iter().any(|class| retry.retryable_errors.contains(class))
}

fn pause_before(block: &Block, tries: u32) -> u64 {
    block
        .retry
        .as_ref()
        .map_or(0, |retry| retry.base_delay_ms.saturating_mul(1 << tries.min(20)).min(retry.max_delay_ms))
}
