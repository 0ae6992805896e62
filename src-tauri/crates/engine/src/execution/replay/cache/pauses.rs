//! Pauses that were under way, and when they end: a resume waits only for what is left of them (ARCHITECTURE §6.4).
//!
//! A timer that guards another effect must start anew with that effect: it tells how long that may take, not
//! until when. So a pause keeps its end only where nothing else of its block was under way beside it; and one
//! that had ended is passed over only where no page had been fetched before it, for that is fetched again, and
//! the pause after it has its reason again. Must not know a clock.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::numbers::Numbered;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};

/// A pause that an earlier part of the request began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// How long it was to be.
    pub(crate) ms: u64,
    /// When it began, milliseconds since the epoch.
    pub(crate) since: i64,
    /// The event of its beginning.
    pub(crate) started: Seq,
    has_ended: bool,
    /// Whether nothing else of its block was under way beside it.
    is_alone: bool,
    /// Whether its block had fetched nothing before it.
    is_first: bool,
}

/// What one execution of a block had under way besides pauses.
#[derive(Default)]
struct Outside {
    open: usize,
    has_fetched: bool,
}

/// The pauses of all blocks, by path and number.
#[derive(Default)]
pub(super) struct Pauses {
    known: HashMap<Arc<str>, Numbered<Pause>>,
    outside: HashMap<(Arc<str>, u32), Outside>,
}

impl Pauses {
    /// The pause of this number, where it keeps its end.
    pub(super) fn find(&self, path: &str, ordinal: u32) -> Option<Pause> {
        let pause = self.known.get(path)?.get(ordinal).copied();
        pause.filter(|pause| pause.is_alone && (!pause.has_ended || pause.is_first))
    }

    /// Takes in an event of a block.
    pub(super) fn read(&mut self, path: &Arc<str>, event: &Event) {
        let attempt = (path.clone(), event.attempt);
        let outside = self.outside.entry(attempt.clone()).or_default();
        match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Sleep, ordinal, request } => {
                let Some(ms) = request.as_ref().and_then(Value::as_u64) else { return };
                let (is_alone, is_first) = (outside.open == 0, !outside.has_fetched);
                let pause = Pause { ms, since: event.at, started: event.seq, has_ended: false, is_alone, is_first };
                self.known.entry(path.clone()).or_default().insert(&attempt, *ordinal, event.seq, pause);
            }
            EventKind::EffectFinished { effect: EffectKind::Sleep, started: Some(started), .. } => {
                let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
                pauses.filter(|pause| pause.started == *started).for_each(|pause| pause.has_ended = true);
            }
            EventKind::EffectStarted { effect, .. } => {
                outside.open += 1;
                outside.has_fetched |= *effect == EffectKind::Fetch;
                self.accompany(path);
            }
            EventKind::EffectFinished { started: Some(_), memoized: false, .. } => {
                outside.open = outside.open.saturating_sub(1);
            }
            EventKind::Suspended(_) => self.accompany(path),
            EventKind::CallbackReturned { events, memoized: false, .. } => {
                let known = self.known.get_mut(path).into_iter();
                known.for_each(|known| known.take_out(|seq| events.contains(&seq)));
            }
            _ => {}
        }
    }

    /// Forgets the pauses of the blocks at some paths.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&Arc<str>) -> bool) {
        self.known.retain(|path, _| !is_gone(path));
    }

    /// Something is under way beside a block's pauses.
    fn accompany(&mut self, path: &str) {
        let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
        pauses.filter(|pause| !pause.has_ended).for_each(|pause| pause.is_alone = false);
    }
}
