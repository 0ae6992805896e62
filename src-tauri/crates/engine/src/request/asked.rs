//! What a request is asked for, what it did before, and what came of it. Must not run anything.

use std::sync::Arc;

use crate::concurrency::Claim;
use crate::data::Data;
use crate::error::FlowError;
use crate::event::{Event, RequestStatus};
use crate::scope::{ScopeKey, ScopeKind};
use crate::suspension::Resolved;

/// Who asks for what.
#[derive(Clone, Debug)]
pub struct Asked {
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
    /// What must not run at the same time.
    pub claim: Option<Claim>,
    /// The session of a fork, whose users and projects are copies.
    pub fork: Option<Arc<str>>,
}

impl Asked {
    /// The key of a session, a user or a project; the last may be absent.
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

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `completed`, `failed` or `aborted`.
    pub status: RequestStatus,
    /// The root block's output.
    pub output: Data,
    /// What failed it.
    pub error: Option<FlowError>,
}

/// What a request did before, when it is taken up again; nothing of a new one.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// Its events so far.
    pub events: &'a [Event],
    /// How it stands.
    pub stood: RequestStatus,
    /// Answers to its questions that it is taken up with.
    pub answers: &'a [Resolved],
}

impl Default for Earlier<'_> {
    fn default() -> Self {
        Earlier { events: &[], stood: RequestStatus::Interrupted, answers: &[] }
    }
}
