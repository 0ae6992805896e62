//! What a request did before it is taken up again, and what of that is kept at hand while it goes on.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, RequestStatus};
use crate::model::scope::ScopeKind;
use crate::model::suspension::Resolved;

/// What a request did before, when it is taken up again; nothing of a new one.
#[derive(Clone, Copy, Debug)]
pub struct PriorRun<'a> {
    /// Its events so far.
    pub events: &'a [Event],
    /// How it stands.
    pub prior_status: RequestStatus,
    /// Answers to its questions that it is taken up with.
    pub answers: &'a [Resolved],
}

impl Default for PriorRun<'_> {
    fn default() -> Self {
        PriorRun { events: &[], prior_status: RequestStatus::Interrupted, answers: &[] }
    }
}

/// Whether these events wrote to the request's own state.
pub(super) fn has_state(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::StateChanged { scope, .. } if scope.kind == ScopeKind::Request))
}

/// What `ctx.runOnce` answered in an earlier part of the request.
pub(super) fn run_once<'e>(events: impl IntoIterator<Item = &'e Event>) -> HashMap<String, Value> {
    let (mut keys, mut answers) = (HashMap::new(), HashMap::new());
    for event in events {
        match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Once, request: Some(Value::String(key)), .. } => {
                keys.insert(event.seq, key);
            }
            EventKind::EffectFinished { effect: EffectKind::Once, started, request, result, error: None, .. } => {
                let key = match request {
                    Some(Value::String(key)) => Some(key),
                    _ => started.and_then(|started| keys.get(&started).copied()),
                };
                answers.extend(key.map(|key| (key.clone(), result.clone())));
            }
            _ => {}
        }
    }
    answers
}
