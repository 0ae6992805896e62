//! How a request is parked, so that it can be resumed: it waits for an answer, or its code does not fit the log.

use std::sync::Arc;

use crate::execution::request::Ended;
use crate::execution::run::Run;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RequestStatus};
use crate::model::path::caller;

impl Run {
    /// Notes that a block has ended: if it asked a suspension that this resume brought an answer for, it will not use
    /// the answer any more.
    pub(crate) fn note_end(&self, path: &Arc<str>) {
        if let Some(has_ended) = self.answered_blocks.borrow_mut().get_mut(path) {
            *has_ended = true;
        }
    }

    /// Takes the answers back that this run did not reach, because the code was edited: their suspensions are reopened.
    /// A block that waits for something else, or a function that called it, may still come to its answer if `may_come`.
    pub(super) fn take_back_answers(&self, may_come: bool) {
        let used = self.used_answers.borrow();
        let unused = self.answers.iter().filter(|id| !used.contains(*id));
        for id in unused.filter(|id| !may_come || !self.is_to_come(id)) {
            self.recorder.record(None, 0, EventKind::SuspensionReopened { id: id.clone() });
        }
    }

    /// Returns whether the block that asked a suspension began in this run and has not ended, or else the function that
    /// calls it.
    fn is_to_come(&self, id: &str) -> bool {
        let (attempts, before) = (self.attempts.borrow(), &self.replay_cache.attempts);
        let has_begun = |path: &str| attempts.get(path) > before.get(path) || self.went_on.borrow().contains(path);
        let asked = self.replay_cache.suspensions.block_of(id).map(|path| &**path);
        let begun = std::iter::successors(asked, |path| caller(path)).find(|path| has_begun(path));
        begun.is_some_and(|path| self.answered_blocks.borrow().get(path) == Some(&false))
    }

    /// Returns the status of a request whose code, or whose answer, does not fit: `suspended` if an answer was refused,
    /// `interrupted` if an answer was used, else the status it had before this run.
    pub(crate) fn status_after_parking(&self, error: &FlowError) -> RequestStatus {
        match refused_answer(error) {
            Some(_) => RequestStatus::Suspended,
            None if self.answers.iter().any(|id| self.used_answers.borrow().contains(id)) => RequestStatus::Interrupted,
            None => self.prior_status,
        }
    }

    /// Parks the request so that it can be resumed: records `request_status` and runs no hooks. With an error,
    /// all suspensions whose answer was not used are reopened, else those whose answer was not reached.
    pub(crate) async fn park(&self, status: RequestStatus, error: Option<FlowError>) -> Ended {
        self.take_back_answers(error.is_none());
        if let Some(id) = error.as_ref().and_then(refused_answer) {
            self.recorder.record(None, 0, EventKind::SuspensionReopened { id: id.to_owned() });
        }
        match self.recorder.commit_end(EventKind::RequestStatus { status }).await {
            Ok(_) => Ended { status, output: Data::UNDEFINED, error },
            Err(failed) => self.cut_short(FlowError::storage(failed.to_string())),
        }
    }
}

/// Returns the id of the suspension whose answer a schema refused, if that is the error.
fn refused_answer(error: &FlowError) -> Option<&str> {
    error.details.as_ref().filter(|_| error.is_refused_answer())?.get("suspensionId")?.as_str()
}
