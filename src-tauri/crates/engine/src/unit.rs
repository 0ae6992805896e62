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
use crate::scope::ScopeKind;

/// Calls a function of a block: as part of the block's own transaction for a handler, else as a unit.
pub(crate) async fn call(cx: &Context, function: &Fun, args: Vec<Arg>) -> Result<Returned, FlowError> {
    if matches!(cx.frame.block.body, Body::Handler { .. }) {
        return function.call(args, cx.clone()).await;
    }
    let mut turn = None;
    let mut conflicts = 0;
    loop {
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
        let Some(scope) = commit(cx).await? else { return Ok(returned) };
        // With the turn in hand, only another request can come in between again.
        cx.frame.transaction.clear();
        conflicts += 1;
        let cas = cx.run.flow.settings.cas(scope);
        if conflicts > cas.max_retries {
            return Err(FlowError::conflict(conflicts));
        }
        cx.run.effects.sleep(cas.base_delay_ms << (conflicts - 1).min(20)).await;
    }
}

/// Commits what a unit wrote. Answers the scope that lets its function decide anew, if one does.
async fn commit(cx: &Context) -> Result<Option<ScopeKind>, FlowError> {
    if let Some(scope) = catch_up(&cx.run, &cx.frame)? {
        return Ok(Some(scope));
    }
    loop {
        let commits = cx.frame.transaction.commits();
        let event = EventKind::Committed { commits: commits.clone() };
        match cx.run.recorder.commit(Some(&cx.frame.path), cx.frame.attempt, event).await {
            Ok(_) => {
                cx.frame.transaction.clear();
                cx.run.refresh_ancestors(&cx.frame, &commits);
                cx.run.see_records(&cx.frame)?;
                return Ok(None);
            }
            Err(AppendError::Conflict(scopes)) => {
                if let Some(scope) = rebase(&cx.run, &cx.frame, &scopes)? {
                    return Ok(Some(scope));
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
}
