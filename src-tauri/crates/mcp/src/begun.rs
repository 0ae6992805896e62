//! The requests that calls of one server wait for. They are aborted if their client disconnects.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The ids of requests that were begun and have not ended.
#[derive(Clone, Default)]
pub(crate) struct Begun(Arc<Mutex<HashSet<String>>>);

/// Removes its request from the list when it is dropped.
pub(crate) struct Unfinished {
    list: Begun,
    id: String,
}

impl Begun {
    /// Adds a request to the list until the result is dropped.
    pub(crate) fn add(&self, id: &str) -> Unfinished {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        Unfinished { list: self.clone(), id: id.to_owned() }
    }

    /// The ids on the list.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.list.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
