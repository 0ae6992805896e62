//! Units: an author's function that belongs to a block with children of its own (ARCHITECTURE §3.5).
//!
//! A sequencer's maps, conditions and connectors, and the hooks of every block that runs others, are
//! transactions by themselves. Their writes commit when the function returns; when a record changed
//! under it, that function alone runs again, never the children around it, and what it had got from outside
//! is given to it again. A function that left
//! evidence or writes, or looked at records, items or notes that change with time, is not called again
//! by a resume: what it returned is in the log.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::execution::boundary::{CommitPermit, Stale, catch_up};
use crate::execution::context::Context;
use crate::execution::replay::prior_attempt::{AttemptEffects, Numbers};
use crate::execution::state::transaction::Transaction;
use crate::execution::step_value::StepValue;
use crate::model::callable::{Arg, Fun, Returned};
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{Answer, DriftKind, EventKind, ScopeCommit, Seq};
use crate::model::flow::Block;
use crate::model::log::AppendError;
use crate::model::scope::ScopeKey;

/// What one call of a function does so far.
pub(crate) struct CallbackCall {
    /// Which function, and which call of it.
    pub(crate) function: String,
    /// Its events.
    pub(crate) events: RefCell<Vec<Seq>>,
    /// Its writes to durable records: functions of one block may run at the same time.
    pub(crate) transaction: Transaction,
    /// What it got from outside.
    pub(crate) effects: Rc<AttemptEffects>,
    /// The numbers of what it asks for.
    pub(crate) numbers: Numbers,
    /// Whether it looked at what others may change.
    looked: Cell<bool>,
    questions: Cell<u32>,
    instants: RefCell<HashMap<EffectKind, u32>>,
}

impl CallbackCall {
    fn new(function: &str) -> Self {
        CallbackCall {
            function: function.to_owned(),
            events: RefCell::default(),
            transaction: Transaction::default(),
            effects: Rc::default(),
            numbers: Numbers::default(),
            looked: Cell::default(),
            questions: Cell::default(),
            instants: RefCell::default(),
        }
    }

    /// The call that a conflict makes necessary after this one.
    fn again(&self) -> Self {
        CallbackCall {
            effects: AttemptEffects::after(self.effects.clone()),
            numbers: Numbers::after(&self.numbers),
            ..CallbackCall::new(&self.function)
        }
    }

    /// Notes that it looked at what others may change: called again later, it might answer otherwise.
    pub(crate) fn look(&self) {
        self.looked.set(true);
    }

    /// Counts its looks at the clock, or at chance, from 0.
    pub(crate) fn number_instant(&self, kind: EffectKind) -> u32 {
        let mut instants = self.instants.borrow_mut();
        let count = instants.entry(kind).or_insert(0);
        *count += 1;
        *count - 1
    }

    /// Counts its questions, from 0.
    pub(crate) fn number_question(&self) -> u32 {
        self.questions.replace(self.questions.get() + 1)
    }
}

/// Calls a function of a block: as part of the block's own transaction for a handler, else as a unit.
/// `role` says which function of the block it is.
pub(crate) async fn call(cx: &Context, role: &str, function: &Fun, args: Vec<Arg>) -> Result<Returned, FlowError> {
    choose(cx, role, function, args, &[]).await
}

/// As [`call`], of a function that may answer one of these blocks.
pub(crate) async fn choose(
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
    if let Some(returned) = cx.run.recorded_callback(cx, &name, Some(function), blocks) {
        return Ok(returned);
    }
    let mut superseded = Vec::new();
    let mut permit = None;
    let mut conflicts = 0;
    let mut call = Rc::new(CallbackCall::new(&name));
    // What a function before this one wrote and failed: it is committed with what this one writes.
    let inherited = Transaction::default();
    inherited.take_over(&cx.frame.transaction, cx.run.next_stamp());
    loop {
        cx.run.play_callback(&cx.frame, &name);
        let news = cx.run.see_records(&cx.frame, &call.transaction)?;
        // The function sees these writes on top of the newest records; where they cannot be moved there, its own
        // commit is refused for them.
        catch_up(&cx.run, &inherited)?;
        call.transaction.take_over(&inherited.copy(), cx.run.next_stamp());
        let returned =
            cx.frame.until_suspended(function.call(args.clone(), cx.within(call.clone()).invocation())).await;
        if let Ok(Returned::Block(block)) = &returned {
            // Nothing of a choice that does not fit may come into force.
            cx.run.replay_cache.check_route(&cx.frame.path, &block.name)?;
        }
        tell_of_news(cx, &call, news);
        let events = call.events.take();
        let stale = match returned {
            Ok(returned) => {
                let (superseded, events) = (superseded.clone(), events.clone());
                let end = End { name: &name, function, returned: &returned, events, superseded };
                if call.transaction.is_empty() {
                    let has_looked = call.looked.get() && end.is_known_by_name();
                    if has_looked || !end.events.is_empty() || !end.superseded.is_empty() {
                        cx.record(end.event(Vec::new()));
                    }
                    end.settle(cx, &call);
                    call.end(cx);
                    return Ok(returned);
                }
                if permit.is_none() {
                    permit = Some(CommitPermit::take(&cx.run).await);
                }
                match commit(cx, &call.transaction, &end, permit.as_mut()).await? {
                    Some(stale) => stale,
                    None => {
                        end.settle(cx, &call);
                        call.end(cx);
                        return Ok(returned);
                    }
                }
            }
            // What it had written came to nothing: the request stops here, or goes on with it later.
            Err(error) if error.is_uncatchable() => return Err(error),
            Err(error) => match catch_up(&cx.run, &call.transaction)? {
                Some(stale) => stale,
                None => {
                    // Its block decides what becomes of that: a failure that is final keeps its writes.
                    cx.frame.transaction.take_over(&call.transaction, cx.run.next_stamp());
                    call.end(cx);
                    return Err(error);
                }
            },
        };
        cx.frame.roll_back_call(&call, || cx.run.next_stamp());
        superseded.extend(events);
        conflicts += 1;
        if conflicts > cx.run.flow.settings.cas(stale.scope).max_retries {
            cx.frame.transaction.take_over(&inherited, cx.run.next_stamp());
            return Err(FlowError::conflict(conflicts));
        }
        let permit = match &mut permit {
            Some(permit) => permit,
            none => none.insert(CommitPermit::take(&cx.run).await),
        };
        permit.queue_behind_others(&stale).await?;
        call = Rc::new(call.again());
    }
}

/// Records the versions of records that a function found written by another request, and looked at; where it
/// did not look, the next block that begins tells of them.
fn tell_of_news(cx: &Context, call: &Rc<CallbackCall>, mut news: Vec<(ScopeKey, u64)>) {
    if !call.looked.get() {
        cx.run.forget_versions(&news);
        return;
    }
    news.retain(|(scope, version)| !cx.run.is_own_version(scope, *version));
    if !news.is_empty() {
        cx.within(call.clone()).record(EventKind::RecordsSeen { versions: news });
    }
}

impl CallbackCall {
    /// The call has come to its end, and no other follows.
    fn end(&self, cx: &Context) {
        self.effects.end();
        self.numbers.give_back(&mut cx.frame.ordinals.borrow_mut());
    }
}

/// Passes over a call of a function whose effect is known from the log: it is not called, what it wrote to
/// shared state is in force again, and the calls after it keep their numbers.
pub(crate) fn pass(cx: &Context, role: &str) {
    let name = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    // One that left nothing is not in the log.
    cx.run.recorded_callback(cx, &name, None, &[]);
}

/// Keeps the list that several blocks are run for: a resume goes by the one that was recorded, and says
/// so where the flow of today has another (SEMANTICS §3.3).
pub(crate) fn keep_list(cx: &Context, role: &str, list: StepValue) -> StepValue {
    let function = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    if let Some(Returned::Data(known)) = cx.run.recorded_callback(cx, &function, None, &[]) {
        if known != list.data {
            let text = format!(
                "drift: {role} of {} has another list than when it began; it goes by the old one",
                cx.frame.path
            );
            cx.record(EventKind::Drift { drift: DriftKind::List, text });
        }
        return StepValue::new(known);
    }
    // What a block gave is in the log already, and is given again as it was.
    if list.origin.is_none()
        && let Some(value) = list.data.to_option()
    {
        let (returned, events, superseded, commits) = (Some(Answer::Value(value)), Vec::new(), Vec::new(), Vec::new());
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

/// A function that has returned.
struct End<'a> {
    name: &'a str,
    function: &'a Fun,
    returned: &'a Returned,
    events: Vec<Seq>,
    superseded: Vec<Seq>,
}

impl End<'_> {
    /// What it wrote to shared memory stays where the log says that it returned.
    fn settle(&self, cx: &Context, call: &Rc<CallbackCall>) {
        if self.is_known_by_name() {
            cx.frame.settle_call(call);
        }
    }

    /// Whether the log can hold what was returned.
    fn is_known_by_name(&self) -> bool {
        matches!(self.returned, Returned::Data(_) | Returned::Block(_))
    }

    fn event(&self, commits: Vec<ScopeCommit>) -> EventKind {
        let returned = match self.returned {
            Returned::Data(data) => data.to_option().map(Answer::Value),
            Returned::Block(block) => Some(Answer::Block(block.name.clone())),
            // Blocks and models that code makes cannot be taken from a log: the function is called again.
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

/// Commits what a unit wrote. Answers what is in the way where its function must decide anew.
async fn commit(
    cx: &Context,
    transaction: &Transaction,
    end: &End<'_>,
    mut permit: Option<&mut CommitPermit<'_>>,
) -> Result<Option<Stale>, FlowError> {
    cx.run.yield_now().await;
    if let Some(stale) = catch_up(&cx.run, transaction)? {
        return Ok(Some(stale));
    }
    loop {
        let commits = transaction.commits();
        match cx.run.recorder.commit(Some(&cx.frame.path), cx.frame.attempt, end.event(commits.clone())).await {
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
                if let Some(stale) = catch_up(&cx.run, transaction)? {
                    return Ok(Some(stale));
                }
            }
            Err(error) => return Err(FlowError::storage(error.to_string())),
        }
    }
}
