//! A durable record as one transaction sees it, with its pending writes.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::event::Seq;
use crate::model::log::Record;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;
use crate::model::state::State;

/// A durable record as one block sees it.
#[derive(Clone)]
pub(super) struct View {
    pub(super) key: ScopeKey,
    pub(super) base: Record,
    /// Defaults of declared fields that the record lacks.
    pub(super) missing: Map<String, Value>,
    /// Pending writes of the ancestors.
    pub(super) above: Vec<Operation>,
    pub(super) state: Arc<State>,
    pub(super) stamp: u64,
    /// Whether the author's code has read the record.
    pub(super) is_read: bool,
    pub(super) pending: Vec<Pending>,
}

/// A pending write to a record.
#[derive(Clone)]
pub(super) enum Pending {
    Defaults {
        seq: Seq,
        fields: Map<String, Value>,
    },
    Operation {
        seq: Seq,
        operation: Operation,
        /// Whether the author's code had read the record before.
        after_read: bool,
        /// The version and the sums in its event.
        evidence: (u64, Option<Value>),
    },
    /// An operation that changed nothing, of which the author's code was told so.
    Unchanged {
        operation: Operation,
    },
}

impl View {
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.pending.iter().filter_map(|pending| match pending {
            Pending::Operation { operation, .. } => Some(operation),
            Pending::Defaults { .. } | Pending::Unchanged { .. } => None,
        })
    }

    /// Returns whether there is anything to commit.
    pub(super) fn is_written(&self) -> bool {
        self.pending.iter().any(|pending| !matches!(pending, Pending::Unchanged { .. }))
    }

    /// Returns the view with its pending writes, and leaves it without them.
    pub(super) fn take(&mut self) -> View {
        let taken = self.clone();
        self.pending.clear();
        self.state = Arc::new(self.replayed().0);
        taken
    }

    /// Applies all pending writes to the base. Returns the state, and whether each operation had the effect that the
    /// author's code was told: that it changed something, or that it did not.
    pub(super) fn replayed(&self) -> (State, bool) {
        let mut state = (*self.base.state).clone();
        state.fill_in(&self.missing);
        for operation in &self.above {
            operation.apply(&mut state);
        }
        let mut has_same_answers = true;
        for pending in &self.pending {
            match pending {
                Pending::Defaults { fields, .. } => state.fill_in(fields),
                Pending::Operation { operation, .. } => {
                    // What the newer record holds may not fit: the author's code then runs again and is refused.
                    has_same_answers &= operation.unfit_field(&state).is_none();
                    has_same_answers &= operation.apply(&mut state);
                }
                Pending::Unchanged { operation } => has_same_answers &= !operation.apply(&mut state),
            }
        }
        (state, has_same_answers)
    }

    /// Returns [`ScopeCommit::rebased`](crate::model::event::ScopeCommit::rebased): the final sums of increments, null
    /// for other operations; empty if the sums in the events are final.
    pub(super) fn rebased(&self) -> Vec<Value> {
        let mut state = (*self.base.state).clone();
        let (mut version, mut is_news) = (self.base.version, false);
        let is_moved = |pending: &Pending| match pending {
            Pending::Operation { evidence: (recorded_version, _), .. } => {
                Some(*recorded_version != self.base.version + 1)
            }
            _ => None,
        };
        // Nothing was rebased if the first operation still has the version in its event.
        if self.above.is_empty() && self.pending.iter().find_map(is_moved) != Some(true) {
            return Vec::new();
        }
        let mut values = Vec::new();
        for pending in &self.pending {
            match pending {
                Pending::Defaults { fields, .. } => {
                    state.fill_in(fields);
                    values.push(Value::Null);
                }
                Pending::Operation { operation, evidence, .. } => {
                    operation.apply(&mut state);
                    version += 1;
                    let sums = operation.sums(&state);
                    is_news |= *evidence != (version, sums.clone());
                    values.push(sums.unwrap_or_default());
                }
                Pending::Unchanged { .. } => {}
            }
        }
        if is_news { values } else { Vec::new() }
    }
}
