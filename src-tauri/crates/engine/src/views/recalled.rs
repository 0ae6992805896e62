//! View: which writes a resume did not make but brought into force again, from the log.
//!
//! They stand in the log under a new attempt and change the state of that one, so states are made from
//! them; whoever asks who wrote something means the write that ran.

use std::collections::{HashMap, HashSet};

use crate::model::event::{Event, EventKind, Seq};

/// The writes of these events that repeat one before them. A fork repeats, in its first life, what it
/// has in common with another request; those stand for the writes that ran there.
pub fn recalled(events: &[Event]) -> HashSet<Seq> {
    let forked = events.iter().find_map(|event| match &event.kind {
        EventKind::RequestStarted { forked_from, .. } => forked_from.as_ref().map(|from| from.seq),
        _ => None,
    });
    let is_resumed = |event: &&Event| matches!(event.kind, EventKind::RequestResumed { .. });
    let mut resumes = events.iter().filter(is_resumed).map(|event| event.seq);
    let since = match forked {
        None => resumes.next(),
        Some(seq) => resumes.filter(|resumed| *resumed > seq).nth(1),
    };
    let Some(since) = since else { return HashSet::new() };
    let mut again: HashSet<Seq> = HashSet::new();
    // Attempts that were taken from the log, by the event that says so.
    let mut taken: HashMap<(&str, u32), Seq> = HashMap::new();
    for event in events {
        match (&event.kind, event.path.as_deref()) {
            (EventKind::BlockFinished { memoized: true, .. }, Some(path)) => {
                taken.insert((path, event.attempt), event.seq);
            }
            (EventKind::CallbackReturned { memoized: true, events, .. }, _) => again.extend(events),
            _ => {}
        }
    }
    let is_recalled = |event: &&Event| {
        let is_write = matches!(event.kind, EventKind::StateChanged { .. });
        let end = event.path.as_deref().map(|path| taken.get(&(path, event.attempt)));
        // Nobody but a resume writes in the name of the request itself.
        let by_resume = end.is_none_or(|end| end.is_some_and(|end| event.seq < *end));
        is_write && event.seq > since && (by_resume || again.contains(&event.seq))
    };
    events.iter().filter(is_recalled).map(|event| event.seq).collect()
}
