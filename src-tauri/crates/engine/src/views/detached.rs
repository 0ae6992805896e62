//! Detached executions: a call that timed out still runs while its retry runs, and its path now belongs to the retry.
//!
//! The result of such an execution, and everything inside it, is ignored. Must not decide what that means for a view.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::event::{Event, EventKind};
use crate::model::identity::InstanceId;

/// A path and an attempt.
type Execution = (Arc<str>, u32);

/// The detached executions of a log. Events are read in order.
#[derive(Debug, Default)]
pub(crate) struct Detached {
    /// The parent of each execution, as `path:attempt`.
    around: FxHashMap<Execution, Option<Arc<str>>>,
    /// The newest execution of every path, if it is not detached and has not ended.
    open: FxHashMap<Arc<str>, u32>,
    left: FxHashSet<Execution>,
}

impl Detached {
    /// Reads an event. Returns whether a path begins again with it and so detaches an execution.
    pub(crate) fn read(&mut self, event: &Event) -> bool {
        let Some(path) = &event.path else {
            if matches!(event.kind, EventKind::RequestResumed { .. }) {
                // Everything that was running was cut off.
                self.open.clear();
            }
            return false;
        };
        match &event.kind {
            EventKind::BlockStarted { parent, .. } => {
                self.around.insert((path.clone(), event.attempt), parent.clone());
                if self.has(path, event.attempt) {
                    return false;
                }
                let before = self.open.insert(path.clone(), event.attempt);
                before.is_some_and(|before| self.left.insert((path.clone(), before)))
            }
            EventKind::BlockResumed { .. } => {
                if !self.has(path, event.attempt) {
                    self.open.insert(path.clone(), event.attempt);
                }
                false
            }
            EventKind::BlockFinished { .. } => {
                if self.open.get(path) == Some(&event.attempt) {
                    self.open.remove(path);
                }
                false
            }
            _ => false,
        }
    }

    /// Whether an execution, or one around it, is detached.
    pub(crate) fn has(&self, path: &str, attempt: u32) -> bool {
        if self.left.is_empty() {
            return false;
        }
        let mut found = Some((Arc::from(path), attempt));
        while let Some(one) = found {
            if self.left.contains(&one) {
                return true;
            }
            let around = self.around.get(&one).and_then(|around| InstanceId::parse(around.as_deref()?));
            found = around.map(|InstanceId { path, attempt }| (Arc::from(path), attempt));
        }
        false
    }
}
