//! A recorded request whose last answer was refused: the flow's own schema did not accept it, or today's code did not
//! come to it.
//!
//! The request was parked, and waits as before. A replay has no answer, so it waits at the same question. The blocks at
//! and around that question are compared as far as they came; the blocks beside it were cut off.

use std::borrow::Cow;
use std::collections::HashSet;

use engine::event::{Event, EventKind, Outcome, RequestStatus};
use engine::path::is_at_or_inside;

/// Returns the log with those blocks as waiting, and whether an answer was refused last.
pub(super) fn as_waiting(recorded: &[Event]) -> (Cow<'_, [Event]>, bool) {
    let begin = recorded.iter().rposition(|event| matches!(event.kind, EventKind::RequestResumed { .. })).unwrap_or(0);
    let mut reopened: HashSet<&str> = HashSet::new();
    let mut waits = false;
    for event in &recorded[begin..] {
        match &event.kind {
            EventKind::SuspensionReopened { id } => drop(reopened.insert(id)),
            EventKind::RequestStatus { status } => waits = *status == RequestStatus::Suspended,
            EventKind::RequestFinished { .. } => waits = false,
            _ => {}
        }
    }
    if reopened.is_empty() || !waits {
        return (Cow::Borrowed(recorded), false);
    }
    let asked = |event: &&Event| matches!(&event.kind, EventKind::Suspended(asked) if reopened.contains(&*asked.id));
    let paths: Vec<&str> = recorded.iter().filter(asked).filter_map(|event| event.path.as_deref()).collect();
    let is_around = |path: &str| paths.iter().any(|asking| is_at_or_inside(asking, path));
    let mut events = recorded.to_vec();
    for event in &mut events[begin..] {
        let is_asking = event.path.as_deref().is_some_and(is_around);
        if let EventKind::BlockFinished { outcome, error: None, memoized: false, .. } = &mut event.kind
            && *outcome == Outcome::Abandoned
            && is_asking
        {
            *outcome = Outcome::Suspended;
        }
    }
    (Cow::Owned(events), true)
}
