//! Keeps the recorded order of results, and in a replay also of the starts and ends of blocks (ARCHITECTURE §5.11).
//! `turns` and `effect_log` decide whose turn it is.

use std::rc::Rc;

use crate::execution::record::position::Position;
use crate::execution::run::frame::Frame;
use crate::execution::run::{Run, defaults};
use crate::model::flow::Block;

impl Run {
    /// Lets the next recorded result settle. Call it whenever the request can make no progress by itself, even if it
    /// waits for something outside. Returns whether a result settled. None settles while the run waits for a commit,
    /// because code after the recorded result could overtake an earlier effect whose start is still being committed.
    pub fn settle_next(&self) -> bool {
        !self.recorder.is_committing() && self.turns.next(|_| {})
    }

    /// Waits for the turn of a recorded result.
    pub(crate) async fn wait_for_turn(&self, position: Position) {
        match &self.effect_log {
            Some(effect_log) => effect_log.wait_for(position).await,
            // A resume ignores the recorded time, because clocks may have been set back.
            None => self.turns.wait((0, position.1)).await,
        }
    }

    /// Waits for the turn of a block that a function or a model is about to call, if its end is in the log. Returns
    /// whether it is.
    pub(crate) async fn wait_for_recorded_end(&self, path: &str, block: &Block) -> bool {
        let end = self.replay_cache.end_of(path, block);
        if self.effect_log.is_none()
            && let Some((ended, _)) = end
        {
            self.wait_for_turn((0, ended)).await;
        }
        end.is_some()
    }

    /// In a replay: waits until a block may end.
    pub(crate) async fn wait_for_recorded_block_end(&self, frame: &Rc<Frame>) {
        if let Some(effect_log) = &self.effect_log {
            effect_log.wait_for_recorded_end(&frame.path, frame.attempt).await;
        }
    }

    /// In a replay: returns whether this was a Call that completed. One of an earlier version did so also if its result
    /// could not be written, and the tick around it tells that.
    pub(crate) fn has_completed_call(&self, frame: &Frame) -> bool {
        self.effect_log.as_ref().is_some_and(|log| log.has_completed(&frame.path, frame.attempt))
    }

    /// In a replay: waits until a block may start, and resets transient state that a resume had reset by then.
    pub(crate) async fn wait_for_recorded_start(&self, frame: &Rc<Frame>) {
        let Some(effect_log) = &self.effect_log else { return };
        effect_log.wait_for_recorded_start(&frame.path, frame.attempt).await;
        // A chain that a resume continued would reset state too early, because its first steps ended before the resume.
        if frame.block.only_runs_others() {
            return;
        }
        let resumes = effect_log.resumes(&frame.path, frame.attempt);
        for own in frame.chain().filter_map(|frame| frame.own.clone()) {
            own.reset_transient(resumes, &defaults(&own.schemas), self.next_stamp());
        }
    }
}
