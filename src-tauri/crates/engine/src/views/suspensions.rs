//! View: what a request asked of somebody outside, and what came of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound::{Excluded, Included};
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::Events;
use super::attempts::is_tried_again;
use super::detached::Detached;
use super::replay_order::ReplayOrder;
use crate::model::event::{CaughtBy, Event, EventKind, Outcome, Seq};
use crate::model::identity::InstanceId;
use crate::model::path::{background_task, is_at_or_inside, range_inside};
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
    let mut by_path = ByPath::default();
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
                by_path.0.entry(path.clone()).or_default().push(found.len());
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
                expire(&mut found, by_path.around(path));
                expire(&mut found, by_path.losers(arm));
            }
            (kind, Some(path)) if is_tried_again(kind) => {
                // The next try asks a new question.
                let earlier = by_path.around(path);
                of_earlier_tries.extend(&earlier);
                expire(&mut found, earlier);
            }
            (EventKind::BlockFinished { outcome: Outcome::Failed, caught, .. }, Some(path)) => {
                if *caught == Some(CaughtBy::Rescue) {
                    failed.insert(InstanceId { path, attempt: event.attempt }.to_string());
                }
                expire(&mut found, by_path.around(path));
            }
            (EventKind::BlockStarted { parent, .. }, Some(path)) => {
                parents.extend(parent.as_deref().map(|parent| ((path, event.attempt), parent)));
                expire(&mut found, by_path.replaced_by(path));
            }
            (EventKind::RequestFinished { .. }, _) => {
                let all = (0..found.len()).collect();
                expire(&mut found, all);
            }
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

/// A question that was asked, answered or not.
pub struct AskedQuestion<'e> {
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
    /// Whether the attempt that asked is one that counts: no later attempt made it again.
    pub is_of_counting_try: bool,
    /// Whether it was answered.
    pub is_answered: bool,
}

/// The questions of a request that no later question of the same try replaced, in the order in which their numbers were
/// first asked.
pub fn asked(events: &[Event]) -> Vec<AskedQuestion<'_>> {
    if !events.iter().any(|event| matches!(event.kind, EventKind::Suspended(_))) {
        return Vec::new();
    }
    let order = ReplayOrder::read(events);
    let mut asked: IndexMap<Numbered<'_>, AskedQuestion<'_>> = IndexMap::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for event in events {
        match (&event.kind, &event.path) {
            (EventKind::Suspended(asking), Some(path)) => {
                let (place, is_withdrawn) = (order.place_of_question(event) as u32, order.is_withdrawn(event));
                let question = AskedQuestion {
                    path: path.clone(),
                    seq: event.seq,
                    asking,
                    place,
                    is_withdrawn,
                    is_of_counting_try: order.place(event).is_some(),
                    is_answered: false,
                };
                asked.insert((path, asking.callback.as_deref(), asking.ordinal, place), question);
            }
            (EventKind::SuspensionResolved(resolved), _) => drop(answered.insert(&resolved.id)),
            (EventKind::SuspensionReopened { id }, _) => drop(answered.remove(&**id)),
            _ => {}
        }
    }
    for question in asked.values_mut() {
        question.is_answered = answered.contains(&*question.asking.id);
    }
    asked.into_values().collect()
}

/// The block that these questions belong to no longer waits for those that are pending.
fn expire(found: &mut [Suspension], questions: Vec<usize>) {
    for at in questions {
        let one = &mut found[at];
        if one.status == SuspensionStatus::Pending {
            one.status = SuspensionStatus::Expired;
            one.is_moot = true;
        }
    }
}

/// The questions by the paths of the blocks that asked.
#[derive(Default)]
struct ByPath(BTreeMap<Arc<str>, Vec<usize>>);

impl ByPath {
    /// The questions of blocks with paths in a range that a test accepts.
    fn within(&self, Range { start, end }: Range<String>, is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
        let known = self.0.range::<str, _>((Included(&*start), Excluded(&*end)));
        known.filter(|(asked, _)| is_wanted(asked)).flat_map(|(_, questions)| questions.iter().copied()).collect()
    }

    /// The questions of a block that ended and of the blocks inside it. Background work of a chain outlives the chain.
    fn around(&self, ended: &str) -> Vec<usize> {
        let is_ended = |asked: &str| background_task(asked).is_none_or(|task| task.len() <= ended.len());
        let mut found = self.within(range_inside(ended), is_ended);
        found.extend(self.0.get(ended).filter(|_| is_ended(ended)).into_iter().flatten());
        found
    }

    /// The questions of a race that a block which ended well has won.
    fn losers(&self, arm: &str) -> Vec<usize> {
        let Some((race, _)) = arm.strip_suffix(']').and_then(|arm| arm.rsplit_once('[')) else { return Vec::new() };
        if !race.rsplit('/').next().is_some_and(|last| last == "race" || last.starts_with("race~")) {
            return Vec::new();
        }
        // `\` is the character after `[`.
        self.within(format!("{race}[")..format!("{race}\\"), |asked| !is_at_or_inside(asked, arm))
    }

    /// The questions inside a chain whose rescue started.
    fn replaced_by(&self, started: &str) -> Vec<usize> {
        let Some((chain, last)) = started.rsplit_once('/') else { return Vec::new() };
        if !last.starts_with("rescue:") {
            return Vec::new();
        }
        self.within(range_inside(chain), |asked| {
            let is_ended = background_task(asked).is_none_or(|task| task.len() <= chain.len());
            is_ended && !is_at_or_inside(asked, started)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 8] = [
        "root",
        "root/race[0]",
        "root/race[0]/step:a",
        "root/race[10]",
        "root/race~2[0]",
        "root/rescue:b",
        "root/step:a",
        "root/work:c",
    ];

    #[track_caller]
    fn assert_found(found: Vec<usize>, expected: &[&str]) {
        let mut found: Vec<&str> = found.into_iter().map(|at| PATHS[at]).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn questions_are_found_by_the_paths_of_their_blocks() {
        let all = ByPath(PATHS.iter().enumerate().map(|(at, path)| (Arc::from(*path), vec![at])).collect());
        assert_found(all.around("root/race[0]"), &["root/race[0]", "root/race[0]/step:a"]);
        assert_found(all.around("root/work:c"), &["root/work:c"]);
        assert_found(all.around("root"), &PATHS[..7]);
        assert_found(all.losers("root/race[10]"), &["root/race[0]", "root/race[0]/step:a"]);
        assert_found(all.losers("root/race[0]"), &["root/race[10]"]);
        assert_found(all.losers("root/step:a"), &[]);
        assert_found(all.losers("root/forEach:race[0]"), &[]);
        let replaced = ["root/race[0]", "root/race[0]/step:a", "root/race[10]", "root/race~2[0]", "root/step:a"];
        assert_found(all.replaced_by("root/rescue:b"), &replaced);
        assert_found(all.replaced_by("root/step:a"), &[]);
    }
}
