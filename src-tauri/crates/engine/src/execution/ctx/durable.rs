//! Writes to durable records, into the transaction of a block or of a callback.

use serde_json::Value;

use super::{Context, Place};
use crate::execution::core::transaction::Transaction;
use crate::model::event::EventKind;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;
use crate::model::state::State;

impl Context {
    /// Returns the transaction that holds the pending writes: the callback call's if there is one, else the block's.
    pub fn transaction(&self) -> &Transaction {
        self.call.as_ref().map_or(&self.frame.transaction, |call| &call.transaction)
    }

    /// Notes an operation that changed nothing. The author's code was told so, so a rebase must check that it still
    /// changes nothing.
    pub(super) fn note_unchanged(&self, place: &Place, operation: Operation) {
        if let Place::Durable(key) = place {
            self.transaction().push_unchanged(key, operation);
        }
    }

    /// Records an operation on a durable record, and adds it with the resulting state to the transaction.
    pub(super) fn write(&self, key: &ScopeKey, operation: Operation, next: State) {
        let transaction = self.transaction();
        if let Some(fields) = transaction.unwritten_defaults(key) {
            let state = Value::Object(fields.clone());
            let seq = self.record(EventKind::StateInitialized { scope: key.clone(), state, durable: true });
            transaction.push_defaults(key, seq, fields);
        }
        let (version, value) = (transaction.next_version(key), operation.sums(&next));
        let evidence = (version, value.clone());
        let seq =
            self.record(EventKind::StateChanged { scope: key.clone(), operation: operation.clone(), value, version });
        transaction.push(key, seq, operation, evidence, next, self.run.next_stamp());
    }
}
