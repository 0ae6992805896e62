//! View: what a request asked of somebody outside, and what came of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::Events;
use super::attempts::is_tried_again;
use super::detached::Detached;
use super::replay_order::ReplayOrder;
use crate::model::event::{CaughtBy, Event, EventKind, Outcome, Seq};
use crate::model::identity::InstanceId;
use crate::model::path::{background_task, is_at_or_inside};
use crate::model::suspension::{Resolved, SuspensionRequest, SuspensionStatus};

/// A question.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// What was asked.
    pub asking: SuspensionRequest,
    /// The path of the block that asked.
    pub path: Arc<str>,
    /// The event.
    pub seq: Seq,
    /// When it was asked, milliseconds since the epoch.
    pub asked_at: i64,
    /// How it stands.
    pub status: SuspensionStatus,
    /// Whether the request went on, or ended, without the answer.
    pub is_moot: bool,
    /// The answer, and when it was given.
    pub answer: Option<(Resolved, i64)>,
}

/// All questions of a request, oldest first. `ended` says whether the request has ended; `now` decides
/// which have waited too long.
pub fn suspensions(events: Events<'_>, ended: bool, now: i64) -> Vec<Suspension> {
    let mut found: Vec<Suspension> = Vec::new();
    // Nothing else of a long log matters where nothing was asked.
    if !events.iter().any(|event| matches!(event.kind, EventKind::Suspended(_))) {
        return found;
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    // The questions of tries that failed and that another try followed.
    let mut of_earlier_tries: HashSet<usize> = HashSet::new();
    let mut left = Detached::default();
    // The instance around each block, and those that failed and have a rescue.
    let mut parents: HashMap<(&Arc<str>, u32), &str> = HashMap::new();
    let mut failed: HashSet<String> = HashSet::new();
    for event in events.iter() {
        left.read(event);
        match (&event.kind, &event.path) {
            // A call that took too long ends beside its retry, which may have asked: that one goes on.
            (EventKind::BlockFinished { .. }, Some(path)) if left.has(path, event.attempt) => {}
            (EventKind::Suspended(asking), Some(path)) => {
                places.insert(asking.id.clone(), found.len());
                found.push(Suspension {
                    asking: asking.clone(),
                    path: path.clone(),
                    seq: event.seq,
                    asked_at: event.at,
                    status: SuspensionStatus::Pending,
                    is_moot: false,
                    answer: None,
                });
            }
            (EventKind::SuspensionResolved(resolved), _) => {
                let Some(at) = places.get(&resolved.id) else { continue };
                // Earlier versions let it expire, if the next try asked something else.
                let is_expiry = resolved.resolution == SuspensionStatus::Expired;
                if is_expiry && of_earlier_tries.contains(at) && found[*at].answer.is_some() {
                    continue;
                }
                found[*at].status = resolved.resolution;
                found[*at].answer = Some((resolved.clone(), event.at));
            }
            (EventKind::SuspensionReopened { id }, _) => {
                if let Some(at) = places.get(id) {
                    found[*at].status = SuspensionStatus::Pending;
                    found[*at].is_moot = false;
                    found[*at].answer = None;
                }
            }
            (EventKind::BlockFinished { outcome: Outcome::Completed, .. }, Some(path)) => {
                // What rescues a block that failed ends it.
                let rescued = parents.get(&(path, event.attempt)).filter(|around| failed.contains(**around));
                let arm = rescued.and_then(|around| InstanceId::parse(around)).map_or(&**path, |around| around.path);
                drop_where(&mut found, |asked| is_around(path, asked) || has_lost(asked, arm));
            }
            (kind, Some(path)) if is_tried_again(kind) => {
                // The next try asks anew.
                let earlier = found.iter().enumerate().filter(|(_, one)| is_around(path, &one.path));
                of_earlier_tries.extend(earlier.map(|(at, _)| at));
                drop_where(&mut found, |asked| is_around(path, asked));
            }
            (EventKind::BlockFinished { outcome: Outcome::Failed, caught, .. }, Some(path)) => {
                if *caught == Some(CaughtBy::Rescue) {
                    failed.insert(InstanceId { path, attempt: event.attempt }.to_string());
                }
                drop_where(&mut found, |asked| is_around(path, asked));
            }
            (EventKind::BlockStarted { parent, .. }, Some(path)) => {
                parents.extend(parent.as_deref().map(|parent| ((path, event.attempt), parent)));
                drop_where(&mut found, |asked| gives_way(asked, path));
            }
            (EventKind::RequestFinished { .. }, _) => drop_where(&mut found, |_| true),
            _ => {}
        }
    }
    for one in &mut found {
        if one.status == SuspensionStatus::Pending && (ended || one.asking.is_over(now)) {
            one.status = SuspensionStatus::Expired;
        }
    }
    found
}

/// A question by its block, the callback that asked, its number there, and the attempt that asks it in a replay.
type Numbered<'e> = (&'e Arc<str>, Option<&'e str>, u32, u32);

/// A question that was answered.
pub struct AnsweredQuestion<'e> {
    /// The block that asked.
    pub path: Arc<str>,
    /// The event.
    pub seq: Seq,
    /// What it asked.
    pub asking: &'e SuspensionRequest,
    /// Which attempt of the block asks it in a replay.
    pub place: u32,
    /// Whether the attempt that asked failed, and a resume ran the block again: a replay need not ask it.
    pub is_withdrawn: bool,
}

/// The questions of a request that were answered and that no later question of the same try replaced, in the order in
/// which their numbers were first asked.
pub fn answered(events: &[Event]) -> Vec<AnsweredQuestion<'_>> {
    if !events.iter().any(|event| matches!(event.kind, EventKind::Suspended(_))) {
        return Vec::new();
    }
    let order = ReplayOrder::read(events);
    let mut asked: IndexMap<Numbered<'_>, AnsweredQuestion<'_>> = IndexMap::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for event in events {
        match (&event.kind, &event.path) {
            (EventKind::Suspended(asking), Some(path)) => {
                let (place, is_withdrawn) = (order.place_of_question(event) as u32, order.is_withdrawn(event));
                let question = AnsweredQuestion { path: path.clone(), seq: event.seq, asking, place, is_withdrawn };
                asked.insert((path, asking.callback.as_deref(), asking.ordinal, place), question);
            }
            (EventKind::SuspensionResolved(resolved), _) => drop(answered.insert(&resolved.id)),
            (EventKind::SuspensionReopened { id }, _) => drop(answered.remove(&**id)),
            _ => {}
        }
    }
    asked.into_values().filter(|question| answered.contains(&*question.asking.id)).collect()
}

/// Nobody waits any more for the pending questions of these paths.
fn drop_where(found: &mut [Suspension], is_moot: impl Fn(&str) -> bool) {
    let pending = |one: &&mut Suspension| one.status == SuspensionStatus::Pending;
    for one in found.iter_mut().filter(pending).filter(|one| is_moot(&one.path)) {
        one.status = SuspensionStatus::Expired;
        one.is_moot = true;
    }
}

/// Whether a block that ended stands around the one that asked. A chain ends before the work beside it.
fn is_around(ended: &str, asked: &str) -> bool {
    is_at_or_inside(asked, ended) && background_task(asked).is_none_or(|task| task.len() <= ended.len())
}

/// Whether a block that ended well won the race in which the question was asked.
fn has_lost(asked: &str, arm: &str) -> bool {
    let Some((race, _)) = arm.strip_suffix(']').and_then(|arm| arm.rsplit_once('[')) else { return false };
    let is_race = race.rsplit('/').next().is_some_and(|last| last == "race" || last.starts_with("race~"));
    is_race && asked.strip_prefix(race).is_some_and(|rest| rest.starts_with('[')) && !is_at_or_inside(asked, arm)
}

/// Whether the rescue of a chain takes the place of the block that asked.
fn gives_way(asked: &str, started: &str) -> bool {
    let Some((chain, last)) = started.rsplit_once('/') else { return false };
    last.starts_with("rescue:") && asked != chain && is_around(chain, asked) && !is_at_or_inside(asked, started)
}
