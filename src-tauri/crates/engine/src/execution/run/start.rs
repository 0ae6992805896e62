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
    /// Which states its flow keeps apart.
    pub isolated: Isolated,
    /// The time zone of local times, by its name; the machine's if there is none.
    pub time_zone: Option<Arc<str>>,
}

/// The scopes whose state is a flow's own. Their resources say each for itself whether they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolated {
    /// The flow's kind.
    pub flow: Arc<str>,
    /// The user, the project, or both.
    pub kinds: Vec<ScopeKind>,
    /// Whether the user's state and resources are those of the request's organization, `project`.
    pub user_by_org: bool,
}

impl StartRequest {
    /// Returns the key of the session's, the user's or the project's record; `None` if there is no project.
    pub fn durable_key(&self, kind: ScopeKind) -> Option<ScopeKey> {
        let Isolated { flow, kinds, .. } = &self.isolated;
        if !kinds.contains(&kind) {
            return self.owner_key(kind);
        }
        let own = |id: Arc<str>| self.around(ScopeKey::isolated(kind, &id, flow));
        self.id_of(kind).map(own)
    }

    /// Returns the key by which the resources of the session, the user or the project are found, whatever of its state
    /// the flow keeps apart; `None` if there is no project.
    pub fn owner_key(&self, kind: ScopeKind) -> Option<ScopeKey> {
        self.id_of(kind).map(|id| self.around(ScopeKey::new(kind, id)))
    }

    /// Returns what the record of the user or the project is called, in a fork, too, whose copies have other keys;
    /// `None` if there is no project.
    pub fn record_name(&self, kind: ScopeKind) -> Option<Arc<str>> {
        let Isolated { flow, kinds, .. } = &self.isolated;
        let name = |id: Arc<str>| if kinds.contains(&kind) { ScopeKey::isolated(kind, &id, flow).id } else { id };
        self.id_of(kind).map(name)
    }

    fn id_of(&self, kind: ScopeKind) -> Option<Arc<str>> {
        match (kind, &self.project) {
            (ScopeKind::Session, _) => Some(self.session.clone()),
            (ScopeKind::User, Some(org)) if self.isolated.user_by_org => {
                Some(ScopeKey::user_in_org(&self.user, org).into())
            }
            (ScopeKind::User, _) => Some(self.user.clone()),
            (ScopeKind::Project, project) => project.clone(),
            _ => None,
        }
    }

    fn around(&self, key: ScopeKey) -> ScopeKey {
        match &self.fork {
            Some(fork) if key.kind != ScopeKind::Session => ScopeKey::overlay(key.kind, &key.id, fork),
            _ => key,
        }
    }
}
