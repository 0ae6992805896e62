//! View: which blocks are under way at the end of a part of a log.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::event::{Event, EventKind, Outcome};

/// Returns the newest attempt of each block that has begun and not ended, by path. A suspended block has not ended.
pub fn under_way(events: &[Event]) -> HashMap<&Arc<str>, u32> {
    let mut open: HashMap<&Arc<str>, u32> = HashMap::new();
    for event in events {
        let Some(path) = &event.path else { continue };
        match &event.kind {
            EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. } => {
                open.insert(path, event.attempt);
            }
            EventKind::BlockFinished { outcome, .. }
                if *outcome != Outcome::Suspended && open.get(path) == Some(&event.attempt) =>
            {
                open.remove(path);
            }
            _ => {}
        }
    }
    open
}
