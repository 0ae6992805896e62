//! Pauses that were started before a resume, and when they end (ARCHITECTURE §6.4).
//!
//! A pause that had not ended is waited for only for the rest. But a pause that runs together with another effect may
//! be its timeout, so it starts anew with that effect.
//!
//! A pause that had ended is answered from the log if its block had fetched nothing before it: a fetch is made again,
//! so the pause after it is, too. It is also answered from the log if it ran together with a result that the log
//! answers (a block that a function called, or `runOnce`), because such results settle in the order of the log. Must
//! not read a clock.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::Attempt;
use super::numbers::Numbered;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::path::{is_called, parent};

/// A pause that was started before a resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// Its length in milliseconds.
    pub(crate) ms: u64,
    /// When it started, milliseconds since the epoch.
    pub(crate) since: i64,
    /// Its `effect_started` event.
    pub(crate) started: Seq,
    /// The event of its end, if it ended.
    pub(crate) ended: Option<Seq>,
    /// Whether no other effect of its block ran at the same time.
    is_alone: bool,
    /// Whether no fetch of its block ran at the same time.
    is_without_fetch: bool,
    /// Whether its block had fetched nothing before it.
    is_first: bool,
    /// Whether a result that the log answers was waited for at the same time.
    is_ordered: bool,
}

impl Pause {
    /// Returns whether a resume keeps its end.
    fn is_kept(&self) -> bool {
        match self.ended {
            None => self.is_alone,
            Some(_) => self.is_without_fetch && (self.is_ordered || (self.is_alone && self.is_first)),
        }
    }
}

/// The effects of one attempt other than pauses: how many are running, and whether any was a fetch.
#[derive(Default)]
struct Outside {
    open: usize,
    open_fetches: usize,
    has_fetched: bool,
}

/// The pauses of all blocks, by path and ordinal.
#[derive(Default)]
pub(super) struct Pauses {
    known: HashMap<Arc<str>, Numbered<Pause>>,
    outside: HashMap<Attempt, Outside>,
    /// By path, how many results are waited for that the log answers once they are there.
    open_results: HashMap<Arc<str>, usize>,
}

impl Pauses {
    /// Returns the pause of this ordinal, if it keeps its end.
    pub(super) fn find(&self, path: &str, ordinal: u32) -> Option<Pause> {
        self.known.get(path)?.get(ordinal).copied().filter(Pause::is_kept)
    }

    /// Reads an event of a block, by the run of it that recorded the event.
    pub(super) fn read(&mut self, run: &Attempt, event: &Event) {
        let path = &run.0;
        match &event.kind {
            EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. } => {
                self.open_results.remove(path);
                self.open_result_of_caller(path);
            }
            EventKind::BlockFinished { .. } if is_called(path) => {
                if let Some(open) = parent(path).and_then(|caller| self.open_results.get_mut(caller)) {
                    *open = open.saturating_sub(1);
                }
            }
            EventKind::EffectStarted { effect: EffectKind::Sleep, ordinal, request } => {
                let Some(ms) = request.as_ref().and_then(Value::as_u64) else { return };
                let none = Outside::default();
                let outside = self.outside.get(run).unwrap_or(&none);
                let pause = Pause {
                    ms,
                    since: event.at,
                    started: event.seq,
                    ended: None,
                    is_alone: outside.open == 0,
                    is_without_fetch: outside.open_fetches == 0,
                    is_first: !outside.has_fetched,
                    is_ordered: self.open_results.get(path).is_some_and(|open| *open > 0),
                };
                self.known.entry(path.clone()).or_default().insert(run, *ordinal, event.seq, pause);
            }
            EventKind::EffectFinished { effect: EffectKind::Sleep, started: Some(started), .. } => {
                let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
                let ended = pauses.filter(|pause| pause.started == *started && pause.ended.is_none());
                ended.for_each(|pause| pause.ended = Some(event.seq));
            }
            EventKind::EffectStarted { effect, .. } => {
                let outside = self.outside.entry(run.clone()).or_default();
                outside.open += 1;
                let is_fetch = *effect == EffectKind::Fetch;
                outside.open_fetches += usize::from(is_fetch);
                outside.has_fetched |= is_fetch;
                let is_ordered = *effect == EffectKind::Once;
                if is_ordered {
                    *self.open_results.entry(path.clone()).or_default() += 1;
                }
                self.note_beside(path, |pause| {
                    pause.is_alone = false;
                    pause.is_without_fetch &= !is_fetch;
                    pause.is_ordered |= is_ordered;
                });
            }
            EventKind::EffectFinished { effect, started: Some(_), memoized: false, .. } => {
                if let Some(outside) = self.outside.get_mut(run) {
                    outside.open = outside.open.saturating_sub(1);
                    outside.open_fetches -= usize::from(*effect == EffectKind::Fetch && outside.open_fetches > 0);
                }
                if *effect == EffectKind::Once
                    && let Some(open) = self.open_results.get_mut(path)
                {
                    *open = open.saturating_sub(1);
                }
            }
            EventKind::Suspended(_) => self.note_beside(path, |pause| pause.is_alone = false),
            EventKind::CallbackReturned { events, memoized: false, .. } => {
                let known = self.known.get_mut(path).into_iter();
                known.for_each(|known| known.take_out(|seq| events.contains(&seq)));
            }
            _ => {}
        }
    }

    /// Removes the pauses of a path.
    pub(super) fn forget(&mut self, path: &str) {
        self.known.remove(path);
    }

    /// Notes that a block which a function or a model called has begun: its caller waits for its result.
    fn open_result_of_caller(&mut self, path: &str) {
        let Some(caller) = parent(path).filter(|_| is_called(path)) else { return };
        *self.open_results.entry(caller.into()).or_default() += 1;
        self.note_beside(caller, |pause| pause.is_ordered = true);
    }

    /// Changes the pauses of a block that have not ended.
    fn note_beside(&mut self, path: &str, note: impl Fn(&mut Pause)) {
        let pauses = self.known.get_mut(path).into_iter().flat_map(Numbered::values_mut);
        pauses.filter(|pause| pause.ended.is_none()).for_each(note);
    }
}
