//! Session notes: journal entries and metadata that the blocks of a request have written to their session.
//!
//! Kept in memory besides the log, because a flow reads its own notes before they are committed. Those of a discarded
//! attempt are removed.

use std::sync::Arc;

use serde_json::Value;

use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::model::event::Event;
use crate::model::identity::InstanceId;
use crate::model::log::NoteKind;

/// A journal entry or metadata of one attempt.
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) value: Value,
    /// The attempt that wrote it: `path:attempt`.
    instance: Arc<str>,
}

impl Note {
    pub(crate) fn of(event: &Event) -> Option<Note> {
        let kind = [NoteKind::Journal, NoteKind::Metadata].into_iter().find(|kind| kind.read(&event.kind).is_some())?;
        let instance =
            InstanceId { path: event.path.as_deref().unwrap_or_default(), attempt: event.attempt }.to_string().into();
        Some(Note { kind, value: kind.read(&event.kind)?.clone(), instance })
    }
}

impl Run {
    /// Keeps a note of a block's attempt.
    pub(crate) fn note(&self, frame: &Frame, kind: NoteKind, value: Value) {
        self.notes.borrow_mut().push(Note { kind, value, instance: frame.instance.clone() });
    }

    /// Removes the notes of a discarded attempt.
    pub(crate) fn forget_notes(&self, frame: &Frame) {
        self.notes.borrow_mut().retain(|note| note.instance != frame.instance);
    }
}
