//! The step boundary: a block's end with everything it wrote, in one commit (ARCHITECTURE §2.3).
//!
//! Conflicts with other writers are resolved here: a transaction whose operations may be applied again is rebased onto
//! the newer records; any other makes the body run again (SEMANTICS §4.4). Writers that conflict with other requests
//! wait in the log's queue, one after another.

use std::rc::Rc;

use crate::execution::core::fifo::FifoMutexGuard;
use crate::execution::core::transaction::{Rebase, Transaction};
use crate::execution::ctx::Context;
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::execution::step::caught::caught_by;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Outcome, Seq};
use crate::model::log::{AppendError, TICKET_MS};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::step_value::StepValue;

/// How often a waiting writer asks whether it is first in the queue, in milliseconds.
const QUEUE_POLL_MS: u64 = 2;

/// The result of an attempt to commit.
enum CommitOutcome {
    Committed(Seq),
    /// The transaction cannot be rebased: the author's code must run again.
    RunAgain(StaleTransaction),
    /// The request was aborted while it waited for other writers.
    Aborted,
}

/// A transaction that cannot be rebased onto the newest records.
pub(crate) struct StaleTransaction {
    /// The kind of the record that changed since the transaction read it.
    pub(crate) scope: ScopeKind,
    /// All records that it writes.
    pub(crate) scopes: Vec<ScopeKey>,
    /// Whether another request wrote the record.
    is_foreign: bool,
}

/// The right to commit durable records: one writer of a request holds it at a time, in order of arrival. Without it
/// writers of one request would conflict with each other, and every refused commit is an event. It is held while a
/// body runs again after a conflict, so that no other writer of this request commits in between; after
/// [`queue`](Self::queue) no writer of another request does either.
pub(crate) struct CommitPermit<'r> {
    run: &'r Rc<Run>,
    has_ticket: bool,
    _guard: Option<FifoMutexGuard<'r>>,
}

impl<'r> CommitPermit<'r> {
    /// Waits until no other writer of the request holds the permit.
    ///
    /// A function that runs again holds it already, for the blocks that it runs, too.
    pub(crate) async fn take(run: &'r Rc<Run>, frame: &Rc<Frame>) -> CommitPermit<'r> {
        let is_held = frame.chain().any(|around| {
            let is_called_by_holder = match &*around.role.borrow() {
                BlockRole::Called(Some(call)) => call.holds_permit.get(),
                _ => false,
            };
            is_called_by_holder || around.parent.as_ref().is_some_and(|parent| parent.holds_permit.get())
        });
        let guard = if is_held { None } else { Some(run.commits.lock().await) };
        CommitPermit { run, has_ticket: false, _guard: guard }
    }

    /// Called before a body runs again: waits for the writers of other requests, if any have conflicted with this
    /// request.
    pub(crate) async fn queue_behind_others(&mut self, stale: &StaleTransaction) -> Result<(), FlowError> {
        let must_wait = stale.is_foreign || self.has_ticket || self.run.has_write_conflicts.get();
        if must_wait { self.queue(&stale.scopes).await } else { Ok(()) }
    }

    /// Takes a ticket for these records and waits until it is first in the log's queue. From then on no other request
    /// can commit them until this writer has committed or dropped the permit. Fails when the request is aborted.
    pub(crate) async fn queue(&mut self, scopes: &[ScopeKey]) -> Result<(), FlowError> {
        let (log, request, effects) = (&self.run.log, &self.run.request, &self.run.effects);
        self.run.has_write_conflicts.set(true);
        self.has_ticket = true;
        // Counts as waiting for the log, so that the wait is not taken for a promise that never settles.
        let _waiting = self.run.recorder.await_log();
        loop {
            // A ticket expires, so it is renewed while the wait lasts.
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

    /// Notes that a commit has removed the ticket.
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

/// Ends an attempt without effect: drops its writes, keeps its events, and records outcome `abandoned`. With an `error`
/// the attempt is retried with all blocks inside it, so their recorded results are discarded too.
pub(crate) async fn abandon(run: &Rc<Run>, frame: &Rc<Frame>, error: Option<FlowError>) -> Result<(), FlowError> {
    frame.transaction.clear();
    frame.roll_back(|| run.next_stamp());
    if error.is_some() {
        run.replay_cache.discard_attempt(&frame.path);
    }
    run.forget_notes(frame);
    let event = EventKind::BlockFinished {
        outcome: Outcome::Abandoned,
        output: None,
        error,
        caught: None,
        transient: frame.block.transient,
        memoized: false,
        returned_error: false,
        timed_out_ms: None,
        commits: Vec::new(),
    };
    run.recorder.boundary(Some(&frame.path), frame.attempt, event).await.map(drop).map_err(storage)
}

/// Returns whether a value is the result of an agent's tool that says that it failed (SEMANTICS §16.4).
fn is_error_of_tool(frame: &Frame, value: &StepValue) -> bool {
    let is_of_agent = frame.parent.as_ref().is_some_and(|parent| parent.block.is_of_agent());
    is_of_agent
        && matches!(*frame.role.borrow(), BlockRole::Tool(_))
        && value.data.to_option().is_some_and(|value| value["status"] == "error")
}

/// The result of [`end_attempt`].
pub(crate) enum AttemptEnd {
    /// The attempt has ended, and its end is committed.
    Ended(Result<StepValue, FlowError>),
    /// A record changed under it: the attempt is abandoned, and the body runs again.
    RunAgain,
    /// A record changed under it more often than `cas.maxRetries` allows: the attempt fails with this error.
    GivesUp(FlowError),
}

/// Commits the end of an attempt, or abandons an attempt that a conflict makes run again. In the second case it returns
/// after the writers that were queued before have committed.
pub(crate) async fn end_attempt<'r>(
    run: &'r Rc<Run>,
    frame: &Rc<Frame>,
    mut result: Result<StepValue, FlowError>,
    permit: &mut Option<CommitPermit<'r>>,
    conflicts: u32,
) -> Result<AttemptEnd, FlowError> {
    let stale = loop {
        match finish(run, frame, &result, permit).await? {
            CommitOutcome::Committed(seq) => {
                frame.end(&result);
                return Ok(AttemptEnd::Ended(
                    result.map(|StepValue { origin, data, .. }| StepValue::held(data, origin.or(Some(seq)))),
                ));
            }
            CommitOutcome::Aborted => {
                frame.transaction.clear();
                result = Err(FlowError::aborted());
            }
            // The writes of a callback that failed. The blocks inside have ended and do not run again, so neither does
            // the body: the writes are dropped.
            CommitOutcome::RunAgain(_) if !frame.block.is_one_function() => {
                frame.transaction.clear();
                if result.is_ok() {
                    let path = Some(frame.path.to_string());
                    result = Err(FlowError { path, ..FlowError::conflict(0) });
                }
            }
            CommitOutcome::RunAgain(stale) => break stale,
        }
    };
    if conflicts >= run.flow.settings.cas(stale.scope).max_retries {
        // The retries are used up: its writes to records are dropped.
        frame.transaction.clear();
        let path = Some(frame.path.to_string());
        return Ok(AttemptEnd::GivesUp(FlowError { path, ..FlowError::conflict(conflicts + 1) }));
    }
    abandon(run, frame, None).await?;
    if let Some(permit) = permit {
        match permit.queue_behind_others(&stale).await {
            // The caller sees the abort before the next attempt.
            Err(error) if error.is_abort() => {}
            queued => queued?,
        }
    }
    Ok(AttemptEnd::RunAgain)
}

/// Commits a block's end with all its writes: the step boundary.
async fn finish<'r>(
    run: &'r Rc<Run>,
    frame: &Rc<Frame>,
    result: &Result<StepValue, FlowError>,
    permit: &mut Option<CommitPermit<'r>>,
) -> Result<CommitOutcome, FlowError> {
    run.yield_now().await;
    if !frame.transaction.is_empty() && permit.is_none() {
        *permit = Some(CommitPermit::take(run, frame).await);
    }
    if let Some(stale) = rebase_on_newest(run, &frame.transaction)? {
        return Ok(CommitOutcome::RunAgain(stale));
    }
    // A block that failed leaves what it wrote, and nothing reacts to it.
    let due = if result.is_ok() { frame.transaction.take_due() } else { Vec::new() };
    if !due.is_empty() {
        Context::new(run.clone(), frame.clone()).record_due(None, &due);
    }
    loop {
        let commits = frame.transaction.commits();
        let (outcome, output, error) = match result {
            Ok(value) => (Outcome::Completed, Some(value.recorded()), None),
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
            returned_error: result.as_ref().is_ok_and(|value| is_error_of_tool(frame, value)),
            timed_out_ms: frame.role.borrow().timed_out_ms(),
            commits: commits.clone(),
        };
        match run.recorder.boundary(Some(&frame.path), frame.attempt, event).await {
            Ok(seq) => {
                frame.transaction.clear();
                *frame.due.borrow_mut() = due;
                frame.make_writes_final();
                permit.iter_mut().for_each(CommitPermit::committed);
                run.refresh(frame.parent.as_ref(), &commits);
                return Ok(CommitOutcome::Committed(seq));
            }
            Err(AppendError::Conflict(_)) => {
                let scopes: Vec<ScopeKey> = commits.into_iter().map(|commit| commit.scope).collect();
                if let Some(permit) = permit {
                    match permit.queue(&scopes).await {
                        Err(error) if error.is_abort() => return Ok(CommitOutcome::Aborted),
                        queued => queued?,
                    }
                }
                if let Some(stale) = rebase_on_newest(run, &frame.transaction)? {
                    return Ok(CommitOutcome::RunAgain(stale));
                }
            }
            Err(error) => return Err(storage(error)),
        }
    }
}

/// Rebases a transaction onto the newest records. Returns `Some` where an operation cannot be applied again, so that
/// the author's code must run again.
pub(crate) fn rebase_on_newest(
    run: &Rc<Run>,
    transaction: &Transaction,
) -> Result<Option<StaleTransaction>, FlowError> {
    let commits = transaction.commits();
    for commit in &commits {
        let record = run.log.record(&commit.scope).map_err(storage)?;
        if record.version != commit.from
            && transaction.rebase(&commit.scope, &record, run.next_stamp()) == Rebase::Impossible
        {
            let is_foreign = !run.is_own_version(&commit.scope, record.version);
            let scope = commit.scope.kind;
            let scopes = commits.into_iter().map(|commit| commit.scope).collect();
            return Ok(Some(StaleTransaction { scope, scopes, is_foreign }));
        }
    }
    Ok(None)
}
