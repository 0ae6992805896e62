//! Units: an author's function that belongs to a block with children of its own (decision 3).
//!
//! A sequencer's maps, conditions and connectors, and the hooks of every block that runs others, are
//! transactions by themselves. Their writes commit when the function returns; when a record changed
//! under it, that function alone runs again, never the children around it.

use crate::boundary::{catch_up, rebase};
use crate::callable::{Arg, Fun, Returned};
use crate::context::Context;
use crate::error::FlowError;
use crate::event::EventKind;
use crate::flow::Body;
use crate::log::AppendError;

/// How often a function runs again because a record changed under it (core-semantics §4.3).
const CONFLICT_RETRIES: u32 = 3;

/// Calls a function of a block: as part of the block's own transaction for a handler, else as a unit.
pub(crate) async fn call(cx: &Context, function: &Fun, args: Vec<Arg>) -> Result<Returned, FlowError> {
    if matches!(cx.frame.block.body, Body::Handler { .. }) {
        return function.call(args, cx.clone()).await;
    }
    let mut turn = None;
    for _ in 0..=CONFLICT_RETRIES {
        if cx.frame.transaction.is_empty() {
            cx.run.see_records(&cx.frame)?;
        }
        let returned = function.call(args.clone(), cx.clone()).await?;
        if cx.frame.transaction.is_empty() {
            return Ok(returned);
        }
        if turn.is_none() {
            turn = Some(cx.run.commits.turn().await);
        }
        if commit(cx).await? {
            return Ok(returned);
        }
        // With the turn in hand, only another request can come in between again.
        cx.frame.transaction.clear();
    }
    Err(FlowError::conflict(CONFLICT_RETRIES + 1))
}

/// Commits what a unit wrote; false when its function must decide anew.
async fn commit(cx: &Context) -> Result<bool, FlowError> {
    if !catch_up(&cx.run, &cx.frame)? {
        return Ok(false);
    }
    loop {
        let commits = cx.frame.transaction.commits();
        let event = EventKind::Committed { commits: commits.clone() };
        match cx.run.recorder.commit(Some(&cx.frame.path), cx.frame.attempt, event).await {
            Ok(_) => {
                cx.frame.transaction.clear();
                cx.run.refresh_ancestors(&cx.frame, &commits);
                cx.run.see_records(&cx.frame)?;
                return Ok(true);
            }
            Err(AppendError::Conflict(scopes)) => {
                if !rebase(&cx.run, &cx.frame, &scopes)? {
                    return Ok(false);
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
}
