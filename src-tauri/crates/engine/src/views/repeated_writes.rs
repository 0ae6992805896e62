//! View: which writes of the log a resume applied again without making them.
//!
//! They stand in the log under a new attempt and change the state of that one, so states are made from
//! them; whoever asks who wrote something means the write that ran.

use std::collections::HashSet;

use super::attempts::Ends;
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
    let ends = Ends::read(events);
    let is_recalled = |event: &&Event| {
        let is_write = matches!(event.kind, EventKind::StateChanged { .. });
        // Nobody but a resume writes in the name of the request itself.
        let by_resume = event.path.is_none() || ends.is_taken_from_log(event);
        is_write && event.seq > since && (by_resume || ends.is_repeated(event))
    };
    events.iter().filter(is_recalled).map(|event| event.seq).collect()
}
