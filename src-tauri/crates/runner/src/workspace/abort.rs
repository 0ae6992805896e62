//! Aborting requests, of this process and of others.

use std::time::{Duration, Instant};

use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::log::{AppendError, Durability, Log};

use super::{Workspace, lock};
use crate::fault::Fault;
use crate::world::now_ms;

/// How long an abort may take before its caller hears that it is under way. A flow that does not
/// yield is stopped by its limit.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often is looked whether the request has ended.
const LOOK: Duration = Duration::from_millis(20);

impl Workspace {
    /// Aborts a request that runs or waits for its turn, in whatever process, and waits for its end; one
    /// that waits for an answer ends at once, because nothing of it runs. Answers how it stands: `aborted`, or as before when the flow does not yield for long.
    pub fn abort(&self, request: &str) -> Result<RequestStatus, Fault> {
        let status = self.request(request)?.status;
        if status == RequestStatus::Suspended {
            return self.give_up(request);
        }
        if !is_unfinished(status) {
            return Err(refused(request, status));
        }
        if !self.stop(request) {
            let row = self.store.request(request).map_err(Fault::internal)?;
            let owner = row.map(|row| row.owner).unwrap_or_default();
            self.owner.ask_to_abort(&owner, request).map_err(|error| {
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
                other if !is_unfinished(other) => return Err(refused(request, other)),
                other if asked.elapsed() > PATIENCE => return Ok(other),
                _ => std::thread::sleep(LOOK),
            }
        }
    }

    /// Ends a request that waits for an answer: its last event says so, unless somebody was faster.
    fn give_up(&self, request: &str) -> Result<RequestStatus, Fault> {
        let (row, events) = self.log_of(request)?;
        if row.status != RequestStatus::Suspended {
            return Err(refused(request, row.status));
        }
        let (status, error) = (RequestStatus::Aborted, Some(FlowError::aborted()));
        let end = Event {
            seq: events.last().map_or(1, |event| event.seq + 1),
            at: now_ms(),
            path: None,
            attempt: 0,
            kind: EventKind::RequestFinished { status, output: None, error },
        };
        let written = self.store.append(request, vec![end], Durability::Committed);
        match futures_executor::block_on(written).map_err(|_| Fault::internal("the store is closed"))? {
            Ok(()) => Ok(status),
            Err(AppendError::OutOfOrder { .. }) => Err(Fault::refused(format!(
                "request \"{request}\" was just answered, and goes on; abort it again to stop it"
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

fn is_unfinished(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::InProgress | RequestStatus::Queued)
}

fn refused(request: &str, status: RequestStatus) -> Fault {
    Fault::refused(format!(
        "request \"{request}\" is {}; only one that is queued, in progress or suspended can be aborted",
        status.as_str()
    ))
}
