//! What must be known of a request before it starts: who runs which action, with which input.

use std::sync::Arc;

use serde_json::Value;

use crate::model::concurrency::Claim;
use crate::model::data::Data;
use crate::model::effects::DispatchedBy;
use crate::model::scope::{ScopeKey, ScopeKind};

/// A request to run an action.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The request's id; unused so far.
    pub request: Arc<str>,
    /// The action's name; it exists in the flow.
    pub action: String,
    /// Already parsed by the action's input schema.
    pub input: Data,
    /// The conversation.
    pub session: Arc<str>,
    /// Whether the session was made for this request alone.
    pub ephemeral: bool,
    /// The person.
    pub user: Arc<str>,
    /// The team, if any.
    pub project: Option<Arc<str>>,
    /// The mock script's origin, if models are mocked.
    pub mock: Option<String>,
    /// The process that runs it.
    pub owner: String,
    /// The request this one tries again.
    pub retry_of: Option<String>,
    /// Its concurrency key and policy, if its action has one.
    pub claim: Option<Claim>,
    /// The event that an entry was fired with.
    pub trigger: Option<Value>,
    /// Who sent it, where a dispatcher did.
    pub dispatched_by: Option<DispatchedBy>,
    /// The session of a fork: it sees copies of the user's and the project's records, and never writes to the
    /// originals.
    pub fork: Option<Arc<str>>,
}

impl StartRequest {
    /// Returns the key of the session's, the user's or the project's record; `None` if there is no project.
    pub fn durable_key(&self, kind: ScopeKind) -> Option<ScopeKey> {
        match kind {
            ScopeKind::Session => Some(ScopeKey::new(kind, self.session.clone())),
            ScopeKind::User => Some(self.around(kind, &self.user)),
            ScopeKind::Project => self.project.as_ref().map(|id| self.around(kind, id)),
            _ => None,
        }
    }

    fn around(&self, kind: ScopeKind, id: &Arc<str>) -> ScopeKey {
        match &self.fork {
            Some(fork) => ScopeKey::overlay(kind, id, fork),
            None => ScopeKey::new(kind, id.clone()),
        }
    }
}
