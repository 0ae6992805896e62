//! The flows that the runs of a batch are held against: each is found once, because finding one looks at every file of
//! the folder that may have a flow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::core::sync::lock;

/// A flow that loads, or why it does not.
type Found = Result<Arc<LoadedFlow>, Fault>;

/// Finds a flow by its kind.
pub(super) trait FindFlow: Fn(&str) -> Found {}
impl<F: Fn(&str) -> Found> FindFlow for F {}

/// What was found so far, by kind.
pub(super) struct FlowsOfBatch<F> {
    find: F,
    known: Mutex<HashMap<String, Found>>,
}

impl<F: FindFlow> FlowsOfBatch<F> {
    pub(super) fn new(find: F) -> Self {
        FlowsOfBatch { find, known: Mutex::default() }
    }

    /// Finds a flow; others that are looked for meanwhile wait.
    pub(super) fn find(&self, kind: &str) -> Found {
        let mut known = lock(&self.known);
        if let Some(found) = known.get(kind) {
            return found.clone();
        }
        let found = (self.find)(kind);
        known.insert(kind.to_owned(), found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Twice as many runs of the same flows take no more looks at the folder.
    #[test]
    fn the_folder_is_looked_at_once_for_each_flow() {
        for runs in [100, 200] {
            let looks = AtomicUsize::default();
            let flows = FlowsOfBatch::new(|kind: &str| {
                looks.fetch_add(1, Ordering::Relaxed);
                Err(Fault::not_found(kind))
            });
            for nth in 0..runs {
                assert!(flows.find(["a", "b", "c"][nth % 3]).is_err());
            }
            assert_eq!(looks.load(Ordering::Relaxed), 3, "{runs} runs");
        }
    }
}
