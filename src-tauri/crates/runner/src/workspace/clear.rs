//! Taking things out of the database: a session, and the room that nothing needs.

use store::{Cleared, Deleted};

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{CompactedRow, DeletedRow};

impl Workspace {
    /// Deletes a session with all its requests, state and resources; users and projects keep theirs.
    pub fn delete_session(&self, session: &str) -> Result<DeletedRow, Fault> {
        let cleared = self.clear_session(session)?;
        let deleted = done(cleared, session, &format!("session \"{session}\" cannot be deleted"))?;
        Ok(deleted_row(session, deleted))
    }

    /// Deletes a session after all sessions that were forked from it, and from those: each by itself, so what is
    /// deleted stays deleted if another one is refused. Returns them in the order in which they were deleted.
    pub fn delete_session_and_forks(&self, session: &str) -> Result<Vec<DeletedRow>, Fault> {
        let mut deleted = Vec::new();
        let mut open = vec![session.to_owned()];
        while let Some(next) = open.last().cloned() {
            match self.clear_session(&next)? {
                Cleared::Needed(forks) => open.extend(forks),
                // Another process has deleted this fork.
                Cleared::Unknown if open.len() > 1 => drop(open.pop()),
                cleared => {
                    let one = done(cleared, &next, &format!("session \"{next}\" cannot be deleted"))?;
                    deleted.push(deleted_row(&next, one));
                    open.pop();
                }
            }
        }
        Ok(deleted)
    }

    fn clear_session(&self, session: &str) -> Result<Cleared<Deleted>, Fault> {
        self.check_writable()?;
        self.store.delete_session(session).map_err(Fault::internal)
    }

    /// Drops values that nothing names any more, and gives free room back.
    pub fn compact(&self) -> Result<CompactedRow, Fault> {
        self.check_writable()?;
        let cleared = self.store.compact().map_err(Fault::internal)?;
        let compacted = done(cleared, "", "the database cannot be compacted")?;
        Ok(CompactedRow { before: compacted.before, after: compacted.after })
    }
}

fn deleted_row(session: &str, deleted: Deleted) -> DeletedRow {
    DeletedRow { session_id: session.to_owned(), requests: deleted.requests, events: deleted.events }
}

/// The subject and verb of a sentence about sessions, of which a few are named.
fn were(sessions: &[String]) -> String {
    const NAMED: usize = 3;
    match sessions {
        [only] => format!("session \"{only}\" was"),
        all => {
            let named: Vec<String> = all.iter().take(NAMED).map(|id| format!("\"{id}\"")).collect();
            let more = if all.len() > NAMED { ", …" } else { "" };
            format!("{} sessions ({}{more}) were", all.len(), named.join(", "))
        }
    }
}

fn done<T>(cleared: Cleared<T>, session: &str, refusal: &str) -> Result<T, Fault> {
    match cleared {
        Cleared::Done(done) => Ok(done),
        Cleared::Unknown => Err(Fault::not_found(format!("unknown session \"{session}\""))),
        Cleared::Needed(forks) => Err(Fault::refused(format!(
            "{refusal}: {} forked from it, and what came before the fork is read from here; delete them with it: \
             flowglass delete --session {session} --forks",
            were(&forks)
        ))),
        Cleared::Busy(request) => Err(Fault::refused(format!(
            "{refusal} while its request \"{request}\" runs or waits for its turn; wait for its end, or abort it"
        ))),
    }
}
