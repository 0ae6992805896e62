//! View: effects of which nobody knows whether they happened.
//!
//! An effect that leaves the process is in the log before it can happen. Where the process died, or the block
//! was cut off, before an end was recorded, it may have happened or not; the block runs again from its top, and
//! makes it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{background_task, is_at_or_inside};

/// An effect that began and has no end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenEffect {
    /// The block.
    pub path: Arc<str>,
    /// `fetch`, `model` or `once`.
    pub effect: EffectKind,
    /// Which effect of this kind it was in its block, from 0.
    pub ordinal: u32,
    /// The event of its beginning.
    pub seq: Seq,
    #[serde(skip)]
    attempt: u32,
}

/// What may have happened outside although no end of it was recorded, in the order of the log, as far as a
/// resume makes it again.
pub fn may_have_happened(events: &[Event]) -> Vec<OpenEffect> {
    let mut open: BTreeMap<Seq, OpenEffect> = BTreeMap::new();
    for event in events {
        let Some(path) = &event.path else { continue };
        match &event.kind {
            EventKind::EffectStarted {
                effect: effect @ (EffectKind::Fetch | EffectKind::Model | EffectKind::Once),
                ordinal,
                ..
            } => {
                // Made again, it stands for the one before.
                let is_same = |one: &OpenEffect| {
                    one.path == *path
                        && (one.effect, one.ordinal) == (*effect, *ordinal)
                        && one.attempt <= event.attempt
                };
                open.retain(|_, one| !is_same(one));
                let (effect, ordinal, attempt) = (*effect, *ordinal, event.attempt);
                open.insert(event.seq, OpenEffect { path: path.clone(), effect, ordinal, seq: event.seq, attempt });
            }
            EventKind::EffectFinished { started: Some(started), .. } => drop(open.remove(started)),
            // What a function left behind that has returned is not made again.
            EventKind::CallbackReturned { events, .. } => open.retain(|seq, _| !events.contains(seq)),
            EventKind::BlockFinished { outcome: Outcome::Suspended, .. } => {}
            EventKind::BlockFinished { outcome: Outcome::Completed, .. } => {
                // Work beside a chain has its own end.
                open.retain(|_, one| !is_at_or_inside(&one.path, path) || is_background(&one.path, path));
            }
            EventKind::BlockFinished { error, .. } => {
                let is_cut = error.as_ref().is_some_and(|error| error.is_abort() || error.name == "StorageError");
                open.retain(|_, one| is_cut || one.path != *path || one.attempt != event.attempt);
            }
            _ => {}
        }
    }
    open.into_values().collect()
}

/// Whether a path inside a block belongs to work beside it.
fn is_background(path: &str, outer: &str) -> bool {
    background_task(path).is_some_and(|background_task| background_task.len() > outer.len())
}
