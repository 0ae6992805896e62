//! Aborting requests, of this process and of others.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::log::{AppendError, AppendMode, Lease, Log};
use tokio::sync::watch;

use super::news::is_unfinished;
use super::resume::LastWritten;
use super::{Workspace, lock};
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;

/// How long an abort may take before its caller hears that it is under way. A flow that does not
/// yield is stopped by its limit.
const ABORT_TIMEOUT: Duration = Duration::from_secs(15);
/// How often is looked whether the request has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How a request that this process runs is stopped.
pub(super) struct Stop {
    pub(super) request: String,
    pub(super) sender: watch::Sender<bool>,
}

/// What this process runs, by a number for each run: a request may be taken up again before its last
/// run has left, and a run that is refused must not take another's place.
pub(super) type Runs = HashMap<u64, Stop>;

impl Workspace {
    /// Aborts a request that runs or waits for its turn, in whatever process, and waits for its end; one that
    /// waits for an answer, or whose job is gone, ends at once, because nothing of it runs. Answers how it
    /// stands: `aborted`, or as before when the flow does not yield for long.
    pub fn abort(&self, request: &str) -> Result<RequestStatus, Fault> {
        self.check_writable()?;
        let status = self.request(request)?.status;
        if needs_nobody(status) {
            return self.give_up(request);
        }
        if !is_unfinished(status) {
            return Err(refused(request, status));
        }
        if !self.stop(request) {
            let row = self.store.request(request).map_err(Fault::internal)?;
            let owner = row.map(|row| row.owner).unwrap_or_default();
            self.locks.ask_to_abort(&owner).map_err(|error| {
                Fault::internal(format!(
                    "the process that runs request \"{request}\" cannot be told to abort it: {error}"
                ))
            })?;
        }
        let asked = Instant::now();
        loop {
            let status = self.request(request)?.status;
            match status {
                RequestStatus::Aborted => return Ok(status),
                // It came to wait before it heard of the abort, or its process has died.
                left if needs_nobody(left) => return self.give_up(request),
                other if !is_unfinished(other) => return Err(refused(request, other)),
                other if asked.elapsed() > ABORT_TIMEOUT => return Ok(other),
                _ => std::thread::sleep(LOOK),
            }
        }
    }

    /// Ends a request that nothing runs: takes it over, and says with its last event that it was aborted, unless
    /// somebody was faster.
    fn give_up(&self, request: &str) -> Result<RequestStatus, Fault> {
        let (row, events) = self.log_of(request)?;
        if !needs_nobody(row.status) {
            return Err(refused(request, row.status));
        }
        let (status, error) = (RequestStatus::Aborted, Some(FlowError::aborted()));
        let lease = match Lease::of(&events) {
            Some(before) => before.next(self.locks.nobody()),
            None => Lease::first(self.locks.nobody()),
        };
        let taken = EventKind::RequestAdopted { owner: lease.owner.to_string(), epoch: lease.epoch };
        let kinds = [taken, EventKind::RequestFinished { status, output: None, error }];
        let last = events.last().map_or(0, |event| event.seq);
        let at = now_ms();
        let event = |(seq, kind)| Event { seq, at, path: None, attempt: 0, kind };
        let end: Vec<Event> = (last + 1..).zip(kinds).map(event).collect();
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        self.written.begin(&row.id.as_str().into(), &row.session_id.as_str().into(), token);
        let written = futures_executor::block_on(self.store.append(request, &lease, end, AppendMode::Committed));
        self.written.end(request, token);
        match written.map_err(|_| Fault::internal("the store is closed"))? {
            Ok(()) => Ok(status),
            Err(AppendError::OutOfOrder { .. } | AppendError::Fenced { .. })
                if self.end_was_written_after(request, &LastWritten::of(&events))? =>
            {
                self.give_up(request)
            }
            Err(AppendError::OutOfOrder { .. } | AppendError::Fenced { .. }) => Err(Fault::refused(format!(
                "request \"{request}\" was just taken up, and goes on; abort it again to stop it"
            ))),
            Err(error) => Err(Fault::internal(error)),
        }
    }

    /// Stops a request that this process runs, without waiting for its end. Answers whether it runs here.
    pub fn stop(&self, request: &str) -> bool {
        let running = lock(&self.running);
        let runs = running.values().filter(|stop| stop.request == request);
        // The thread that listens may have ended a moment ago; then there is nothing to stop.
        runs.filter(|stop| stop.sender.send(true).is_ok()).count() > 0
    }

    /// Whether this process runs a request.
    pub(super) fn runs_here(&self, request: &str) -> bool {
        lock(&self.running).values().any(|stop| stop.request == request)
    }
}

/// Whether a request has not ended, and nothing runs it.
fn needs_nobody(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::Suspended | RequestStatus::Interrupted)
}

fn refused(request: &str, status: RequestStatus) -> Fault {
    Fault::refused(format!(
        "request \"{request}\" is {}; only one that is queued, in progress, suspended or interrupted can be aborted",
        status.as_str()
    ))
}
