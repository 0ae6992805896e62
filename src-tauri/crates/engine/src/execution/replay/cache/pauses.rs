//! Pauses that were started before a resume, and when they end: a resume waits only for the rest (ARCHITECTURE §6.4).
//!
//! A pause that runs together with another effect may be its timeout, so it must start anew with that effect: a pause
//! keeps its end only if no other effect of its block ran at the same time. A pause that had ended is skipped only if
//! its block had fetched nothing before it: the fetch runs again, so the pause after it must, too. Must not read a
//! clock.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::numbers::Numbered;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};

/// A pause that was started before a resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// Its length in milliseconds.
    pub(crate) ms: u64,
    /// When it started, milliseconds since the epoch.
    pub(crate) since: i64,
    /// Its `effect_started` event.
    pub(crate) started: Seq,
    has_ended: bool,
    /// Whether no other effect of its block ran at the same time.
    is_alone: bool,
    /// Whether its block had fetched nothing before it.
    is_first: bool,
}

/// The effects of one attempt other than pauses: how many are running, and whether any was a fetch.
#[derive(Default)]
struct Outside {
    open: usize,
    has_fetched: bool,
}

/// The pauses of all blocks, by path and ordinal.
#[derive(Default)]
pub(super) struct Pauses {
    known: HashMap<Arc<str>, Numbered<Pause>>,
    outside: HashMap<(Arc<str>, u32), Outside>,
}

impl Pauses {
    /// Returns the pause of this ordinal, if it keeps its end.
    pub(super) fn find(&self, path: &str, ordinal: u32) -> Option<Pause> {
        let pause = self.known.get(path)?.get(ordinal).copied();
        pause.filter(|pause| pause.is_alone && (!pause.has_ended || pause.is_first))
    }

    /// Reads an event of a block.
    pub(super) fn read(&mut self, path: &Arc<str>, event: &Event) {
        let attempt = || (path.clone(), event.attempt);
        match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Sleep, ordinal, request } => {
                let Some(ms) = request.as_ref().and_then(Value::as_u64) else { return };
                let attempt = attempt();
                let (is_alone, is_first) = self
                    .outside
                    .get(&attempt)
                    .map_or((true, true), |outside| (outside.open == 0, !outside.has_fetched));
                let pause = Pause { ms, since: event.at, started: event.seq, has_ended: false, is_alone, is_first };
                self.known.entry(path.clone()).or_default().insert(&attempt, *ordinal, event.seq, pause);
            }
            EventKind::EffectFinished { effect: EffectKind::Sleep, started: Some(started), .. } => {
                let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
                pauses.filter(|pause| pause.started == *started).for_each(|pause| pause.has_ended = true);
            }
            EventKind::EffectStarted { effect, .. } => {
                let outside = self.outside.entry(attempt()).or_default();
                outside.open += 1;
                outside.has_fetched |= *effect == EffectKind::Fetch;
                self.accompany(path);
            }
            EventKind::EffectFinished { started: Some(_), memoized: false, .. } => {
                if let Some(outside) = self.outside.get_mut(&attempt()) {
                    outside.open = outside.open.saturating_sub(1);
                }
            }
            EventKind::Suspended(_) => self.accompany(path),
            EventKind::CallbackReturned { events, memoized: false, .. } => {
                let known = self.known.get_mut(path).into_iter();
                known.for_each(|known| known.take_out(|seq| events.contains(&seq)));
            }
            _ => {}
        }
    }

    /// Removes the pauses of some paths.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&Arc<str>) -> bool) {
        self.known.retain(|path, _| !is_gone(path));
    }

    /// Notes that another effect runs at the same time as a block's pauses.
    fn accompany(&mut self, path: &str) {
        let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
        pauses.filter(|pause| !pause.has_ended).for_each(|pause| pause.is_alone = false);
    }
}
