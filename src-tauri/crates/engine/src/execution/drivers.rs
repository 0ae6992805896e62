//! What a block does, by its kind: the closed list of drivers.
//!
//! A driver gets the block's input and returns its output. It runs other blocks with `run_block`, which calls the
//! [`Drive`](crate::execution::run::Drive) of its run again: [`drive`]. A new kind of block is a variant of [`Body`],
//! its properties on [`Block`], and an arm here; what every block does (attempts, commits, retries, schemas, hooks) is
//! in `step`.

pub(crate) mod chain;
pub mod generator;
mod router;
pub(crate) mod tool;

use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::execution::ctx::Context;
use crate::execution::drivers::chain::sequencer;
use crate::execution::step::block::run_handler;
use crate::execution::step::hooks::step_errored;
use crate::model::callable::Fun;
use crate::model::error::FlowError;
use crate::model::flow::{Block, Body, Step};
use crate::model::step_value::StepValue;

/// Runs the body of a block, by its kind: the [`Drive`](crate::execution::run::Drive) of every run.
pub(crate) fn drive<'a>(
    cx: &'a Context,
    block: &'a Rc<Block>,
    input: StepValue,
) -> LocalBoxFuture<'a, Result<StepValue, FlowError>> {
    run_body(cx, block, input).boxed_local()
}

async fn run_body(cx: &Context, block: &Rc<Block>, input: StepValue) -> Result<StepValue, FlowError> {
    match &block.body {
        // Nobody knows what it will return, so what follows it is unknown as well.
        Body::Handler { .. } if cx.run.only_plans => Err(FlowError::suspended()),
        Body::Handler { execute } => run_function(cx, execute, input).await,
        Body::Sequencer { steps, .. } => run_chain(cx, block, steps, input).await,
        Body::Router { routes, execute, validate } => {
            router::run(cx, (routes, execute, validate.as_ref()), input).await
        }
        // Boxed, so that a level of a chain takes no more native stack because of what a generator holds.
        Body::Generator(generator) => generator::generate(cx, block, generator, &input.data).boxed_local().await,
        Body::Tool { block, identity } => tool::run(cx, block, identity, input).await,
        Body::Agent(part, drive) => drive(part, &input.data, cx.invocation()).await,
        Body::Calls(part, drive) => drive(part, &input.data, cx.invocation()).await,
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
