//! What an execution waits for before its own results settle (ARCHITECTURE §5.11), and where it stops in a plan.

use std::sync::Arc;

use super::Context;

impl Context {
    /// Waits until the recorded results have settled that this execution asks for, if it repeats one that an
    /// interruption or a question ended: a result of this run came after them.
    pub(crate) async fn wait_behind_log(&self) {
        if self.run.effect_log.is_none() && self.run.replay_cache.attempts.contains_key(&self.frame.path) {
            self.run.turns.wait_behind_log().await;
        }
    }

    /// Waits for the turn of a block of this run that a function or a model called and that has ended. `was_recorded`
    /// says whether its end was in the log.
    pub(crate) async fn wait_to_settle(&self, path: &str, was_recorded: bool) {
        match &self.run.effect_log {
            Some(effect_log) => {
                let path: Arc<str> = path.into();
                let attempt = self.run.newest_attempt(&path);
                effect_log.wait_until_ended(&path, attempt).await;
            }
            None if !was_recorded => self.wait_behind_log().await,
            None => {}
        }
    }

    /// Stops the block where it would ask the outside something, if the request is only planned.
    pub(crate) async fn stop_if_only_planned(&self) {
        if self.run.only_plans {
            self.frame.suspended.set();
            std::future::pending::<()>().await;
        }
    }
}
