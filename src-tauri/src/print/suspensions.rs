//! Questions that wait for an answer, as text for people.

use runner::SuspensionRow;

use engine::suspension::SuspensionStatus;

use super::{cut, table};
use crate::terminal::harmless;

/// What somebody who answers has to know, in full: to agree to what was cut is to agree to anything.
fn data(row: &SuspensionRow) -> String {
    let Some(data) = &row.data else { return String::new() };
    let text = format!("{:#}", data.0);
    let lines: Vec<String> = harmless(&text).lines().map(|line| format!("  {line}\n")).collect();
    lines.concat()
}

/// A row for each, and what is asked by those that wait.
pub(crate) fn suspensions(rows: &[SuspensionRow]) -> String {
    if rows.is_empty() {
        return "no questions\n".to_owned();
    }
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                row.id.clone(),
                row.status.as_str().to_owned(),
                row.request_id.clone(),
                row.path.clone(),
                row.reason.clone(),
                row.allow.iter().map(|reply| reply.as_str()).collect::<Vec<_>>().join(" "),
                cut(row.message.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    let mut text = table(&["ID", "STATUS", "REQUEST", "PATH", "REASON", "TAKES", "MESSAGE"], &cells);
    for row in rows.iter().filter(|row| row.status == SuspensionStatus::Pending && row.data.is_some()) {
        text.push_str(&format!("\n{} asks about\n{}", row.id, data(row)));
    }
    text
}

/// What a suspended request waits for, and how to answer.
pub(crate) fn waiting(rows: &[SuspensionRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let words = row.message.as_deref().unwrap_or(&row.reason);
        text.push_str(&format!("waits for an answer at {}: {}\n", row.path, cut(words)));
        text.push_str(&data(row));
        let which = if rows.len() > 1 { format!(" --suspension {}", row.id) } else { String::new() };
        for reply in &row.allow {
            let data = if reply.as_str() == "submit" { " JSON" } else { "" };
            text.push_str(&format!("  flowglass resume {}{which} --{}{data}\n", row.request_id, reply.as_str()));
        }
    }
    text
}
