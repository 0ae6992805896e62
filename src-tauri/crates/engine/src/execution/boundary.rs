//! The step boundary: one durable commit of a block's end with everything it wrote.
//!
//! Conflicts with other writers are settled here, and nowhere else: operations that may be applied
//! again are, and the rest sends the body round once more (SEMANTICS §4.4). Writers that conflict with
//! those of other requests wait in the log's queue, one after another.

use std::rc::Rc;

use crate::execution::caught::caught_by;
use crate::execution::fifo::Turn;
use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::execution::state::transaction::{Rebase, Transaction};
use crate::execution::step_value::StepValue;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Outcome, Seq};
use crate::model::log::{AppendError, TICKET_MS};
use crate::model::scope::{ScopeKey, ScopeKind};

/// How often a waiting writer looks whether it is the first of the queue, in milliseconds.
const QUEUE_POLL_MS: u64 = 2;

/// How an attempt to commit came out.
enum Finished {
    Committed(Seq),
    /// The author's code must decide anew.
    RunAgain(Stale),
    /// The request was aborted while it waited for other writers.
    Aborted,
}

/// A transaction that cannot be moved onto the newest records.
pub(crate) struct Stale {
    /// The kind of the record that changed under it.
    pub(crate) scope: ScopeKind,
    /// All records that it writes.
    pub(crate) scopes: Vec<ScopeKey>,
    /// Whether another request wrote the record.
    is_foreign: bool,
}

/// The right to commit durable records. Writers of one request have it one after another: together they would
/// refuse each other, and every refusal is an event. It is kept while a body runs again, so that nobody of
/// this request comes in between a second time; and, once it has [queued](Self::queue), nobody of another.
pub(crate) struct CommitPermit<'r> {
    run: &'r Rc<Run>,
    has_ticket: bool,
    _first: Turn<'r>,
}

impl<'r> CommitPermit<'r> {
    /// Waits for the other writers of the request.
    pub(crate) async fn take(run: &'r Rc<Run>) -> CommitPermit<'r> {
        CommitPermit { run, has_ticket: false, _first: run.commits.turn().await }
    }

    /// Before a body runs again: waits for the writers of other requests, where those are in the way.
    pub(crate) async fn queue_behind_others(&mut self, stale: &Stale) -> Result<(), FlowError> {
        let has_rivals = stale.is_foreign || self.has_ticket || self.run.has_rivals.get();
        if has_rivals { self.queue(&stale.scopes).await } else { Ok(()) }
    }

    /// Waits until no writer of these records that began to wait earlier is left; from then on none comes in
    /// between, until this writer has committed or given up. Fails when the request is aborted.
    pub(crate) async fn queue(&mut self, scopes: &[ScopeKey]) -> Result<(), FlowError> {
        let (log, request, effects) = (&self.run.log, &self.run.request, &self.run.effects);
        self.run.has_rivals.set(true);
        self.has_ticket = true;
        // The log's thread answers, or other processes do: nothing of the flow can go on by itself meanwhile.
        let _waiting = self.run.recorder.await_log();
        loop {
            // A ticket counts for a time; who still waits renews it, and has a new one where it ran out.
            let taken = effects.now_ms();
            let answer = log.take_ticket(request, scopes, taken).await;
            answer.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned()))).map_err(storage)?;
            let mut now = taken;
            while (taken..taken + TICKET_MS / 4).contains(&now) {
                if log.is_first(request, now).map_err(storage)? {
                    return Ok(());
                }
                if self.run.abort.is_set() {
                    return Err(FlowError::aborted());
                }
                effects.sleep(QUEUE_POLL_MS).await;
                now = effects.now_ms();
            }
        }
    }

    /// The log has let the ticket go with a commit.
    pub(crate) fn committed(&mut self) {
        self.has_ticket = false;
    }
}

impl Drop for CommitPermit<'_> {
    fn drop(&mut self) {
        if self.has_ticket {
            self.run.log.leave_ticket(&self.run.request);
        }
    }
}

fn storage(error: AppendError) -> FlowError {
    FlowError::storage(error.to_string())
}

/// Ends an attempt without effect: its writes are dropped, its evidence stays. One that failed is tried again
/// with everything in it.
pub(crate) async fn abandon(run: &Rc<Run>, frame: &Rc<Frame>, error: Option<FlowError>) -> Result<(), FlowError> {
    frame.transaction.clear();
    frame.roll_back(|| run.next_stamp());
    if error.is_some() {
        run.replay_cache.forget(&frame.path);
    }
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
    run.recorder.commit(Some(&frame.path), frame.attempt, event).await.map(drop).map_err(storage)
}

/// How an attempt came out.
pub(crate) enum Attempt {
    /// It has ended, and the log says so.
    Ended(Result<StepValue, FlowError>),
    /// A record changed under it, and the body must decide anew.
    RunAgain,
    /// A record changed under it once too often: it fails with this.
    GivesUp(FlowError),
}

/// Commits an attempt; one that a conflict lets run again is abandoned, and other writers have had their turn.
pub(crate) async fn end_attempt<'r>(
    run: &'r Rc<Run>,
    frame: &Rc<Frame>,
    mut result: Result<StepValue, FlowError>,
    permit: &mut Option<CommitPermit<'r>>,
    conflicts: u32,
) -> Result<Attempt, FlowError> {
    let stale = loop {
        match finish(run, frame, &result, permit).await? {
            Finished::Committed(seq) => {
                frame.end(&result);
                return Ok(Attempt::Ended(result.map(|StepValue { origin, data, .. }| StepValue {
                    origin: origin.or(Some(seq)),
                    data,
                    thrown: None,
                })));
            }
            Finished::Aborted => {
                frame.transaction.clear();
                result = Err(FlowError::aborted());
            }
            // What a function that failed had written. The blocks inside have ended, and do not run again.
            Finished::RunAgain(_) if !frame.block.is_one_function() => {
                frame.transaction.clear();
                if result.is_ok() {
                    let path = Some(frame.path.to_string());
                    result = Err(FlowError { path, ..FlowError::conflict(0) });
                }
            }
            Finished::RunAgain(stale) => break stale,
        }
    };
    if conflicts >= run.flow.settings.cas(stale.scope).max_retries {
        // Never up to date: what it wrote to records has no effect.
        frame.transaction.clear();
        let path = Some(frame.path.to_string());
        return Ok(Attempt::GivesUp(FlowError { path, ..FlowError::conflict(conflicts + 1) }));
    }
    abandon(run, frame, None).await?;
    if let Some(permit) = permit {
        match permit.queue_behind_others(&stale).await {
            // The next attempt does not begin then.
            Err(error) if error.is_abort() => {}
            queued => queued?,
        }
    }
    Ok(Attempt::RunAgain)
}

/// Commits a block's end with everything it wrote: the step boundary.
async fn finish<'r>(
    run: &'r Rc<Run>,
    frame: &Rc<Frame>,
    result: &Result<StepValue, FlowError>,
    permit: &mut Option<CommitPermit<'r>>,
) -> Result<Finished, FlowError> {
    run.yield_now().await;
    if !frame.transaction.is_empty() && permit.is_none() {
        *permit = Some(CommitPermit::take(run).await);
    }
    if let Some(stale) = catch_up(run, &frame.transaction)? {
        return Ok(Finished::RunAgain(stale));
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
            caught: error.as_ref().and_then(|error| caught_by(frame, error)),
            error,
            transient,
            memoized: false,
            commits: commits.clone(),
        };
        match run.recorder.commit(Some(&frame.path), frame.attempt, event).await {
            Ok(seq) => {
                frame.transaction.clear();
                frame.settle();
                permit.iter_mut().for_each(CommitPermit::committed);
                run.refresh(frame.parent.as_ref(), &commits);
                return Ok(Finished::Committed(seq));
            }
            Err(AppendError::Conflict(_)) => {
                let scopes: Vec<ScopeKey> = commits.into_iter().map(|commit| commit.scope).collect();
                if let Some(permit) = permit {
                    match permit.queue(&scopes).await {
                        Err(error) if error.is_abort() => return Ok(Finished::Aborted),
                        queued => queued?,
                    }
                }
                if let Some(stale) = catch_up(run, &frame.transaction)? {
                    return Ok(Finished::RunAgain(stale));
                }
            }
            Err(error) => return Err(storage(error)),
        }
    }
}

/// Moves a transaction onto records that are newer than those it saw. Answers what is in the way where the
/// author's code must decide anew.
pub(crate) fn catch_up(run: &Rc<Run>, transaction: &Transaction) -> Result<Option<Stale>, FlowError> {
    let commits = transaction.commits();
    for commit in &commits {
        let record = run.log.record(&commit.scope).map_err(storage)?;
        if record.version != commit.from
            && transaction.rebase(&commit.scope, &record, run.next_stamp()) == Rebase::Impossible
        {
            let is_foreign = !run.is_own_version(&commit.scope, record.version);
            let scope = commit.scope.kind;
            let scopes = commits.into_iter().map(|commit| commit.scope).collect();
            return Ok(Some(Stale { scope, scopes, is_foreign }));
        }
    }
    Ok(None)
}
