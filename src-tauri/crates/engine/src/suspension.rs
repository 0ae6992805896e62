//! Waiting for an answer from outside: `ctx.suspend` (SEMANTICS §9).
//!
//! A question is numbered within its block (ARCHITECTURE §5.5), so that several of one block each get
//! their own answer. The block that asks runs again from its top once there is one; where it then asks
//! something else, that is a new question, because an answer belongs to what was shown. A suspension is
//! an outcome of its own: it is no failure, no rescue sees it, and nothing that runs beside it is cut off.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Context;
use crate::data::Data;
use crate::error::FlowError;
use crate::event::{DriftKind, EventKind, Outcome, RequestStatus};
use crate::frame::Frame;
use crate::memo::Asked;
use crate::operation::equal;
use crate::request::{Ended, Run};

/// How a question may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Yes.
    Approve,
    /// No: `SuspensionRejectedError` in the flow.
    Reject,
    /// With data.
    Submit,
    /// With nothing: `SUSPENSION_SKIPPED` in the flow.
    Skip,
}

impl Reply {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Reply::Approve => "approve",
            Reply::Reject => "reject",
            Reply::Submit => "submit",
            Reply::Skip => "skip",
        }
    }

    /// Which answers a question takes whose author names none: data where it asks for data, else yes or no.
    pub fn usual(reason: &str, has_schema: bool) -> Vec<Reply> {
        match (reason, has_schema) {
            ("human_input", _) => vec![Reply::Submit],
            (_, true) => vec![Reply::Approve, Reply::Reject, Reply::Submit],
            (_, false) => vec![Reply::Approve, Reply::Reject],
        }
    }
}

/// How a question stands, or was answered (SEMANTICS §9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionStatus {
    /// Nobody answered yet.
    Pending,
    /// With yes.
    Approved,
    /// With no.
    Rejected,
    /// With data.
    Submitted,
    /// With nothing.
    Skipped,
    /// Nobody answered in time, or the request went on without the answer.
    Expired,
}

impl SuspensionStatus {
    /// Every status, in the order a person would list them.
    pub const ALL: [SuspensionStatus; 6] = [
        SuspensionStatus::Pending,
        SuspensionStatus::Approved,
        SuspensionStatus::Rejected,
        SuspensionStatus::Submitted,
        SuspensionStatus::Skipped,
        SuspensionStatus::Expired,
    ];

    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            SuspensionStatus::Pending => "pending",
            SuspensionStatus::Approved => "approved",
            SuspensionStatus::Rejected => "rejected",
            SuspensionStatus::Submitted => "submitted",
            SuspensionStatus::Skipped => "skipped",
            SuspensionStatus::Expired => "expired",
        }
    }
}

impl From<Reply> for SuspensionStatus {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Approve => SuspensionStatus::Approved,
            Reply::Reject => SuspensionStatus::Rejected,
            Reply::Submit => SuspensionStatus::Submitted,
            Reply::Skip => SuspensionStatus::Skipped,
        }
    }
}

/// A question, as it is in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asking {
    /// Unique in the workspace.
    pub id: String,
    /// Which question of its block, or of the callback that asked, from 0.
    pub ordinal: u32,
    /// Which callback of its block asked, where that is not the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,
    /// Why the run waits, for example `approval`.
    pub reason: String,
    /// What the person who answers should read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What they need to decide.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::exact")]
    pub data: Option<Value>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::exact")]
    pub resume_schema: Option<Value>,
    /// How a client of the author's own may show it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::exact")]
    pub render: Option<Value>,
    /// Which answers it takes.
    pub allow: Vec<Reply>,
    /// When it is too late, milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Asking {
    /// Whether it is too late to answer.
    pub fn is_over(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// What a person who answers is shown, by the names that authors know. Times are no part of it, nor is
    /// how a client draws it.
    fn shown(&self) -> [(&'static str, Option<Value>); 5] {
        // Which answers are taken is a set.
        let allow: Vec<Value> =
            ALL_REPLIES.iter().filter(|one| self.allow.contains(one)).map(|one| one.as_str().into()).collect();
        [
            ("reason", Some(self.reason.as_str().into())),
            ("message", self.message.as_deref().map(Value::from)),
            ("data", self.data.clone()),
            ("resumeSchema", self.resume_schema.clone()),
            ("allow", Some(allow.into())),
        ]
    }

    /// In what two questions differ for whoever answers them: nothing where an answer to one answers the other.
    fn differences(&self, other: &Asking) -> Option<String> {
        let differing = |(was, is): (&Option<Value>, &Option<Value>)| match (was, is) {
            (Some(was), Some(is)) => !equal(was, is),
            (was, is) => was.is_some() != is.is_some(),
        };
        let both = self.shown().into_iter().zip(other.shown());
        let differences = both
            .filter(|((_, was), (_, is))| differing((was, is)))
            .map(|((name, was), (_, is))| format!("{name} {} is now {}", clipped(was.as_ref()), clipped(is.as_ref())));
        let differences: Vec<String> = differences.collect();
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

const ALL_REPLIES: [Reply; 4] = [Reply::Approve, Reply::Reject, Reply::Submit, Reply::Skip];

/// The longest value that a drift event shows, in characters.
const LONGEST_SHOWN: usize = 160;

/// A value as JSON, cut off where it is long.
fn clipped(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let json = value.to_string();
    match json.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &json[..end]),
        None => json,
    }
}

/// An answer, as it is in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// The question's id.
    pub id: String,
    /// What was answered; never `pending`.
    pub resolution: SuspensionStatus,
    /// The data that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::exact")]
    pub data: Option<Value>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a flow asks with `ctx.suspend`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// See [`Asking::reason`].
    pub reason: String,
    /// See [`Asking::message`].
    #[serde(default)]
    pub message: Option<String>,
    /// See [`Asking::data`].
    #[serde(default, deserialize_with = "crate::json::exact")]
    pub data: Option<Value>,
    /// See [`Asking::resume_schema`].
    #[serde(default, deserialize_with = "crate::json::exact")]
    pub resume_schema: Option<Value>,
    /// See [`Asking::render`].
    #[serde(default, deserialize_with = "crate::json::exact")]
    pub render: Option<Value>,
    /// See [`Asking::allow`]; the usual ones where absent.
    #[serde(default)]
    pub allow: Option<Vec<Reply>>,
    /// How long the question stands, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl Context {
    /// `ctx.suspend`: the answer, where there is one. Without one it never comes back: the block ends
    /// suspended, and no `catch` of the author's sees that (ARCHITECTURE §5.5).
    pub async fn suspend(&self, wanted: Wanted) -> Result<Resolved, FlowError> {
        if !self.frame.path.starts_with(crate::path::ROOT) || crate::hooks::is_looking_on(&self.frame.path) {
            return Err(FlowError::plain(format!(
                "ctx.suspend: block \"{}\" is a hook, and nothing waits for a hook",
                self.frame.block.name
            )));
        }
        if !self.frame.can_wait.get() {
            return Err(FlowError::plain("ctx.suspend: the user's message is said before anything can wait"));
        }
        let run = &self.run;
        let (callback, ordinal) = match &self.doing {
            Some(doing) => (Some(doing.function.clone()), doing.number_question()),
            None => (None, self.ordinal("suspend")),
        };
        let asking = self.asking(wanted, callback, ordinal);
        let known = run.memo.questions.find(&self.frame.path, asking.callback.as_deref(), ordinal);
        // A replay gives every answer where the request got it.
        let differences = known.filter(|_| run.tape.is_none()).and_then(|asked| asked.asking.differences(&asking));
        match (known, differences) {
            (Some(asked), None) => {
                if let Some(resolved) = &asked.resolved {
                    run.used_answers.borrow_mut().insert(resolved.id.clone());
                    return Ok(resolved.clone());
                }
            }
            (Some(asked), Some(differences)) => {
                self.withdraw(asked, &differences);
                self.record(EventKind::Suspended(asking));
            }
            (None, _) => drop(self.record(EventKind::Suspended(asking))),
        }
        self.frame.suspended.set();
        std::future::pending().await
    }

    /// A question as it is asked now.
    fn asking(&self, wanted: Wanted, callback: Option<String>, ordinal: u32) -> Asking {
        let (run, by) = (&self.run, callback.as_deref().unwrap_or_default());
        let key = format!("{}\0{}\0{}\0{by}\0{ordinal}", run.request, self.frame.path, self.frame.attempt);
        let allow = wanted.allow.filter(|allow| !allow.is_empty());
        Asking {
            id: format!("susp_{}", &blake3::hash(key.as_bytes()).to_hex()[..16]),
            ordinal,
            callback,
            allow: allow.unwrap_or_else(|| Reply::usual(&wanted.reason, wanted.resume_schema.is_some())),
            reason: wanted.reason,
            message: wanted.message,
            data: wanted.data,
            resume_schema: wanted.resume_schema,
            render: wanted.render,
            expires_at: wanted.timeout_ms.map(|ms| run.effects.now_ms().saturating_add_unsigned(ms)),
        }
    }

    /// Ends a question that would show something else now. An answer belongs to what was shown, so the one
    /// that it has is not used.
    fn withdraw(&self, asked: &Asked, differences: &str) {
        let (run, id) = (&self.run, &asked.asking.id);
        let answer = match &asked.resolved {
            Some(resolved) => format!("; its answer \"{}\" is not used", resolved.resolution.as_str()),
            None => String::new(),
        };
        let text = format!(
            "drift: {} asks something else than suspension \"{id}\" showed: {differences}{answer}; it is asked anew",
            self.frame.path
        );
        self.record(EventKind::Drift { drift: DriftKind::Question, text });
        // The answer came to its end here, and nobody need be asked for it again.
        run.used_answers.borrow_mut().insert(id.clone());
        let expired = Resolved { id: id.clone(), resolution: SuspensionStatus::Expired, data: None, by: None };
        run.recorder.record(None, 0, EventKind::SuspensionResolved(expired));
    }
}

impl Frame {
    /// Waits for the end of `work`, or for a question without an answer that was asked in it.
    pub(crate) async fn until_suspended<T>(
        &self,
        work: impl Future<Output = Result<T, FlowError>>,
    ) -> Result<T, FlowError> {
        use futures_util::future::{Either, select};
        match select(Box::pin(self.suspended.wait()), Box::pin(work)).await {
            Either::Left(_) => Err(FlowError::suspended()),
            Either::Right((result, _)) => result,
        }
    }
}

impl Run {
    /// Ends an attempt that waits for an answer: its writes are dropped, because it runs again.
    pub(crate) fn suspend(&self, frame: &Rc<Frame>) {
        frame.transaction.clear();
        frame.roll_back(|| self.next_stamp());
        self.forget_notes(frame);
        let event = EventKind::BlockFinished {
            outcome: Outcome::Suspended,
            output: None,
            error: None,
            caught: None,
            transient: frame.block.transient,
            memoized: false,
            commits: Vec::new(),
        };
        self.record(frame, event);
    }

    /// Keeps that work beside the chain has not ended: it waits, or the code of today does not fit it.
    pub(crate) fn leave_beside(&self, error: &FlowError) {
        let mut left = self.left_beside.borrow_mut();
        if error.leaves_request() || (error.is_suspension() && left.is_none()) {
            *left = Some(error.clone());
        }
    }

    /// How a request stands whose code, or whose answer, did not fit: as before, unless it came further.
    pub(crate) fn stands_after(&self, error: &FlowError) -> RequestStatus {
        match refused_answer(error) {
            Some(_) => RequestStatus::Suspended,
            None if self.answers.iter().any(|id| self.used_answers.borrow().contains(id)) => RequestStatus::Interrupted,
            None => self.stood,
        }
    }

    /// Leaves the request as something somebody can go on with: no hook runs, nothing is an end. A
    /// question that was answered in vain is asked again.
    pub(crate) async fn leave(&self, status: RequestStatus, error: Option<FlowError>) -> Ended {
        if let Some(error) = &error {
            let used = self.used_answers.borrow();
            let mut reopened: Vec<&str> =
                self.answers.iter().filter(|id| !used.contains(*id)).map(String::as_str).collect();
            reopened.extend(refused_answer(error));
            for id in reopened {
                self.recorder.record(None, 0, EventKind::SuspensionReopened { id: id.to_owned() });
            }
        }
        match self.recorder.commit_end(EventKind::RequestStatus { status }).await {
            Ok(_) => Ended { status, output: Data::UNDEFINED, error },
            Err(failed) => self.cut_short(FlowError::storage(failed.to_string())),
        }
    }
}

/// The question whose answer its schema refused, if that is what went wrong.
fn refused_answer(error: &FlowError) -> Option<&str> {
    error.details.as_ref().filter(|_| error.is_refused_answer())?.get("suspensionId")?.as_str()
}
