//! Which parts of an event known secrets are removed from, before the event is recorded (SEMANTICS §14).
//!
//! Texts that a flow does not store as its data: errors, log lines, notes, and keys. What a flow puts into state,
//! items, journal entries or outputs is kept as it is, so that a resume continues with it.

use std::sync::Arc;

use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded};
use crate::model::redaction::Redaction;

/// Redacts known values in an event.
pub(super) fn hide(redaction: &Redaction, kind: &mut EventKind) {
    let hide_error = |error: &mut FlowError| *error = redaction.thrown(std::mem::take(error));
    match kind {
        EventKind::BlockFinished { error: Some(error), .. }
        | EventKind::RequestFinished { error: Some(error), .. }
        | EventKind::HookReturned { error: Some(error), .. }
        | EventKind::EffectFinished { error: Some(error), .. } => hide_error(error),
        EventKind::EffectFinished { dispatch: Some(dispatch), .. } => redaction.known(dispatch),
        EventKind::EffectStarted { effect: EffectKind::Once, request: Some(key), .. } => {
            if let Some(text) = key.as_str() {
                *key = redaction.key(text).into();
            }
        }
        EventKind::Logged { text, .. } | EventKind::Noted { text } | EventKind::Drift { text, .. } => {
            redaction.known_text(text)
        }
        EventKind::ItemAdded { item } => {
            if let Some(key) = &mut item.key {
                *key = redaction.key(key).into_owned();
            }
            if item.item_type == "step_error" {
                item.payload.values_mut().for_each(|field| redaction.known(field));
            }
        }
        _ => {}
    }
}

/// Returns the name of the first known value in what a flow stores with an event, and where it is stored.
pub(super) fn stored(redaction: &Redaction, kind: &EventKind) -> Option<(Arc<str>, &'static str)> {
    let (value, place) = match kind {
        EventKind::StateChanged { operation, .. } => (operation.delta(), "state"),
        EventKind::ItemAdded { item } if item.item_type != "step_error" => (item.payload.clone().into(), "an item"),
        EventKind::ItemUpdated { patch, .. } | EventKind::ItemDone { patch, .. } => (patch.clone().into(), "an item"),
        EventKind::JournalAppended { entry } => (entry.clone(), "the journal"),
        EventKind::MetadataSet { metadata } => (metadata.clone(), "the session's metadata"),
        EventKind::BlockFinished { output: Some(Recorded::Value(output)), .. } => (output.clone(), "an output"),
        _ => return None,
    };
    Some((redaction.known_in(&value)?, place))
}
