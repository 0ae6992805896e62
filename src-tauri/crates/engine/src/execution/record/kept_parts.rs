//! For the replay of a fork: which request each block and callback ran for that the fork takes over.
//!
//! A fork takes them from the log of the request that it was forked from; a replay runs them again, and what they see
//! of their request and session must be what they saw then.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::event::{Event, EventKind, KeptPart};
use crate::views::edited_input;
use crate::views::replay_order::ReplayOrder;

/// What a log keeps of other requests.
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
    /// Reads them from a log.
    pub(super) fn of(events: &[Event], counting: &ReplayOrder) -> KeptParts {
        let Some(EventKind::RequestStarted { kept, .. }) = events.first().map(|event| &event.kind) else {
            return KeptParts::default();
        };
        if kept.is_empty() {
            return KeptParts::default();
        }
        // If the action got another input, nothing before that is taken over.
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

    /// The part in which a block ended, or a callback of it returned.
    pub(super) fn part(&self, path: &Arc<str>, attempt: u32, callback: Option<&str>) -> Option<&KeptPart> {
        if self.parts.is_empty() {
            return None;
        }
        let of_block = || self.blocks.get(&(path.clone(), attempt)).copied();
        let of_callback = |name: &str| self.callbacks.get(&(path.clone(), attempt, name.to_owned())).copied();
        self.parts.get(callback.and_then(of_callback).or_else(of_block)?)
    }
}
