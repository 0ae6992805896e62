//! How a request goes on that was interrupted, has failed, or waited for an answer.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::execution::record::cache::SharedStateOwner;
use crate::execution::record::reuse::Reuse;
use crate::execution::run::Run;
use crate::model::event::{EventKind, RequestStatus, Seq};
use crate::model::log::AppendError;
use crate::model::operation::Operation;
use crate::model::suspension::Resolved;

impl Run {
    /// Records `request_resumed`, with these answers: from here on this process owns the request. Returns the number of
    /// the event that holds the input. A request with policy `queue` waits in the queue again.
    pub async fn begin_resumed(self: &Rc<Self>, answers: Vec<Resolved>) -> Result<Seq, AppendError> {
        let resumed = EventKind::RequestResumed {
            owner: self.start.owner.clone(),
            epoch: self.recorder.lease().epoch,
            code_hash: self.flow.code_hash.clone(),
            mock: self.start.mock.clone(),
            keeps_ended: self.reuse == Reuse::ByReference,
        };
        let mut events = vec![resumed];
        events.extend(self.initial_state_event());
        events.extend(answers.into_iter().map(EventKind::SuspensionResolved));
        if self.queues() {
            events.push(EventKind::RequestStatus { status: RequestStatus::Queued });
        }
        let last = events.pop();
        for event in events {
            self.recorder.record(None, 0, event);
        }
        if let Some(last) = last {
            self.recorder.commit(None, 0, last).await?;
        }
        Ok(self.replay_cache.input)
    }

    fn initial_state_event(&self) -> Option<EventKind> {
        if let Some(inherited) = self.inherited(&SharedStateOwner::Request, &self.state, true) {
            let is_empty = matches!(&inherited, EventKind::StateInitialized { state, .. } if *state == json!({}));
            return (!is_empty).then_some(inherited);
        }
        let Value::Object(state) = self.state.read().1.to_json() else { return None };
        if !self.has_initial_request_state && !self.had_state && !state.is_empty() {
            // A fork starts with the initial state of the request it comes from.
            let (scope, state) = (self.state.key.clone(), Value::Object(state));
            return Some(EventKind::StateInitialized { scope, state, durable: true });
        }
        if self.reuse == Reuse::ByReference {
            return None;
        }
        // The request's state is reset; recorded writes are recorded again as their blocks are reached.
        let operation = Operation::Set { state };
        let anew = EventKind::StateChanged { scope: self.state.key.clone(), operation, value: None, version: 0 };
        self.had_state.then_some(anew)
    }
}
