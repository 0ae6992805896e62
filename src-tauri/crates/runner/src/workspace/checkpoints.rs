//! The checkpoints of a request (SEMANTICS §4.8).

use engine::event::{Event, EventKind};
use engine::views::Events;
use engine::views::snapshots::{Snapshot, snapshots};

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{CheckpointRow, Json};

impl Workspace {
    /// The checkpoints of a request: the latest of every durable sequencer instance, oldest first; those of
    /// sequencers that have ended only where the flow keeps them.
    pub fn checkpoints(&self, request: &str) -> Result<Vec<CheckpointRow>, Fault> {
        let (_, events) = self.log_of(request)?;
        Ok(checkpoints_of(request, &events))
    }
}

/// The checkpoints of a log.
pub(super) fn checkpoints_of(request: &str, events: &[Event]) -> Vec<CheckpointRow> {
    let view = Events::new(events);
    let cleans_up = events
        .first()
        .is_some_and(|event| matches!(event.kind, EventKind::RequestStarted { cleanup_checkpoints: true, .. }));
    let is_kept = |one: &Snapshot| one.durable && !one.is_behind && !(cleans_up && one.terminal);
    // A checkpoint is of blocks that have finished, also while others run.
    let mut found: Vec<_> = snapshots(request, view, false).into_values().filter(is_kept).collect();
    found.sort_by_key(|one| one.began);
    let rows = found.into_iter().map(|one| CheckpointRow {
        block_instance_id: one.instance.to_string(),
        path: one.path.to_string(),
        state: Json(one.state.to_json()),
        version: one.version,
        step_name: one.step_name.to_string(),
        terminal: one.terminal,
        created_at: one.at,
    });
    rows.collect()
}
