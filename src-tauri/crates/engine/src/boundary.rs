//! The step boundary: one durable commit of a block's end with everything it wrote.
//!
//! Conflicts with other writers are settled here, and nowhere else: operations that may be applied
//! again are, and the rest sends the body round once more (decision 2).

use std::rc::Rc;

use crate::error::FlowError;
use crate::event::{EventKind, Outcome, Seq};
use crate::flowing::Flowing;
use crate::frame::Frame;
use crate::log::AppendError;
use crate::request::Run;
use crate::scope::{ScopeKey, ScopeKind};
use crate::transaction::Rebase;

/// How an attempt to commit came out.
pub(crate) enum Finished {
    Committed(Seq),
    /// The author's code must decide anew: a record of this scope changed under it.
    RunAgain(ScopeKind),
}

/// Ends an attempt without effect: its writes are dropped, its evidence stays.
pub(crate) async fn abandon(run: &Rc<Run>, frame: &Rc<Frame>, error: Option<FlowError>) -> Result<(), FlowError> {
    frame.transaction.clear();
    frame.roll_back(|| run.next_stamp());
    run.forget_notes(frame);
    let event = EventKind::BlockFinished {
        outcome: Outcome::Abandoned,
        output: None,
        error,
        caught: None,
        transient: frame.block.transient,
        memoized: false,
        commits: Vec::new(),
    };
    run.recorder
        .commit(Some(&frame.path), frame.attempt, event)
        .await
        .map(drop)
        .map_err(|error| FlowError::storage(error.to_string()))
}

/// Commits a block's end with everything it wrote: the step boundary.
pub(crate) async fn finish(
    run: &Rc<Run>,
    frame: &Rc<Frame>,
    result: &Result<Flowing, FlowError>,
    has_turn: bool,
) -> Result<Finished, FlowError> {
    run.let_others_go().await;
    // Writers of one request commit one after another: together they would refuse each other, and
    // every refusal is an event.
    let _turn = match frame.transaction.is_empty() || has_turn {
        true => None,
        false => Some(run.commits.turn().await),
    };
    if let Some(scope) = catch_up(run, frame)? {
        return Ok(Finished::RunAgain(scope));
    }
    loop {
        let commits = frame.transaction.commits();
        let (outcome, output, error) = match result {
            Ok(flowing) => (Outcome::Completed, Some(flowing.recorded()), None),
            Err(error) => (Outcome::Failed, None, Some(error.clone())),
        };
        let transient = frame.block.transient;
        let event = EventKind::BlockFinished {
            outcome,
            output,
            error,
            caught: None,
            transient,
            memoized: false,
            commits: commits.clone(),
        };
        match run.recorder.commit(Some(&frame.path), frame.attempt, event).await {
            Ok(seq) => {
                frame.transaction.clear();
                frame.settle();
                run.refresh_ancestors(frame, &commits);
                return Ok(Finished::Committed(seq));
            }
            Err(AppendError::Conflict(scopes)) => {
                if let Some(scope) = rebase(run, frame, &scopes)? {
                    return Ok(Finished::RunAgain(scope));
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
}

/// Moves a transaction onto records that are newer than those it saw. Answers the scope of the one
/// that lets the author's code decide anew, if there is one.
pub(crate) fn catch_up(run: &Rc<Run>, frame: &Rc<Frame>) -> Result<Option<ScopeKind>, FlowError> {
    let mut stale = Vec::new();
    for commit in frame.transaction.commits() {
        let record = run.log.record(&commit.scope).map_err(|error| FlowError::storage(error.to_string()))?;
        if record.version != commit.from {
            stale.push(commit.scope);
        }
    }
    rebase(run, frame, &stale)
}

/// Moves a transaction onto the newest records; answers as [`catch_up`].
pub(crate) fn rebase(run: &Rc<Run>, frame: &Rc<Frame>, scopes: &[ScopeKey]) -> Result<Option<ScopeKind>, FlowError> {
    for scope in scopes {
        let record = run.log.record(scope).map_err(|error| FlowError::storage(error.to_string()))?;
        if frame.transaction.rebase(scope, &record, run.next_stamp()) == Rebase::Impossible {
            return Ok(Some(scope.kind));
        }
    }
    Ok(None)
}
