//! Questions that nobody answered in time: their requests go on and are told so (SEMANTICS §9.4).
//!
//! Only a process that stays looks for them; the command line goes on with a late request when it is
//! asked to resume it. What another database brought is left alone until somebody here resumes it by hand, and
//! each deadline is acted on once: where the code of today does not fit, that is told once (ARCHITECTURE §5.6).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::event::{EventKind, RequestStatus};
use engine::suspension::SuspensionStatus;
use engine::views::suspensions::Suspension;
use store::{EventQuery, RequestQuery, RequestRow, Samples};

use super::{Mock, Resolution, Workspace};
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use crate::run::Running;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);

/// The next deadline of each suspended request, and its newest event when that was read: the log of a request is read
/// again only if it has changed, or when its time is over.
#[derive(Debug, Default)]
pub struct Deadlines(HashMap<String, (u64, i64)>);

impl Workspace {
    /// Goes on with every suspended request that has waited too long.
    pub fn resume_late(&self, known: &mut Deadlines) -> Result<Vec<Running>, Fault> {
        if self.check_writable().is_err() || !self.is_trusted() {
            return Ok(Vec::new());
        }
        let mut running = Vec::new();
        for row in self.late_requests(known)? {
            match self.resume(&row.id, &Mock::Inherit, Resolution::default()) {
                Ok(run) => running.push(run),
                // Somebody answered a moment ago, or its flow does not load: it waits on, as it was.
                Err(_) => continue,
            }
        }
        Ok(running)
    }

    /// The suspended requests that have waited too long.
    pub(super) fn late_requests(&self, known: &mut Deadlines) -> Result<Vec<RequestRow>, Fault> {
        let query = RequestQuery {
            status: Some(RequestStatus::Suspended),
            samples: Samples::Listed,
            ..RequestQuery::default()
        };
        let (mut late, mut now_known) = (Vec::new(), HashMap::new());
        for row in self.store.requests(&query).map_err(Fault::internal)? {
            if !self.locks.is_ours(&row.owner) {
                continue;
            }
            let before = known.0.get(&row.id).filter(|(seq, _)| *seq == row.last_seq);
            let deadline = match before {
                Some((_, deadline)) => *deadline,
                None => self.next_deadline(&row.id, i64::MIN)?,
            };
            let now = now_ms();
            let is_over = deadline <= now;
            let is_late = is_over && self.is_late(&row.id)?;
            let next = if is_over && !is_late { self.next_deadline(&row.id, now)? } else { deadline };
            now_known.insert(row.id.clone(), (row.last_seq, next));
            if is_late {
                late.push(row);
            }
        }
        known.0 = now_known;
        Ok(late)
    }

    /// The first deadline after this time, of any question that a request has asked; the end of time if there is none.
    fn next_deadline(&self, request: &str, after: i64) -> Result<i64, Fault> {
        let query = EventQuery { kind: Some("suspended".to_owned()), ..EventQuery::default() };
        let asked = self.store.events(request, &query).map_err(Fault::internal)?;
        let deadlines = asked.iter().filter_map(|event| match &event.kind {
            EventKind::Suspended(asking) => asking.expires_at.filter(|at| *at > after),
            _ => None,
        });
        Ok(deadlines.min().unwrap_or(i64::MAX))
    }

    /// Looks for late requests from now on, for as long as the workspace lives.
    pub fn keep_time(self: &Arc<Self>) -> Result<(), Fault> {
        let workspace = Arc::downgrade(self);
        std::thread::Builder::new().name("late requests".to_owned()).spawn(move || {
            let mut known = Deadlines::default();
            loop {
                std::thread::sleep(LOOK);
                let Some(workspace) = workspace.upgrade() else { return };
                // A database that cannot be read now is read again in a second.
                let _ = workspace.resume_late(&mut known);
            }
        })?;
        Ok(())
    }

    /// Whether one of its deadlines that have passed is of a question that is still open, and was not acted on.
    fn is_late(&self, request: &str) -> Result<bool, Fault> {
        let (row, events) = self.log_of(request)?;
        let asked = super::answers::questions(&row, &events);
        // A request that went on and came back unanswered asked the same again: its time was told already.
        let is_told = |id: &str, deadline: i64| {
            events.iter().any(|event| {
                event.at >= deadline && matches!(&event.kind, EventKind::SuspensionReopened { id: of } if of == id)
            })
        };
        let is_news = |one: &Suspension| {
            let deadline = one.asking.expires_at.unwrap_or(i64::MAX);
            !one.is_moot && one.answer.is_none() && !is_told(&one.asking.id, deadline)
        };
        Ok(asked.iter().any(|one| one.status == SuspensionStatus::Expired && is_news(one)))
    }
}
