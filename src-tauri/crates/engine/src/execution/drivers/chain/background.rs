//! Background work: `work`, `forEachBackground`, `waitForWork` (SEMANTICS §3.5).
//!
//! One pool per request. It is polled together with the root block, and drained before the request ends, however it
//! ends. A failure of background work never fails the request: it leaves a `step_error` item.

use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::stream::StreamExt;

use crate::execution::core::pool::Task;
use crate::execution::ctx::Context;
use crate::execution::drivers::chain::fanout::{Branch, iterations};
use crate::execution::drivers::chain::sequencer::Chain;
use crate::execution::run::role::BlockRole;
use crate::execution::step::block::run_block_as;
use crate::execution::step::hooks::step_errored;
use crate::model::callable::Fun;
use crate::model::error::FlowError;
use crate::model::flow::{Block, Each};
use crate::model::step_value::StepValue;

/// Starts a block in the background.
pub async fn start(cx: &Context, path: String, block: Rc<Block>, input: StepValue) {
    let (run, parent) = (cx.run.clone(), cx.frame.clone());
    let cx = cx.clone();
    spawn(&cx.clone(), async move {
        let result = run_block_as(run, block, Some(parent), path.clone(), input, BlockRole::Background).await;
        if let Err(error) = &result {
            cx.run.note_unfinished_background(error);
            step_errored(&cx, &path, error).await;
        }
        result.map(drop)
    })
    .await;
}

/// Starts a block for each item in the background, at most `limit` at a time; a failure does not stop the others.
pub(crate) async fn for_each(
    chain: &Chain<'_>,
    segment: &str,
    connector: Option<&Fun>,
    each: &Each,
    limit: usize,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    let ready = iterations(chain, segment, connector, each, &value, "forEachBackground").await?;
    let cx = chain.cx.clone();
    spawn(&cx.clone(), async move {
        let mut first = None;
        let (run, parent) = (cx.run.clone(), cx.frame.clone());
        let mut ends = futures_util::stream::iter(ready)
            .map(|branch| {
                let (run, parent, path) = (run.clone(), parent.clone(), branch.path.clone());
                let Branch { path: place, block, input } = branch;
                async move { (path, run_block_as(run, block, Some(parent), place, input, BlockRole::Background).await) }
            })
            .buffer_unordered(limit);
        while let Some((path, result)) = ends.next().await {
            if let Err(error) = result {
                cx.run.note_unfinished_background(&error);
                step_errored(&cx, &path, &error).await;
                if error.is_uncatchable() || first.is_none() {
                    first = Some(error);
                }
            }
        }
        first.map_or(Ok(()), Err)
    })
    .await;
    Ok(value)
}

/// Polls the work once, so that it starts before the chain goes on, and adds what is left of it to the pool.
async fn spawn(cx: &Context, work: impl Future<Output = Result<(), FlowError>> + 'static) {
    let (sender, task) = oneshot::channel();
    cx.run.expect_concurrent_blocks();
    cx.frame.tasks.borrow_mut().push(task);
    let pool = cx.run.clone();
    let tasks = move |change: i64| pool.pool.tasks.set(pool.pool.tasks.get().saturating_add_signed(change));
    tasks(1);
    let work = async move {
        let result = work.await;
        tasks(-1);
        // The receiver is gone where no `waitForWork` waits for it.
        let _ = sender.send(result);
    };
    let mut work = work.boxed_local();
    if futures_util::poll!(&mut work).is_pending() {
        cx.run.pool.spawn(work);
    }
}

/// Waits for the work this sequencer has started so far.
pub(crate) async fn wait(cx: &Context, fail_on_error: bool, timeout_ms: Option<u64>) -> Result<(), FlowError> {
    let tasks: Vec<Task> = std::mem::take(&mut *cx.frame.tasks.borrow_mut());
    let all = Box::pin(async {
        let mut newest: Option<FlowError> = None;
        for task in tasks {
            // A cancelled task was dropped with its request. A suspension is an error here too, and wins over others.
            if let Ok(Err(error)) = task.await
                && !newest.as_ref().is_some_and(FlowError::is_uncatchable)
            {
                newest = Some(error);
            }
        }
        newest
    });
    let failure = match timeout_ms {
        None => all.await,
        Some(ms) => match select(all, cx.run.effects.sleep(ms)).await {
            Either::Left((failure, _)) => failure,
            Either::Right(_) => return Err(FlowError::plain(format!("waitForWork timed out after {ms}ms"))),
        },
    };
    cx.run.replay_background_state(&cx.frame);
    match failure {
        Some(error) if fail_on_error || error.is_uncatchable() => Err(error),
        _ => Ok(()),
    }
}
