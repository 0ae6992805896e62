//! The effects of a flow's file while it loads (clock and random values), at path `load` (ARCHITECTURE §6.5).
//!
//! A file is evaluated before its request starts, and again when the request is resumed or replayed. The values are
//! recorded with the request, before its first block, and each later evaluation gets the same values. Must not run
//! anything of a flow.

use std::collections::HashMap;

use serde_json::Value;

use crate::execution::run::Run;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind};

/// The path of effects of a file while it loads.
pub const LOAD: &str = "load";

/// Returns the recorded values, by kind and ordinal. A fork's own values replace those of the request it comes from.
pub fn load_effects(events: &[Event]) -> HashMap<(EffectKind, u32), Value> {
    let found = events.iter().filter_map(|event| match &event.kind {
        EventKind::EffectFinished { effect, ordinal, result, .. } if event.path.as_deref() == Some(LOAD) => {
            Some(((*effect, *ordinal), result.clone()))
        }
        _ => None,
    });
    found.collect()
}

impl Run {
    /// Records a value that the request's file got while it loaded; ordinals count by kind.
    pub fn record_load_effect(&self, effect: EffectKind, ordinal: u32, result: Value) {
        let event = EventKind::EffectFinished {
            effect,
            ordinal,
            started: None,
            request: None,
            result,
            error: None,
            memoized: false,
            dispatch: None,
        };
        self.recorder.record(Some(&LOAD.into()), 0, event);
    }
}
