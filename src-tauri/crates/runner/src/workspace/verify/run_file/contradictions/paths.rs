//! Which events belong to a block, and which to the request itself.

use engine::event::{Event, EventKind};
use engine::path::{ROOT, parent};

/// An event of a block has the path of the block, and an event of the request has none.
pub(super) fn has_its_path(event: &Event) -> Result<(), String> {
    let name = event.kind.name();
    match (&event.path, is_of_a_block(&event.kind)) {
        (None, Some(true)) => Err(format!("\"path\" is missing: a {name} event has the path of its block")),
        (Some(path), Some(false)) => Err(format!("remove \"path\" ({path}): a {name} event is of the request itself")),
        (Some(path), _) if begins_a_block(&event.kind) && !is_possible(path) => {
            Err(format!("no block begins at \"path\" {path}: the block of the action is at {ROOT}"))
        }
        _ => Ok(()),
    }
}

/// `None` for events that have a path or not.
fn is_of_a_block(kind: &EventKind) -> Option<bool> {
    match kind {
        // Earlier versions emptied the state of a request when it was resumed.
        EventKind::StateChanged { version: 0, .. } => None,
        EventKind::BlockStarted { .. }
        | EventKind::BlockResumed { .. }
        | EventKind::BlockInput { .. }
        | EventKind::BlockFinished { .. }
        | EventKind::HookStarted { .. }
        | EventKind::HookReturned { .. }
        | EventKind::CallbackReturned { .. }
        | EventKind::ReactionsDue { .. }
        | EventKind::Suspended(_)
        | EventKind::RecordsSeen { .. }
        | EventKind::StateChanged { .. }
        | EventKind::RouteDecided { .. }
        | EventKind::EffectStarted { .. }
        | EventKind::EffectFinished { .. } => Some(true),
        // The engine itself emits items about budgets and of failures outside of blocks.
        EventKind::ItemAdded { item } if !["status", "step_error"].contains(&item.item_type.as_str()) => Some(true),
        EventKind::RequestStarted { .. }
        | EventKind::RequestResumed { .. }
        | EventKind::RequestAdopted { .. }
        | EventKind::RequestStatus { .. }
        | EventKind::RequestFinished { .. }
        | EventKind::Committed { .. }
        | EventKind::SuspensionResolved(_)
        | EventKind::SuspensionReopened { .. } => Some(false),
        _ => None,
    }
}

fn begins_a_block(kind: &EventKind) -> bool {
    matches!(kind, EventKind::BlockStarted { .. } | EventKind::HookStarted { .. })
}

/// Whether a block may begin there: the block of the action, one inside another one, or a hook.
fn is_possible(path: &str) -> bool {
    path == ROOT || parent(path).is_some() || ["request.", "action."].iter().any(|hook| path.starts_with(hook))
}
