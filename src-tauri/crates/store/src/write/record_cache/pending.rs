//! Commits of this process that are not yet applied to a cached record. They use the operations in the engine's events.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, ScopeCommit, Seq};
use engine::log::Record;
use engine::scope::ScopeKey;
use serde_json::Value;

use crate::Committed;
use crate::write::append_batch::CommittedBatch;

/// A commit of one record, in the events of its batch.
pub(super) struct PendingCommit {
    events: Arc<[Event]>,
    /// The index of the event that commits, and the index of the commit in it.
    at: usize,
    nth: usize,
}

/// The maximum size of a batch. Its events stay in memory until its commits are applied.
const MAX_BYTES: usize = 8 << 10;

/// The commits of each durable record, oldest first. `None` if an operation on the record is not in its batch, or the
/// batch is too large.
pub(super) fn by_record(batches: &[CommittedBatch]) -> HashMap<ScopeKey, Option<Vec<PendingCommit>>> {
    let mut found: HashMap<ScopeKey, Option<Vec<PendingCommit>>> = HashMap::new();
    for CommittedBatch { committed: Committed { events, .. }, bytes } in batches {
        for (at, event) in events.iter().enumerate() {
            for (nth, commit) in event.kind.commits().iter().enumerate() {
                let known = found.entry(commit.scope.clone()).or_insert_with(|| Some(Vec::new()));
                if *bytes > MAX_BYTES || !commit.operations.iter().all(|seq| operation(events, *seq).is_some()) {
                    *known = None;
                } else if let Some(known) = known {
                    known.push(PendingCommit { events: events.clone(), at, nth });
                }
            }
        }
    }
    found
}

/// The event of an operation in a batch.
fn operation(events: &[Event], seq: Seq) -> Option<&Event> {
    let first = events.first()?.seq;
    events.get(usize::try_from(seq.checked_sub(first)?).ok()?).filter(|event| event.seq == seq)
}

impl PendingCommit {
    fn commit(&self) -> Option<&ScopeCommit> {
        self.events.get(self.at)?.kind.commits().get(self.nth)
    }

    /// Applies the commit to a record.
    pub(super) fn apply(&self, record: &mut Record) {
        let Some(commit) = self.commit() else { return };
        let state = Arc::make_mut(&mut record.state);
        for event in commit.operations.iter().filter_map(|seq| operation(&self.events, *seq)) {
            match &event.kind {
                EventKind::StateChanged { operation, .. } => _ = operation.apply(state),
                EventKind::StateInitialized { state: Value::Object(defaults), .. } => state.fill_in(defaults),
                _ => {}
            }
        }
        record.version = commit.version;
    }
}
