//! A log whose appends return only when they are committed. So the speed of the disk does not decide which of several
//! blocks goes on first, and a seed makes the same request every time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::scope::ScopeKey;
use futures_channel::oneshot::{Receiver, channel};
use serde_json::Value;

/// The pause between two checks for an answer. Most answers are there at once.
const LOOK: Duration = Duration::from_micros(20);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Waits for every step and, if there is a rate, until the next one is due.
pub(super) struct Settled {
    log: Arc<dyn Log>,
    rate: Option<u32>,
    at_once: u64,
    /// When the rate began to apply.
    began: OnceLock<Instant>,
    written: AtomicU64,
}

impl Settled {
    /// Returns a log that accepts `rate` events a second after the first `at_once`; without a rate, it does not wait.
    pub(super) fn new(log: Arc<dyn Log>, rate: Option<u32>, at_once: u64) -> Self {
        Settled { log, rate, at_once, began: OnceLock::new(), written: AtomicU64::new(0) }
    }

    fn wait_for(&self, events: usize) {
        let Some(rate) = self.rate else { return };
        let written = self.written.fetch_add(events as u64, Ordering::Relaxed);
        let Some(written) = written.checked_sub(self.at_once) else { return };
        let due = Duration::from_secs_f64(written as f64 / f64::from(rate.max(1)));
        let early = due.saturating_sub(self.began.get_or_init(Instant::now).elapsed());
        // Shorter sleeps would take longer than requested.
        if early >= SHORTEST_PAUSE {
            std::thread::sleep(early);
        }
    }
}

impl Log for Settled {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> Receiver<Result<(), AppendError>> {
        self.wait_for(events.len());
        let mut answer = self.log.append(request, lease, events, mode);
        if mode == AppendMode::Evidence {
            return answer;
        }
        let (sender, settled) = channel();
        // Poll, because the caller is inside an executor, which must not run another one.
        let result = loop {
            match answer.try_recv() {
                Ok(Some(result)) => break result,
                Ok(None) => std::thread::sleep(LOOK),
                // Returning drops the sender too, so the caller gets the same error.
                Err(_) => return settled,
            }
        };
        // Ignore a caller that no longer waits.
        let _ = sender.send(result);
        settled
    }

    fn set_record(&self, scope: ScopeKey, record: Record) {
        self.log.set_record(scope, record);
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.log.record(scope)
    }

    fn records(&self, scopes: &[ScopeKey]) -> Result<Vec<Record>, AppendError> {
        self.log.records(scopes)
    }

    fn take_ticket(&self, request: &str, scopes: &[ScopeKey], at: i64) -> Receiver<Result<(), AppendError>> {
        self.log.take_ticket(request, scopes, at)
    }

    fn is_first(&self, request: &str, at: i64) -> Result<bool, AppendError> {
        self.log.is_first(request, at)
    }

    fn leave_ticket(&self, request: &str) {
        self.log.leave_ticket(request);
    }

    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        self.log.may_leave_queue(request)
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.log.own_events(request)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.log.session_events(session, before, newest)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        self.log.notes(session, before, kind, newest)
    }
}

#[cfg(test)]
mod tests;
