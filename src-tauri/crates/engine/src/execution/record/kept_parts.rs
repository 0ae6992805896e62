//! For the replay of a fork: in which request each reused block and callback originally ran.
//!
//! A fork reuses them from the log of its origin. A replay runs them again, and they must see the same request and
//! session as in the original run.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::event::{Event, EventKind, KeptPart};
use crate::views::fork_edits::edited_input;
use crate::views::replay_order::ReplayOrder;

/// The parts of a log that come from other requests.
#[derive(Default)]
pub(super) struct KeptParts {
    /// Oldest first.
    parts: Vec<KeptPart>,
    /// Blocks that ended in a part: by path and attempt.
    blocks: HashMap<(Arc<str>, u32), usize>,
    /// Callbacks that returned in a part: by path, attempt and name.
    callbacks: HashMap<(Arc<str>, u32, String), usize>,
}

impl KeptParts {
    /// Reads the parts from a log.
    pub(super) fn of(events: &[Event], counting: &ReplayOrder) -> KeptParts {
        let Some(EventKind::RequestStarted { kept, .. }) = events.first().map(|event| &event.kind) else {
            return KeptParts::default();
        };
        if kept.is_empty() {
            return KeptParts::default();
        }
        // If the fork changed the action's input, nothing before that edit is reused.
        let edited = edited_input(events).unwrap_or(0);
        let mut found = KeptParts { parts: kept.clone(), ..KeptParts::default() };
        let mut part = 0;
        for event in events {
            while found.parts.get(part).is_some_and(|of| event.seq > of.until) {
                part += 1;
            }
            if part == found.parts.len() {
                break;
            }
            if event.seq <= edited {
                continue;
            }
            let (Some(path), Some(nth)) = (&event.path, counting.place_to_end(event)) else { continue };
            match &event.kind {
                EventKind::BlockFinished { .. } => drop(found.blocks.insert((path.clone(), nth as u32), part)),
                EventKind::CallbackReturned { callback, .. } => {
                    found.callbacks.insert((path.clone(), nth as u32, callback.clone()), part);
                }
                _ => {}
            }
        }
        found
    }

    /// The part in which a block ended, or one of its callbacks returned.
    pub(super) fn part(&self, path: &Arc<str>, attempt: u32, callback: Option<&str>) -> Option<&KeptPart> {
        if self.parts.is_empty() {
            return None;
        }
        let of_block = || self.blocks.get(&(path.clone(), attempt)).copied();
        let of_callback = |name: &str| self.callbacks.get(&(path.clone(), attempt, name.to_owned())).copied();
        self.parts.get(callback.and_then(of_callback).or_else(of_block)?)
    }
}
