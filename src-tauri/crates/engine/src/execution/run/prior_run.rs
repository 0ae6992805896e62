//! The earlier runs of a request that is resumed, and what the resumed run keeps of them in memory.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::execution::record::position::Position;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, RequestStatus};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::suspension::Resolved;

/// The earlier runs of a request that is resumed; empty for a new one.
#[derive(Clone, Copy, Debug)]
pub struct PriorRun<'a> {
    /// Its events so far.
    pub events: &'a [Event],
    /// Its status.
    pub prior_status: RequestStatus,
    /// The answers to its suspensions that this resume brings.
    pub answers: &'a [Resolved],
}

impl Default for PriorRun<'_> {
    fn default() -> Self {
        PriorRun { events: &[], prior_status: RequestStatus::Interrupted, answers: &[] }
    }
}

/// Returns whether these events wrote to the state of the request scope.
pub(super) fn has_state(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::StateChanged { scope, .. } if scope.kind == ScopeKind::Request))
}

/// Returns the first state of the request scope; `None` if it was written to before it had one, or was never there.
pub(super) fn initial_state(events: &[Event]) -> Option<&Value> {
    let first = events.iter().find_map(|event| match &event.kind {
        EventKind::StateInitialized { scope, state, .. } if scope.kind == ScopeKind::Request => Some(Some(state)),
        EventKind::StateChanged { scope, .. } if scope.kind == ScopeKind::Request => Some(None),
        EventKind::StateEdited { of: None, .. } => Some(None),
        _ => None,
    });
    first.flatten()
}

/// Returns whether schemas parse a value once in the request of these events; they do in a new one.
pub fn parses_once(events: &[Event]) -> bool {
    !matches!(events.first().map(|event| &event.kind), Some(EventKind::RequestStarted { parses_once: false, .. }))
}

/// Returns the states that begin in the events of a fork, those that it shares with another request included; `None` if
/// the request is no fork.
pub(super) fn own_states(events: &[Event]) -> Option<HashSet<ScopeKey>> {
    let begun = events.iter().filter_map(|event| match &event.kind {
        EventKind::StateInitialized { scope, .. } => Some(scope.clone()),
        _ => None,
    });
    is_fork(events).then(|| begun.collect())
}

/// Returns whether these events begin a fork.
pub(crate) fn is_fork(events: &[Event]) -> bool {
    let first = events.first().map(|event| &event.kind);
    matches!(first, Some(EventKind::RequestStarted { forked_from: Some(_), .. }))
}

/// An answer of `ctx.runOnce`.
#[derive(Clone, Debug)]
pub(crate) struct OnceAnswer {
    pub(crate) value: Value,
    /// When it settled, if an earlier run recorded it.
    pub(crate) settled: Option<Position>,
}

/// Returns the recorded answers of `ctx.runOnce`, by key.
pub(crate) fn run_once<'e>(events: impl IntoIterator<Item = &'e Event>) -> HashMap<String, OnceAnswer> {
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
                let answer = OnceAnswer { value: result.clone(), settled: Some((event.at, event.seq)) };
                answers.extend(key.map(|key| (key.clone(), answer)));
            }
            _ => {}
        }
    }
    answers
}

/// Returns whether these events of a request record the initial state of its scopes.
pub(super) fn has_initial_states(events: &[Event]) -> bool {
    events.iter().any(|event| match &event.kind {
        EventKind::RequestStatus { status } => *status == RequestStatus::InProgress,
        EventKind::BlockStarted { .. } | EventKind::Committed { .. } | EventKind::CommitRefused { .. } => true,
        _ => false,
    })
}
