//! The notices that listeners get about requests, from this process and from others.
//!
//! A commit of this process sends its notice itself. While a listener watches, commits of other processes, and jobs
//! whose process died, are looked up in the database five times a second. Must not change anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::concurrency::status_after;
use engine::event::{EventKind, RequestStatus, Seq};
use store::{Liveness, RequestQuery, RequestRow, Samples};

use super::{Workspace, lock};
use crate::core::fault::Fault;
use crate::core::notice::{Notice, Notices};

/// How often is looked what others did.
const LOOK: Duration = Duration::from_millis(200);

/// The requests that this process writes, by their ids.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<HashMap<Arc<str>, Run>>>);

/// A request that this process writes.
struct Run {
    /// Which of its runs: it may be taken up again before its last run has left.
    token: u64,
    session: Arc<str>,
    /// Its newest event; 0 before the first.
    seq: Seq,
    /// Whether its log says that it has ended, or waits for somebody.
    has_left: bool,
    is_gone: bool,
}

impl Written {
    /// A run that is about to begin.
    pub(super) fn begin(&self, request: &Arc<str>, session: &Arc<str>, token: u64) {
        let run = Run { token, session: session.clone(), seq: 0, has_left: false, is_gone: false };
        lock(&self.0).insert(request.clone(), run);
    }

    /// A run whose job is gone. Answers what its log does not say: that it was interrupted, at which event, and
    /// in which session.
    pub(super) fn end(&self, request: &str, token: u64) -> Option<(Arc<str>, Seq)> {
        let mut runs = lock(&self.0);
        let run = runs.get_mut(request).filter(|run| run.token == token)?;
        if run.has_left || run.seq == 0 {
            runs.remove(request);
            return None;
        }
        // Its end may still be written.
        run.is_gone = true;
        Some((run.session.clone(), run.seq))
    }

    /// What a commit says of its request: the session, the newest event, and how it stands. Nothing where the
    /// session is not known.
    fn follow(&self, committed: &store::Committed) -> Option<(Arc<str>, Seq, RequestStatus)> {
        let seq = committed.events.last()?.seq;
        let ended_as = status_after(committed.events.iter());
        let status = ended_as.unwrap_or(RequestStatus::InProgress);
        let mut runs = lock(&self.0);
        let run = match runs.get_mut(&committed.request) {
            Some(run) => run,
            // Nobody runs it here: an import brings it, or it is made up.
            None => {
                let session = committed.events.iter().find_map(|event| match &event.kind {
                    EventKind::RequestStarted { session, .. } => Some(session.clone()),
                    _ => None,
                })?;
                let run = Run { token: u64::MAX, session, seq, has_left: false, is_gone: true };
                runs.entry(committed.request.clone()).or_insert(run)
            }
        };
        run.seq = seq;
        if let Some(status) = ended_as {
            run.has_left = !is_unfinished(status);
        }
        let session = run.session.clone();
        if run.has_left && run.is_gone {
            runs.remove(&committed.request);
        }
        Some((session, seq, status))
    }
}

impl Workspace {
    /// Turns commits of this process into notices, for as long as the workspace lives.
    pub(super) fn forward_commits(&self) {
        let (notices, workspace, written) = (self.notices.clone(), self.name.clone(), self.written.clone());
        self.store.listen(move |committed: &store::Committed| {
            if let Some((session, seq, status)) = written.follow(committed) {
                tell(&notices, &workspace, (&committed.request, &session), seq, status);
            }
        });
    }

    /// Tells what other processes write from now on, for as long as the workspace lives.
    pub fn watch_data(self: &Arc<Self>) -> Result<(), Fault> {
        let mut others = Others::of(self)?;
        let workspace = Arc::downgrade(self);
        std::thread::Builder::new().name("news".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                let Some(workspace) = workspace.upgrade() else { return };
                // A database that cannot be read now is read again at the next look.
                let _ = others.look(&workspace);
            }
        })?;
        Ok(())
    }

    pub(super) fn tell_status(&self, row: &RequestRow, status: RequestStatus) {
        tell(&self.notices, &self.name, (&row.id, &row.session), row.last_seq, status);
    }
}

/// What is known of what other processes do.
struct Others {
    /// The newest event that was looked at, by its place in the database.
    newest: i64,
    /// Requests that other processes run, each with its owner.
    running: HashMap<String, String>,
    /// Whether something was written that was not read yet.
    has_news: bool,
    /// Whether a file of the database was missing at the last look.
    is_removed: bool,
}

impl Others {
    fn of(workspace: &Workspace) -> Result<Others, Fault> {
        workspace.store.changed_elsewhere().map_err(Fault::internal)?;
        let newest = workspace.store.newest_event().map_err(Fault::internal)?;
        let mut others = Others { newest, running: HashMap::new(), has_news: false, is_removed: false };
        // Every request that has not ended.
        let query = RequestQuery {
            status: Some(RequestStatus::Interrupted),
            samples: Samples::Listed,
            ..RequestQuery::default()
        };
        for row in workspace.store.requests(&query).map_err(Fault::internal)? {
            others.follow(workspace, &row);
        }
        Ok(others)
    }

    fn look(&mut self, workspace: &Workspace) -> Result<(), Fault> {
        if workspace.is_outdated() {
            workspace.notices.tell(&Notice::Outdated { workspace: workspace.name.clone() });
            return Ok(());
        }
        let was_removed = std::mem::replace(&mut self.is_removed, workspace.removed_database().is_some());
        if self.is_removed != was_removed {
            workspace.notices.tell(&Notice::Removed { workspace: workspace.name.clone() });
        }
        self.has_news |= workspace.store.changed_elsewhere().map_err(Fault::internal)?;
        if self.has_news {
            let (newest, rows) = workspace.store.changed_requests(self.newest).map_err(Fault::internal)?;
            (self.newest, self.has_news) = (newest, false);
            if rows.is_empty() {
                workspace.notices.tell(&Notice::Sessions { workspace: workspace.name.clone() });
            }
            for row in rows.into_iter().filter(|row| !workspace.runs_here(&row.id)) {
                self.follow(workspace, &row);
                let status = workspace.request_row(row.clone()).status;
                workspace.tell_status(&row, status);
            }
        }
        let is_gone = |owner: &String| workspace.locks.liveness(owner) == Liveness::Dead;
        let gone: Vec<String> =
            self.running.iter().filter(|(_, owner)| is_gone(owner)).map(|(request, _)| request.clone()).collect();
        for request in gone {
            let row = workspace.store.request(&request).map_err(Fault::internal)?;
            self.running.remove(&request);
            if let Some(row) = row {
                let status = workspace.request_row(row.clone()).status;
                workspace.tell_status(&row, status);
                self.follow(workspace, &row);
            }
        }
        Ok(())
    }

    fn follow(&mut self, workspace: &Workspace, row: &RequestRow) {
        let lives = workspace.locks.liveness(&row.owner) != Liveness::Dead;
        if is_unfinished(row.status) && lives && !workspace.runs_here(&row.id) {
            self.running.insert(row.id.clone(), row.owner.clone());
        } else {
            self.running.remove(&row.id);
        }
    }
}

pub(super) fn is_unfinished(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::InProgress | RequestStatus::Queued)
}

pub(super) fn tell(notices: &Notices, workspace: &Arc<str>, whose: (&str, &str), seq: Seq, status: RequestStatus) {
    let (request, session) = whose;
    notices.tell(&Notice::Request {
        workspace: workspace.clone(),
        request_id: request.to_owned(),
        session_id: session.to_owned(),
        seq,
        status,
    });
}

#[cfg(test)]
mod tests;
