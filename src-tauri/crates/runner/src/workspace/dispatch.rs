//! Sending entries on their way for dispatchers of running requests (SEMANTICS §1.8).
//!
//! What was sent runs in this process, beside its sender, and is waited for by whoever waits for the sender. A dispatch
//! that a resume sends again finds the request that it made before.

use std::sync::{Arc, Weak};

use engine::effects::{Dispatch, DispatchRefusal, DispatchTo, Dispatched};

use super::starting::{Origin, needs_project};
use super::{Mock, RunOptions, Workspace, lock};
use crate::core::fault::Fault;
use crate::effects::outside::Dispatcher;
use crate::models::call_meter::SampleCalls;
use crate::run::{Ended, Running};

/// A request that a dispatcher started, when it has ended.
#[derive(Clone, Debug)]
pub struct DispatchEnd {
    /// The request.
    pub request_id: String,
    /// Its session.
    pub session_id: String,
    /// How it ended; what kept it from that.
    pub ended: Result<Ended, Fault>,
}

impl Workspace {
    /// What dispatchers of this workspace's requests call; `calls` counts the model calls of what they start.
    pub(super) fn dispatcher(&self, calls: Option<SampleCalls>) -> Dispatcher {
        let workspace: Weak<Workspace> = self.itself.get().cloned().unwrap_or_default();
        Arc::new(move |call| match workspace.upgrade() {
            Some(workspace) => workspace.dispatch(call, calls.clone()),
            None => Err(refusal("no-dispatch-operation", "the workspace is closed")),
        })
    }

    /// Waits for all that dispatchers have started in this process, and for what that starts.
    pub fn finish_dispatched(&self) -> Vec<DispatchEnd> {
        let mut ends = Vec::new();
        loop {
            let Some(running) = lock(&self.dispatched).pop_front() else { return ends };
            let (request_id, session_id) = (running.request_id.clone(), running.session_id.clone());
            ends.push(DispatchEnd { request_id, session_id, ended: running.wait() });
        }
    }

    /// Stops all that dispatchers have started in this process.
    pub fn stop_dispatched(&self) {
        let requests: Vec<String> = lock(&self.dispatched).iter().map(|one| one.request_id.clone()).collect();
        // One that has just ended needs no stopping.
        for request in &requests {
            self.stop(request);
        }
    }

    fn dispatch(&self, call: Dispatch, calls: Option<SampleCalls>) -> Result<Dispatched, DispatchRefusal> {
        let kind = call.flow.clone().unwrap_or_else(|| call.own_flow.clone());
        let loaded_flow = self
            .with_catalogue(|catalogue| catalogue.find(&kind))
            .map_err(|fault| refusal("flow-not-found", &fault.to_string()))?;
        let action = format!("{}:{}", call.entry_type, call.target);
        let has_entry = loaded_flow.flow.actions.iter().any(|one| one.name == action && one.entry.is_some());
        if !has_entry {
            let detail = format!("flow \"{kind}\" declares no {} entry \"{}\"", call.entry_type, call.target);
            return Err(refusal("no-entry", &detail));
        }
        let session = session_of(&call, &kind)?;
        let failed = |error: &dyn std::fmt::Display| refusal("no-dispatch-operation", &error.to_string());
        let known = self.store.session(&session).map_err(|error| failed(&error))?;
        let adopted = match &known {
            Some(row) if row.user == call.user && row.flow == kind => true,
            Some(_) => {
                let refused =
                    if matches!(call.to, DispatchTo::Key(_)) { "key-occupied" } else { "session-not-addressable" };
                return Err(refusal(refused, &format!("session \"{session}\" belongs to another user or flow")));
            }
            None if matches!(call.to, DispatchTo::Key(_)) => false,
            None => return Err(refusal("session-not-found", &format!("there is no session \"{session}\""))),
        };
        let request = format!("dispatch_{}", digest(&[&call.by.request, &call.place]));
        let done = Dispatched { session_id: session.clone(), request_id: request.clone(), adopted };
        // Sent before its sender died.
        if self.store.request(&request).is_ok_and(|row| row.is_some()) {
            return Ok(done);
        }
        let mock = match (call.flow.is_some(), &call.mock) {
            (_, None) => Mock::Off,
            (true, Some(_)) => Mock::Beside,
            (false, Some(_)) => self.mode(&Mock::Inherit, call.mock.as_deref(), &loaded_flow.bundle.file),
        };
        let options = RunOptions {
            flow: kind,
            action,
            internal: true,
            user: call.user,
            session: Some(session),
            project: call.project,
            request: Some(request),
            input: call.payload,
            mock,
        };
        // Whatever is sent: to a sender without an organisation it is closed.
        needs_project(&loaded_flow, &options).map_err(|fault| refusal("no-entry", &fault.to_string()))?;
        let origin = Origin { dispatched_by: Some(call.by), calls, ..Origin::default() };
        let running = self.begin(loaded_flow, options, origin).map_err(|fault| match fault {
            Fault::Invalid { .. } => refusal("invalid-payload", &fault.to_string()),
            Fault::Refused { .. } => refusal("dispatch-rejected", &fault.to_string()),
            _ => failed(&fault),
        })?;
        self.keep_dispatched(running);
        Ok(done)
    }

    /// Keeps what was started until somebody waits for it.
    fn keep_dispatched(&self, running: Running) {
        // A window waits for none of them.
        if !self.keep_ready {
            lock(&self.dispatched).push_back(running);
        }
    }
}

/// The session that a dispatch runs in.
fn session_of(call: &Dispatch, kind: &str) -> Result<String, DispatchRefusal> {
    match &call.to {
        DispatchTo::Id(id) => Ok(id.clone()),
        DispatchTo::Key(key) => Ok(format!("dsx_{}", digest(&[&call.by.session, &call.user, kind, key]))),
        DispatchTo::From(_) => match &call.sender {
            Some(sender) => Ok(sender.session.clone()),
            None => Err(refusal("no-sender", "no dispatcher started this request, so nobody is there to answer")),
        },
    }
}

/// 32 digits that are the same for the same parts.
fn digest(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn refusal(refused: &str, detail: &str) -> DispatchRefusal {
    DispatchRefusal { refused: refused.to_owned(), detail: detail.to_owned() }
}
