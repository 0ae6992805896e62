//! Parks a request so that it can be resumed, because it waits for an answer or its code does not match the log.

use crate::execution::request::Ended;
use crate::execution::run::Run;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RequestStatus};

impl Run {
    /// Returns the status of a request whose code does not match the log or whose answer is invalid: `suspended` if an
    /// answer was refused, `interrupted` if an answer was used, or else the status before this run.
    pub(crate) fn status_after_parking(&self, error: &FlowError) -> RequestStatus {
        match refused_answer(error) {
            Some(_) => RequestStatus::Suspended,
            None if self.answers.iter().any(|id| self.used_answers.borrow().contains(id)) => RequestStatus::Interrupted,
            None => self.prior_status,
        }
    }

    /// Parks the request so that it can be resumed: records `request_status` and runs no hooks. With an error,
    /// suspensions whose answer was not used are reopened.
    pub(crate) async fn park(&self, status: RequestStatus, error: Option<FlowError>) -> Ended {
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

/// Returns the id of the suspension whose answer a schema refused, if the error says so.
fn refused_answer(error: &FlowError) -> Option<&str> {
    error.details.as_ref().filter(|_| error.is_refused_answer())?.get("suspensionId")?.as_str()
}
