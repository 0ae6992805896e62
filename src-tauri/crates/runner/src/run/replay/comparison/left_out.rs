//! What the recorded request did, and a replay need not do: what functions ran before they failed and a resume ran them
//! again.

use std::collections::HashSet;
use std::sync::Arc;

use engine::event::{Event, EventKind};
use engine::views::replay_order::ReplayOrder;

use super::Trace;

/// Leaves out of what was recorded what a replay need not do: see [`ReplayOrder::may_be_left_out`].
pub(super) fn leave_out(was: &mut Trace, is: &Trace, recorded: &[Event]) {
    if !recorded.iter().any(|event| matches!(event.kind, EventKind::RequestResumed { .. })) {
        return;
    }
    let order = ReplayOrder::read(recorded);
    let left: HashSet<&Arc<str>> = order.may_be_left_out().filter(|path| !is.contains_key(*path)).collect();
    was.retain(|path, _| !left.contains(path));
}
