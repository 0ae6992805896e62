//! Going on with a request, and trying one again.

use std::path::Path;
use std::sync::Arc;

use engine::data::Data;
use engine::event::{Event, EventKind, RequestStatus};
use engine::log::Lease;
use engine::request::{Isolated, StartRequest};
use engine::suspension::Resolved;
use engine::views::Events;
use engine::views::uncertain_effects::may_have_happened;
use script::own_time_zone;

use super::answers::{Resolution, answers};
use super::starting::{isolated_of, org_of};
use super::{Mock, Workspace};
use crate::catalogue::{LoadedFlow, mock_file};
use crate::core::fault::Fault;
use crate::models::call_meter::SampleCalls;
use crate::models::mock_script::MockScript;
use crate::run::not_accepted::NotAccepted;
use crate::run::{PriorEvents, Running};
use crate::views::RequestRow;

/// A request that is about to go on, or to begin as another one.
pub(super) struct Next {
    pub(super) loaded_flow: Arc<LoadedFlow>,
    pub(super) asked: StartRequest,
    pub(super) script: Option<MockScript>,
    pub(super) before: PriorEvents,
    /// What counts its model calls, if it is a sample of an experiment.
    pub(super) calls: Option<SampleCalls>,
}

/// How much of a request's log was read, and which job had written it.
pub(super) struct LastWritten {
    seq: u64,
    lease: Option<Lease>,
}

impl LastWritten {
    pub(super) fn of(events: &[Event]) -> Self {
        LastWritten { seq: events.last().map_or(0, |event| event.seq), lease: Lease::of(events) }
    }
}

impl Workspace {
    /// Whether a request of this status can go on.
    pub fn can_resume(status: RequestStatus) -> bool {
        is_resumable(status)
    }

    /// Goes on with a request that was interrupted, failed, was aborted or waits: what it finished is not
    /// run again.
    pub fn resume(&self, request: &str, mock: &Mock, given: Resolution) -> Result<Running, Fault> {
        Ok(self.resume_unless_taken_up(request, mock, given)?)
    }

    /// As [`resume`](Self::resume); the error tells whether another job goes on with the request.
    pub(super) fn resume_unless_taken_up(
        &self,
        request: &str,
        mock: &Mock,
        given: Resolution,
    ) -> Result<Running, NotAccepted> {
        self.check_writable()?;
        loop {
            let next = self.resuming(request, mock, Some(given.clone()))?;
            let seen = LastWritten::of(&next.before.events);
            let open_effects = may_have_happened(&next.before.events);
            match self.start(next) {
                Ok(running) => return Ok(Running { open_effects, ..running }),
                // What was read is no longer the whole log.
                Err(_) if self.end_was_written_after(request, &seen)? => {}
                Err(refused) => return Err(refused),
            }
        }
    }

    /// Returns whether the job whose events were read wrote more of them, although it had ended: a full disk keeps the
    /// end of a request out of the log until there is room (ARCHITECTURE §7.4).
    pub(super) fn end_was_written_after(&self, request: &str, seen: &LastWritten) -> Result<bool, Fault> {
        let row = self.store.request(request).map_err(Fault::internal)?;
        Ok(row.is_some_and(|row| {
            let lease = seen.lease.as_ref();
            row.last_seq > seen.seq && lease.is_some_and(|lease| *row.owner == *lease.owner && row.epoch == lease.epoch)
        }))
    }

    /// Starts what is about to go on.
    pub(super) fn begin_next(&self, next: Next) -> Result<Running, Fault> {
        Ok(self.start(next)?)
    }

    /// What a resume runs. Without a resolution no answer is asked for: that only does to make a plan.
    pub(super) fn resuming(&self, request: &str, mock: &Mock, given: Option<Resolution>) -> Result<Next, NotAccepted> {
        let (row, events) = self.whole_log_of(request)?;
        if !is_resumable(row.status) {
            let status = row.status.as_str();
            let refused = Fault::refused(format!(
                "request \"{request}\" is {status}; only an interrupted, suspended, aborted or failed one can be \
                 resumed"
            ));
            return Err(match row.status {
                RequestStatus::InProgress => NotAccepted::TakenUp(refused),
                _ => NotAccepted::Other(refused),
            });
        }
        let answers = given.map_or(Ok(Vec::new()), |given| answers(&row, &events, given))?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        Ok(self.resuming_with(loaded_flow, (row, events), mock, answers)?)
    }

    /// What a resume with given code runs.
    pub(super) fn resuming_with(
        &self,
        loaded_flow: Arc<LoadedFlow>,
        (row, events): (RequestRow, Vec<Event>),
        mock: &Mock,
        answers: Vec<Resolved>,
    ) -> Result<Next, Fault> {
        let (asked, origin) = self.asked_before(&row, &events)?;
        let (script, origin) =
            self.mock_of(&self.mode(mock, origin.as_deref(), &loaded_flow.bundle.file), &loaded_flow.bundle.file)?;
        let asked = StartRequest { mock: origin, ..asked };
        let prior_status = row.status;
        let events = Arc::new(events);
        let before = PriorEvents { prior_status, events, answers, is_parsed: true, ..PriorEvents::default() };
        Ok(Next { loaded_flow, asked, script, before, calls: None })
    }

    /// Runs a request's action once more with the same input, as a new request in the same session.
    pub fn retry(&self, request: &str, mock: &Mock) -> Result<Running, Fault> {
        self.check_writable()?;
        let (next, _) = self.retrying(request, mock)?;
        self.begin_next(next)
    }

    /// What a retry runs, and the events of the request that is tried again.
    pub(super) fn retrying(&self, request: &str, mock: &Mock) -> Result<(Next, Vec<Event>), Fault> {
        let (row, events) = self.whole_log_of(request)?;
        if !row.status.is_terminal() {
            return Err(Fault::refused(format!(
                "request \"{request}\" is {}; only one that has ended can be tried again",
                row.status.as_str()
            )));
        }
        let (asked, origin) = self.asked_before(&row, &events)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let (script, origin) =
            self.mock_of(&self.mode(mock, origin.as_deref(), &loaded_flow.bundle.file), &loaded_flow.bundle.file)?;
        // Code of today may count on an organisation where that of the first try did not.
        let session = self.store.session(&asked.session).map_err(Fault::internal)?;
        let named = asked.project.as_deref().map(str::to_owned);
        let project = org_of(&loaded_flow.flow, named, session.and_then(|row| row.project));
        let isolated = isolated_of(&loaded_flow.flow, project.as_deref());
        let asked = StartRequest {
            request: super::new_request().into(),
            project: project.map(Into::into),
            mock: origin,
            retry_of: Some(request.to_owned()),
            claim: None,
            isolated,
            time_zone: Some(own_time_zone().into()),
            ..asked
        };
        let before = PriorEvents { is_parsed: true, ..PriorEvents::default() };
        Ok((Next { loaded_flow, asked, script, before, calls: None }, events))
    }

    /// Who asked for what, as the log has it, and where its mock script came from.
    pub(super) fn asked_before(
        &self,
        row: &RequestRow,
        events: &[Event],
    ) -> Result<(StartRequest, Option<String>), Fault> {
        let Some(EventKind::RequestStarted {
            session,
            user,
            project,
            ephemeral,
            retry_of,
            claim,
            trigger,
            dispatched_by,
            isolated,
            user_by_org,
            time_zone,
            ..
        }) = events.first().map(|event| &event.kind)
        else {
            return Err(Fault::internal(format!("request \"{}\" has no first event", row.id)));
        };
        // The newest part decides which models answer (ARCHITECTURE §5.9).
        let origin = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestStarted { mock, .. } | EventKind::RequestResumed { mock, .. } => Some(mock.clone()),
            _ => None,
        });
        let asked = StartRequest {
            request: row.id.as_str().into(),
            action: row.action.clone(),
            input: Data::from(Events::new(events).input().cloned()),
            session: session.clone(),
            ephemeral: *ephemeral,
            user: user.clone(),
            project: project.clone(),
            mock: None,
            // Named when it starts.
            owner: String::new(),
            retry_of: retry_of.clone(),
            trigger: trigger.clone(),
            dispatched_by: dispatched_by.clone(),
            claim: claim.clone(),
            fork: self.fork_of(session)?,
            isolated: Isolated { flow: row.flow.as_str().into(), kinds: isolated.clone(), user_by_org: *user_by_org },
            time_zone: time_zone.clone(),
        };
        Ok((asked, origin.flatten()))
    }

    /// The session itself, where it is a fork: its requests see copies of their user and project.
    pub(super) fn fork_of(&self, session: &str) -> Result<Option<std::sync::Arc<str>>, Fault> {
        let row = self.store.session(session).map_err(Fault::internal)?;
        Ok(row.filter(|row| row.forked_from.is_some()).map(|row| row.id.into()))
    }

    /// The models of a request that goes on are those it had, unless others are named (ARCHITECTURE §5.9).
    pub(super) fn mode(&self, mock: &Mock, recorded: Option<&str>, flow: &str) -> Mock {
        match (mock, recorded) {
            (Mock::Inherit, Some(origin)) => {
                if mock_file(&self.dir.join(flow)) == self.dir.join(origin) {
                    Mock::Beside
                } else {
                    Mock::File(self.dir.join(Path::new(origin)))
                }
            }
            (mode, _) => mode.clone(),
        }
    }
}

fn is_resumable(status: RequestStatus) -> bool {
    matches!(
        status,
        RequestStatus::Interrupted | RequestStatus::Suspended | RequestStatus::Failed | RequestStatus::Aborted
    )
}
