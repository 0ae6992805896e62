//! The order in which the blocks of a recorded request started and ended.
//!
//! In a replay nothing takes time, so of two concurrent blocks the one with fewer waits would end first, whatever the
//! recording says. So concurrent blocks end in recorded order. A block after such an end starts at once, as it did: if
//! it waited for its turn to start, code of other blocks that ran after it could run before it. Must not know what
//! waits for a turn.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::execution::record::position::Position;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{is_called, with_ancestors};
use crate::views::replay_order::ReplayOrder;

/// By path and attempt.
type Positions = HashMap<(Arc<str>, u32), Position>;

/// The recorded starts and ends of blocks. Attempts are the indexes of counting attempts, from 0.
pub(crate) struct BlockOrder {
    /// The starts of attempts that ran again after a crash or an abort.
    starts: Positions,
    /// The ends of all blocks if some ran concurrently, or else of blocks that a function or a model called.
    ends: Positions,
    /// Whether some blocks ran concurrently.
    is_interleaved: bool,
    /// The paths of the blocks that waited for an answer.
    waited: HashSet<Arc<str>>,
    /// The Calls of a tick that completed, with their attempts.
    completed_calls: HashSet<(Arc<str>, u32)>,
}

impl BlockOrder {
    /// Reads a log. Starts up to the event `own` are not this request's. One pass.
    pub(crate) fn of(events: &[Event], counting: &ReplayOrder, own: Seq) -> BlockOrder {
        let is_interleaved = is_interleaved(events);
        let (starts, ends, waited, completed_calls) = Default::default();
        let mut order = BlockOrder { starts, ends, is_interleaved, waited, completed_calls };
        for event in events {
            if let (EventKind::BlockFinished { outcome: Outcome::Suspended, .. }, Some(path)) =
                (&event.kind, &event.path)
                && event.seq > own
            {
                // If a rescue waits, the failed block counts as waiting.
                let failed = path.rsplit_once('/').filter(|(_, last)| last.starts_with("rescue:"));
                order.waited.extend(failed.map(|(failed, _)| Arc::from(failed)));
                order.waited.insert(path.clone());
            }
            if let (EventKind::BlockFinished { outcome: Outcome::Completed, .. }, Some(path)) =
                (&event.kind, &event.path)
                && path.rsplit('/').next().is_some_and(|last| last.starts_with("call:"))
            {
                order.completed_calls.extend(counting.place(event).map(|nth| (path.clone(), nth as u32)));
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

    /// Returns whether an attempt of a Call completed.
    pub(crate) fn has_completed(&self, path: &Arc<str>, attempt: u32) -> bool {
        !self.completed_calls.is_empty() && self.completed_calls.contains(&(path.clone(), attempt))
    }

    /// Returns the position before which an attempt must not start; `None` if it need not wait.
    pub(crate) fn start(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.starts.get(&(path.clone(), attempt)).copied()
    }

    /// Returns the position before which an attempt must not end; `None` if it need not wait.
    pub(crate) fn end(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.end_of_called(path, attempt).filter(|_| self.is_interleaved)
    }

    /// Returns when an attempt of a block that a function or a model called ended; `None` if it did not end.
    pub(crate) fn end_of_called(&self, path: &Arc<str>, attempt: u32) -> Option<Position> {
        self.ends.get(&(path.clone(), attempt)).copied()
    }
}

/// Returns whether some blocks ran concurrently: neither inside the other. A replay does not wait for answers, so a
/// block that waited and the blocks that began in the meantime run concurrently in it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::{BlockKind, Recorded};

    fn events_of(path: &str, outcome: Outcome, begun: Seq) -> [Event; 2] {
        let (name, input, block) = ("b".into(), Recorded::Undefined, BlockKind::Sequencer);
        let (parent, versions, fingerprint, replaces_failed) = (None, Vec::new(), None, false);
        let began = EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed };
        let ended = EventKind::BlockFinished {
            outcome,
            output: None,
            error: None,
            caught: None,
            transient: false,
            memoized: false,
            returned_error: false,
            timed_out_ms: None,
            commits: Vec::new(),
        };
        let event = |seq, kind| Event { seq, at: 0, path: Some(path.into()), attempt: 0, kind };
        [event(begun, began), event(begun + 1, ended)]
    }

    #[test]
    fn it_knows_which_calls_completed() {
        let ended = [
            ("root/tick[0]/call:give[0]", Outcome::Completed),
            ("root/tick[0]/call:give[1]", Outcome::Failed),
            ("root/tick[0]/give", Outcome::Completed),
        ];
        let numbered = ended.iter().zip((1..).step_by(2));
        let events: Vec<Event> = numbered.flat_map(|((path, outcome), seq)| events_of(path, *outcome, seq)).collect();
        let order = BlockOrder::of(&events, &ReplayOrder::read(&events), 0);
        let known = ended.map(|(path, _)| order.has_completed(&path.into(), 0));
        assert_eq!(known, [true, false, false]);
        assert!(!order.has_completed(&ended[0].0.into(), 1), "it was tried once");
    }
}
