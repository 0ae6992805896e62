//! A durable record as one transaction sees it, with the writes that wait for a commit.

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
    /// Declared fields with defaults that the record has not got yet.
    pub(super) missing: Map<String, Value>,
    /// Waiting writes of the blocks around it.
    pub(super) above: Vec<Operation>,
    pub(super) state: Arc<State>,
    pub(super) stamp: u64,
    /// Whether the author's code has looked at the record.
    pub(super) is_read: bool,
    pub(super) pending: Vec<Pending>,
}

/// What a block did to a record, and waits for its commit.
#[derive(Clone)]
pub(super) enum Pending {
    Defaults {
        seq: Seq,
        fields: Map<String, Value>,
    },
    Operation {
        seq: Seq,
        operation: Operation,
        /// Whether the author's code had looked at the record before.
        after_read: bool,
        /// The version and the sums that its event tells.
        evidence: (u64, Option<Value>),
    },
    /// It changed nothing, and the author was told so.
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

    /// Whether anything of it waits for a commit.
    pub(super) fn is_written(&self) -> bool {
        self.pending.iter().any(|pending| !matches!(pending, Pending::Unchanged { .. }))
    }

    /// The base with all pending writes, and whether each operation has the answer that the author was given:
    /// that it changed something, or that it did not.
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
                Pending::Operation { operation, .. } => has_same_answers &= operation.apply(&mut state),
                Pending::Unchanged { operation } => has_same_answers &= !operation.apply(&mut state),
            }
        }
        (state, has_same_answers)
    }

    /// For a commit: the sums of the increments as they come into force, null for other operations; nothing
    /// where the events tell all that already.
    pub(super) fn rebased(&self) -> Vec<Value> {
        let mut state = (*self.base.state).clone();
        let (mut version, mut is_news) = (self.base.version, false);
        let is_moved = |pending: &Pending| match pending {
            Pending::Operation { evidence: (recorded_version, _), .. } => {
                Some(*recorded_version != self.base.version + 1)
            }
            _ => None,
        };
        // The first operation tells whether the record is the one that was written to.
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
