//! A list in a state that was pushed to: a copy shares all entries but the newest few with its origin.
//!
//! A push to a state that somebody else holds, a record in a cache or a view of it, must not cost more the longer the
//! list is. So entries are in chunks, and only the last chunk is copied.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// How many entries a chunk has.
const CHUNK: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct List {
    full: Vec<Arc<Chunk>>,
    /// The entries after the full chunks; less than a chunk.
    rest: Arc<Vec<Arc<Value>>>,
    /// All entries as one value, once somebody asked for it.
    whole: OnceLock<Arc<Value>>,
}

/// [`CHUNK`] entries, which never change.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Names these entries: no other chunk of this process has it.
    pub(super) id: u64,
    pub(super) entries: Vec<Arc<Value>>,
}

impl Chunk {
    fn new(entries: Vec<Arc<Value>>) -> Arc<Chunk> {
        // Only compared for equality, so nothing depends on its value.
        static IDS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Chunk { id: IDS.fetch_add(1, Ordering::Relaxed), entries })
    }
}

impl List {
    pub(super) fn new(entries: Vec<Value>) -> List {
        let mut list = List::default();
        entries.into_iter().for_each(|entry| list.push(entry));
        list
    }

    pub(super) fn len(&self) -> usize {
        self.full.len() * CHUNK + self.rest.len()
    }

    pub(super) fn full_chunks(&self) -> &[Arc<Chunk>] {
        &self.full
    }

    /// The entries after the full chunks.
    pub(super) fn rest(&self) -> &[Arc<Value>] {
        &self.rest
    }

    pub(super) fn push(&mut self, entry: Value) {
        self.whole.take();
        let rest = Arc::make_mut(&mut self.rest);
        rest.push(Arc::new(entry));
        if rest.len() == CHUNK {
            self.full.push(Chunk::new(std::mem::take(rest)));
        }
    }

    pub(super) fn pop(&mut self) {
        self.whole.take();
        let rest = Arc::make_mut(&mut self.rest);
        if rest.is_empty()
            && let Some(last) = self.full.pop()
        {
            rest.extend(last.entries.iter().cloned());
        }
        rest.pop();
    }

    /// All entries as one value. The first call costs a copy.
    pub(super) fn whole(&self) -> &Arc<Value> {
        self.whole.get_or_init(|| Arc::new(self.to_json()))
    }

    pub(super) fn to_json(&self) -> Value {
        Value::Array(self.entries().map(|entry| (**entry).clone()).collect())
    }

    fn entries(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.full.iter().flat_map(|chunk| &chunk.entries).chain(&*self.rest)
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries().map(|entry| &**entry))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// A list has the entries that were pushed and not popped, whatever copies of it there are, and a copy sees
        /// none of what came later. Equal ids mean equal entries.
        #[test]
        fn a_list_is_what_was_pushed_and_not_popped(acts in proptest::collection::vec(0..5_u8, 0..400)) {
            let (mut list, mut plain) = (List::new(vec![json!("first")]), vec![json!("first")]);
            let mut copies = Vec::new();
            for (n, act) in acts.into_iter().enumerate() {
                match act {
                    0 => {
                        list.pop();
                        plain.pop();
                    }
                    1 => copies.push((list.clone(), plain.clone())),
                    _ => {
                        list.push(json!(n));
                        plain.push(json!(n));
                    }
                }
                prop_assert_eq!(list.len(), plain.len());
                if n % 7 == 0 {
                    prop_assert_eq!(&**list.whole(), &json!(plain));
                }
            }
            copies.push((list, plain));
            let mut known = std::collections::HashMap::new();
            for (list, plain) in copies {
                prop_assert_eq!(json!(&list), json!(plain));
                prop_assert_eq!(list.to_json(), json!(plain));
                for chunk in list.full_chunks() {
                    let entries = known.entry(chunk.id).or_insert_with(|| chunk.entries.clone());
                    prop_assert_eq!(&*entries, &chunk.entries);
                }
            }
        }
    }
}
