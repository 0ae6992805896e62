//! How a request starts: it is accepted, it may wait in the queue of its concurrency key, and its scopes get their
//! initial state.
//!
//! A queued request polls. It holds no lock of the log while it waits.

use std::rc::Rc;

use futures_util::future::select;
use serde_json::Value;

use crate::execution::run::Run;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded, RequestStatus, ScopeCommit, Seq};
use crate::model::log::AppendError;
use crate::model::scope::ScopeKind;

/// How often a queued request asks whether it may start. The request before it may run in another process, or its
/// process may have died, and neither sends a notification.
const QUEUE_POLL_MS: u64 = 25;

impl Run {
    /// Records `request_started`: from here on the request is accepted. Returns the number of the event that holds
    /// the input. A request with policy `queue` waits when it [executes](Run::execute); one with policy `reject` fails
    /// with [`AppendError::Busy`] while another request holds its key.
    pub async fn begin(self: &Rc<Self>) -> Result<Seq, AppendError> {
        let start = &self.start;
        let input_seq = self.recorder.record(
            None,
            0,
            EventKind::RequestStarted {
                flow: self.flow.kind.to_string(),
                action: start.action.clone(),
                session: start.session.clone(),
                user: start.user.clone(),
                project: start.project.clone(),
                ephemeral: start.ephemeral,
                mock: start.mock.clone(),
                code_hash: self.flow.code_hash.clone(),
                input: Recorded::inline(&start.input),
                retry_of: start.retry_of.clone(),
                trigger: start.trigger.clone(),
                dispatched_by: start.dispatched_by.clone(),
                owner: start.owner.clone(),
                claim: start.claim.clone(),
                forked_from: None,
                kept: Vec::new(),
                retention: self.flow.settings.retention,
                cleanup_checkpoints: self.flow.settings.cleanup_checkpoints,
                isolated: start.isolated.kinds.clone(),
                user_by_org: start.isolated.user_by_org,
                parses_once: self.parses_once,
                time_zone: start.time_zone.clone(),
                foreign: None,
            },
        );
        if self.queues() {
            self.recorder.commit(None, 0, EventKind::RequestStatus { status: RequestStatus::Queued }).await?;
        } else {
            self.record_initial_states().await?;
        }
        Ok(input_seq)
    }

    /// Waits until a queued request may start, and puts it in progress. There is no timeout: the wait ends when the
    /// earlier requests with the same key end, or when this one is aborted.
    pub(crate) async fn wait_in_queue(self: &Rc<Self>) -> Result<(), FlowError> {
        let failed = |error: AppendError| FlowError::storage(error.to_string());
        if !self.queues() {
            return Ok(());
        }
        loop {
            if self.abort.is_set() {
                return Err(FlowError::aborted());
            }
            // A read first: an attempt to claim the key takes the log's write lock.
            if self.log.may_leave_queue(&self.request).map_err(failed)? {
                match self.recorder.claim(EventKind::RequestStatus { status: RequestStatus::InProgress }).await {
                    Ok(_) => break,
                    // Another request claimed the key in between.
                    Err(AppendError::Busy { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            select(self.effects.sleep(QUEUE_POLL_MS), Box::pin(self.abort.wait())).await;
        }
        if self.has_initial_states { Ok(()) } else { self.record_initial_states().await.map_err(failed) }
    }

    pub(crate) fn queues(&self) -> bool {
        self.start.claim.as_ref().is_some_and(|claim| claim.waits())
    }

    /// Records the initial state of the request's scopes.
    async fn record_initial_states(self: &Rc<Self>) -> Result<(), AppendError> {
        let (_, state) = self.state.read();
        if !state.is_empty() {
            let scope = self.state.key.clone();
            self.recorder.record(None, 0, EventKind::StateInitialized { scope, state: state.to_json(), durable: true });
        }
        // A record that was never written starts with its defaults; an older one gets missing defaults with
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
            // `wait_in_queue` has recorded that it is in progress.
            (true, true) => return Ok(()),
        };
        match self.recorder.commit(None, 0, started).await {
            // Another request wrote the records first: they have an initial state already.
            Ok(_) | Err(AppendError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
