//! Ends that the storage did not take: they are tried again, for as long as the database is open (ARCHITECTURE §7.4).
//!
//! The job itself is gone, and with it its lock, so nobody waits for this: whoever takes the request over
//! meanwhile is not disturbed, because then nothing of it is kept.

use std::sync::{Arc, Weak};
use std::time::Duration;

use engine::event::{Event, EventKind, RequestStatus};
use engine::log::{AppendError, AppendMode, Lease, Log};
use store::Store;

use crate::effects::outside::now_ms;

/// How long the first try waits; each waits twice as long as the one before it.
const FIRST: Duration = Duration::from_millis(250);
/// The longest.
const LONGEST: Duration = Duration::from_secs(10);

/// The last events of a request that were not kept.
pub(crate) struct Late {
    pub(crate) request: Arc<str>,
    pub(crate) lease: Lease,
    pub(crate) events: Vec<Event>,
}

/// What became of a try.
enum Tried {
    Done,
    Again,
}

impl Late {
    /// Writes them when that is possible, without anybody waiting for it.
    pub(crate) fn keep_trying(self, store: Weak<Store>) {
        let work = move || {
            let mut pause = FIRST;
            loop {
                std::thread::sleep(pause);
                pause = LONGEST.min(pause * 2);
                let Some(store) = store.upgrade() else { return };
                if matches!(self.attempt(&store), Tried::Done) {
                    return;
                }
            }
        };
        // Without a thread the request is interrupted, as every other whose job is gone.
        let _ = std::thread::Builder::new().name("late ends".to_owned()).spawn(work);
    }

    fn attempt(&self, store: &Store) -> Tried {
        let row = match store.request(&self.request) {
            Ok(Some(row)) => row,
            Ok(None) => return Tried::Done,
            Err(_) => return Tried::Again,
        };
        let is_ours = *row.owner == *self.lease.owner && row.epoch == self.lease.epoch;
        if !is_ours || !matches!(row.status, RequestStatus::InProgress | RequestStatus::Queued) {
            return Tried::Done;
        }
        let events = match self.events.first() {
            Some(first) if first.seq == row.last_seq + 1 => self.events.clone(),
            // Something before the end was lost as well, so this is not how it ended.
            _ => {
                let kind = EventKind::RequestStatus { status: RequestStatus::Interrupted };
                vec![Event { seq: row.last_seq + 1, at: now_ms(), path: None, attempt: 0, kind }]
            }
        };
        let answer = store.append(&self.request, &self.lease, events, AppendMode::Committed);
        match futures_executor::block_on(answer) {
            Ok(Err(AppendError::Storage(_) | AppendError::OutOfOrder { .. })) => Tried::Again,
            // Somebody else has the request now, or it is written.
            Ok(_) | Err(_) => Tried::Done,
        }
    }
}
