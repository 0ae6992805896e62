//! The interpreter of a chain: one operation after another, each given what the last one made.
//!
//! Core-semantics §3. A child block commits its own step boundary; a function of the chain (map,
//! condition, tap, connector) that wrote durable records commits at its operation's boundary
//! (decision 3).

use crate::block::{Flowing, rebase, run_block};
use crate::callable::{Arg, Fun, Returned};
use crate::context::Context;
use crate::error::FlowError;
use crate::event::EventKind;
use crate::flow::{Child, Operation, Step};
use crate::log::AppendError;
use crate::path::join;

/// Runs the steps on a value.
pub async fn run_steps(cx: &Context, steps: &[Step], input: Flowing) -> Result<Flowing, FlowError> {
    let mut value = input;
    for step in steps {
        // Nothing starts between steps after an abort (authoring, difference 6).
        if cx.run.abort.is_set() {
            return Err(FlowError::aborted());
        }
        value = run_step(cx, step, value).await?;
    }
    Ok(value)
}

async fn run_step(cx: &Context, step: &Step, value: Flowing) -> Result<Flowing, FlowError> {
    match &step.operation {
        Operation::Step(child) => run_child(cx, step, child, value).await,
        Operation::StepIf { condition, child } => {
            if holds(cx, condition, &value).await? { run_child(cx, step, child, value).await } else { Ok(value) }
        }
        Operation::Map(map) => {
            let mapped = call(cx, map, &value).await?.into_data()?;
            Ok(if mapped == value.data { value } else { Flowing::new(mapped) })
        }
        Operation::Tap(child) => run_child(cx, step, child, value.clone()).await.map(|_| value),
        Operation::TapCall(tap) => call(cx, tap, &value).await.map(|_| value),
        Operation::TapIf { condition, child } => {
            if holds(cx, condition, &value).await? {
                run_child(cx, step, child, value.clone()).await?;
            }
            Ok(value)
        }
        Operation::TapCallIf { condition, call: tap } => {
            if holds(cx, condition, &value).await? {
                call(cx, tap, &value).await?;
            }
            Ok(value)
        }
    }
}

async fn run_child(cx: &Context, step: &Step, child: &Child, value: Flowing) -> Result<Flowing, FlowError> {
    let input = match &child.connector {
        Some(connector) => {
            let connected = call(cx, connector, &value).await?.into_data()?;
            if connected == value.data { value } else { Flowing::new(connected) }
        }
        None => value,
    };
    let path = join(&cx.frame.path, &step.segment);
    run_block(cx.run.clone(), child.block.clone(), Some(cx.frame.clone()), path, input).await
}

async fn holds(cx: &Context, condition: &Fun, value: &Flowing) -> Result<bool, FlowError> {
    Ok(call(cx, condition, value).await?.into_data()?.is_truthy())
}

/// Calls a function of the chain and commits what it wrote.
async fn call(cx: &Context, function: &Fun, value: &Flowing) -> Result<Returned, FlowError> {
    if cx.frame.transaction.is_empty() {
        cx.run.see_records(&cx.frame)?;
    }
    let returned = function.call(vec![Arg::Data(value.data.clone())], cx.clone()).await?;
    commit(cx).await?;
    Ok(returned)
}

async fn commit(cx: &Context) -> Result<(), FlowError> {
    let mut refused = 0;
    while !cx.frame.transaction.is_empty() {
        let commits = cx.frame.transaction.commits();
        let event = EventKind::Committed { commits: commits.clone() };
        match cx.run.recorder.commit(Some(&cx.frame.path), cx.frame.attempt, event).await {
            Ok(_) => {
                cx.run.refresh_ancestors(&cx.frame, &commits);
                cx.run.see_records(&cx.frame)?;
            }
            Err(AppendError::Conflict(scopes)) => {
                refused += 1;
                if !rebase(&cx.run, &cx.frame, &scopes)? {
                    return Err(FlowError::conflict(refused));
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
    Ok(())
}
