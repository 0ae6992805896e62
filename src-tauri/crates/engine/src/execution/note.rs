//! What the blocks of a request said of their session: journal entries and metadata.
//!
//! Kept beside the log, because a flow reads its own notes before they are committed. An attempt that
//! comes to nothing has said nothing.

use std::sync::Arc;

use serde_json::Value;

use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::model::event::Event;
use crate::model::identity::InstanceId;
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
        let instance =
            InstanceId { path: event.path.as_deref().unwrap_or_default(), attempt: event.attempt }.to_string().into();
        Some(Note { kind, value: kind.read(&event.kind)?.clone(), instance })
    }
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
