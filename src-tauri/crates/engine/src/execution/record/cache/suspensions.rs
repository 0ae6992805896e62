//! The suspensions in a request's log, for blocks that run again.
//!
//! A suspension is identified by its block's path, the callback that asked (`None` for the body), its ordinal there,
//! and the try that asked. If ordinals were counted per block, a callback that a resume does not call again would shift
//! those of the others. If they were counted across tries, the question of a retry would replace that of the previous
//! try. Must not decide which answers are allowed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Included};
use std::sync::Arc;

use serde_json::Value;

use crate::execution::record::position::Position;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::path::range_inside;
use crate::model::suspension::{Resolved, SuspensionRequest, SuspensionStatus, TOOL_APPROVAL};
use crate::views::attempts::is_tried_again;
use crate::views::replay_order::ReplayOrder;

/// A suspension in the log, and its answer.
#[derive(Clone, Debug)]
pub struct RecordedSuspension {
    /// Its `suspended` event.
    seq: Seq,
    /// What was asked.
    pub request: SuspensionRequest,
    /// The answer, if there is one.
    pub resolved: Option<Resolved>,
    /// Whether it was answered while its block was still waiting.
    pub(crate) is_live: bool,
    /// When it was answered; `None` if the log does not have the answer yet.
    pub(crate) answered: Option<Position>,
    /// Whether the try that asked has failed and its block, or a block around it, was retried.
    pub(super) is_of_earlier_try: bool,
    /// In a replay: the attempt of its block that asks it.
    pub(crate) place: Option<u32>,
}

/// A question without an answer, and the block that asked it.
pub(crate) struct OpenQuestion {
    pub(crate) path: Arc<str>,
    pub(crate) asked: SuspensionRequest,
}

impl RecordedSuspension {
    /// Returns whether the answer came after an event, or with this resume.
    fn is_answered_since(&self, seq: Seq) -> bool {
        self.resolved.is_some() && self.answered.is_none_or(|(_, answered)| answered > seq)
    }
}

/// Which callback of a block, and the ordinal of the suspension there.
type Number = (Option<String>, u32);

/// All suspensions of a request, by the paths of their blocks. Those with the same number are in the order of their
/// tries.
#[derive(Default)]
pub(crate) struct RecordedSuspensions {
    by_path: BTreeMap<Arc<str>, HashMap<Number, Vec<RecordedSuspension>>>,
    /// The block and the number of each id.
    places: HashMap<String, (Arc<str>, Number)>,
    /// Whether they are for a replay, which makes all tries again, so that each try finds its own suspension.
    are_of_replay: bool,
}

impl RecordedSuspensions {
    /// Reads the suspensions for a replay, which makes the attempts in this order.
    pub(super) fn of_replay(events: &[Event], order: &ReplayOrder) -> Self {
        let mut found = RecordedSuspensions { are_of_replay: true, ..RecordedSuspensions::default() };
        // The answers of a resume follow its first event.
        let mut is_resuming = false;
        for event in events {
            is_resuming = match &event.kind {
                EventKind::RequestResumed { .. } => true,
                EventKind::SuspensionResolved(_) => is_resuming,
                _ => false,
            };
            match (&event.kind, &event.path) {
                (EventKind::Suspended(request), Some(path)) => {
                    found.ask(path, event.seq, request, Some(order.place_of_question(event) as u32));
                }
                (kind, Some(path)) if is_tried_again(kind) => found.begin_try(path),
                (EventKind::SuspensionResolved(resolved), _) => {
                    found.answer(&resolved.id, Some(resolved), Some((event.at, event.seq)));
                    found.set_live(&resolved.id, !is_resuming);
                }
                (EventKind::SuspensionReopened { id }, _) => found.answer(id, None, None),
                _ => {}
            }
        }
        found
    }

    /// Returns whether they are for a replay.
    pub(super) fn are_of_replay(&self) -> bool {
        self.are_of_replay
    }

    /// Adds a suspension, replacing an earlier one of the same try. `place` is given in a replay.
    pub(super) fn ask(&mut self, path: &Arc<str>, seq: Seq, request: &SuspensionRequest, place: Option<u32>) {
        let number = (request.callback.clone(), request.ordinal);
        self.places.insert(request.id.clone(), (path.clone(), number.clone()));
        let suspension = RecordedSuspension {
            seq,
            request: request.clone(),
            resolved: None,
            is_live: false,
            answered: None,
            is_of_earlier_try: false,
            place,
        };
        let of_number = self.by_path.entry(path.clone()).or_default().entry(number).or_default();
        of_number.pop_if(|last| if place.is_some() { last.place == place } else { !last.is_of_earlier_try });
        of_number.push(suspension);
    }

    /// Notes that the block at a path is retried, with all blocks inside it.
    pub(super) fn begin_try(&mut self, path: &str) {
        let range = range_inside(path);
        let inside = self.by_path.range_mut::<str, _>((Included(&*range.start), Excluded(&*range.end)));
        inside.for_each(|(_, numbers)| end_try(numbers));
        self.by_path.get_mut(path).into_iter().for_each(end_try);
    }

    /// Sets the answer of the suspension with this id, given at a position of the log, or removes it.
    ///
    /// The answer of an earlier try stays: in logs of earlier versions it is an expiry if the next try asked another
    /// question.
    pub(super) fn answer(&mut self, id: &str, answer: Option<&Resolved>, answered: Option<Position>) {
        let is_expiry = answer.is_some_and(|answer| answer.resolution == SuspensionStatus::Expired);
        let is_kept = |one: &RecordedSuspension| is_expiry && one.is_of_earlier_try && one.resolved.is_some();
        self.with_id(id)
            .filter(|one| !is_kept(one))
            .for_each(|one| (one.resolved, one.answered) = (answer.cloned(), answered));
    }

    /// Sets whether the suspension with this id was answered while its block was still waiting.
    pub(super) fn set_live(&mut self, id: &str, is_live: bool) {
        self.with_id(id).for_each(|one| one.is_live = is_live);
    }

    fn with_id<'s>(&'s mut self, id: &'s str) -> impl Iterator<Item = &'s mut RecordedSuspension> {
        let place = self.places.get(id);
        let of_number = place.and_then(|(path, number)| self.by_path.get_mut(path)?.get_mut(number));
        of_number.into_iter().flatten().filter(move |one| one.request.id == id)
    }

    pub(super) fn of_number(&self, path: &str, function: Option<&str>, ordinal: u32) -> &[RecordedSuspension] {
        let numbers = self.by_path.get(path);
        let found = numbers.and_then(|numbers| numbers.get(&(function.map(str::to_owned), ordinal)));
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the suspension that a block asks for now: in the newest try of the log or, if that was retried since, in
    /// a later try. If this try has none, an answer to the same question in an earlier try counts.
    pub(super) fn find(
        &self,
        path: &str,
        asked: &SuspensionRequest,
        is_later_try: bool,
    ) -> Option<&RecordedSuspension> {
        let all = self.of_number(path, asked.callback.as_deref(), asked.ordinal);
        let is_equal = |one: &RecordedSuspension| one.request.differences(asked).is_none();
        let own = all.last().filter(|last| !is_later_try && !last.is_of_earlier_try);
        if let Some(own) = own.filter(|own| own.resolved.is_none() || is_equal(own)) {
            return Some(own);
        }
        all.iter().rev().find(|one| one.resolved.is_some() && is_equal(one)).or(own)
    }

    /// Like [`find`](Self::find), in a replay: `place` is the attempt that asks. A replay needs an answer even if the
    /// question has changed, so as a last resort it returns one to another question.
    pub(super) fn find_in_replay(
        &self,
        path: &str,
        asked: &SuspensionRequest,
        place: u32,
    ) -> Option<&RecordedSuspension> {
        let all = self.of_number(path, asked.callback.as_deref(), asked.ordinal);
        let is_equal = |one: &&RecordedSuspension| one.request.differences(asked).is_none();
        let own = all.iter().rev().find(|one| one.place == Some(place));
        let answered = || all.iter().rev().filter(|one| one.resolved.is_some());
        let earlier = || answered().filter(|one| one.place < Some(place));
        let known = own.filter(is_equal).or_else(|| earlier().find(is_equal)).or(own);
        known.or_else(|| earlier().next()).or_else(|| answered().next())
    }

    /// Returns whether a replayed attempt of a block asked several questions that were answered.
    pub(crate) fn answers_several(&self, path: &str, place: Option<u32>) -> bool {
        let all = self.by_path.get(path).into_iter().flat_map(HashMap::values).flatten();
        all.filter(|one| one.place == place && one.resolved.is_some()).nth(1).is_some()
    }

    /// Returns the arguments by which a person replaced the model's when approving the tool call at a path.
    pub(crate) fn edited_arguments<'s>(&'s self, path: &str) -> Option<&'s Value> {
        let newest = |of_number: &'s Vec<RecordedSuspension>| of_number.iter().rev().find(|one| one.resolved.is_some());
        let answered = self.by_path.get(path)?.values().filter_map(newest);
        let answered = answered.filter(|one| one.request.reason == TOOL_APPROVAL);
        let edited =
            answered.filter_map(|one| Some((one.seq, one.resolved.as_ref().filter(|answer| answer.is_edit())?)));
        edited.max_by_key(|(seq, _)| *seq)?.1.data.as_ref()
    }

    /// Returns whether a block, or one inside it, has a suspension without an answer.
    pub(crate) fn is_waiting(&self, path: &str) -> bool {
        let range = range_inside(path);
        let inside = self.by_path.range::<str, _>((Included(&*range.start), Excluded(&*range.end)));
        let mut at_or_inside = self.by_path.get(path).into_iter().chain(inside.map(|(_, numbers)| numbers));
        let waits = |one: &RecordedSuspension| one.resolved.is_none() && !one.is_of_earlier_try;
        at_or_inside.any(|numbers| numbers.values().any(|of_number| of_number.last().is_some_and(waits)))
    }

    /// Returns the questions of a block and of the blocks inside it that have no answer; `None` if one of them was
    /// answered after an event.
    pub(super) fn unanswered_since(&self, path: &str, seq: Seq) -> Option<Vec<OpenQuestion>> {
        let range = range_inside(path);
        let inside = self.by_path.range::<str, _>((Included(&*range.start), Excluded(&*range.end)));
        let mut open = Vec::new();
        for (by, numbers) in self.by_path.get_key_value(path).into_iter().chain(inside) {
            for one in numbers.values().flatten() {
                if one.is_answered_since(seq) {
                    return None;
                }
                if one.resolved.is_none() && !one.is_of_earlier_try {
                    open.push(OpenQuestion { path: by.clone(), asked: one.request.clone() });
                }
            }
        }
        Some(open)
    }

    /// Removes unanswered suspensions after the end of the request. A block that runs again asks again.
    pub(super) fn forget_unanswered(&mut self) {
        let numbers = self.by_path.values_mut().flat_map(HashMap::values_mut);
        numbers.for_each(|of_number| of_number.retain(|one| one.resolved.is_some()));
    }

    /// Removes answered suspensions of unfinished blocks, at the end of the part that a fork shares with its request.
    /// The fork asks again, so that an approval counts only once.
    pub(super) fn forget_answers(&mut self, has_not_ended: impl Fn(&str) -> bool) {
        let open = self.by_path.iter_mut().filter(|(path, _)| has_not_ended(path));
        let numbers = open.flat_map(|(_, numbers)| numbers.values_mut());
        numbers.for_each(|of_number| of_number.retain(|one| one.resolved.is_none()));
    }

    /// Removes the newest refused (rejected or expired) suspension of a failed block, and the refused ones of the same
    /// number in all its tries, so that the block asks again when it is resumed. A later try may ask the question of an
    /// earlier one, and the same refusal would fail it again. Earlier refusals stay.
    pub(super) fn forget_refusals(&mut self, path: &str) {
        let Some(numbers) = self.by_path.get_mut(path) else { return };
        let is_refused = |one: &RecordedSuspension| {
            let resolution = one.resolved.as_ref().map(|resolved| resolved.resolution);
            matches!(resolution, Some(SuspensionStatus::Rejected | SuspensionStatus::Expired))
        };
        let newest =
            |of_number: &[RecordedSuspension]| of_number.iter().rev().find(|one| is_refused(one)).map(|one| one.seq);
        if let Some(of_number) = numbers.values_mut().max_by_key(|of_number| newest(of_number)) {
            of_number.retain(|one| !is_refused(one));
        }
    }
}

/// Notes that the try that asked the newest suspensions of a block has ended.
fn end_try(numbers: &mut HashMap<Number, Vec<RecordedSuspension>>) {
    for of_number in numbers.values_mut() {
        let newest = of_number.iter_mut().rev().take_while(|one| !one.is_of_earlier_try);
        newest.for_each(|one| one.is_of_earlier_try = true);
    }
}

#[cfg(test)]
mod tests;
