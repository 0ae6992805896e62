//! Compares what belongs to no single block: initial states, the order of the steps of a chain, and the questions
//! that a suspended request asks outside of blocks that wait.
//!
//! Used only if no block differs. Must not compare the order of parallel blocks: it is chance.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::operation::equal;
use engine::path::{ROOT, parent};
use engine::redaction::Redaction;
use engine::suspension::{SuspensionRequest, SuspensionStatus};
use engine::views::Events;
use engine::views::suspensions::{Suspension, suspensions};
use serde_json::{Value, json};

use super::divergence;
use crate::views::Divergence;

/// Under which path a request is expected to begin with other states, or to run steps in another order.
pub(super) const OUTSIDE: &str = "request";

/// Whether initial states and the order of steps are compared: a request that went on with other code has parts of
/// both, and a fork those of another request.
fn is_one_part(recorded: &[Event]) -> bool {
    !recorded.iter().any(|event| {
        let is_fork = matches!(&event.kind, EventKind::RequestStarted { forked_from: Some(_), .. });
        is_fork || matches!(event.kind, EventKind::RequestResumed { .. } | EventKind::BlockResumed { .. })
    })
}

/// The first state that begins otherwise, or the first step in another order.
pub(super) fn first_difference(recorded: &[Event], replayed: &[Event]) -> Option<Divergence> {
    let compared = || first_state(recorded, replayed).or_else(|| first_step(recorded, replayed));
    is_one_part(recorded).then(compared).flatten()
}

/// All initial states and orders of steps, as they are stored if they are expected.
pub(super) fn all(events: &[Event], redaction: &Redaction) -> Vec<Value> {
    let mut states: Vec<_> = initial_states(events).into_iter().collect();
    states.sort_by(|(one, (first, _)), (other, (second, _))| (first, one).cmp(&(second, other)));
    let state = |((path, scope), (_, initial)): (Whose, (Seq, Value))| {
        let of = path.as_deref().unwrap_or(ROOT);
        json!({ "of": of, "state": scope, "initial": initial })
    };
    let steps = order(events).into_values().flatten().map(|(path, _)| json!({ "next": path }));
    let mut all: Vec<Value> = states.into_iter().map(state).chain(steps).collect();
    all.iter_mut().for_each(|told| redaction.known(told));
    all
}

/// The first difference to what is expected of initial states and the order of steps.
pub(super) fn first_unexpected(
    expected: &[Value],
    recorded: &[Event],
    replayed: &[Event],
    redaction: &Redaction,
) -> Option<Divergence> {
    let found = all(replayed, redaction);
    let longest = expected.len().max(found.len());
    let at = (0..longest).find(|at| expected.get(*at) != found.get(*at))?;
    let nothing = || json!("nothing more");
    let (was, is) = (expected.get(at).cloned().unwrap_or_else(nothing), found.get(at).cloned().unwrap_or_else(nothing));
    let path = [&was, &is].iter().find_map(|what| what.get("of").or(what.get("next"))?.as_str().map(str::to_owned));
    let path = path.unwrap_or_else(|| ROOT.to_owned());
    let began = recorded.iter().find(|event| event.path.as_deref() == Some(&*path));
    Some(divergence(began.map_or(1, |event| event.seq), &path, was, is))
}

/// The first state that begins otherwise.
fn first_state(recorded: &[Event], replayed: &[Event]) -> Option<Divergence> {
    let (was, is) = (initial_states(recorded), initial_states(replayed));
    let differing = was.iter().filter_map(|(key, (seq, was))| {
        let (_, is) = is.get(key)?;
        (!equal(was, is)).then_some((*seq, key, was, is))
    });
    let (seq, (path, scope), was, is) = differing.min_by_key(|(seq, ..)| *seq)?;
    let of = |state: &Value| json!({ "state": scope, "initial": state });
    Some(divergence(seq, path.as_deref().unwrap_or(ROOT), of(was), of(is)))
}

/// Whose state it is: the block, of a state of one, and the kind of its scope.
type Whose = (Option<Arc<str>>, &'static str);

fn initial_states(events: &[Event]) -> HashMap<Whose, (Seq, Value)> {
    let state = |event: &Event| {
        let EventKind::StateInitialized { scope, state, .. } = &event.kind else { return None };
        Some(((event.path.clone(), scope.kind.as_str()), (event.seq, state.clone())))
    };
    events.iter().filter_map(state).collect()
}

/// The first step of a chain that follows another one than before.
fn first_step(recorded: &[Event], replayed: &[Event]) -> Option<Divergence> {
    let (was, is) = (order(recorded), order(replayed));
    let known: HashSet<&Arc<str>> = was.values().flatten().map(|(path, _)| path).collect();
    for (chain, was) in &was {
        let is = is.get(chain).into_iter().flatten().filter(|(path, _)| known.contains(path));
        if let Some(((path, seq), (other, _))) = was.iter().zip(is).find(|((was, _), (is, _))| was != is) {
            let told = |path: &str| json!({ "next": path });
            return Some(divergence(*seq, path, told(path), told(other)));
        }
    }
    None
}

/// The steps of each chain in the order in which they began, each once: those that wait for one another.
fn order(events: &[Event]) -> BTreeMap<Arc<str>, Vec<(Arc<str>, Seq)>> {
    let mut chains: BTreeMap<Arc<str>, Vec<(Arc<str>, Seq)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for event in events {
        let (EventKind::BlockStarted { .. }, Some(path)) = (&event.kind, &event.path) else { continue };
        let (Some(chain), Some(step)) = (parent(path), path.rsplit('/').next()) else { continue };
        let is_in_turn = ["step:", "stepIf:", "tap:"].iter().any(|operation| step.starts_with(operation));
        if is_in_turn && seen.insert(path.clone()) {
            chains.entry(chain.into()).or_default().push((path.clone(), event.seq));
        }
    }
    chains
}

/// The first question that is asked in only one of the two, or that differs. The questions of blocks that
/// `is_in_blocks` names are compared with what those did.
pub(super) fn first_question(
    recorded: &[Event],
    replayed: &[Event],
    redaction: &Redaction,
    is_in_blocks: impl Fn(&Arc<str>) -> bool,
) -> Option<Divergence> {
    let outside = |events| {
        let mut asked = questions(events);
        asked.retain(|path, _| !is_in_blocks(path));
        asked
    };
    let (was, is) = (outside(recorded), outside(replayed));
    let shown = |asked: &SuspensionRequest| {
        let mut question = json!({ "reason": asked.reason, "message": asked.message, "data": asked.data });
        redaction.known(&mut question);
        json!({ "question": question })
    };
    let nothing = || json!("asks nothing");
    let is_other =
        |was: &SuspensionRequest, is: Option<&Suspension>| is.is_none_or(|is| was.differences(&is.asking).is_some());
    if let Some((path, asked)) = was.iter().find(|(path, asked)| is_other(&asked.asking, is.get(*path))) {
        let now = is.get(path).map_or_else(nothing, |now| shown(&now.asking));
        return Some(divergence(asked.seq, path, shown(&asked.asking), now));
    }
    let (path, asked) = is.iter().find(|(path, _)| !was.contains_key(*path))?;
    let last = recorded.last().map_or(0, |event| event.seq);
    Some(divergence(last, path, nothing(), shown(&asked.asking)))
}

/// What a request waits to be told, by the path of the block that asks.
fn questions(events: &[Event]) -> BTreeMap<Arc<str>, Suspension> {
    let asked = suspensions(Events::new(events), false, 0).into_iter();
    let pending = asked.filter(|asked| asked.status == SuspensionStatus::Pending && !asked.is_moot);
    pending.map(|asked| (asked.path.clone(), asked)).collect()
}
