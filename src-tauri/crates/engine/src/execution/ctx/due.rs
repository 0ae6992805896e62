//! The reactions to what a block has written, as the log tells of them. Must not run them.

use super::Context;
use crate::model::event::EventKind;
use crate::model::resource::due::DueReaction;

impl Context {
    /// Records which reactions are due once the event that follows is committed.
    pub(crate) fn record_due(&self, callback: Option<&str>, reactions: &[DueReaction]) {
        if !reactions.is_empty() {
            let (callback, reactions) = (callback.map(str::to_owned), reactions.to_vec());
            self.record(EventKind::ReactionsDue { callback, reactions });
        }
    }
}
