//! How a request begins: it is accepted, it waits for its turn, its scopes get their first state.
//!
//! What waits here holds nothing: no lock of the log, and no processor either.

use std::rc::Rc;

use futures_util::future::select;
use serde_json::Value;

use crate::execution::request::Run;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Recorded, RequestStatus, ScopeCommit, Seq};
use crate::model::log::AppendError;
use crate::model::scope::ScopeKind;

/// How often a queued request asks whether its turn has come. Its predecessor may run in another
/// process, or have died in one, and nobody tells of that.
const LOOK_MS: u64 = 25;

impl Run {
    /// Records that the request exists: it is accepted from here. Answers the event that holds the
    /// input. A request that queues waits for its turn when it [executes](Run::execute); one that does
    /// not is refused with [`AppendError::Busy`] while another holds its key.
    pub async fn begin(self: &Rc<Self>) -> Result<Seq, AppendError> {
        let asked = &self.asked;
        let input_seq = self.recorder.record(
            None,
            0,
            EventKind::RequestStarted {
                flow: self.flow.kind.to_string(),
                action: asked.action.clone(),
                session: asked.session.clone(),
                user: asked.user.clone(),
                project: asked.project.clone(),
                ephemeral: asked.ephemeral,
                mock: asked.mock.clone(),
                code_hash: self.flow.code_hash.clone(),
                input: Recorded::inline(&asked.input),
                retry_of: asked.retry_of.clone(),
                owner: asked.owner.clone(),
                claim: asked.claim.clone(),
                forked_from: None,
                retention: self.flow.settings.retention,
                cleanup_checkpoints: self.flow.settings.cleanup_checkpoints,
            },
        );
        if self.queues() {
            self.recorder.commit(None, 0, EventKind::RequestStatus { status: RequestStatus::Queued }).await?;
        } else {
            self.initialize().await?;
        }
        Ok(input_seq)
    }

    /// Waits for the turn of a request that queues, without end: only its predecessors' ends or an
    /// abort let it go on.
    pub(crate) async fn take_turn(self: &Rc<Self>) -> Result<(), FlowError> {
        let failed = |error: AppendError| FlowError::storage(error.to_string());
        if !self.queues() {
            return Ok(());
        }
        loop {
            if self.abort.is_set() {
                return Err(FlowError::aborted());
            }
            // Asked before it is tried: a try takes the log's write lock.
            if self.log.is_turn_of(&self.request).map_err(failed)? {
                match self.recorder.claim(EventKind::RequestStatus { status: RequestStatus::InProgress }).await {
                    Ok(_) => break,
                    // Somebody was faster.
                    Err(AppendError::Busy { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            select(self.effects.sleep(LOOK_MS), Box::pin(self.abort.wait())).await;
        }
        if self.is_begun { Ok(()) } else { self.initialize().await.map_err(failed) }
    }

    pub(crate) fn queues(&self) -> bool {
        self.asked.claim.as_ref().is_some_and(|claim| claim.waits())
    }

    /// Records the first state of the request's scopes.
    async fn initialize(self: &Rc<Self>) -> Result<(), AppendError> {
        let (_, state) = self.state.read();
        if !state.is_empty() {
            let scope = self.state.key.clone();
            self.recorder.record(None, 0, EventKind::StateInitialized { scope, state: state.to_json(), durable: true });
        }
        // A record nobody wrote begins with its defaults; an older one gets missing defaults with
        // its first write (ARCHITECTURE §3.8).
        let mut commits = Vec::new();
        for kind in [ScopeKind::Session, ScopeKind::User, ScopeKind::Project] {
            let Some(scope) = self.durable_key(kind) else { continue };
            let record = self.log.record(&scope)?;
            let missing = self.missing(kind, &record.state);
            if record.version == 0 && record.state.is_empty() && !missing.is_empty() {
                let state = Value::Object(missing);
                let first = EventKind::StateInitialized { scope: scope.clone(), state, durable: true };
                let seq = self.recorder.record(None, 0, first);
                commits.push(ScopeCommit { scope, from: 0, version: 0, operations: vec![seq], rebased: Vec::new() });
            }
        }
        let started = match (commits.is_empty(), self.queues()) {
            (false, _) => EventKind::Committed { commits },
            (true, false) => EventKind::RequestStatus { status: RequestStatus::InProgress },
            // It is in progress since its turn came.
            (true, true) => return Ok(()),
        };
        match self.recorder.commit(None, 0, started).await {
            // Another request wrote the records first: then they are not new, and need nothing.
            Ok(_) | Err(AppendError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether the scopes of a request got their first state in these events of it.
pub(crate) fn is_begun(events: &[Event]) -> bool {
    events.iter().any(|event| match &event.kind {
        EventKind::RequestStatus { status } => *status == RequestStatus::InProgress,
        EventKind::BlockStarted { .. } | EventKind::Committed { .. } | EventKind::CommitRefused { .. } => true,
        _ => false,
    })
}
