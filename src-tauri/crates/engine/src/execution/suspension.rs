//! Waiting for an answer from outside: `ctx.suspend` (SEMANTICS §9).
//!
//! A question is numbered within its block (ARCHITECTURE §5.5), so that several of one block each get
//! their own answer. The block that asks runs again from its top once there is one; where it then asks
//! something else, that is a new question, because an answer belongs to what was shown. A suspension is
//! an outcome of its own: it is no failure, no rescue sees it, and nothing that runs beside it is cut off.

use std::rc::Rc;

use crate::execution::context::Context;
use crate::execution::frame::Frame;
use crate::execution::replay::cache::PendingQuestion;
use crate::execution::request::{Ended, Run};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind, Outcome, RequestStatus};
use crate::model::suspension::{Reply, Resolved, SuspendOptions, SuspensionRequest, SuspensionStatus};

impl Context {
    /// `ctx.suspend`: the answer, where there is one. Without one it never comes back: the block ends
    /// suspended, and no `catch` of the author's sees that (ARCHITECTURE §5.5).
    pub async fn suspend(&self, wanted: SuspendOptions) -> Result<Resolved, FlowError> {
        if !self.frame.path.starts_with(crate::model::path::ROOT)
            || crate::model::path::is_of_step_hook(&self.frame.path)
        {
            return Err(FlowError::plain(format!(
                "ctx.suspend: block \"{}\" is a hook, and nothing waits for a hook",
                self.frame.block.name
            )));
        }
        if !self.frame.can_wait.get() {
            return Err(FlowError::plain("ctx.suspend: the user's message is said before anything can wait"));
        }
        let run = &self.run;
        let (callback, ordinal) = match &self.call {
            Some(call) => (Some(call.function.clone()), call.number_question()),
            None => (None, self.ordinal("suspend")),
        };
        let asking = self.asking(wanted, callback, ordinal);
        let known = run.replay_cache.questions.find(&self.frame.path, asking.callback.as_deref(), ordinal);
        // A replay gives every answer where the request got it.
        let differences =
            known.filter(|_| run.effect_log.is_none()).and_then(|asked| asked.asking.differences(&asking));
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
    fn asking(&self, wanted: SuspendOptions, callback: Option<String>, ordinal: u32) -> SuspensionRequest {
        let (run, by) = (&self.run, callback.as_deref().unwrap_or_default());
        let key = format!("{}\0{}\0{}\0{by}\0{ordinal}", run.request, self.frame.path, self.frame.attempt);
        let allow = wanted.allow.filter(|allow| !allow.is_empty());
        SuspensionRequest {
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
    fn withdraw(&self, asked: &PendingQuestion, differences: &str) {
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
        if error.parks_request() || (error.is_suspension() && left.is_none()) {
            *left = Some(error.clone());
        }
    }

    /// How a request stands whose code, or whose answer, did not fit: as before, unless it came further.
    pub(crate) fn stands_after(&self, error: &FlowError) -> RequestStatus {
        match refused_answer(error) {
            Some(_) => RequestStatus::Suspended,
            None if self.answers.iter().any(|id| self.used_answers.borrow().contains(id)) => RequestStatus::Interrupted,
            None => self.prior_status,
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
