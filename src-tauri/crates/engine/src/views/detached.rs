//! Executions that are left behind: a call that took too long goes on beside its retry, and the path is the retry's.
//!
//! What such an execution comes to, and whatever runs inside it, is nobody's any more. Must not decide what that
//! means for a view.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::event::{Event, EventKind};
use crate::model::identity::InstanceId;

/// A path and an attempt.
type Execution = (Arc<str>, u32);

/// The executions of a log that are left behind. Events are taken in in their order.
#[derive(Debug, Default)]
pub(crate) struct Detached {
    /// The execution around each, as `path:attempt`.
    around: FxHashMap<Execution, Option<Arc<str>>>,
    /// The newest execution of every path that is not left behind, where it has not ended.
    open: FxHashMap<Arc<str>, u32>,
    left: FxHashSet<Execution>,
}

impl Detached {
    /// Takes in an event. Answers whether with it a path begins anew, and leaves an execution behind.
    pub(crate) fn read(&mut self, event: &Event) -> bool {
        let Some(path) = &event.path else {
            if matches!(event.kind, EventKind::RequestResumed { .. }) {
                // What was under way then was cut off.
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

    /// Whether an execution, or one around it, is left behind.
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
