//! Scopes of state (SEMANTICS §4.1).
//!
//! `session`, `user`, `project` and their resources outlive a request and are committed with compare-and-set. The state
//! of a request, a sequencer or a block is shared memory of one request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The kind of a scope, spelled as stored and printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// One execution of one action.
    Request,
    /// A conversation.
    Session,
    /// A person, across sessions.
    User,
    /// A team, across users. `org` is an alias of it.
    Project,
    /// One execution of one sequencer that declares a `stateSchema`.
    Sequencer,
    /// One execution of any other block that declares a `stateSchema`.
    Block,
    /// One resource of a session, a user or a project; [`resource::record`](crate::model::resource::record)
    /// makes and reads its ids.
    Resource,
}

impl ScopeKind {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            ScopeKind::Request => "request",
            ScopeKind::Session => "session",
            ScopeKind::User => "user",
            ScopeKind::Project => "project",
            ScopeKind::Sequencer => "sequencer",
            ScopeKind::Block => "block",
            ScopeKind::Resource => "resource",
        }
    }

    /// The kind that `as_str` names; `org` is read as `project`.
    pub fn parse(text: &str) -> Option<ScopeKind> {
        Some(match text {
            "request" => ScopeKind::Request,
            "session" => ScopeKind::Session,
            "user" => ScopeKind::User,
            "project" | "org" => ScopeKind::Project,
            "sequencer" => ScopeKind::Sequencer,
            "block" => ScopeKind::Block,
            "resource" => ScopeKind::Resource,
            _ => return None,
        })
    }

    /// Returns whether the scope outlives a request and is committed with compare-and-set.
    pub fn is_durable(self) -> bool {
        matches!(self, ScopeKind::Session | ScopeKind::User | ScopeKind::Project | ScopeKind::Resource)
    }
}

/// One scope's identity: the kind, and the id of the request, session, user, project or block
/// instance it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScopeKey {
    /// Which level.
    pub kind: ScopeKind,
    /// The identifier within the level.
    pub id: Arc<str>,
}

impl ScopeKey {
    /// Returns the key of a fork's copy of a user's or a project's record, so that a fork never writes to the original.
    pub fn overlay(kind: ScopeKind, id: &str, fork: &str) -> Self {
        ScopeKey::new(kind, format!("{id}~{fork}"))
    }

    /// Returns the key of the state of a user or a project that one flow keeps apart from that of others.
    pub fn isolated(kind: ScopeKind, id: &str, flow: &str) -> Self {
        ScopeKey::new(kind, format!("{id}:{flow}"))
    }

    /// Returns the id under which a user's state and resources of one organization are kept.
    pub fn user_in_org(user: &str, org: &str) -> String {
        format!("{user}:~org:{org}")
    }

    /// The scope of this kind and id.
    pub fn new(kind: ScopeKind, id: impl Into<Arc<str>>) -> Self {
        ScopeKey { kind, id: id.into() }
    }
}

impl std::fmt::Display for ScopeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}
