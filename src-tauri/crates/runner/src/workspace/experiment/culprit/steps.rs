//! The steps of a request, and whether each has a draw: a result that may differ in another run.
//!
//! Draws are answers of a model or of the network, random values, and readings of the clock. A pause is a draw only if
//! another effect was running at the same time, because their order may then decide. Must not run anything.

use std::collections::{HashMap, HashSet};

use engine::effects::EffectKind;
use engine::event::{BlockKind, Event, EventKind, Seq};

/// A step before which forks may begin.
pub(super) struct Step {
    pub(super) path: String,
    pub(super) attempt: u32,
    /// The event with which the block began.
    pub(super) seq: Seq,
    /// The event with which it ended, if it did.
    pub(super) ended: Option<Seq>,
    /// Whether it has a draw, itself or in a block that it called.
    pub(super) draws: bool,
    /// Whether its only draw is a pause during another effect, so that only their order may decide.
    pub(super) races: bool,
}

/// The steps of a request, in order: all executions of blocks that have work of their own and run in chains, and that
/// ended without an abort.
pub(super) fn steps(events: &[Event]) -> Vec<Step> {
    let mut doers: HashSet<&str> = HashSet::new();
    let memoized: HashSet<(&str, u32)> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::BlockFinished { memoized: true, .. }))
        .filter_map(|event| Some((event.path.as_deref()?, event.attempt)))
        .collect();
    let drawn: HashMap<Seq, EffectKind> = draws(events).map(|draw| (draw.seq, draw.effect)).collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut by_execution: HashMap<(&str, u32), usize> = HashMap::new();
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for event in events {
        let Some(path) = event.path.as_deref() else { continue };
        if let EventKind::BlockStarted { block: BlockKind::Handler | BlockKind::Generator, .. } = &event.kind {
            let is_inside = parents(path).any(|parent| doers.contains(parent));
            doers.insert(path);
            // Blocks called by a handler or a generator belong to its step.
            if !is_inside && !memoized.contains(&(path, event.attempt)) {
                by_execution.insert((path, event.attempt), steps.len());
                newest.insert(path, steps.len());
                let (path, attempt) = (path.to_owned(), event.attempt);
                steps.push(Step { path, attempt, seq: event.seq, ended: None, draws: false, races: false });
            }
        }
        let own = by_execution.get(&(path, event.attempt)).copied();
        if let (EventKind::BlockFinished { .. }, Some(step)) = (&event.kind, own.and_then(|at| steps.get_mut(at))) {
            step.ended = Some(event.seq);
        }
        if let Some(effect) = drawn.get(&event.seq) {
            let step = own.or_else(|| parents(path).find_map(|parent| newest.get(parent).copied()));
            if let Some(step) = step.and_then(|at| steps.get_mut(at)) {
                match effect {
                    EffectKind::Sleep => step.races = true,
                    _ => step.draws = true,
                }
            }
        }
    }
    steps
}

/// The paths of the blocks around a block, the outermost first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// A result that may differ in another run.
struct Draw {
    /// The event that records it.
    seq: Seq,
    effect: EffectKind,
}

/// A requested effect: the path and the attempt of the block, its kind and its ordinal.
type Asked<'e> = (Option<&'e str>, u32, EffectKind, u32);

/// The draws of a run, without those that it reused.
fn draws(events: &[Event]) -> impl Iterator<Item = Draw> {
    let mut found: Vec<Draw> = Vec::new();
    // Effects without a result yet: the event that started each, and whether a pause overlapped with another effect.
    let mut open: HashMap<Asked<'_>, (Seq, bool)> = HashMap::new();
    for event in events {
        let of = |effect: EffectKind, ordinal: u32| (event.path.as_deref(), event.attempt, effect, ordinal);
        match &event.kind {
            EventKind::EffectStarted { effect, ordinal, .. } => {
                let is_beside = !open.is_empty();
                open.values_mut().for_each(|(_, has_beside)| *has_beside = true);
                open.insert(of(*effect, *ordinal), (event.seq, is_beside));
            }
            EventKind::EffectFinished { effect, ordinal, memoized, .. } => {
                let has_beside = open.remove(&of(*effect, *ordinal)).is_some_and(|(_, has_beside)| has_beside);
                let is_draw = match effect {
                    EffectKind::Sleep => has_beside,
                    EffectKind::Model
                    | EffectKind::Fetch
                    | EffectKind::Random
                    | EffectKind::Uuid
                    | EffectKind::Once
                    | EffectKind::Clock => true,
                };
                if is_draw && !memoized {
                    found.push(Draw { seq: event.seq, effect: *effect });
                }
            }
            _ => {}
        }
    }
    // Abandoned effects, and pauses that were not awaited: something else came first.
    found.extend(open.into_iter().map(|((_, _, effect, _), (seq, _))| Draw { seq, effect }));
    found.into_iter()
}

/// Whether runs without changes may differ after an event, because of random values, the clock, a live model or the
/// network.
pub(super) fn may_differ(events: &[Event], from: Seq, is_mock: bool) -> bool {
    draws(events).any(|draw| draw.seq >= from && !(is_mock && draw.effect == EffectKind::Model))
}

/// Finds the deciding step among those that ended between this fork point and the next one, because steps that run at a
/// fork point run again. A step without a draw cannot decide.
pub(super) fn deciding(steps: &[Step], found: usize, notes: &mut Vec<String>) -> usize {
    let from = steps.get(found).map_or(0, |step| step.seq);
    let to = steps.get(found + 1).map_or(u64::MAX, |step| step.seq);
    let has_ended_there = |step: &Step| step.ended.is_some_and(|ended| from < ended && ended < to);
    let of = |is_it: fn(&Step) -> bool| -> Vec<usize> {
        (0..steps.len()).filter(|at| is_it(&steps[*at]) && has_ended_there(&steps[*at])).collect()
    };
    let drew = of(|step| step.draws);
    // A value is a more likely cause than an order.
    let candidates = if drew.is_empty() { of(|step| step.races) } else { drew };
    if candidates.len() > 1 {
        let paths: Vec<&str> = candidates.iter().map(|at| steps[*at].path.as_str()).collect();
        notes.push(format!("these steps ran in parallel, and one of them decided: {}", paths.join(", ")));
    }
    candidates.first().copied().unwrap_or(found)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Events in their order, each as `(path, kind)`.
    fn log(kinds: &[(&str, Value)]) -> Vec<Event> {
        let event = |(seq, (path, kind)): (usize, &(&str, Value))| {
            let mut event = json!({ "seq": seq + 1, "at": 1, "path": path, "attempt": 0 });
            event.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
            serde_json::from_value(event).unwrap()
        };
        kinds.iter().enumerate().map(event).collect()
    }

    fn begins(effect: &str, ordinal: u32) -> Value {
        json!({ "kind": "effect_started", "effect": effect, "ordinal": ordinal })
    }

    fn ends(effect: &str, ordinal: u32) -> Value {
        json!({ "kind": "effect_finished", "effect": effect, "ordinal": ordinal, "result": null })
    }

    fn differs(kinds: &[Value]) -> bool {
        let kinds: Vec<(&str, Value)> = kinds.iter().map(|kind| ("root/step:a", kind.clone())).collect();
        may_differ(&log(&kinds), 1, true)
    }

    #[test]
    fn the_clock_is_a_draw_but_a_pause_alone_is_not() {
        assert!(differs(&[ends("clock", 0)]) && differs(&[ends("random", 0)]));
        assert!(!differs(&[begins("sleep", 0), ends("sleep", 0), begins("sleep", 1), ends("sleep", 1)]));
        // A mock model answers the same in all runs.
        assert!(!differs(&[begins("model", 0), ends("model", 0)]));
    }

    #[test]
    fn a_pause_during_another_effect_is_a_draw() {
        assert!(differs(&[begins("sleep", 0), begins("sleep", 1), ends("sleep", 0), ends("sleep", 1)]));
        assert!(differs(&[begins("model", 0), begins("sleep", 0), ends("model", 0)]));
        // A time limit that was not reached.
        assert!(differs(&[begins("sleep", 0)]));
    }
}
