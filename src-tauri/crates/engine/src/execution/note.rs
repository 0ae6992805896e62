//! What the blocks of a request said of their session: journal entries and metadata.
//!
//! Kept beside the log, because a flow reads its own notes before they are committed. An attempt that
//! comes to nothing has said nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::model::event::{Event, EventKind, Outcome};
use crate::model::log::NoteKind;

/// What a block said of the session, until the block comes to nothing.
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) value: Value,
    /// Whose: `path:attempt`.
    instance: Arc<str>,
}

impl Note {
    pub(crate) fn of(event: &Event) -> Option<Note> {
        let kind = [NoteKind::Journal, NoteKind::Metadata].into_iter().find(|kind| kind.read(&event.kind).is_some())?;
        let instance = crate::model::path::instance(event.path.as_deref().unwrap_or_default(), event.attempt).into();
        Some(Note { kind, value: kind.read(&event.kind)?.clone(), instance })
    }
}

/// The events of a request that say something of its session and count: those of blocks that ended, and
/// those of functions that returned, unless their block was tried again.
pub(crate) fn counting(events: &[Event]) -> impl Iterator<Item = &Event> {
    let mut ended = HashMap::new();
    let mut returned = HashSet::new();
    for event in events {
        match &event.kind {
            EventKind::BlockFinished { outcome, .. } => {
                ended.insert((event.path.as_deref(), event.attempt), *outcome);
            }
            EventKind::CallbackReturned { events, memoized: false, .. } => returned.extend(events.iter().copied()),
            _ => {}
        }
    }
    events.iter().filter(move |event| match ended.get(&(event.path.as_deref(), event.attempt)) {
        Some(Outcome::Completed | Outcome::Failed) => true,
        Some(Outcome::Abandoned) => false,
        Some(Outcome::Suspended) | None => returned.contains(&event.seq),
    })
}

impl Run {
    /// Keeps what a block says of the session.
    pub(crate) fn note(&self, frame: &Frame, kind: NoteKind, value: Value) {
        self.notes.borrow_mut().push(Note { kind, value, instance: frame.instance.clone() });
    }

    /// Forgets what an attempt said that came to nothing.
    pub(crate) fn forget_notes(&self, frame: &Frame) {
        self.notes.borrow_mut().retain(|note| note.instance != frame.instance);
    }
}
