//! Running one sample: a fork, to its end, or until the experiment stops.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::event::{Event, RequestStatus};
use store::SampleRow;

use super::earlier_answers::was_asking;
use super::variant::Variant;
use super::{Experiment, Job};
use crate::core::fault::Fault;
use crate::models::call_meter::SampleCalls;
use crate::run::batch::Cancel;
use crate::run::{Ended, Running};
use crate::views::RequestRow;
use crate::workspace::fork::NewFork;
use crate::workspace::{Mock, Workspace, new_request};

/// How often it is looked whether a sample is to be stopped.
const LOOK: Duration = Duration::from_millis(20);

/// How a sample was begun earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It was stopped before its end, and goes on.
    Stopped,
    /// It has ended.
    Ended,
    /// Another process runs it.
    Runs,
}

impl Begun {
    /// The recorded statuses of samples that have not ended.
    pub(crate) const NOT_ENDED: [RequestStatus; 4] =
        [RequestStatus::Queued, RequestStatus::InProgress, RequestStatus::Interrupted, RequestStatus::Aborted];

    pub(crate) fn of(status: RequestStatus) -> Begun {
        match status {
            RequestStatus::Queued | RequestStatus::InProgress => Begun::Runs,
            RequestStatus::Interrupted | RequestStatus::Aborted => Begun::Stopped,
            _ => Begun::Ended,
        }
    }

    /// Whether nothing more comes of a sample: it has ended, and does not wait for an answer.
    pub(crate) fn is_over(status: RequestStatus) -> bool {
        Begun::of(status) == Begun::Ended && status != RequestStatus::Suspended
    }
}

impl Workspace {
    /// Begins a sample, or goes on with one that was `stopped`, and waits for its end. Returns its request; `None` if
    /// the experiment was cancelled, or the budget has no room for a call that is to come first.
    pub(super) fn run_sample(
        &self,
        experiment: &Experiment,
        job: &Job<'_>,
        stopped: Option<&str>,
        calls: &SampleCalls,
        cancel: &Cancel,
    ) -> Result<Option<String>, Fault> {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let twins = &experiment.twins;
        let has_room = |may_share: &dyn Fn() -> bool| {
            let keeps_room = |model| calls.wait_for_room(model, &|| cancel.is_cancelled(), may_share);
            let may_begin = job.model.is_none_or(keeps_room);
            if calls.has_room() {
                twins.asks(job.arm, job.number);
            }
            may_begin
        };
        if let Some(request) = stopped {
            let recorded = self.whole_log_of(request)?;
            // If it was not asking, all its calls may be paid for.
            if was_asking(&recorded.1) && !has_room(&|| false) {
                return Ok(None);
            }
            let running = self.resume_sample(recorded, job.variant, calls)?;
            self.finish_sample(running, calls, cancel)?;
            if !calls.is_refused() && !cancel.is_cancelled() {
                twins.has_gone_on(job.arm, job.number);
            }
            return Ok(Some(request.to_owned()));
        }
        if !has_room(&|| twins.may_share(job.arm, job.number)) {
            return Ok(None);
        }
        let is_sharing = job.model.is_some() && !calls.has_room();
        let request = new_request();
        // Claimed first, so that `--go-on` finds the sample after a crash.
        let begun = SampleRow { arm: job.arm, number: job.number, request: request.clone(), score: None };
        let claimed = self.store.claim_sample(&experiment.id, &begun, job.gone.as_deref());
        if !claimed.map_err(Fault::internal)? {
            return Ok(None);
        }
        let begun = self.begin_sample(&request, experiment, job.variant, calls, cancel)?;
        let Some(running) = begun else { return Ok(None) };
        self.finish_sample(running, calls, cancel)?;
        if is_sharing && calls.is_refused() {
            twins.asks_otherwise(job.arm);
        }
        Ok(Some(request))
    }

    /// Begins a fork under a given id, with what counts its model calls. `None` if the experiment was cancelled while
    /// the fork waited for its turn: many wait, and each takes as long as evaluating the flow's file.
    pub(super) fn begin_sample(
        &self,
        id: &str,
        of: &Experiment,
        variant: &Variant,
        calls: &SampleCalls,
        cancel: &Cancel,
    ) -> Result<Option<Running>, Fault> {
        let _turn = futures_executor::block_on(of.beginning.acquire());
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let Variant { loaded_flow, cut, edits, answered, .. } = variant.clone();
        let point = of.point(self, cut, &edits)?;
        let script = of.script(self, &point, &loaded_flow)?;
        let fork = NewFork { id: id.to_owned(), loaded_flow, point, answered };
        let next = self.forking_as(fork, edits, script)?;
        self.begin_next(super::Next { calls: Some(calls.clone()), ..next }).map(Some)
    }

    /// Goes on with a sample that was stopped.
    fn resume_sample(
        &self,
        recorded: (RequestRow, Vec<Event>),
        variant: &Variant,
        calls: &SampleCalls,
    ) -> Result<Running, Fault> {
        let common = recorded.0.forked_from.as_ref().map_or(0, |from| from.seq);
        calls.add_asked(self.answered_calls(&recorded.1, common)?);
        let next = self.resuming_with(variant.loaded_flow.clone(), recorded, &Mock::Inherit, Vec::new())?;
        self.begin_next(super::Next { calls: Some(calls.clone()), ..next })
    }

    /// Waits for the end of a sample. It is aborted if the experiment is cancelled or the budget refuses it a call.
    pub(super) fn finish_sample(&self, running: Running, calls: &SampleCalls, cancel: &Cancel) -> Result<Ended, Fault> {
        let id = running.request_id.clone();
        let mut is_stopping = false;
        loop {
            match running.ended.recv_timeout(LOOK) {
                Ok(ended) => return Ok(ended),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::internal("the request's thread ended without an answer"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !is_stopping && (cancel.is_cancelled() || calls.is_refused()) {
                is_stopping = true;
                // One that has just ended needs no stopping.
                self.stop(&id);
            }
        }
    }
}
