//! The items that an event adds, updates or ends. A pure function of the event and of earlier events with items.

use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::item::ItemStatus;

/// The changes of an item: `added`, `updated`, `done`. An item that is complete at once is both added and done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemChange {
    /// The event that added the item.
    pub(crate) seq: Seq,
    pub(crate) kinds: &'static [&'static str],
}

impl ItemChange {
    /// Returns the item changes of an event. A write to shared state is an item at once; a write to a durable record is
    /// one when its commit names it.
    pub(super) fn of(seq: Seq, kind: &EventKind, shown: &[Event]) -> Vec<Self> {
        // A commit also names `state_initialized` events, which are not items.
        let is_write = |seq: &Seq| {
            let at = shown.binary_search_by_key(seq, |event| event.seq);
            at.is_ok_and(|at| matches!(shown[at].kind, EventKind::StateChanged { .. }))
        };
        let committed = kind.commits().iter().flat_map(|commit| &commit.operations).filter(|seq| is_write(seq));
        let mut news: Vec<_> = committed.map(|seq| ItemChange { seq: *seq, kinds: &["added", "done"] }).collect();
        let (seq, kinds): (_, &[_]) = match kind {
            EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => (seq, &["added"]),
            EventKind::BlockFinished { memoized: true, .. }
            | EventKind::BlockFinished { outcome: Outcome::Abandoned | Outcome::Suspended, .. } => return news,
            EventKind::StateChanged { scope, .. } if scope.kind.is_durable() => return news,
            EventKind::ItemAdded { .. }
            | EventKind::StateChanged { .. }
            | EventKind::StateInitialized { .. }
            | EventKind::BlockFinished { .. }
            | EventKind::RouteDecided { .. } => (seq, &["added", "done"]),
            EventKind::ItemUpdated { of, .. } => (*of, &["updated"]),
            EventKind::ItemDone { of, .. } => (*of, &["done"]),
            _ => return news,
        };
        news.push(ItemChange { seq, kinds });
        news
    }
}
