//! Aborting requests, of this process and of others.

use std::time::{Duration, Instant};

use engine::event::RequestStatus;

use super::{Workspace, lock};
use crate::fault::Fault;

/// How long an abort may take before its caller hears that it is under way. A flow that does not
/// yield is stopped by its limit.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often is looked whether the request has ended.
const LOOK: Duration = Duration::from_millis(20);

impl Workspace {
    /// Aborts a request that runs or waits for its turn, in whatever process, and waits for its end.
    /// Answers how it stands: `aborted`, or as before when the flow does not yield for long.
    pub fn abort(&self, request: &str) -> Result<RequestStatus, Fault> {
        let status = self.request(request)?.status;
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

    /// Stops a request that this process runs, without waiting for its end. Answers whether it runs here.
    pub fn stop(&self, request: &str) -> bool {
        // The thread that listens may have ended a moment ago; then there is nothing to stop.
        lock(&self.running).get(request).is_some_and(|stop| stop.sender.send(true).is_ok())
    }
}

fn is_unfinished(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::InProgress | RequestStatus::Queued)
}

fn refused(request: &str, status: RequestStatus) -> Fault {
    Fault::refused(format!(
        "request \"{request}\" is {}; only one that is queued or in progress can be aborted",
        status.as_str()
    ))
}
