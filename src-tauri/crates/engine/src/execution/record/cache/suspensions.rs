//! The suspensions in a request's log, as a block that runs again finds them.
//!
//! A suspension is identified by its block's path, the callback that asked (`None` for the body), and its ordinal
//! there: with one count for the whole block, a callback that a resume does not call again would shift the ordinals of
//! the others. Must not decide which answers are allowed.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::execution::record::position::Position;
use crate::model::event::Seq;
use crate::model::path::is_at_or_inside;
use crate::model::suspension::{Resolved, SuspensionRequest, SuspensionStatus, TOOL_APPROVAL};

/// A suspension in the log, and its answer.
#[derive(Clone, Debug)]
pub struct RecordedSuspension {
    /// Its `suspended` event.
    seq: Seq,
    /// What was asked.
    pub request: SuspensionRequest,
    /// The answer, if there is one.
    pub resolved: Option<Resolved>,
    /// Whether it was answered while the block that asked went on waiting.
    pub(crate) is_live: bool,
    /// When it was answered; `None` if the log does not have the answer yet.
    pub(crate) answered: Option<Position>,
}

/// Which callback of a block, and the ordinal of the suspension there.
type Number = (Option<String>, u32);

/// All suspensions of a request, by the paths of their blocks.
#[derive(Default)]
pub(crate) struct RecordedSuspensions(HashMap<Arc<str>, HashMap<Number, RecordedSuspension>>);

impl RecordedSuspensions {
    /// Adds a suspension.
    pub(super) fn ask(&mut self, path: &Arc<str>, seq: Seq, request: &SuspensionRequest) {
        let number = (request.callback.clone(), request.ordinal);
        let suspension =
            RecordedSuspension { seq, request: request.clone(), resolved: None, is_live: false, answered: None };
        self.0.entry(path.clone()).or_default().insert(number, suspension);
    }

    /// Sets the answer of the suspension with this id, given at a position of the log, or removes it.
    pub(super) fn answer(&mut self, id: &str, answer: Option<&Resolved>, answered: Option<Position>) {
        let all = self.0.values_mut().flat_map(HashMap::values_mut);
        all.filter(|suspension| suspension.request.id == id)
            .for_each(|suspension| (suspension.resolved, suspension.answered) = (answer.cloned(), answered));
    }

    /// Sets whether the suspension with this id was answered while its block went on waiting.
    pub(super) fn set_live(&mut self, id: &str, is_live: bool) {
        let all = self.0.values_mut().flat_map(HashMap::values_mut);
        all.filter(|suspension| suspension.request.id == id).for_each(|suspension| suspension.is_live = is_live);
    }

    /// Returns the suspension with this ordinal.
    pub(crate) fn find(&self, path: &str, function: Option<&str>, ordinal: u32) -> Option<&RecordedSuspension> {
        self.0.get(path)?.get(&(function.map(str::to_owned), ordinal))
    }

    /// Returns the arguments that a person put in place of a model's, when the call of a tool at a path was approved.
    pub(crate) fn edited_arguments(&self, path: &str) -> Option<&Value> {
        let asked = self.0.get(path)?.values().filter(|one| one.request.reason == TOOL_APPROVAL);
        let answered =
            asked.filter_map(|one| Some((one.seq, one.resolved.as_ref().filter(|answer| answer.is_edit())?)));
        answered.max_by_key(|(seq, _)| *seq)?.1.data.as_ref()
    }

    /// Returns whether a block, or one inside it, has a suspension without an answer.
    pub(crate) fn is_waiting(&self, path: &str) -> bool {
        let mut inside = self.0.iter().filter(|(asked, _)| is_at_or_inside(asked, path));
        inside.any(|(_, suspensions)| suspensions.values().any(|one| one.resolved.is_none()))
    }

    /// Removes the suspensions without an answer, when the request has ended: a block that runs again asks anew.
    pub(super) fn forget_unanswered(&mut self) {
        self.0.values_mut().for_each(|suspension| suspension.retain(|_, one| one.resolved.is_some()));
    }

    /// Removes the suspensions with an answer of blocks that have not ended, at the end of the part that a fork has in
    /// common with its request. The fork asks again, so an approval counts once.
    pub(super) fn forget_answers(&mut self, has_not_ended: impl Fn(&str) -> bool) {
        let open = self.0.iter_mut().filter(|(path, _)| has_not_ended(path));
        open.for_each(|(_, suspensions)| suspensions.retain(|_, one| one.resolved.is_none()));
    }

    /// Removes the newest suspension of a failed block if it was rejected or has expired, so that the block asks anew
    /// when it runs again. With the same answer it would only fail again.
    pub(super) fn forget_refusal(&mut self, path: &str) {
        let Some(suspension) = self.0.get_mut(path) else { return };
        let newest = suspension.iter().max_by_key(|(_, one)| one.seq).filter(|(_, one)| {
            let resolution = one.resolved.as_ref().map(|resolved| resolved.resolution);
            matches!(resolution, Some(SuspensionStatus::Rejected | SuspensionStatus::Expired))
        });
        if let Some(number) = newest.map(|(number, _)| number.clone()) {
            suspension.remove(&number);
        }
    }
}
