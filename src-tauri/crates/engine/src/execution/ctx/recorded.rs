//! What a driver may ask of the log of the request that it resumes or replays.

use super::Context;
use crate::execution::record::cache::RecordedSuspension;

impl Context {
    /// Returns whether the block at a path has ended in the log.
    pub fn has_ended(&self, path: &str) -> bool {
        self.run.replay_cache.has_ended(path)
    }

    /// Returns the suspension that the block at a path itself recorded in its newest try, by its ordinal.
    pub fn recorded_suspension(&self, path: &str, ordinal: u32) -> Option<&RecordedSuspension> {
        self.run.replay_cache.own_suspension(path, ordinal)
    }

    /// Returns whether the log has a drift event with this text.
    pub fn has_drift_text(&self, text: &str) -> bool {
        self.run.replay_cache.has_drift_text(text)
    }

    /// Returns whether this is a replay, whose outside is the log.
    pub fn is_replay(&self) -> bool {
        self.run.effect_log.is_some()
    }

    /// Returns whether a call of a model's tool runs a block at a path at which earlier versions ran none. Only a
    /// replay of a log that has none there does not.
    pub fn has_block_of_call(&self, path: &str) -> bool {
        self.run.effect_log.as_ref().is_none_or(|log| log.has_called(path))
    }

    /// Returns the name of the callback call that runs now; nothing in a handler.
    pub fn callback_name(&self) -> &str {
        self.call.as_ref().map_or("", |call| &call.name)
    }
}
