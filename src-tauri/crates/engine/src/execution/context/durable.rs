//! Writes to durable records on their way into the transaction of a block, or of one of its functions.

use serde_json::Value;

use super::{Context, Place};
use crate::execution::state::transaction::Transaction;
use crate::model::event::EventKind;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;
use crate::model::state::State;

impl Context {
    /// What the writes to durable records wait in: the function's own where those are counted one by one,
    /// else the block's.
    pub(crate) fn transaction(&self) -> &Transaction {
        self.call.as_ref().map_or(&self.frame.transaction, |call| &call.transaction)
    }

    /// Notes that the author was told that an operation changes nothing: on a newer record it might.
    pub(super) fn note_unchanged(&self, place: &Place, operation: Operation) {
        if let Place::Durable(key) = place {
            self.transaction().push_unchanged(key, operation);
        }
    }

    /// Takes an operation on a durable record, and the state it makes, into the block's transaction.
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
