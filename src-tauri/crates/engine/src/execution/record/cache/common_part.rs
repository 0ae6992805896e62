//! Where the part of a fork's log ends that it has in common with the request it comes from.
//!
//! Between that and the first run of the fork are the events of the fork itself: its states, its edits, and the ends of
//! effects that were under way in the request. Must not decide what a fork takes over.

use crate::model::event::{BlockKind, Event, EventKind, Seq};

/// See the module, while the log is read.
#[derive(Default)]
pub(super) struct CommonPart {
    /// The last event of the common part, until it has been read.
    until: Option<Seq>,
    is_opening: bool,
}

impl CommonPart {
    /// Reads an event. Returns whether it is the first one after the common part.
    pub(super) fn ends_before(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::RequestStarted { forked_from: Some(from), .. } => self.until = Some(from.seq),
            EventKind::RequestResumed { .. } => self.is_opening = false,
            _ => {}
        }
        let ends = self.until.is_some_and(|until| event.seq > until);
        if ends {
            self.until = None;
            self.is_opening = !matches!(event.kind, EventKind::RequestResumed { .. });
        }
        ends
    }

    /// Whether the exchange that was read last is kept for the functions of its block: that of a generator, and what a
    /// fork has of what was under way.
    pub(super) fn keeps_exchanges(&self, of: BlockKind) -> bool {
        self.is_opening || of == BlockKind::Generator
    }
}
