//! The scopes that an event may name: those of its own request, of its session, user and project, and of blocks that
//! began.

use std::sync::Arc;

use engine::event::{Event, EventKind};
use engine::scope::{ScopeKey, ScopeKind};

use super::executions::Executions;

/// Who a request is of, as its first event says.
pub(super) struct Owners {
    request: Arc<str>,
    session: Arc<str>,
    user: Arc<str>,
    /// `None` if it names none: its requests share the state of a project that has no name.
    project: Option<Arc<str>>,
    /// The line of the first event.
    line: usize,
}

impl Owners {
    /// Reads the first event of a request. `None` for a fork, which has copies of records under other names, and for a
    /// request that another program recorded.
    pub(super) fn of(request: &Arc<str>, kind: &EventKind, line: usize) -> Option<Owners> {
        let EventKind::RequestStarted { session, user, project, forked_from: None, foreign: None, .. } = kind else {
            return None;
        };
        let (session, user, project) = (session.clone(), user.clone(), project.clone());
        Some(Owners { request: request.clone(), session, user, project, line })
    }

    /// Checks the scopes that an event names.
    pub(super) fn check(&self, event: &Event, executions: &Executions) -> Result<(), String> {
        let commits = event.kind.commits().iter().map(|commit| &commit.scope);
        match &event.kind {
            EventKind::StateInitialized { scope, .. } => {
                let own = event.path.as_deref().map(|path| (path, event.attempt));
                self.check_scope(scope, executions)?;
                match block_of(&self.request, scope).filter(|of| own != Some(*of)) {
                    Some((path, attempt)) => Err(format!(
                        "\"scope\" is the state of attempt {attempt} of block {path}, and that block begins it itself: \
                         \"path\" and \"attempt\" must be its own"
                    )),
                    None => Ok(()),
                }
            }
            EventKind::StateChanged { scope, .. } => self.check_scope(scope, executions),
            EventKind::BlockStarted { versions, .. }
            | EventKind::BlockResumed { versions, .. }
            | EventKind::RecordsSeen { versions } => {
                versions.iter().try_for_each(|(scope, _)| self.check_scope(scope, executions))
            }
            _ => commits.into_iter().try_for_each(|scope| self.check_scope(scope, executions)),
        }
    }

    fn check_scope(&self, scope: &ScopeKey, executions: &Executions) -> Result<(), String> {
        let line = self.line;
        let of = |kind: &str, name: &str| {
            Err(format!(
                "\"scope\" is {scope}, and the request, which begins in line {line}, is of {kind} \"{name}\": write \
                 the same in both"
            ))
        };
        match scope.kind {
            ScopeKind::Session if scope.id != self.session => of("session", &self.session),
            ScopeKind::User if !is_or_is_part_of(&scope.id, &self.user) => of("user", &self.user),
            ScopeKind::Project => match &self.project {
                Some(project) if !is_or_is_part_of(&scope.id, project) => of("project", project),
                _ => Ok(()),
            },
            ScopeKind::Request if scope.id != self.request => Err(format!(
                "\"scope\" is {scope}, and this is an event of request \"{}\", as its \"request\" or line 1 says: \
                 write the same in both",
                self.request
            )),
            ScopeKind::Sequencer | ScopeKind::Block => {
                let block = block_of(&self.request, scope);
                match block.filter(|(path, attempt)| executions.newest(path) == Some(*attempt)) {
                    Some(_) => Ok(()),
                    None => Err(format!(
                        "\"scope\" is {scope}: it is \"REQUEST:PATH:ATTEMPT\" of a block that runs, and the request is \
                         \"{}\", as \"request\" or line 1 says",
                        self.request
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Whether an id is this name, or that of a part of its state that a flow or an organization has for itself.
fn is_or_is_part_of(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The block and the attempt whose state it is; `None` if it is no state of a block of this request.
fn block_of<'s>(request: &str, scope: &'s ScopeKey) -> Option<(&'s str, u32)> {
    let of_block = matches!(scope.kind, ScopeKind::Sequencer | ScopeKind::Block);
    let (path, attempt) = scope.id.strip_prefix(request)?.strip_prefix(':')?.rsplit_once(':').filter(|_| of_block)?;
    Some((path, attempt.parse().ok()?))
}
