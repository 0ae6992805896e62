//! Questions that wait for an answer, as text for people.

use runner::SuspensionRow;

use super::{cut, table};

/// A row for each.
pub(crate) fn suspensions(rows: &[SuspensionRow]) -> String {
    if rows.is_empty() {
        return "nothing was asked\n".to_owned();
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
    table(&["ID", "STATUS", "REQUEST", "PATH", "REASON", "TAKES", "MESSAGE"], &cells)
}

/// What a suspended request waits for, and how to answer.
pub(crate) fn waiting(rows: &[SuspensionRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let words = row.message.as_deref().unwrap_or(&row.reason);
        text.push_str(&format!("waits for an answer at {}: {}\n", row.path, cut(words)));
        let which = if rows.len() > 1 { format!(" --suspension {}", row.id) } else { String::new() };
        for reply in &row.allow {
            let data = if reply.as_str() == "submit" { " JSON" } else { "" };
            text.push_str(&format!("  flowglass resume {}{which} --{}{data}\n", row.request_id, reply.as_str()));
        }
    }
    text
}
