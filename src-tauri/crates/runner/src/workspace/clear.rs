//! Taking things out of the database: a session, and the room that nothing needs.

use store::Cleared;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{CompactedRow, DeletedRow};

impl Workspace {
    /// Deletes a session with all its requests, state and resources; users and projects keep theirs.
    pub fn delete_session(&self, session: &str) -> Result<DeletedRow, Fault> {
        self.check_writable()?;
        let cleared = self.store.delete_session(session).map_err(Fault::of_write)?;
        let deleted = done(cleared, session, &format!("session \"{session}\" cannot be deleted"))?;
        Ok(DeletedRow { session_id: session.to_owned(), requests: deleted.requests, events: deleted.events })
    }

    /// Drops values that nothing names any more, and gives free room back.
    pub fn compact(&self) -> Result<CompactedRow, Fault> {
        self.check_writable()?;
        let cleared = self.store.compact().map_err(Fault::of_write)?;
        let compacted = done(cleared, "", "the database cannot be compacted")?;
        Ok(CompactedRow { before: compacted.before, after: compacted.after })
    }
}

fn done<T>(cleared: Cleared<T>, session: &str, refusal: &str) -> Result<T, Fault> {
    match cleared {
        Cleared::Done(done) => Ok(done),
        Cleared::Unknown => Err(Fault::not_found(format!("unknown session \"{session}\""))),
        Cleared::Needed(fork) => Err(Fault::refused(format!(
            "{refusal}: session \"{fork}\" was forked from it, and what came before the fork is read from here; delete \
             that one first"
        ))),
        Cleared::Busy(request) => Err(Fault::refused(format!(
            "{refusal} while its request \"{request}\" runs or waits for its turn; wait for its end, or abort it"
        ))),
    }
}
