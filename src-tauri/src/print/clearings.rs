//! What was taken out of the database, for people.

use runner::{CompactedRow, DeletedRow};

use super::counted;

pub(crate) fn deleted(deleted: &DeletedRow) -> String {
    let (requests, events) = (counted(deleted.requests, "request"), counted(deleted.events, "event"));
    format!("session {} is deleted: {requests} with {events}\n", deleted.session_id)
}

pub(crate) fn compacted(compacted: CompactedRow) -> String {
    format!("{} bytes became {}\n", compacted.before, compacted.after)
}
