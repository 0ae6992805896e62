//! View: effects of which nobody knows whether they happened.
//!
//! An effect that leaves the process is in the log before it can happen. Where the process died, or the block
//! was cut off, before an end was recorded, it may have happened or not; the block runs again from its top, and
//! makes it again.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::Serialize;

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{background_task, range_inside};

/// An effect that began and has no end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenEffect {
    /// The block.
    pub path: Arc<str>,
    /// `fetch`, `model` or `once`.
    pub effect: EffectKind,
    /// Which effect of this kind it was in its block, from 0.
    pub ordinal: u32,
    /// The event of its beginning.
    pub seq: Seq,
    #[serde(skip)]
    attempt: u32,
}

/// The effects without an end, by the paths of their blocks.
#[derive(Default)]
struct OpenEffects {
    by_path: BTreeMap<Arc<str>, BTreeMap<Seq, OpenEffect>>,
    paths: HashMap<Seq, Arc<str>>,
}

impl OpenEffects {
    fn add(&mut self, effect: OpenEffect) {
        self.paths.insert(effect.seq, effect.path.clone());
        self.by_path.entry(effect.path.clone()).or_default().insert(effect.seq, effect);
    }

    /// Removes the effect that began with an event.
    fn remove(&mut self, seq: Seq) {
        let Some(path) = self.paths.remove(&seq) else { return };
        if let Some(of_block) = self.by_path.get_mut(&path) {
            of_block.remove(&seq);
            if of_block.is_empty() {
                self.by_path.remove(&path);
            }
        }
    }

    /// Removes those of the block at a path that are wanted.
    fn remove_of(&mut self, path: &str, is_wanted: impl Fn(&OpenEffect) -> bool) {
        let of_block = self.by_path.get(path).into_iter().flat_map(BTreeMap::values);
        let wanted: Vec<Seq> = of_block.filter(|one| is_wanted(one)).map(|one| one.seq).collect();
        wanted.into_iter().for_each(|seq| self.remove(seq));
    }

    /// Removes those of the block at a path and of the blocks inside it, except background work, which has its own end.
    fn remove_at_and_inside(&mut self, path: &str) {
        self.remove_of(path, |_| true);
        let inside = range_inside(path);
        let inside = (Bound::Included(inside.start.as_str()), Bound::Excluded(inside.end.as_str()));
        let inside = self.by_path.range::<str, _>(inside).filter(|(inner, _)| !is_background(inner, path));
        let wanted: Vec<Seq> = inside.flat_map(|(_, of_block)| of_block.keys().copied()).collect();
        wanted.into_iter().for_each(|seq| self.remove(seq));
    }

    /// In the order of the log.
    fn into_sorted(self) -> Vec<OpenEffect> {
        let mut all: Vec<OpenEffect> = self.by_path.into_values().flat_map(BTreeMap::into_values).collect();
        all.sort_by_key(|one| one.seq);
        all
    }
}

/// What may have happened outside although no end of it was recorded, in the order of the log, as far as a
/// resume makes it again. Costs as much as there are events, however many effects are open at once.
pub fn may_have_happened(events: &[Event]) -> Vec<OpenEffect> {
    let mut open = OpenEffects::default();
    for event in events {
        let Some(path) = &event.path else { continue };
        match &event.kind {
            EventKind::EffectStarted {
                effect: effect @ (EffectKind::Fetch | EffectKind::Model | EffectKind::Once),
                ordinal,
                ..
            } => {
                let (effect, ordinal, attempt) = (*effect, *ordinal, event.attempt);
                // A repeated effect replaces the earlier one.
                open.remove_of(path, |one| (one.effect, one.ordinal) == (effect, ordinal) && one.attempt <= attempt);
                open.add(OpenEffect { path: path.clone(), effect, ordinal, seq: event.seq, attempt });
            }
            EventKind::EffectFinished { started: Some(started), .. } => open.remove(*started),
            // What a function left behind that has returned is not made again.
            EventKind::CallbackReturned { events, .. } => events.iter().for_each(|seq| open.remove(*seq)),
            EventKind::BlockFinished { outcome: Outcome::Suspended, .. } => {}
            EventKind::BlockFinished { outcome: Outcome::Completed, .. } => open.remove_at_and_inside(path),
            EventKind::BlockFinished { error, .. } => {
                let is_cut = error.as_ref().is_some_and(|error| error.is_abort() || error.name == "StorageError");
                if !is_cut {
                    open.remove_of(path, |one| one.attempt == event.attempt);
                }
            }
            _ => {}
        }
    }
    open.into_sorted()
}

/// Whether a path inside a block belongs to work beside it.
fn is_background(path: &str, outer: &str) -> bool {
    background_task(path).is_some_and(|background_task| background_task.len() > outer.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::error::FlowError;
    use crate::model::path::is_at_or_inside;

    const PATHS: [&str; 7] =
        ["root", "root/a", "root/a/b", "root/a/b[1]", "root/ab", "root/a/work:w", "root/a/work:w/step:b"];

    /// What a log holds of effects, without what does not matter to them.
    #[derive(Clone, Debug)]
    enum Recorded {
        Began {
            effect: EffectKind,
            ordinal: u32,
        },
        /// How many events before.
        Finished(u64),
        Returned(Vec<u64>),
        Ended {
            outcome: Outcome,
            error: Option<&'static str>,
        },
    }

    fn recorded() -> impl Strategy<Value = Recorded> {
        let effect = prop::sample::select(vec![EffectKind::Fetch, EffectKind::Once, EffectKind::Model]);
        let outcome = prop::sample::select(vec![Outcome::Completed, Outcome::Failed, Outcome::Suspended]);
        let error = prop::sample::select(vec![None, Some("Error"), Some("AbortError"), Some("StorageError")]);
        prop_oneof![
            4 => (effect, 0..2_u32).prop_map(|(effect, ordinal)| Recorded::Began { effect, ordinal }),
            1 => (1..6_u64).prop_map(Recorded::Finished),
            1 => prop::collection::vec(1..6_u64, 0..3).prop_map(Recorded::Returned),
            2 => (outcome, error).prop_map(|(outcome, error)| Recorded::Ended { outcome, error }),
        ]
    }

    fn event(seq: Seq, path: &str, attempt: u32, recorded: &Recorded) -> Event {
        let earlier = |back: &u64| seq.saturating_sub(*back);
        let kind = match recorded {
            Recorded::Began { effect, ordinal } => {
                EventKind::EffectStarted { effect: *effect, ordinal: *ordinal, request: None }
            }
            Recorded::Finished(back) => EventKind::EffectFinished {
                effect: EffectKind::Once,
                ordinal: 0,
                started: Some(earlier(back)),
                request: None,
                result: serde_json::Value::Null,
                error: None,
                memoized: false,
                dispatch: None,
            },
            Recorded::Returned(back) => EventKind::CallbackReturned {
                callback: "f#0".to_owned(),
                fingerprint: None,
                returned: Default::default(),
                events: back.iter().map(earlier).collect(),
                superseded: Vec::new(),
                memoized: false,
                commits: Vec::new(),
            },
            Recorded::Ended { outcome, error } => EventKind::BlockFinished {
                outcome: *outcome,
                output: None,
                error: error.map(|name| FlowError::new(name, "it failed")),
                caught: None,
                transient: false,
                memoized: false,
                returned_error: false,
                timed_out_ms: None,
                commits: Vec::new(),
            },
        };
        Event { seq, at: 0, path: Some(path.into()), attempt, kind }
    }

    /// The same, found by looking at every open effect for each event.
    fn looked_through(events: &[Event]) -> Vec<Seq> {
        let mut open: BTreeMap<Seq, (Arc<str>, u32, EffectKind, u32)> = BTreeMap::new();
        for event in events {
            let Some(path) = &event.path else { continue };
            match &event.kind {
                EventKind::EffectStarted { effect, ordinal, .. } => {
                    open.retain(|_, (at, attempt, known, number)| {
                        !(at == path && known == effect && number == ordinal && *attempt <= event.attempt)
                    });
                    open.insert(event.seq, (path.clone(), event.attempt, *effect, *ordinal));
                }
                EventKind::EffectFinished { started: Some(started), .. } => drop(open.remove(started)),
                EventKind::CallbackReturned { events, .. } => open.retain(|seq, _| !events.contains(seq)),
                EventKind::BlockFinished { outcome: Outcome::Completed, .. } => {
                    open.retain(|_, (at, ..)| !is_at_or_inside(at, path) || at != path && is_background(at, path));
                }
                EventKind::BlockFinished { outcome: Outcome::Failed, error, .. } => {
                    let is_cut = error.as_ref().is_some_and(|error| error.is_abort() || error.name == "StorageError");
                    open.retain(|_, (at, attempt, ..)| is_cut || at != path || *attempt != event.attempt);
                }
                _ => {}
            }
        }
        open.into_keys().collect()
    }

    proptest! {
        #[test]
        fn the_index_equals_a_full_scan(
            log in prop::collection::vec((0..PATHS.len(), 0..2_u32, recorded()), 0..40)
        ) {
            let events: Vec<Event> = log
                .iter()
                .zip(1..)
                .map(|((path, attempt, recorded), seq)| event(seq, PATHS[*path], *attempt, recorded))
                .collect();
            let found: Vec<Seq> = may_have_happened(&events).iter().map(|one| one.seq).collect();
            prop_assert_eq!(found, looked_through(&events));
        }
    }
}
