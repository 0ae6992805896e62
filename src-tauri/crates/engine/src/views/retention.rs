//! View: which completed requests a session keeps in sight (SEMANTICS §7.8).
//!
//! The oldest completed requests leave the session's item views first, as of the session's newest
//! request. Only views forget: the event log keeps everything.

use crate::model::event::{Event, EventKind};
use crate::model::retention::Retention;

/// A completed request, as far as its stay depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// When it ended, milliseconds since the epoch.
    pub ended_at: i64,
    /// How many lasting items it has.
    pub items: usize,
}

impl Past {
    /// A request that ended with the last of these events.
    pub fn of(events: &[Event], items: usize) -> Past {
        Past { ended_at: events.last().map_or(0, |event| event.at), items }
    }
}

impl Retention {
    /// How many of the oldest are out of sight for a request that began at `now`.
    pub fn evicts(&self, requests: &[Past], now: i64) -> usize {
        let mut items = 0;
        let mut kept = 0;
        for request in requests.iter().rev() {
            items += request.items;
            let too_many = kept > 0 && self.max_items.is_some_and(|most| items > most);
            let too_old = self.max_age_ms.is_some_and(|most| request.ended_at < now.saturating_sub(most));
            if too_many || too_old {
                break;
            }
            kept += 1;
        }
        requests.len() - kept
    }

    /// What the first event of a request says, and when it began.
    pub fn recorded(events: &[Event]) -> Option<(Retention, i64)> {
        let first = events.first()?;
        match &first.kind {
            EventKind::RequestStarted { retention: Some(retention), .. } => Some((*retention, first.at)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [Past; 3] =
        [Past { ended_at: 100, items: 2 }, Past { ended_at: 200, items: 3 }, Past { ended_at: 300, items: 4 }];

    #[test]
    fn the_oldest_leave_first() {
        let by_items = |most| Retention { max_items: Some(most), max_age_ms: None }.evicts(&REQUESTS, 400);
        assert_eq!([9, 8, 7, 6, 4, 1].map(by_items), [0, 1, 1, 2, 2, 2]);
        let by_age = |most| Retention { max_items: None, max_age_ms: Some(most) }.evicts(&REQUESTS, 400);
        assert_eq!([300, 299, 100, 99].map(by_age), [0, 1, 2, 3]);
    }

    #[test]
    fn nothing_said_keeps_everything() {
        assert_eq!(Retention::default().evicts(&REQUESTS, i64::MAX), 0);
    }
}
