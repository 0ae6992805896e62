//! How a request ends: its token budget is checked, its hooks run, and `request_finished` is recorded.
//!
//! That event is the last of the log, so every hook runs before it (SEMANTICS §1.3). An aborted request runs no hooks:
//! nothing starts after an abort.

use std::rc::Rc;

use crate::execution::request::Ended;
use crate::execution::run::Run;
use crate::execution::step::hooks;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RequestStatus};
use crate::model::flow::Action;
use crate::model::item::{ItemStatus, NewItem};
use crate::model::step_value::StepValue;
use crate::views::usage::Verdict;

impl Run {
    /// Ends a request whose root block and background work have ended.
    pub(crate) async fn end(self: &Rc<Self>, action: &Action, result: Result<StepValue, FlowError>) -> Ended {
        let (good, mut result) = self.judge(action, result);
        if result.is_ok() && self.abort.is_set() {
            // The root block completed before the abort, its background work did not.
            result = Err(FlowError::aborted());
        }
        if let Ok(output) = &result
            && good == RequestStatus::Completed
            && let Err(error) = self.pool.run_with(hooks::completed(self, action, output), |_, _| {}).await
        {
            if error.parks_request() {
                return self.park(RequestStatus::Interrupted, Some(error)).await;
            }
            result = Err(error);
        }
        if let Err(error) = &mut result {
            // What leaves the request has a code (SEMANTICS §5.5).
            error.code.get_or_insert_with(|| "execution_error".to_owned());
            self.pool.run_with(hooks::errored(self, action, error), |_, _| {}).await;
        }
        self.pool.run_with(hooks::finished(self, status(good, &result)), |_, _| {}).await;
        self.close(good, result).await
    }

    /// Applies the token budget to a successful end. Returns the status for success, and the result, which is an error
    /// if the budget fails the request.
    fn judge(
        &self,
        action: &Action,
        result: Result<StepValue, FlowError>,
    ) -> (RequestStatus, Result<StepValue, FlowError>) {
        let Some(budget) = action.token_budget.as_ref().filter(|_| result.is_ok()) else {
            return (RequestStatus::Completed, result);
        };
        let verdict = self.usage.borrow().verdict(budget);
        match verdict {
            Verdict::Fine => (RequestStatus::Completed, result),
            Verdict::Warn(words) => {
                self.warn_of_budget(words);
                (RequestStatus::Completed, result)
            }
            Verdict::Stop(words) => {
                self.warn_of_budget(words);
                (RequestStatus::Incomplete, result)
            }
            Verdict::Fail(error) => (RequestStatus::Completed, Err(error)),
        }
    }

    /// Emits a status item for the client: the models have used more tokens than the budget allows.
    fn warn_of_budget(&self, words: String) {
        let payload = serde_json::json!({
            "message": words,
            "detail": { "code": "system.token_budget_warning", "usage": *self.usage.borrow() },
        });
        let payload = payload.as_object().cloned().unwrap_or_default();
        let item = NewItem { transient: true, ..NewItem::plain("status", ItemStatus::Completed, payload) };
        self.recorder.record(None, 0, EventKind::ItemAdded { item });
    }

    /// Records `request_finished`: an output with status `good`, or an error.
    pub(crate) async fn close(&self, good: RequestStatus, result: Result<StepValue, FlowError>) -> Ended {
        let status = status(good, &result);
        let (event, ended) = match result {
            Ok(value) => (
                EventKind::RequestFinished { status, output: Some(value.recorded()), error: None },
                Ended { status, output: value.data, error: None },
            ),
            Err(error) => (
                EventKind::RequestFinished { status, output: None, error: Some(error.clone()) },
                Ended { status, output: Data::UNDEFINED, error: Some(error) },
            ),
        };
        if self.recorder.has_lost_lease() {
            return self.cut_short(FlowError::taken_over(&self.request));
        }
        match self.recorder.commit_end(event).await {
            Ok(_) => ended,
            Err(error) => self.cut_short(FlowError::storage(error.to_string())),
        }
    }

    /// Returns the end of a request that could not record it: another process owns it now, or the storage failed.
    pub(crate) fn cut_short(&self, error: FlowError) -> Ended {
        let error = if self.recorder.has_lost_lease() { FlowError::taken_over(&self.request) } else { error };
        Ended { status: RequestStatus::Interrupted, output: Data::UNDEFINED, error: Some(error) }
    }
}

fn status(good: RequestStatus, result: &Result<StepValue, FlowError>) -> RequestStatus {
    match result {
        Ok(_) => good,
        Err(error) if error.is_abort() => RequestStatus::Aborted,
        Err(_) => RequestStatus::Failed,
    }
}
