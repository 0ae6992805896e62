//! Session notes: journal entries and metadata that the blocks of a request have written to their session.
//!
//! Kept in memory besides the log, because a flow reads its own notes before they are committed. Those of a discarded
//! attempt are removed.

use std::sync::Arc;

use serde_json::Value;

use crate::model::event::Event;
use crate::model::identity::InstanceId;
use crate::model::log::NoteKind;
use crate::views::attempts::counting;

/// A journal entry or metadata of one attempt.
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) value: Value,
    /// The attempt that wrote it: `path:attempt`.
    pub(crate) instance: Arc<str>,
}

impl Note {
    /// Returns the notes of a log that count, in its order.
    pub(crate) fn all(events: &[Event]) -> Vec<Note> {
        // Which attempts count takes a pass over all events; most requests write no notes.
        let has_notes = events.iter().any(|event| kind_of(event).is_some());
        if has_notes { counting(events).filter_map(Note::of).collect() } else { Vec::new() }
    }

    fn of(event: &Event) -> Option<Note> {
        let kind = kind_of(event)?;
        let instance =
            InstanceId { path: event.path.as_deref().unwrap_or_default(), attempt: event.attempt }.to_string().into();
        Some(Note { kind, value: kind.read(&event.kind)?.clone(), instance })
    }
}

fn kind_of(event: &Event) -> Option<NoteKind> {
    [NoteKind::Journal, NoteKind::Metadata].into_iter().find(|kind| kind.read(&event.kind).is_some())
}
