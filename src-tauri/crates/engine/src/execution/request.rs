//! One request from its first event to its last.
//!
//! The order is that of SEMANTICS §1.3: identity, scope records, the user's message, the root block, the terminal
//! event. The caller has checked that the user may run it.

mod answering;
mod begin;
mod end;
pub mod loading;
mod new;
mod park;
pub mod plan;
mod resume;
mod stays;

use std::rc::Rc;

use serde_json::Value;

use crate::execution::ctx::{Context, EmitOptions};
use crate::execution::step::block::run_block;
use crate::execution::step::hooks;
use crate::model::callable::Arg;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, RequestStatus, Seq};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::path::ROOT;
use crate::model::step_value::StepValue;

pub use crate::execution::run::{Isolated, PriorRun, Run, StartRequest, parses_once};

/// How the run of a request ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status; not terminal if the request is suspended or parked.
    pub status: RequestStatus,
    /// The root block's output.
    pub output: Data,
    /// The error, if it failed or could not continue.
    pub error: Option<FlowError>,
}

impl Run {
    /// Runs the action of a request that has [begun](Run::begin) to its end. If the log fails, the run ends as
    /// `interrupted`: committed events stay, and nothing more runs.
    pub async fn execute(self: &Rc<Self>, input_seq: Seq) -> Ended {
        let flow = self.flow.clone();
        let Some(action) = flow.actions.get(&self.start.action) else {
            let error = FlowError::plain(format!("unknown action \"{}\"", self.start.action));
            return self.close(RequestStatus::Completed, Err(error)).await;
        };
        if let Err(error) = self.wait_in_queue().await {
            if self.recorder.has_lost_lease() {
                return self.cut_short(error);
            }
            return self.close(RequestStatus::Completed, Err(error)).await;
        }
        if let Some(make) = action
            .user_message
            .as_ref()
            .filter(|_| !self.replay_cache.has_user_message && self.replay_cache.attempts.is_empty())
        {
            let frame = self.frame(action.block.clone(), ROOT.into(), None, Data::UNDEFINED, 0);
            frame.can_suspend.set(false);
            let cx = Context::new(self.clone(), frame);
            match make
                .call(vec![Arg::Data(self.start.input.clone())], cx.invocation())
                .await
                .and_then(|r| r.into_data())
            {
                Ok(said) => _ = said.to_option().map(|said| cx.emit_message("user", said, EmitOptions::default())),
                Err(error) => return self.end(action, Err(error)).await,
            }
            self.attempts.borrow_mut().clear();
        }
        let mut input = StepValue::held(self.start.input.clone(), Some(input_seq));
        if let Some(schema) = action.input_schema.as_ref().filter(|schema| self.is_input_parsed_by(schema)) {
            input.parsed_by.add(schema);
        }
        let root = async {
            hooks::started(self, input.clone()).await;
            run_block(self.clone(), action.block.clone(), None, ROOT.to_owned(), input).await
        };
        let result = self.pool.run_with(root, |result, tasks| self.report_background_tasks(result, tasks)).await;
        if self.recorder.has_lost_lease() {
            return self.cut_short(FlowError::taken_over(&self.request));
        }
        // Applies recorded writes of background work, in case all of it was reused from the log.
        self.replay_all_shared_state(None);
        // Background work may have suspended although the root block has ended.
        let left = self.unfinished_background.take().filter(|_| result.is_ok() && !self.abort.is_set());
        match left.map_or(result, Err) {
            Err(error) if error.parks_request() => self.park(self.status_after_parking(&error), Some(error)).await,
            Err(error) if error.is_suspension() => self.park(RequestStatus::Suspended, None).await,
            result => self.end(action, result).await,
        }
    }

    /// Emits a status item with the number of background tasks left after the root block (SEMANTICS §3.5), unless the
    /// request suspends or parks.
    fn report_background_tasks<T>(&self, result: &Result<T, FlowError>, tasks: u64) {
        if matches!(result, Err(error) if error.is_suspension() || error.parks_request()) {
            return;
        }
        let message = self.status_line.borrow().clone();
        let payload = [("message", message.into()), ("blocked", false.into()), ("backgroundTasks", tasks.into())];
        let payload = payload.into_iter().map(|(name, value): (_, Value)| (name.to_owned(), value)).collect();
        let item = NewItem { transient: true, ..NewItem::plain("status", ItemStatus::Completed, payload) };
        let attempt = self.attempts.borrow().get(ROOT).map_or(0, |count| count.saturating_sub(1));
        self.recorder.record(Some(&ROOT.into()), attempt, EventKind::ItemAdded { item });
    }
}
