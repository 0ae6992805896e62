//! What was found in logs, for people: who wrote a value.

use runner::{Json, WriteRow};

use super::{short, table, time};

/// One write a line: what the value was, and what it became.
pub(crate) fn writes(writes: &[WriteRow]) -> String {
    if writes.is_empty() {
        return "nobody wrote it in this request\n".to_owned();
    }
    let value = |value: &Option<Json>| value.as_ref().map_or("(nothing)".to_owned(), |value| short(&value.0));
    let rows: Vec<_> = writes
        .iter()
        .map(|write| {
            vec![
                write.seq.to_string(),
                time(write.at),
                write.by.clone().unwrap_or_else(|| "(the request)".to_owned()),
                write.operation.clone(),
                format!("{} → {}", value(&write.old), value(&write.new)),
            ]
        })
        .collect();
    table(&["SEQ", "AT (UTC)", "BY", "OPERATION", "VALUE"], &rows)
}
