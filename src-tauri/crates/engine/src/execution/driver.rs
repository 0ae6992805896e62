//! What a block does, by its kind: the closed list of drivers.
//!
//! A driver gets the block's input and returns its output. It runs other blocks with `run_block`, which calls [`drive`]
//! again. A new kind of block is a variant of [`Body`], its properties on [`Block`], and an arm here; what every block
//! does (attempts, commits, retries, schemas, hooks) is in `block`.

use std::rc::Rc;

use futures_util::FutureExt;

use crate::execution::block::{run_block, run_handler};
use crate::execution::chain::{output_check, route, sequencer};
use crate::execution::context::Context;
use crate::execution::hooks::step_errored;
use crate::execution::{callback, generator, schema_check, tool};
use crate::model::callable::{Fun, SchemaRef};
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::flow::{Block, Body, Step};
use crate::model::path::{encode, join};
use crate::model::step_value::StepValue;

/// Runs the body of a block, by its kind.
pub(crate) async fn drive(cx: &Context, block: &Rc<Block>, input: StepValue) -> Result<StepValue, FlowError> {
    match &block.body {
        // Nobody knows what it will return, so what follows it is unknown as well.
        Body::Handler { .. } if cx.run.only_plans => Err(FlowError::suspended()),
        Body::Handler { execute } => run_function(cx, execute, input).await,
        Body::Sequencer { steps, .. } => run_chain(cx, block, steps, input).await,
        Body::Router { routes, execute, validate } => run_route(cx, (routes, execute, validate.as_ref()), input).await,
        // Boxed, so that a level of a chain takes no more native stack because of what a generator holds.
        Body::Generator(generator) => generator::generate(cx, block, generator, &input.data).boxed_local().await,
        Body::Tool { block, identity } => tool::run(cx, block, identity, input).await,
        Body::Agent(part, drive) => drive(part, &input.data, cx.invocation()).await,
        Body::Calls(part, drive) => drive(part, &input.data, cx.invocation()).await,
    }
}

/// Parses a driver's output with the block's `outputSchema`. The error of a sequencer names its last step.
pub(crate) async fn check_output(
    cx: &Context,
    block: &Block,
    schema: &SchemaRef,
    output: StepValue,
) -> Result<StepValue, FlowError> {
    match &block.body {
        Body::Sequencer { .. } => output_check::parse_sequencer_output(cx, schema, output).await,
        _ => schema_check::parse(schema, output, &block.name, "output"),
    }
}

async fn run_function(cx: &Context, execute: &Fun, input: StepValue) -> Result<StepValue, FlowError> {
    let called = execute.call(vec![input.argument()], cx.invocation());
    Ok(StepValue::new(cx.frame.until_suspended(called).await?.into_data()?))
}

async fn run_chain(cx: &Context, block: &Block, steps: &[Step], input: StepValue) -> Result<StepValue, FlowError> {
    let error = match sequencer::run_steps(cx, steps, input).await {
        Ok(output) => return Ok(output),
        Err(error) => error,
    };
    let Some(handler) = block.handler_of(&error) else { return Err(error) };
    step_errored(cx, error.path.as_deref().unwrap_or(&cx.frame.path), &error).await;
    let output = run_handler(cx, handler, &error).await?;
    cx.frame.last_step.replace(Some(handler.block.name.to_string()));
    cx.frame.mark_rescued();
    Ok(output)
}

async fn run_route(
    cx: &Context,
    (routes, execute, validate): (&[Rc<Block>], &Fun, Option<&Fun>),
    input: StepValue,
) -> Result<StepValue, FlowError> {
    let chosen = callback::call_choosing(cx, "execute", execute, vec![input.argument()], routes).await?;
    let route = route::checked(cx, routes, validate, chosen, &input.data).await?;
    cx.run.replay_cache.check_route(&cx.frame.path, &route.name)?;
    cx.record(EventKind::RouteDecided { route: route.name.to_string() });
    let path = join(&cx.frame.path, &format!("route:{}", encode(&route.name)));
    run_block(cx.run.clone(), route, Some(cx.frame.clone()), path, input).await
}
