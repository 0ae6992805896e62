//! The blocks that wait for an answer and that a resume need not run again before they have one.
//!
//! Of each is known which code ran it, and when it suspended: an answer that came later lets it run. Only what was at
//! rest goes on waiting: if a process died, or an answer was taken back, all blocks run again. Must not know the code
//! of today.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::event::{Event, EventKind, RequestStatus, Seq};

/// See the module, while the log is read.
#[derive(Default)]
pub(super) struct Waiting {
    /// The end of each attempt, and the hash of the code that ran it.
    ends: FxHashMap<Arc<str>, (Seq, Arc<str>)>,
    code: Arc<str>,
    /// Whether nothing ran when the newest event was written.
    is_at_rest: bool,
}

impl Waiting {
    /// Reads an event.
    pub(super) fn read(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RequestStarted { code_hash, .. } => self.code = code_hash.as_str().into(),
            EventKind::RequestResumed { code_hash, .. } => {
                self.end();
                (self.code, self.is_at_rest) = (code_hash.as_str().into(), false);
            }
            EventKind::RequestStatus { status } => self.is_at_rest = *status == RequestStatus::Suspended,
            EventKind::RequestFinished { .. } | EventKind::SuspensionReopened { .. } => self.forget(),
            _ => {}
        }
    }

    /// Call after the last event: if blocks were running, all run again.
    pub(super) fn end(&mut self) {
        if !self.is_at_rest {
            self.forget();
        }
    }

    /// Forgets all blocks, so that they run again.
    pub(super) fn forget(&mut self) {
        self.ends.clear();
    }

    /// Notes that a block suspended.
    pub(super) fn add(&mut self, path: &Arc<str>, ended: Seq) {
        self.ends.insert(path.clone(), (ended, self.code.clone()));
    }

    /// Returns the event with which a block suspended that waits, if the code with this hash ran it.
    pub(super) fn ended(&self, path: &str, code: &str) -> Option<Seq> {
        let (ended, ran) = self.ends.get(path)?;
        (!code.is_empty() && **ran == *code).then_some(*ended)
    }

    /// Notes that a block runs.
    pub(super) fn remove(&mut self, path: &str) {
        self.ends.remove(path);
    }
}
