//! A log whose steps are answered when they return: which of several blocks goes on first is then no
//! matter of how fast a disk is, and a seed makes the same request every time.

use std::sync::Arc;
use std::time::Duration;

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::scope::ScopeKey;
use futures_channel::oneshot::{Receiver, channel};
use serde_json::Value;

/// How often an answer is looked for: most are there at once.
const LOOK: Duration = Duration::from_micros(20);

/// Waits for every step.
pub(super) struct Settled(pub(super) Arc<dyn Log>);

impl Log for Settled {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> Receiver<Result<(), AppendError>> {
        let mut answer = self.0.append(request, lease, events, mode);
        if mode == AppendMode::Evidence {
            return answer;
        }
        let (sender, settled) = channel();
        // The caller is within an executor, which may hold no other.
        let result = loop {
            match answer.try_recv() {
                Ok(Some(result)) => break result,
                Ok(None) => std::thread::sleep(LOOK),
                // Dropped with it, the caller's end tells the same.
                Err(_) => return settled,
            }
        };
        // Who asked may have gone.
        let _ = sender.send(result);
        settled
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.0.record(scope)
    }

    fn records(&self, scopes: &[ScopeKey]) -> Result<Vec<Record>, AppendError> {
        self.0.records(scopes)
    }

    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        self.0.may_leave_queue(request)
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.0.own_events(request)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.0.session_events(session, before, newest)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind) -> Result<Vec<Value>, AppendError> {
        self.0.notes(session, before, kind)
    }
}
