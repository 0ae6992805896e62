//! Values that many spans share: resources and scopes, each once in the log.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

/// See the module.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) all: Vec<Value>,
    by_address: HashMap<*const Value, usize>,
    by_value: HashMap<blake3::Hash, usize>,
}

impl Shared {
    /// The place of a value in the list, which is added if it is new. The value must live as long as this.
    pub(super) fn number(&mut self, shared: &Arc<Value>) -> usize {
        if let Some(known) = self.by_address.get(&Arc::as_ptr(shared)) {
            return *known;
        }
        let hash = blake3::hash(shared.to_string().as_bytes());
        let at = *self.by_value.entry(hash).or_insert_with(|| {
            self.all.push((**shared).clone());
            self.all.len() - 1
        });
        self.by_address.insert(Arc::as_ptr(shared), at);
        at
    }
}
