//! Concurrency policies: which requests of a flow must not run at the same time (SEMANTICS §1.6).
//!
//! An action's policy and the caller's ids give a request its [`Claim`]. The [log](crate::model::log) enforces that no
//! two requests in progress hold the same key, and ignores requests whose process has died.

use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, RequestStatus};

/// What happens to a request whose key another one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It is accepted and waits in a queue.
    Queue,
    /// It is refused.
    Reject,
    /// It starts at once, and holds the key for the others.
    Hold,
    /// It is accepted and waits in a queue. Unlike `queue` it is meant for work that follows others.
    Defer,
}

/// An action's concurrency limit. An action with policy `allow` has none.
pub struct Concurrency {
    /// What happens to the second of two requests with the same key.
    pub policy: Policy,
    /// Which key a request has.
    pub key: Key,
}

/// The kind of key. Requests of a flow with equal keys must not run at the same time.
pub enum Key {
    /// The session that the caller named; a request without one has no key.
    Session,
    /// The user.
    User,
    /// The result of the author's function of the caller's ids; without a result the request has no key.
    Custom(KeyFunction),
}

/// The author's function of `{ flowKind, actionName, sessionId?, userId, projectId?, orgId?, metadata? }`; for an event
/// of a provider, `metadata` is `{ webhook: { provider, eventType, deliveryId? } }`.
pub type KeyFunction = Rc<dyn Fn(&Value) -> Result<Option<String>, FlowError>>;

/// What a key may depend on: the flow, the action, and the caller's ids.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The flow's kind.
    pub flow: &'a str,
    /// The action's name.
    pub action: &'a str,
    /// The session, where the caller named one.
    pub session: Option<&'a str>,
    /// The person.
    pub user: &'a str,
    /// The team, if any.
    pub project: Option<&'a str>,
    /// The event that an entry was fired with.
    pub trigger: Option<&'a Value>,
}

/// The key that a request holds while it runs. Requests with equal keys run one at a time, whatever their actions are;
/// only one with policy `hold` starts beside others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What happens while another holds the key.
    pub policy: Policy,
    /// The flow, what kind of key it is, and the key itself, as JSON.
    pub key: Arc<str>,
}

impl Concurrency {
    /// Returns the claim of a request of this caller; `None` if it has no key. Fails if the author's function does.
    pub fn claim(&self, caller: Caller<'_>) -> Result<Option<Claim>, FlowError> {
        let (scope, key) = match &self.key {
            Key::Session => ("session", caller.session.map(str::to_owned)),
            Key::User => ("user", Some(caller.user.to_owned())),
            Key::Custom(function) => ("custom", function(&caller_json(caller))?),
        };
        let claim = |key| Claim { policy: self.policy, key: json!([caller.flow, scope, key]).to_string().into() };
        Ok(key.map(claim))
    }
}

impl Claim {
    /// Returns whether a request with this claim waits in a queue.
    pub fn waits(&self) -> bool {
        matches!(self.policy, Policy::Queue | Policy::Defer)
    }

    /// Returns whether a request with this claim starts whatever else holds the key.
    pub fn starts_at_once(&self) -> bool {
        self.policy == Policy::Hold
    }
}

/// Returns the status of a request after these events; `None` if they do not change it.
pub fn status_after<'e>(events: impl DoubleEndedIterator<Item = &'e Event>) -> Option<RequestStatus> {
    events.rev().find_map(|event| match &event.kind {
        EventKind::RequestStarted { .. } | EventKind::RequestResumed { .. } => Some(RequestStatus::InProgress),
        EventKind::RequestStatus { status } | EventKind::RequestFinished { status, .. } => Some(*status),
        _ => None,
    })
}

fn caller_json(caller: Caller<'_>) -> Value {
    let mut json = json!({ "flowKind": caller.flow, "actionName": caller.action, "userId": caller.user });
    if let Some(session) = caller.session {
        json["sessionId"] = session.into();
    }
    if let Some(project) = caller.project {
        json["projectId"] = project.into();
        json["orgId"] = project.into();
    }
    if let Some((provider, event)) = caller.action.strip_prefix("webhook:").and_then(|name| name.split_once('/')) {
        let mut webhook = json!({ "provider": provider, "eventType": event });
        // What has a payload is the event as a whole, anything else is its payload.
        let whole = caller.trigger.filter(|event| event.get("payload").is_some());
        if let Some(delivery) = whole.and_then(|event| event.get("deliveryId")) {
            webhook["deliveryId"] = delivery.clone();
        }
        json["metadata"] = json!({ "webhook": webhook });
    }
    json
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const CALLER: Caller<'_> =
        Caller { flow: "chat", action: "say", session: Some("s"), user: "ada", project: None, trigger: None };

    fn key(key: Key, caller: Caller<'_>) -> Option<String> {
        let claim = Concurrency { policy: Policy::Queue, key }.claim(caller).unwrap();
        claim.map(|claim| claim.key.to_string())
    }

    #[test]
    fn keys_belong_to_a_flow_and_a_kind_but_not_to_an_action() {
        assert_eq!(key(Key::Session, CALLER).unwrap(), r#"["chat","session","s"]"#);
        assert_eq!(key(Key::Session, Caller { action: "other", ..CALLER }), key(Key::Session, CALLER));
        assert_ne!(key(Key::User, Caller { user: "s", ..CALLER }), key(Key::Session, CALLER));
        assert_ne!(key(Key::Session, Caller { flow: "other", ..CALLER }), key(Key::Session, CALLER));
    }

    #[test]
    fn without_a_key_there_is_no_claim() {
        assert_eq!(key(Key::Session, Caller { session: None, ..CALLER }), None);
        assert_eq!(key(Key::Custom(Rc::new(|_| Ok(None))), CALLER), None);
    }

    #[test]
    fn a_function_is_told_of_the_caller() {
        let json = Key::Custom(Rc::new(|caller| Ok(Some(caller.to_string()))));
        let key = key(json, Caller { project: Some("p"), ..CALLER }).unwrap();
        for part in ["flowKind", "say", "sessionId", "ada", "projectId", "orgId"] {
            assert!(key.contains(part), "{key}");
        }
    }

    #[test]
    fn a_function_is_told_of_a_providers_event() {
        let told = |trigger: &Value| {
            let json = Key::Custom(Rc::new(|caller| Ok(Some(caller["metadata"].to_string()))));
            key(json, Caller { action: "webhook:stripe/paid", trigger: Some(trigger), ..CALLER }).unwrap()
        };
        assert!(told(&json!({ "payload": 1, "deliveryId": "d1" })).contains(r#"\"deliveryId\":\"d1\""#));
        assert!(!told(&json!({ "deliveryId": "of the payload" })).contains("deliveryId"));
    }
}
