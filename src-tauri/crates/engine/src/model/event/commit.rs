//! The commit of one durable record, as the event that ends a block or a callback names it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DriftKind, EventKind, Seq};
use crate::model::scope::ScopeKey;

/// One durable record's step from one version to the next, by one block.
///
/// It names the operations by the `seq` of their events and never repeats them (ARCHITECTURE §2.5);
/// applying them in this order to the state at `from` gives the state at `version`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeCommit {
    /// Which record.
    pub scope: ScopeKey,
    /// The version the operations were applied to.
    pub from: u64,
    /// The version they made: `from` plus the number of operations that changed something.
    pub version: u64,
    /// The `state_changed` events of this request that make it up.
    pub operations: Vec<Seq>,
    /// The sums of increments (null for other operations). Empty unless a conflict re-applied the operations to a newer
    /// record, so that the values in their events are not final.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::model::json::exact")]
    pub rebased: Vec<Value>,
}

impl ScopeCommit {
    /// Returns the version that an operation made, and its final sums if they are not those in its event. Versions are
    /// counted from the end, because the events that only fill in defaults come first and make no version.
    pub fn in_force(&self, operation: Seq) -> Option<(u64, Option<&Value>)> {
        let at = self.operations.iter().position(|seq| *seq == operation)?;
        let later = (self.operations.len() - 1 - at) as u64;
        Some((self.version.saturating_sub(later), self.rebased.get(at).filter(|value| !value.is_null())))
    }
}

/// The kind of an event that cannot be read any more.
const DAMAGED: &str = "damaged";

impl EventKind {
    /// Returns the replacement for an event that cannot be read any more: its former kind, and what is wrong with it.
    pub fn damaged(kind: &str, why: &str) -> EventKind {
        let fields = [("kind", kind), ("why", why)].map(|(name, text)| (name.to_owned(), Value::from(text)));
        EventKind::Unknown { name: DAMAGED.to_owned(), fields: fields.into_iter().collect() }
    }

    /// Returns a difference between today's code and the log, other than a changed source.
    pub fn drift(drift: DriftKind, text: String) -> EventKind {
        EventKind::Drift { drift, text, callback: None, fingerprint: None }
    }

    /// Returns whether it replaces an event that cannot be read any more.
    pub fn is_damaged(&self) -> bool {
        matches!(self, EventKind::Unknown { name, .. } if name == DAMAGED)
    }

    /// Returns the durable records that this event commits.
    pub fn commits(&self) -> &[ScopeCommit] {
        match self {
            EventKind::BlockFinished { commits, .. }
            | EventKind::CallbackReturned { commits, .. }
            | EventKind::Committed { commits } => commits,
            _ => &[],
        }
    }

    /// Like [`commits`](Self::commits), but mutable.
    pub fn commits_mut(&mut self) -> &mut [ScopeCommit] {
        match self {
            EventKind::BlockFinished { commits, .. }
            | EventKind::CallbackReturned { commits, .. }
            | EventKind::Committed { commits } => commits,
            _ => &mut [],
        }
    }
}
