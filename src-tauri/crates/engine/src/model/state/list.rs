//! A list in a state that was pushed to: a copy shares all entries but the newest few with its origin.
//!
//! A push to a state that somebody else holds, a record in a cache or a view of it, must not cost more the longer the
//! list is. So entries are in chunks, and only the last chunk is copied.

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// How many entries a chunk has; the last one may have fewer, and none is empty.
const CHUNK: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct List {
    chunks: Vec<Arc<Vec<Arc<Value>>>>,
    /// All entries as one value, once somebody asked for it.
    whole: OnceLock<Arc<Value>>,
}

impl List {
    pub(super) fn new(entries: Vec<Value>) -> List {
        let mut list = List::default();
        entries.into_iter().for_each(|entry| list.push(entry));
        list
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub(super) fn push(&mut self, entry: Value) {
        self.whole.take();
        match self.chunks.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(Arc::new(entry)),
            None => self.chunks.push(Arc::new(vec![Arc::new(entry)])),
        }
    }

    pub(super) fn pop(&mut self) {
        self.whole.take();
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).pop();
        }
        self.chunks.pop_if(|last| last.is_empty());
    }

    /// All entries as one value. The first call costs a copy.
    pub(super) fn whole(&self) -> &Arc<Value> {
        self.whole.get_or_init(|| Arc::new(self.to_json()))
    }

    pub(super) fn to_json(&self) -> Value {
        Value::Array(self.entries().map(|entry| (**entry).clone()).collect())
    }

    /// As [`to_json`](Self::to_json); only entries that are shared with another list are copied.
    pub(super) fn into_json(self) -> Value {
        let entries = self.chunks.into_iter().flat_map(Arc::unwrap_or_clone);
        Value::Array(entries.map(Arc::unwrap_or_clone).collect())
    }

    fn entries(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries().map(|entry| &**entry))
    }
}
