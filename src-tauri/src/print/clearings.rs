//! What was taken out of the database, for people.

use runner::{CompactedRow, DeletedRow};

pub(crate) fn deleted(deleted: &DeletedRow) -> String {
    format!("session {} is deleted: {} requests with {} events\n", deleted.session_id, deleted.requests, deleted.events)
}

pub(crate) fn compacted(compacted: CompactedRow) -> String {
    format!("{} bytes became {}\n", compacted.before, compacted.after)
}
