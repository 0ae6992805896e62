//! What ends a replay: an effect that it asked for and that was not recorded.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{EffectLog, RecordedEffect};
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::Seq;
use crate::model::operation::equal;
use crate::views::diff::diff;
use crate::views::model_requests::AskedWith;

/// An effect that the recording does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The block that asked.
    pub path: Arc<str>,
    /// What it asked for: a description, or the fields of the request that differ.
    pub asked: Value,
    /// What was recorded instead, as far as it differs, and its event.
    pub recorded: Option<(Seq, Value)>,
}

impl EffectLog {
    /// Notes an effect that was asked for and not found. Returns whether the replay has diverged: it has not, if the
    /// attempt was still running when the recording ended, or did not await the effect.
    pub(crate) fn note_missing(&self, path: &Arc<str>, attempt: u32, effect: EffectKind, ordinal: u32) -> bool {
        let is_unawaited = self.unawaited.contains(&(path.clone(), attempt, effect, ordinal));
        if is_unawaited || self.unfinished.contains(&(path.clone(), attempt)) {
            return false;
        }
        let nth = if attempt == 0 { String::new() } else { format!(" of attempt {}", attempt + 1) };
        let asked = json!(format!("{}, call {}{nth}", effect.as_str(), ordinal + 1));
        self.missing.borrow_mut().get_or_insert(Missing { path: path.clone(), asked, recorded: None });
        true
    }

    /// Returns the effect if it was recorded for an equal request; else notes the difference and fails with an abort.
    pub(crate) fn check_request(
        &self,
        path: &Arc<str>,
        kind: EffectKind,
        effect: RecordedEffect,
        request: &Value,
    ) -> Result<RecordedEffect, FlowError> {
        match effect.request.as_ref().map(AskedWith::whole) {
            Some(recorded) if !equal(&recorded, request) => {
                let (was, is) = differing(&recorded, request);
                let recorded = Some((effect.seq, json!({ kind.as_str(): was })));
                let asked = json!({ kind.as_str(): is });
                self.missing.borrow_mut().get_or_insert(Missing { path: path.clone(), asked, recorded });
                Err(FlowError::aborted())
            }
            _ => Ok(effect),
        }
    }
}

/// Returns the fields of two requests that differ, by path.
fn differing(recorded: &Value, asked: &Value) -> (Value, Value) {
    let (mut was, mut is) = (Map::new(), Map::new());
    for difference in diff(Some(recorded), Some(asked)) {
        was.extend(difference.old.map(|old| (difference.path.clone(), old)));
        is.extend(difference.new.map(|new| (difference.path, new)));
    }
    (was.into(), is.into())
}
