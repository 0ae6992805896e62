//! Calls that were received by receivers that ended before they had written them: a killed one leaves some.
//!
//! They are taken in by the next receiver, behind what it receives, or by a window, behind what that shows: to write
//! many may take minutes, so nothing may wait for it.

use std::sync::Arc;

use engine::redaction::Redaction;
use store::{Liveness, Store};

use super::pending::{Arrived, Pending};
use super::receiver::{STACK, stored};
use crate::core::fault::Fault;
use crate::run::owner::Locks;
use crate::workspace::Workspace;

/// How many calls are read at once. Each may have many spans.
const AT_ONCE: usize = 4;

/// See the module.
pub(super) struct Left {
    store: Arc<Store>,
    locks: Locks,
    redaction: Redaction,
    /// The job that takes them in. What it receives itself is newer than all that is left.
    taker: String,
    /// The call that was read last.
    after: i64,
}

impl Left {
    /// The next calls, oldest first; none at the end. Calls of receivers that live are left out, so that there may be
    /// no call among them.
    pub(super) fn next(&mut self) -> Result<Option<Vec<Arrived>>, Fault> {
        let calls = self.store.received(self.after, AT_ONCE).map_err(Fault::internal)?;
        let Some(last) = calls.last() else { return Ok(None) };
        if calls.iter().all(|call| call.owner == self.taker) {
            return Ok(None);
        }
        self.after = last.n;
        let of_dead = calls.into_iter().filter(|call| self.locks.liveness(&call.owner) == Liveness::Dead);
        let arrived = of_dead.map(|call| {
            let mut decoded = stored(&call.body);
            decoded.redact(&self.redaction);
            (call.n, decoded.packed())
        });
        Ok(Some(arrived.collect()))
    }
}

impl Workspace {
    /// What earlier receivers left, to be taken in by this job.
    pub(super) fn left(&self, taker: String) -> Left {
        let redaction = self.redaction_of_spans();
        Left { store: self.store.clone(), locks: self.locks.clone(), redaction, taker, after: 0 }
    }

    /// Whether spans were received that no request has and that no receiver is taking in: its process was killed.
    pub fn has_left_spans(&self) -> bool {
        let first = self.store.received(0, 1).ok().and_then(|calls| calls.into_iter().next());
        first.is_some_and(|call| self.locks.liveness(&call.owner) == Liveness::Dead)
    }

    /// Takes in what earlier receivers left, on a thread of its own, until it is done or the workspace is closed.
    pub fn take_in_left(self: &Arc<Self>) {
        if let Err(fault) = self.begin_taking_in_left() {
            // What is there can be looked at, and the next receiver tries again.
            tracing::warn!(%fault, "received spans are not taken in");
        }
    }

    fn begin_taking_in_left(self: &Arc<Self>) -> Result<(), Fault> {
        if self.check_writable().is_err() || !self.has_left_spans() {
            return Ok(());
        }
        let job = self.lock()?;
        let mut pending = Pending::new(self.store.clone(), job.owner(), Arc::default());
        pending.take_later(self.left(job.owner()));
        let workspace = Arc::downgrade(self);
        let run = move || {
            // By its lock others know that this lives.
            let _job = job;
            pending.finish_left(|| workspace.strong_count() > 0);
        };
        std::thread::Builder::new().name("left spans".to_owned()).stack_size(STACK).spawn(run)?;
        Ok(())
    }
}
