//! When the blocks of a recorded request started and ended.
//!
//! In a replay nothing takes time, so of two blocks that ran side by side the one with less to wait for would come to
//! its end first, whatever the recording says. So where blocks ran side by side, each ends in its turn. What follows an
//! end begins at once, as it did: a block that waited for its beginning would let code of other blocks run before it
//! that ran after it. Must not know what waits for a turn.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::execution::record::position::Position;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{is_called, with_ancestors};
use crate::views::replay_order::ReplayOrder;

/// By path and attempt.
type Positions = HashMap<(Arc<str>, u32), Position>;

/// See the module. The attempts are those that count, from 0.
pub(crate) struct BlockOrder {
    /// Of those that ran again after a crash or an abort.
    starts: Positions,
    /// Of all blocks if some ran side by side, else of those that a function or a model called.
    ends: Positions,
    /// Whether some blocks ran side by side.
    is_interleaved: bool,
    /// The paths of the blocks that waited for an answer.
    waited: HashSet<Arc<str>>,
}

impl BlockOrder {
    /// Reads a log. Starts up to the event `own` are not this request's. One pass.
    pub(crate) fn of(events: &[Event], counting: &ReplayOrder, own: Seq) -> BlockOrder {
        let is_interleaved = is_interleaved(events);
        let (starts, ends, waited) = (HashMap::new(), HashMap::new(), HashSet::new());
        let mut order = BlockOrder { starts, ends, is_interleaved, waited };
        for event in events {
            if let (EventKind::BlockFinished { outcome: Outcome::Suspended, .. }, Some(path)) =
                (&event.kind, &event.path)
                && event.seq > own
            {
                // What rescues a block that failed waits in its place.
                let failed = path.rsplit_once('/').filter(|(_, last)| last.starts_with("rescue:"));
                order.waited.extend(failed.map(|(failed, _)| Arc::from(failed)));
                order.waited.insert(path.clone());
            }
            let positions = match &event.kind {
                EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }
                    if event.seq > own && counting.is_second_try(event) =>
                {
                    &mut order.starts
                }
                EventKind::BlockFinished { memoized: false, .. }
                    if is_interleaved || event.path.as_deref().is_some_and(is_called) =>
                {
                    &mut order.ends
                }
                _ => continue,
            };
            if let (Some(path), Some(nth)) = (&event.path, counting.place(event)) {
                positions.insert((path.clone(), nth as u32), (event.at, event.seq));
            }
        }
        order
    }

    /// Returns whether a block waited for an answer, so that the next branch could begin.
    pub(crate) fn has_waited(&self, path: &str) -> bool {
        self.waited.contains(path)
    }

    /// Returns before when an attempt may not start; `None` if it need not wait.
    pub(crate) fn start(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.starts.get(&(path.clone(), attempt)).copied()
    }

    /// Returns before when an attempt may not end; `None` if it need not wait.
    pub(crate) fn end(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.end_of_called(path, attempt).filter(|_| self.is_interleaved)
    }

    /// Returns when an attempt ended of a block that a function or a model called; `None` if it did not.
    pub(crate) fn end_of_called(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.ends.get(&(path.clone(), attempt)).copied()
    }
}

/// Returns whether some blocks ran concurrently: neither inside the other. A replay does not wait for answers, so a
/// block that waited and the blocks that began meanwhile run concurrently in it.
fn is_interleaved(events: &[Event]) -> bool {
    // How many open blocks are around each, itself included.
    let mut open: HashMap<&str, usize> = HashMap::new();
    events.iter().any(|event| {
        match (&event.kind, event.path.as_deref()) {
            (EventKind::RequestResumed { .. }, _) => open.clear(),
            (EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }, Some(path)) => {
                let around = with_ancestors(path).skip(1).find_map(|path| open.get(path)).copied().unwrap_or(0);
                let is_beside = around < open.len();
                open.insert(path, around + 1);
                return is_beside;
            }
            (EventKind::BlockFinished { outcome: Outcome::Suspended, .. }, _) => {}
            (EventKind::BlockFinished { .. }, Some(path)) => drop(open.remove(path)),
            _ => {}
        }
        false
    })
}
