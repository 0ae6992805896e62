//! Units: an author's function that belongs to a block with children of its own (decision 3).
//!
//! A sequencer's maps, conditions and connectors, and the hooks of every block that runs others, are
//! transactions by themselves. Their writes commit when the function returns; when a record changed
//! under it, that function alone runs again, never the children around it. A function that left
//! evidence or writes, or looked at records, items or notes that change with time, is not called again
//! by a resume: what it returned is in the log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::boundary::{catch_up, rebase};
use crate::callable::{Arg, Fun, Returned};
use crate::context::Context;
use crate::error::FlowError;
use crate::event::{Answer, DriftKind, EventKind, ScopeCommit, Seq};
use crate::flow::{Block, Body};
use crate::flowing::Flowing;
use crate::log::AppendError;
use crate::scope::ScopeKind;

/// What one call of a function does so far.
pub(crate) struct Doing {
    /// Which function, and which call of it.
    pub(crate) function: String,
    /// Its events.
    pub(crate) events: RefCell<Vec<Seq>>,
    /// Whether it looked at what others may change.
    looked: Cell<bool>,
    questions: Cell<u32>,
}

impl Doing {
    fn new(function: &str) -> Self {
        Doing {
            function: function.to_owned(),
            events: RefCell::default(),
            looked: Cell::default(),
            questions: Cell::default(),
        }
    }

    /// Notes that it looked at what others may change: called again later, it might answer otherwise.
    pub(crate) fn look(&self) {
        self.looked.set(true);
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
    if matches!(cx.frame.block.body, Body::Handler { .. }) {
        return cx.frame.until_suspended(function.call(args, cx.clone())).await;
    }
    let name = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    if let Some(returned) = cx.run.recall_function(cx, &name, blocks) {
        return Ok(returned);
    }
    let mut superseded = Vec::new();
    let mut turn = None;
    let mut conflicts = 0;
    loop {
        if cx.frame.transaction.is_empty() {
            cx.run.see_records(&cx.frame)?;
        }
        let doing = Rc::new(Doing::new(&name));
        let returned = cx.frame.until_suspended(function.call(args.clone(), cx.within(doing.clone()))).await?;
        if let Returned::Block(block) = &returned {
            // Nothing of a choice that does not fit may come into force.
            cx.run.memo.check_route(&cx.frame.path, &block.name)?;
        }
        let end =
            End { function: &name, returned: &returned, events: doing.events.take(), superseded: superseded.clone() };
        if cx.frame.transaction.is_empty() {
            let has_looked = doing.looked.get() && end.is_known_by_name();
            if has_looked || !end.events.is_empty() || !end.superseded.is_empty() {
                cx.record(end.event(Vec::new()));
            }
            end.settle(cx, &doing);
            return Ok(returned);
        }
        if turn.is_none() {
            turn = Some(cx.run.commits.turn().await);
        }
        let Some(scope) = commit(cx, &end).await? else {
            end.settle(cx, &doing);
            return Ok(returned);
        };
        // With the turn in hand, only another request can come in between again.
        cx.frame.transaction.clear();
        cx.frame.roll_back_call(&doing, || cx.run.next_stamp());
        superseded.extend(end.events);
        conflicts += 1;
        let cas = cx.run.flow.settings.cas(scope);
        if conflicts > cas.max_retries {
            return Err(FlowError::conflict(conflicts));
        }
        cx.run.effects.sleep(cas.base_delay_ms << (conflicts - 1).min(20)).await;
    }
}

/// Keeps the list that several blocks are run for: a resume goes by the one that was recorded, and says
/// so where the flow of today has another (decision 15).
pub(crate) fn keep_list(cx: &Context, role: &str, list: Flowing) -> Flowing {
    let function = format!("{role}#{}", cx.ordinal(&format!("function {role}")));
    if let Some(Returned::Data(known)) = cx.run.recall_function(cx, &function, &[]) {
        if known != list.data {
            let text = format!(
                "drift: {role} of {} has another list than when it began; it goes by the old one",
                cx.frame.path
            );
            cx.record(EventKind::Drift { drift: DriftKind::List, text });
        }
        return Flowing::new(known);
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
    function: &'a str,
    returned: &'a Returned,
    events: Vec<Seq>,
    superseded: Vec<Seq>,
}

impl End<'_> {
    /// What it wrote to shared memory stays where the log says that it returned.
    fn settle(&self, cx: &Context, call: &Rc<Doing>) {
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
            callback: self.function.to_owned(),
            fingerprint: None,
            returned,
            events: self.events.clone(),
            superseded: self.superseded.clone(),
            memoized: false,
            commits,
        }
    }
}

/// Commits what a unit wrote. Answers the scope that lets its function decide anew, if one does.
async fn commit(cx: &Context, end: &End<'_>) -> Result<Option<ScopeKind>, FlowError> {
    cx.run.let_others_go().await;
    if let Some(scope) = catch_up(&cx.run, &cx.frame)? {
        return Ok(Some(scope));
    }
    loop {
        let commits = cx.frame.transaction.commits();
        match cx.run.recorder.commit(Some(&cx.frame.path), cx.frame.attempt, end.event(commits.clone())).await {
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
