//! Answers to a request that runs, here or in another process (SEMANTICS §9.3).

use std::time::{Duration, Instant};

use engine::event::RequestStatus;
use engine::suspension::{Resolved, SuspensionStatus};

use super::{Resolution, answers, questions};
use crate::core::fault::Fault;
use crate::run::Running;
use crate::run::batch::Cancel;
use crate::run::not_accepted::NotAccepted;
use crate::views::RequestRow;
use crate::workspace::{Mock, Workspace};

/// How often is looked whether an answer was taken.
const LOOK: Duration = Duration::from_millis(20);
/// A process that can take an answer has taken it by now.
const LONG: Duration = Duration::from_millis(500);

/// What came of an answer.
#[derive(Debug)]
pub enum Answered {
    /// The request had stopped, and goes on.
    Resumed(Running),
    /// The request runs, and its process has taken the answer.
    Taken {
        /// The request.
        request_id: String,
        /// Its session.
        session_id: String,
        /// The suspension that was answered.
        suspension: String,
    },
}

impl Workspace {
    /// Resumes a request, or gives an answer to one that runs, also if another answer resumes it at the same time. If
    /// the block that asked has ended, the answer is used as soon as the request has stopped; this function waits for
    /// that, and withdraws the answer if `stop` is cancelled. `on_wait` is called if it takes long.
    pub fn resume_or_answer(
        &self,
        request: &str,
        mock: &Mock,
        given: Resolution,
        stop: &Cancel,
        on_wait: impl FnOnce(),
    ) -> Result<Answered, Fault> {
        self.check_writable()?;
        let mut on_wait = Some(on_wait);
        loop {
            let owner = self.owner_of(request)?;
            let row = self.request(request)?;
            if row.status == RequestStatus::InProgress && given.reply.is_some() {
                let answer = self.answer_of(&row, given.clone())?;
                match self.answer_running(&owner, request, answer, stop, &mut on_wait)? {
                    Some(answered) => return Ok(answered),
                    None => continue,
                }
            }
            match self.resume_unless_taken_up(request, mock, given.clone()) {
                // Another job has resumed it with an answer of its own since: this answer is for that job.
                Err(NotAccepted::TakenUp(_)) if given.reply.is_some() && self.owner_of(request)? != owner => {}
                resumed => return Ok(Answered::Resumed(resumed?)),
            }
        }
    }

    /// Gives an answer to the job that runs a request. Returns `None` if the job stopped without taking it.
    fn answer_running(
        &self,
        owner: &str,
        request: &str,
        answer: Resolved,
        stop: &Cancel,
        on_wait: &mut Option<impl FnOnce()>,
    ) -> Result<Option<Answered>, Fault> {
        if !self.locks.leave_answer(owner, &answer).map_err(Fault::internal)? {
            return Err(Fault::refused(format!("suspension \"{}\" is being answered already", answer.id)));
        }
        let began = Instant::now();
        // It may run for long before it stops.
        loop {
            if stop.is_cancelled() && self.locks.withdraw_answer(owner, &answer.id) {
                return Err(Fault::refused(format!(
                    "the answer to suspension \"{}\" was withdrawn; the question waits as before",
                    answer.id
                )));
            }
            if let Some(on_wait) = on_wait.take_if(|_| began.elapsed() > LONG) {
                on_wait();
            }
            let now = self.request(request)?;
            let events = self.store.events_of_suspensions(request).map_err(Fault::internal)?;
            let question = questions(&now, &events).into_iter().find(|one| one.asking.id == answer.id);
            let Some(question) = question else { return Err(lost(&answer)) };
            if question.answer.is_some() {
                let suspension = answer.id;
                let (request_id, session_id) = (now.id, now.session_id);
                return Ok(Some(Answered::Taken { request_id, session_id, suspension }));
            }
            let has_stopped = now.status != RequestStatus::InProgress || self.owner_of(request)? != owner;
            if question.status != SuspensionStatus::Pending || has_stopped {
                self.locks.withdraw_answer(owner, &answer.id);
            }
            if question.status != SuspensionStatus::Pending {
                return Err(lost(&answer));
            }
            if has_stopped {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn owner_of(&self, request: &str) -> Result<String, Fault> {
        let row = self.store.request(request).map_err(Fault::internal)?;
        Ok(row.map(|row| row.owner).unwrap_or_default())
    }

    /// Returns the answer, if the request asks for it.
    fn answer_of(&self, row: &RequestRow, given: Resolution) -> Result<Resolved, Fault> {
        let events = self.store.events_of_suspensions(&row.id).map_err(Fault::internal)?;
        let answer = answers(row, &events, given)?.pop();
        let is_given = |answer: &Resolved| answer.resolution != SuspensionStatus::Expired;
        answer.filter(is_given).ok_or_else(|| Fault::refused("the answer came too late: the time for it was up"))
    }
}

fn lost(answer: &Resolved) -> Fault {
    Fault::refused(format!("suspension \"{}\" was not answered: the request went on without it", answer.id))
}
