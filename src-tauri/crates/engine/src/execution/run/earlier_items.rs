//! In a replay: shows the items from before the tries that count, as soon as their order can be seen: before the code
//! of such a try looks at items, adds one, or asks, and before the try ends.

use crate::execution::record::earlier_items::{EarlierItem, EarlierItems};
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;

impl Run {
    /// In a replay: shows the items that were there when the recorded attempt began. A block that only runs others
    /// begins before what its first steps show.
    pub(crate) fn show_items_before(&self, frame: &Frame) {
        if !frame.block.only_runs_others() {
            self.show_items(|items| items.before_attempt(&frame.path, frame.attempt));
        }
    }

    /// In a replay: shows the items that were there when the recorded callback was called.
    pub(crate) fn show_items_before_call(&self, frame: &Frame, callback: &str) {
        self.show_items(|items| items.before_call(&frame.path, frame.attempt, callback));
    }

    /// Records items, except in a run of one block alone: its log has them.
    fn show_items(&self, take: impl FnOnce(&EarlierItems) -> Vec<EarlierItem>) {
        let Some(effect_log) = self.effect_log.as_ref().filter(|_| self.ends_with.is_none()) else { return };
        for item in take(&effect_log.earlier_items) {
            self.recorder.record(item.path.as_ref(), item.attempt, item.kind);
        }
    }
}
