//! The run of one block: the pipeline that is the same for every kind (SEMANTICS §2.2).
//!
//! Abort is checked before an attempt starts; retries and conflicts are decided when it ends. Both happen here and
//! nowhere else.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, select};

use crate::execution::core::nested::NestedResults;
use crate::execution::core::schema_check;
use crate::execution::ctx::{Context, EmitOptions};
use crate::execution::record::prior_attempt::AttemptEffects;
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::execution::run::recorded_ends::{BackgroundOf, RecordedEnd};
use crate::execution::run::role::BlockRole;
use crate::execution::step::boundary::{AttemptEnd, CommitPermit, abandon, end_attempt};
use crate::execution::step::caught::caught_by;
use crate::execution::step::hooks::step_errored;
use crate::execution::step::retries::{failed_tries, should_retry};
use crate::execution::step::{around, callback, container, output_check, reactions};
use crate::model::callable::Arg;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded};
use crate::model::flow::{Block, Rescue};
use crate::model::step_value::StepValue;

/// How deep blocks may nest. Every level takes native stack, and a stack overflow ends the process.
const MAX_NESTING: u32 = 300;

/// Runs a block at a path. Returns its output, with the number of the event that holds it.
pub fn run_block(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    run_block_as(run, block, parent, path, input, BlockRole::Plain)
}

/// As [`run_block`]; `role` says what the enclosing block does with a failure.
pub fn run_block_as(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
    role: BlockRole,
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    try_block(run, block, parent, path, input, (role, None))
}

/// Returns whether the caller of a block will run it again after this failure.
pub(crate) type WillRetry = Rc<dyn Fn(&FlowError) -> bool>;

/// As [`run_block_as`], for a block that its caller may run again: an attempt whose failure `will_retry` accepts is
/// abandoned, so none of its writes are committed.
pub(crate) fn try_block(
    run: Rc<Run>,
    block: Rc<Block>,
    parent: Option<Rc<Frame>>,
    path: String,
    input: StepValue,
    (role, will_retry): (BlockRole, Option<WillRetry>),
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    async move {
        let path: Arc<str> = path.into();
        if parent.as_ref().is_some_and(|parent| parent.depth >= MAX_NESTING) {
            return Err(FlowError {
                code: Some("limit_exceeded".to_owned()),
                ..FlowError::new("LimitError", format!("blocks are nested deeper than {MAX_NESTING} levels"))
            });
        }
        let input = run.input_of(&path, input);
        // A generator retries its tools itself, by the tool's settings over its own.
        let failed_before = if let BlockRole::Tool(call) = &role { call.failed_before() } else { None };
        let retry = block.retry.as_ref().filter(|_| failed_before.is_none());
        let mut tries = failed_before.unwrap_or_else(|| failed_tries(retry, run.replay_cache.failed_tries(&path)));
        let mut is_first = true;
        let mut conflicts = 0;
        // Kept while a body runs again because a record changed under it.
        let mut permit: Option<CommitPermit<'_>> = None;
        // The effects of the attempt that a conflict made run again: the next attempt reuses their results.
        let mut superseded_effects = None;
        // The results of the blocks that its function ran: likewise.
        let mut nested_results: Option<NestedResults> = None;
        // The recorded end of a block that is run again only to reach its background work.
        let mut recorded = None;
        loop {
            if run.abort.is_set() {
                return Err(FlowError::aborted());
            }
            // The instance that was interrupted, if it goes on.
            let mut interrupted = None;
            if std::mem::take(&mut is_first) {
                match run.take_recorded_end(&block, &path, parent.as_ref(), &input)? {
                    RecordedEnd::Nothing => {
                        if let Some(questions) = run.stays_waiting(&block, &path, parent.as_ref(), &input)
                            && !run.is_answered(&path, parent.as_ref(), &role, questions).boxed_local().await
                        {
                            let is_aborted = run.abort.is_set();
                            return Err(if is_aborted { FlowError::aborted() } else { FlowError::suspended() });
                        }
                        interrupted = run.interrupted(&block, &path);
                        superseded_effects = run.replay_cache.exchanges_of(&path).filter(|_| block.is_one_function());
                    }
                    RecordedEnd::Ended(frame, Ok(output)) => {
                        frame.due.replace(run.replay_cache.due(&path, None));
                        return react(&run, &frame, output).boxed_local().await;
                    }
                    RecordedEnd::Ended(frame, Err(error)) => {
                        *frame.role.borrow_mut() = role;
                        // The result is in the log; the call makes `stepAny` and `race` count this failure.
                        caught_by(&frame, &error);
                        return rescue(&run, &frame, error).await;
                    }
                    RecordedEnd::HasBackgroundWork(end, given) => recorded = Some((end, given)),
                }
            }
            if !block.only_runs_others() {
                run.replay_all_shared_state(parent.as_ref());
            }
            let (instance, given_before) = match &recorded {
                Some((BackgroundOf::Ended(instance), given)) => (Some(instance.clone()), Some(given.clone())),
                _ => (interrupted, None),
            };
            let (around, data, goes_on) = (parent.clone(), input.data.clone(), instance.is_some());
            let frame = match instance {
                Some(instance) => run.frame_of(instance, block.clone(), path.clone(), around, data, tries),
                None => run.frame(block.clone(), path.clone(), around, data, tries),
            };
            tries = frame.tries;
            frame.is_over.set(given_before.is_some());
            if let Some(earlier) = superseded_effects.take() {
                frame.effects.replace(AttemptEffects::after(earlier));
            }
            role.begin();
            *frame.role.borrow_mut() = role.clone();
            frame.holds_permit.set(permit.is_some());
            if let Some(results) = nested_results.take() {
                frame.nested_results.adopt(&results);
            }
            run.wait_for_recorded_start(&frame).await;
            let versions = run.see_records(&frame, &frame.transaction)?;
            if given_before.is_some() {
                run.record_seen(&frame, versions);
            } else if goes_on {
                run.record_goes_on(&frame, versions);
            } else {
                run.record(
                    &frame,
                    EventKind::BlockStarted {
                        name: block.name.clone(),
                        block: block.kind(),
                        parent: parent.as_ref().map(|frame| frame.instance.clone()),
                        input: input.recorded(),
                        versions,
                        fingerprint: block.fingerprint(),
                        replaces_failed: run.replaces_failed(&frame),
                    },
                );
            }
            if let Some(first) = run.first_state(&frame) {
                run.recorder.record(Some(&path), frame.attempt, first);
            }
            let mut result = body_until_abort(&run, &frame, &input).await;
            run.wait_for_recorded_block_end(&frame).await;
            run.show_items_before(&frame);
            frame.finish();
            if let Some(given) = given_before {
                let result = run.given_again(&frame, result, given);
                frame.end(&result);
                run.kept.borrow_mut().extend(result.is_ok().then(|| path.clone()));
                return result;
            }
            if result.as_ref().is_err_and(FlowError::is_suspension) {
                run.suspend(&frame);
                return result;
            }
            if result.as_ref().is_err_and(FlowError::parks_request) {
                // Not a failure of the block: it runs again once the code fits the log.
                abandon(&run, &frame, None).await?;
                return result;
            }
            if let (true, Some((BackgroundOf::NewAttempt(end), given))) = (result.is_ok(), recorded.take()) {
                run.record(&frame, *end);
                frame.end(&Ok(given.clone()));
                return Ok(given);
            }
            if result.as_ref().is_err_and(FlowError::is_abort) {
                // Cut off in the middle: it has no effect.
                frame.transaction.clear();
            }
            // A second round only after `GivesUp`: its error is the result of the attempt then.
            loop {
                match result {
                    Err(error) if should_retry(retry, &error, tries) && !run.abort.is_set() => {
                        (permit, conflicts) = (None, 0);
                        // A retry asks for its effects anew.
                        frame.effects.borrow().end();
                        abandon(&run, &frame, Some(error)).await?;
                        tries += 1;
                        let pause = retry.map_or(0, |retry| retry.pause_after(tries));
                        run.effects.sleep(pause).await;
                        break;
                    }
                    Err(error)
                        if !run.abort.is_set()
                            && !error.is_uncatchable()
                            && will_retry.as_ref().is_some_and(|will_retry| will_retry(&error)) =>
                    {
                        abandon(&run, &frame, Some(error.clone())).await?;
                        return Err(error);
                    }
                    // Boxed, so that this future does not grow by it while the body runs.
                    ended => match end_attempt(&run, &frame, ended, &mut permit, conflicts).boxed_local().await? {
                        AttemptEnd::Ended(Ok(value)) => {
                            drop(permit);
                            run.end_alone(&path);
                            return react(&run, &frame, value).boxed_local().await;
                        }
                        AttemptEnd::Ended(Err(error)) => {
                            drop(permit);
                            run.end_alone(&path);
                            return rescue(&run, &frame, error).await;
                        }
                        AttemptEnd::GivesUp(error) => result = Err(error),
                        AttemptEnd::RunAgain => {
                            conflicts += 1;
                            superseded_effects = Some(frame.effects.borrow().clone());
                            nested_results = Some(frame.nested_results.hand_on());
                            break;
                        }
                    },
                }
            }
        }
    }
    .boxed_local()
}

/// Runs the reactions to what a block has written, now that this is committed. A failure of one is the block's.
async fn react(run: &Rc<Run>, frame: &Rc<Frame>, output: StepValue) -> Result<StepValue, FlowError> {
    let due = frame.due.take();
    if due.is_empty() {
        return Ok(output);
    }
    let cx = Context::new(run.clone(), frame.clone());
    match reactions::run(&cx, None, due).await {
        Ok(()) => Ok(output),
        Err(error) => rescue(run, frame, error).await,
    }
}

/// Runs the first rescue handler that matches a failure, and returns its output; without one returns the error.
async fn rescue(run: &Rc<Run>, frame: &Rc<Frame>, error: FlowError) -> Result<StepValue, FlowError> {
    let Some(handler) = frame.block.handler_after(&error) else { return Err(error) };
    let cx = Context::new(run.clone(), frame.clone());
    step_errored(&cx, &frame.path, &error).await;
    let output = run_handler(&cx, handler, &error).await?;
    frame.end_rescued(&output);
    Ok(output)
}

pub(crate) async fn run_handler(cx: &Context, handler: &Rescue, error: &FlowError) -> Result<StepValue, FlowError> {
    let (path, input) = (handler.path(&cx.frame.path), StepValue::thrown(error));
    run_block_as(cx.run.clone(), handler.block.clone(), Some(cx.frame.clone()), path, input, BlockRole::Rescue).await
}

async fn body_until_abort(run: &Rc<Run>, frame: &Rc<Frame>, input: &StepValue) -> Result<StepValue, FlowError> {
    let cx = Context::new(run.clone(), frame.clone());
    let block = frame.block.clone();
    let work = around::run(&cx, &block, 0, input);
    let result = match select(work, Box::pin(run.abort.wait())).await {
        Either::Left((result, _)) => result
            .and_then(|output| {
                if !run.has_completed_call(&cx.frame) {
                    block.check_result(&output.data)?;
                }
                Ok(output)
            })
            .map_err(|error| run.effects.redaction().thrown(error)),
        Either::Right(_) => return Err(FlowError::aborted()),
    };
    match result {
        // The block runs again later, so its container stays open (ARCHITECTURE §5.5).
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

/// The run of a block inside its middleware.
pub(crate) async fn pipeline(cx: &Context, block: &Rc<Block>, given: &StepValue) -> Result<StepValue, FlowError> {
    let mut input = given.clone();
    if let Some(connect) = &block.connect_input {
        let connected = callback::call(cx, "connectInput", connect, vec![input.argument()]).await?.into_data()?;
        if connected != input.data {
            input = StepValue::new(connected);
        }
    }
    if let Some(schema) = &block.input_schema {
        input = if cx.run.parses_once {
            let known = cx.frame.parsed_input.take().filter(|_| block.connect_input.is_none());
            schema_check::parse_input(schema, input, &block.name, known)?
        } else {
            schema_check::parse(schema, input, &block.name, "input")?
        };
    }
    if input.data != given.data {
        let seq = cx.record(EventKind::BlockInput { input: Recorded::inline(&input.data) });
        input.origin = Some(seq);
    }
    *cx.frame.input.borrow_mut() = input.data.clone();
    container::open(cx, block, &input.data).await?;
    if let Some(status) = &block.active_status {
        let text = callback::resolve_value(cx, "activeStatusMessage", status, &input.data).await?;
        cx.emit_status(text.as_str().map(str::to_owned), Default::default(), EmitOptions::default());
    }
    let mut output = (cx.run.drive)(cx, block, input).await?;
    if let Some(connect) = &block.connect_output {
        output = StepValue::new(
            callback::call(cx, "connectOutput", connect, vec![Arg::Data(output.data)]).await?.into_data()?,
        );
    }
    // The value goes on to other blocks, which ask their own schemas.
    output.parsed_by = Default::default();
    let is_checked = cx.run.parses_once && block.checks_output();
    if let Some(schema) = block.output_schema.as_ref().filter(|_| !is_checked) {
        output = output_check::parse_output(cx, block, schema, output).await?;
    }
    if let Some(hook) = &block.on_completed {
        let mut args = vec![Arg::Data(output.data.clone())];
        let model = cx.frame.model.borrow().clone();
        args.extend(model.map(|model| Arg::Data(serde_json::json!({ "model": model }).into())));
        callback::call(cx, "onCompleted", hook, args).await?;
    }
    Ok(output)
}
