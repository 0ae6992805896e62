//! What no longer counts as the log is read: attempts that were tried again, cut off or left behind, and the hooks of
//! an end that a resume takes back.

use std::ops::Bound::{Excluded, Included};
use std::sync::Arc;

use super::LogReader;
use crate::model::event::{Event, EventKind};
use crate::model::path::{END_HOOKS, range_inside};

impl LogReader<'_> {
    /// Discards an attempt at a path. Writes that blocks inside it made to state outside are kept, like their commits
    /// to durable records.
    pub(super) fn discard_below(&mut self, path: &Arc<str>) {
        let range = range_inside(path);
        let inside = self.paths.range::<str, _>((Included(&*range.start), Excluded(&*range.end)));
        let inside: Vec<Arc<str>> = inside.cloned().collect();
        self.writes.discard_below(path, &inside, |by| self.replay_cache.has_ended_in(by));
        self.replay_cache.discard_below(path, &inside);
        self.replay_cache.suspensions.begin_try(path);
    }

    /// Marks all running attempts as unfinished.
    pub(super) fn interrupt(&mut self) {
        let left = self.open.drain().map(|((path, _), open)| (path, open.begun));
        self.replay_cache.unfinished.extend(left);
    }

    /// Reads an event of an execution that is left behind: only its attempt is counted.
    pub(super) fn read_detached(&mut self, path: Arc<str>, event: &Event) {
        if matches!(event.kind, EventKind::BlockStarted { .. }) {
            let next = self.replay_cache.attempts.entry(path).or_insert(0);
            *next = (*next).max(event.attempt + 1);
        }
    }

    /// Discards the hooks that ran at the end of the request: if a resume takes that end back, they run again at the
    /// next one. What they wrote stays.
    pub(super) fn forget_end_hooks(&mut self) {
        for hook in END_HOOKS {
            // `;` is the character after `:`.
            let end = format!("{};", hook.trim_end_matches(':'));
            let inside = self.paths.range::<str, _>((Included(hook), Excluded(&*end)));
            let paths: Vec<Arc<str>> = inside.cloned().collect();
            self.writes.discard_below(hook, &paths, |by| self.replay_cache.has_ended_in(by));
            for path in &paths {
                // Its own state starts empty.
                self.writes.discard_below(path, &[], |_| false);
                self.replay_cache.finished.remove(path);
                self.replay_cache.discard_below(path, &[]);
            }
        }
    }
}
