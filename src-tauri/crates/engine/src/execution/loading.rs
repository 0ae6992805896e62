//! What a flow's file got from outside while it loaded, at path `load` (ARCHITECTURE §6.5).
//!
//! A file is evaluated before its request begins, and for a request that is taken up again or replayed it is
//! evaluated once more. The values it draws then are recorded with the request that uses them, before its
//! first block, and are the same whenever its file is evaluated again. Must not: run anything of a flow.

use std::collections::HashMap;

use serde_json::Value;

use crate::execution::request::Run;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind};

/// The path of what happens while a file loads.
pub const LOAD: &str = "load";

/// The recorded values, by kind and number. Of a fork, its own come before those of the request it comes from.
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
    /// Records what the request's file drew; numbers count by kind.
    pub fn record_load_effect(&self, effect: EffectKind, ordinal: u32, result: Value) {
        let event = EventKind::EffectFinished {
            effect,
            ordinal,
            started: None,
            request: None,
            result,
            error: None,
            memoized: false,
        };
        self.recorder.record(Some(&LOAD.into()), 0, event);
    }
}
