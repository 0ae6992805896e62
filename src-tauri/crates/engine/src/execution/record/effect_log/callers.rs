//! Which blocks of a recorded request may have waited for several results at once, which waited for an answer, and
//! which a model called.

use std::collections::HashSet;
use std::sync::Arc;

use super::EffectLog;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind};
use crate::model::path::{is_called, parent};

/// Returns the blocks whose functions called others, or `runOnce`.
pub(super) fn callers(events: &[Event]) -> HashSet<Arc<str>> {
    let caller = |event: &Event| match (&event.kind, event.path.as_ref()?) {
        (EventKind::BlockStarted { .. }, path) if is_called(path) => parent(path).map(Arc::from),
        (EventKind::EffectStarted { effect: EffectKind::Once, .. }, path) => Some(path.clone()),
        _ => None,
    };
    events.iter().filter_map(caller).collect()
}

/// Returns the paths of the blocks that models called.
pub(super) fn called(events: &[Event]) -> HashSet<Arc<str>> {
    let is_of_call = |path: &Arc<str>| {
        let segment = path.rsplit('/').next().unwrap_or_default();
        segment.starts_with("tool:") || segment.starts_with("handoff:")
    };
    let begun = events.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. }));
    begun.filter_map(|event| event.path.clone()).filter(is_of_call).collect()
}

impl EffectLog {
    /// Returns whether a block waited for an answer, so that the next branch could begin.
    pub(crate) fn has_waited(&self, path: &str) -> bool {
        self.block_order.has_waited(path)
    }
}
