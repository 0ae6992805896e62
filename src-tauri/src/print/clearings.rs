//! Prints the results of `delete` and `compact`.

use runner::{CompactedRow, DeletedRow};

use super::counted;

pub(crate) fn deleted(deleted: &DeletedRow) -> String {
    let (requests, events) = (counted(deleted.requests, "request"), counted(deleted.events, "event"));
    format!("session {} is deleted: {requests} with {events}\n", deleted.session_id)
}

pub(crate) fn compacted(compacted: CompactedRow, is_server: bool) -> String {
    let CompactedRow { before, after } = compacted;
    if is_server && after >= before {
        return format!(
            "{after} bytes, no fewer than before. New runs use the room of what was deleted. To give it back to the \
             disk, compact as the owner of the tables while nothing else is connected, or run VACUUM FULL\n"
        );
    }
    format!("{before} bytes became {after}\n")
}
