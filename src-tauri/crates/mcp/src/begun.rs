//! The requests that calls of one server wait for: they are aborted if their client goes away.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The ids of requests that were begun and have not ended.
#[derive(Clone, Default)]
pub(crate) struct Begun(Arc<Mutex<HashSet<String>>>);

/// Takes its request off the list when it is dropped.
pub(crate) struct Unfinished {
    list: Begun,
    id: String,
}

impl Begun {
    /// Puts a request on the list until the answer is dropped.
    pub(crate) fn add(&self, id: &str) -> Unfinished {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        Unfinished { list: self.clone(), id: id.to_owned() }
    }

    /// What is on the list.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.list.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
