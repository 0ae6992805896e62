//! Callbacks: an author's functions of a block that runs other blocks (ARCHITECTURE §3.5).
//!
//! A sequencer's maps, conditions and connectors, and the hooks of every block that runs others, are separate
//! transactions. A callback's writes commit when it returns. If a record has changed meanwhile, only the callback runs
//! again, not the blocks around it, and its effects return the same results. A resume does not call a callback again
//! if it emitted events, wrote anything, or read records, items or session notes (which may change later): its return
//! value is in the log.

use std::rc::Rc;

use futures_util::FutureExt;
use serde_json::Value;

use crate::execution::core::transaction::Transaction;
use crate::execution::ctx::Context;
use crate::execution::record::prior_attempt::AttemptEffects;
use crate::execution::run::callback_call::CallbackCall;
use crate::execution::step::boundary::{CommitPermit, StaleTransaction, rebase_on_newest};
use crate::execution::step::reactions;
use crate::model::callable::{Arg, Fun, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind, RecordedReturn, ScopeCommit, Seq};
use crate::model::flow::{Block, ValueOrCall};
use crate::model::log::AppendError;
use crate::model::resource::due::DueReaction;
use crate::model::scope::ScopeKey;
use crate::model::step_value::StepValue;

/// The maximum depth of nested callbacks. An agent's hook for stored messages that stores a message recurses forever.
const MAX_DEPTH: u32 = 16;

/// Creates a first call. Its effects return the results that they had before the request was resumed.
fn resumed(cx: &Context, name: &str, depth: u32) -> CallbackCall {
    let effects = cx.run.replay_cache.exchanges_of(&cx.frame.path).map(AttemptEffects::after).unwrap_or_default();
    CallbackCall { effects, ..CallbackCall::new(name, depth) }
}

/// Calls a function of a block: within the block's own transaction for a handler, else as a callback with a
/// transaction of its own. `role` names the function within its block.
pub async fn call(cx: &Context, role: &str, function: &Fun, args: Vec<Arg>) -> Result<Returned, FlowError> {
    call_choosing(cx, role, function, args, &[]).await
}

/// [`call`] for a function that may return one of `blocks`: the log contains the block's name, by which a resume finds
/// it.
pub(crate) async fn call_choosing(
    cx: &Context,
    role: &str,
    function: &Fun,
    args: Vec<Arg>,
    blocks: &[Rc<Block>],
) -> Result<Returned, FlowError> {
    if cx.frame.block.is_one_function() {
        return cx.frame.until_suspended(function.call(args, cx.invocation())).await;
    }
    let name = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    let (returned, due) = match cx.run.recorded_callback(&cx.frame, &name, Some(function), blocks) {
        Some(returned) => (returned, cx.run.replay_cache.due(&cx.frame.path, Some(&name))),
        // Boxed, so that futures of chains, which call many functions and are deeply nested, stay small.
        None => call_and_commit(cx, &name, function, args).boxed_local().await?,
    };
    if !due.is_empty() {
        reactions::run(cx, Some(&name), due).boxed_local().await?;
    }
    Ok(returned)
}

/// Returns the fixed value, or what the author's function returns for the input.
pub(crate) async fn resolve_value(
    cx: &Context,
    role: &str,
    setting: &ValueOrCall,
    input: &Data,
) -> Result<Value, FlowError> {
    Ok(resolve_data(cx, role, setting, input).await?.to_json())
}

/// [`resolve_value`] that distinguishes `undefined` from `null`.
pub async fn resolve_data(cx: &Context, role: &str, setting: &ValueOrCall, input: &Data) -> Result<Data, FlowError> {
    match setting {
        ValueOrCall::Fixed(value) => Ok(value.clone().into()),
        ValueOrCall::Call(function) => call(cx, role, function, vec![Arg::Data(input.clone())]).await?.into_data(),
    }
}

/// Calls a callback, again after each conflict, and commits its writes. Returns its result and the reactions to
/// its writes.
async fn call_and_commit(
    cx: &Context,
    name: &str,
    function: &Fun,
    args: Vec<Arg>,
) -> Result<(Returned, Vec<DueReaction>), FlowError> {
    let depth = cx.call.as_ref().map_or(0, |call| call.depth + 1);
    if depth > MAX_DEPTH {
        return Err(FlowError {
            code: Some("limit_exceeded".to_owned()),
            ..FlowError::new("LimitError", format!("it calls itself more than {MAX_DEPTH} levels deep"))
        });
    }
    let mut superseded = Vec::new();
    let mut permit = None;
    let mut conflicts = 0;
    let mut call = Rc::new(resumed(cx, name, depth));
    // The block holds the writes of failed callbacks; they are committed with this callback's writes.
    let inherited = Transaction::default();
    inherited.take_over(&cx.frame.transaction, cx.run.next_stamp());
    loop {
        cx.run.restore_seen_by_callback(&cx.frame, name);
        let news = cx.run.see_records(&cx.frame, &call.transaction)?;
        // Rebase these writes if possible, so that the callback sees them on top of the newest records; otherwise the
        // commit below is refused.
        rebase_on_newest(&cx.run, &inherited)?;
        call.transaction.take_over(&inherited.copy(), cx.run.next_stamp());
        let returned =
            cx.frame.until_suspended(function.call(args.clone(), cx.for_call(call.clone()).invocation())).await;
        let returned = returned.map_err(|error| cx.run.effects.redaction().thrown(error));
        if let Ok(Returned::Block(block)) = &returned {
            // Check before anything of this call is committed.
            cx.run.replay_cache.check_route(&cx.frame.path, &block.name)?;
        }
        record_seen_versions(cx, &call, news);
        let due = call.transaction.take_due();
        if returned.is_ok() {
            cx.for_call(call.clone()).record_due(Some(name), &due);
        }
        let events = call.events.take();
        let stale = match returned {
            Ok(returned) => {
                let events = [events.as_slice(), &call.answers.borrow()].concat();
                let superseded = superseded.clone();
                let end = ReturnedCall { name, function, returned: &returned, events, superseded };
                if call.transaction.is_empty() {
                    let is_kept_for_reads = call.has_read_shared.get() && end.is_recordable();
                    if is_kept_for_reads || !end.events.is_empty() || !end.superseded.is_empty() {
                        cx.record(end.event(Vec::new()));
                    }
                    end.make_writes_final(cx, &call);
                    call.release(cx);
                    return Ok((returned, due));
                }
                if permit.is_none() {
                    permit = Some(CommitPermit::take(&cx.run, &cx.frame).await);
                }
                match commit(cx, &call.transaction, &end, permit.as_mut()).await? {
                    Some(stale) => stale,
                    None => {
                        end.make_writes_final(cx, &call);
                        call.release(cx);
                        return Ok((returned, due));
                    }
                }
            }
            // Its writes are dropped: the request ends here, or a resume calls it again.
            Err(error) if error.is_uncatchable() => return Err(error),
            Err(error) => match rebase_on_newest(&cx.run, &call.transaction)? {
                Some(stale) => stale,
                None => {
                    // The block commits them if the failure is final, and drops them if the block is retried.
                    cx.frame.transaction.take_over(&call.transaction, cx.run.next_stamp());
                    call.release(cx);
                    return Err(error);
                }
            },
        };
        cx.frame.roll_back_call(&call.id, || cx.run.next_stamp());
        superseded.extend(events);
        conflicts += 1;
        if conflicts > cx.run.flow.settings.cas(stale.scope).max_retries {
            cx.frame.transaction.take_over(&inherited, cx.run.next_stamp());
            return Err(FlowError::conflict(conflicts));
        }
        let permit = match &mut permit {
            Some(permit) => permit,
            none => none.insert(CommitPermit::take(&cx.run, &cx.frame).await),
        };
        permit.queue_behind_others(&stale).await?;
        call = Rc::new(call.repeat());
    }
}

/// Records the versions of records that another request has written and this call has read. If the call read nothing,
/// the next block that starts records them instead.
fn record_seen_versions(cx: &Context, call: &Rc<CallbackCall>, mut news: Vec<(ScopeKey, u64)>) {
    if !call.has_read_shared.get() {
        cx.run.forget_versions(&news);
        return;
    }
    news.retain(|(scope, version)| !cx.run.is_own_version(scope, *version));
    if !news.is_empty() {
        cx.for_call(call.clone()).record(EventKind::RecordsSeen { versions: news });
    }
}

impl CallbackCall {
    /// Releases the effect results that were kept for repetitions of the call.
    fn release(&self, cx: &Context) {
        self.effects.end();
        self.ordinals.give_back(&mut cx.frame.ordinals.borrow_mut());
    }
}

/// Skips a call whose result the caller already has from the log. Applies its writes to shared state again and counts
/// the call, so that later calls keep their numbers.
pub(crate) fn skip_recorded_call(cx: &Context, role: &str) {
    let name = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    // A call that emitted no events is not in the log.
    cx.run.recorded_callback(&cx.frame, &name, None, &[]);
}

/// Records the list over which an operation runs a block. A resume returns the recorded list, and records a
/// drift event if today's list differs (SEMANTICS §3.3).
pub(crate) fn record_list(cx: &Context, role: &str, list: StepValue) -> StepValue {
    let function = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    if let Some(Returned::Data(known)) = cx.run.recorded_callback(&cx.frame, &function, None, &[]) {
        if known != list.data {
            let text =
                format!("drift: {role} of {} now gets another list; it continues with the recorded one", cx.frame.path);
            cx.record(EventKind::drift(DriftKind::List, text));
        }
        return StepValue::new(known);
    }
    // A list that is a block's output is in the log already.
    if list.origin.is_none()
        && let Some(value) = list.data.to_option()
    {
        let (returned, events, superseded, commits) =
            (Some(RecordedReturn::Value(value)), Vec::new(), Vec::new(), Vec::new());
        cx.record(EventKind::CallbackReturned {
            callback: function,
            fingerprint: None,
            returned,
            events,
            superseded,
            memoized: false,
            commits,
        });
    }
    list
}

/// A callback that has returned.
struct ReturnedCall<'a> {
    name: &'a str,
    function: &'a Fun,
    returned: &'a Returned,
    events: Vec<Seq>,
    superseded: Vec<Seq>,
}

impl ReturnedCall<'_> {
    /// Makes the callback's writes to shared state final if the log will record that it returned.
    fn make_writes_final(&self, cx: &Context, call: &Rc<CallbackCall>) {
        if self.is_recordable() {
            cx.frame.make_call_writes_final(&call.id);
        }
    }

    /// Returns whether the log can record the result: a value, or a block by its name.
    fn is_recordable(&self) -> bool {
        matches!(self.returned, Returned::Data(_) | Returned::Block(_))
    }

    fn event(&self, commits: Vec<ScopeCommit>) -> EventKind {
        let returned = match self.returned {
            Returned::Data(data) => data.to_option().map(RecordedReturn::Value),
            Returned::Block(block) => Some(RecordedReturn::Block(block.name.clone())),
            // Blocks and models made by code cannot be restored from a log: a resume calls the function again.
            Returned::Blocks(_) | Returned::Model(_) => return EventKind::Committed { commits },
        };
        EventKind::CallbackReturned {
            callback: self.name.to_owned(),
            fingerprint: self.function.fingerprint(),
            returned,
            events: self.events.clone(),
            superseded: self.superseded.clone(),
            memoized: false,
            commits,
        }
    }
}

/// Commits the writes of a callback. Returns `Some` if they cannot be rebased and the function must run again.
async fn commit(
    cx: &Context,
    transaction: &Transaction,
    end: &ReturnedCall<'_>,
    mut permit: Option<&mut CommitPermit<'_>>,
) -> Result<Option<StaleTransaction>, FlowError> {
    cx.run.yield_now().await;
    if let Some(stale) = rebase_on_newest(&cx.run, transaction)? {
        return Ok(Some(stale));
    }
    loop {
        let commits = transaction.commits();
        match cx.run.recorder.boundary(Some(&cx.frame.path), cx.frame.attempt, end.event(commits.clone())).await {
            Ok(_) => {
                transaction.clear();
                permit.iter_mut().for_each(|permit| permit.committed());
                cx.run.refresh(Some(&cx.frame), &commits);
                return Ok(None);
            }
            Err(AppendError::Conflict(_)) => {
                let scopes: Vec<ScopeKey> = commits.into_iter().map(|commit| commit.scope).collect();
                if let Some(permit) = &mut permit {
                    permit.queue(&scopes).await?;
                }
                if let Some(stale) = rebase_on_newest(&cx.run, transaction)? {
                    return Ok(Some(stale));
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
}
