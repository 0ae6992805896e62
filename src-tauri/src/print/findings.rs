//! What was found in logs, for people: who wrote a value, and where a text stands.

use runner::{HitRow, Json, WriteRow, local_instant};

use super::{cut, short, table};

/// One write a line: what the value was, and what it became.
pub(crate) fn writes(writes: &[WriteRow]) -> String {
    if writes.is_empty() {
        return "nobody wrote it in this request\n".to_owned();
    }
    let value = |value: &Option<Json>| value.as_ref().map_or("(nothing)".to_owned(), |value| short(&value.0));
    let rows: Vec<_> = writes
        .iter()
        .map(|write| {
            let by = write.by.as_deref().unwrap_or_else(|| no_block(write));
            vec![
                write.seq.to_string(),
                local_instant(write.at),
                write.instance.as_ref().map_or_else(|| by.to_owned(), |instance| format!("{by} for {instance}")),
                write.operation.clone(),
                format!("{} → {}", value(&write.old), value(&write.new)),
            ]
        })
        .collect();
    table(&["SEQ", "AT", "BY", "OPERATION", "VALUE"], &rows)
}

/// The writer of what a fork was begun with.
pub(super) const FORK_EDIT: &str = "(the fork's edit)";

/// Who made a change that no block made.
fn no_block(write: &WriteRow) -> &'static str {
    if write.is_edit() { FORK_EDIT } else { "(the request)" }
}

/// One hit a line.
pub(crate) fn hits(hits: &[HitRow]) -> String {
    if hits.is_empty() {
        return "nothing found\n".to_owned();
    }
    let rows: Vec<_> = hits
        .iter()
        .map(|hit| {
            vec![
                hit.request_id.clone(),
                hit.seq.to_string(),
                hit.place.as_str().to_owned(),
                hit.path.clone().unwrap_or_default(),
                cut(&hit.snippet),
            ]
        })
        .collect();
    table(&["REQUEST", "SEQ", "WHERE", "PATH", "TEXT"], &rows)
}
