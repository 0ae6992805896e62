//! Questions that nobody answered in time: their requests go on and are told so (SEMANTICS §9.4).
//!
//! Only a process that stays looks for them; the command line goes on with a late request when it is
//! asked to resume it. What another database brought is left alone until somebody here resumes it by hand, and
//! each deadline is acted on once: where the code of today does not fit, that is told once (ARCHITECTURE §5.6).

use std::sync::Arc;
use std::time::Duration;

use engine::event::{Event, EventKind, RequestStatus};
use engine::suspension::SuspensionStatus;
use engine::views::suspensions::Suspension;
use store::{EventQuery, RequestQuery, RequestRow};

use super::{Mock, Resolution, Workspace};
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use crate::run::Running;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);

impl Workspace {
    /// Goes on with every suspended request that has waited too long.
    pub fn resume_late(&self) -> Result<Vec<Running>, Fault> {
        if self.check_writable().is_err() || !self.is_trusted() {
            return Ok(Vec::new());
        }
        let mut running = Vec::new();
        for row in self.late_requests()? {
            match self.resume(&row.id, &Mock::Inherit, Resolution::default()) {
                Ok(run) => running.push(run),
                // Somebody answered a moment ago, or its flow does not load: it waits on, as it was.
                Err(_) => continue,
            }
        }
        Ok(running)
    }

    /// The suspended requests that have waited too long.
    pub(super) fn late_requests(&self) -> Result<Vec<RequestRow>, Fault> {
        let query = RequestQuery { status: Some(RequestStatus::Suspended), ..RequestQuery::default() };
        let mut late = Vec::new();
        for row in self.store.requests(&query).map_err(Fault::internal)? {
            if self.locks.is_ours(&row.owner) && self.is_late(&row.id)? {
                late.push(row);
            }
        }
        Ok(late)
    }

    /// Looks for late requests from now on, for as long as the workspace lives.
    pub fn keep_time(self: &Arc<Self>) -> Result<(), Fault> {
        let workspace = Arc::downgrade(self);
        std::thread::Builder::new().name("late requests".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                let Some(workspace) = workspace.upgrade() else { return };
                // A database that cannot be read now is read again in a second.
                let _ = workspace.resume_late();
            }
        })?;
        Ok(())
    }

    fn is_late(&self, request: &str) -> Result<bool, Fault> {
        let query = EventQuery { kind: Some("suspended".to_owned()), ..EventQuery::default() };
        let asked = self.store.events(request, &query).map_err(Fault::internal)?;
        let is_over = |event: &Event| matches!(&event.kind, EventKind::Suspended(asking) if asking.is_over(now_ms()));
        // Most wait without a limit, and their logs need not be read.
        if !asked.iter().any(is_over) {
            return Ok(false);
        }
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
