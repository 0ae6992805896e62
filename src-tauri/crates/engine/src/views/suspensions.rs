//! View: what a request asked of somebody outside, and what came of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::Events;
use crate::event::{EventKind, Outcome, Seq};
use crate::path::beside;
use crate::suspension::{Asking, Resolved, SuspensionStatus};

/// A question.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// What was asked.
    pub asking: Asking,
    /// The path of the block that asked.
    pub path: Arc<str>,
    /// The event.
    pub seq: Seq,
    /// When it was asked, milliseconds since the epoch.
    pub asked_at: i64,
    /// How it stands.
    pub status: SuspensionStatus,
    /// The answer, and when it was given.
    pub answer: Option<(Resolved, i64)>,
}

/// All questions of a request, oldest first. `ended` says whether the request has ended; `now` decides
/// which have waited too long.
pub fn suspensions(events: Events<'_>, ended: bool, now: i64) -> Vec<Suspension> {
    let mut found: Vec<Suspension> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for event in events.iter() {
        match (&event.kind, &event.path) {
            (EventKind::Suspended(asking), Some(path)) => {
                places.insert(asking.id.clone(), found.len());
                found.push(Suspension {
                    asking: asking.clone(),
                    path: path.clone(),
                    seq: event.seq,
                    asked_at: event.at,
                    status: SuspensionStatus::Pending,
                    answer: None,
                });
            }
            (EventKind::SuspensionResolved(resolved), _) => {
                if let Some(at) = places.get(&resolved.id) {
                    found[*at].status = resolved.resolution;
                    found[*at].answer = Some((resolved.clone(), event.at));
                }
            }
            (EventKind::SuspensionReopened { id }, _) => {
                if let Some(at) = places.get(id) {
                    found[*at].status = SuspensionStatus::Pending;
                    found[*at].answer = None;
                }
            }
            (EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, .. }, Some(path)) => {
                let pending = |one: &&mut Suspension| one.status == SuspensionStatus::Pending;
                for one in found.iter_mut().filter(pending).filter(|one| is_moot(&one.path, path)) {
                    one.status = SuspensionStatus::Expired;
                }
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

/// Whether nobody waits for the question any more, because a block around it has ended. A chain ends
/// before the work beside it.
fn is_moot(asked: &str, ended: &str) -> bool {
    let inside = asked.strip_prefix(ended).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    inside && beside(asked).is_none_or(|chain| ended.len() > chain.len())
}
