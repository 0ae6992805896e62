//! A request as text: what came in and out, and its timeline as a tree with bars.

use std::fmt::Write as _;

use engine::views::blocks::BlockStatus;
use runner::{BlockRow, Shown};

use super::{cut, duration, short, table};

pub(crate) fn shown(shown: &Shown) -> String {
    let request = &shown.request;
    let mut text = format!(
        "{} · {}.{} · {} · {}\nsession {} · user {}\n",
        request.id,
        request.flow,
        request.action,
        request.status.as_str(),
        duration(request.duration_ms),
        request.session_id,
        request.user_id
    );
    if let Some(input) = &shown.input {
        let _ = writeln!(text, "input   {}", short(&input.0));
    }
    if let Some(output) = &shown.output {
        let _ = writeln!(text, "output  {}", short(&output.0));
    }
    text.push('\n');
    text.push_str(&timeline(shown));
    text
}

/// How a block stands.
pub(super) fn status(row: &BlockRow) -> &'static str {
    match row.status {
        BlockStatus::Running => "▶ running",
        BlockStatus::Completed if row.memoized => "= memoized",
        BlockStatus::Completed => "✓ completed",
        BlockStatus::Failed => "✗ failed",
        BlockStatus::Suspended => "⏸ suspended",
        BlockStatus::Abandoned => "~ abandoned",
    }
}

/// The timeline as a tree with bars.
pub(crate) fn timeline(shown: &Shown) -> String {
    const WIDTH: i64 = 32;
    // A fork has blocks that are older than itself, and a clock may be set back.
    let start = shown.blocks.iter().map(|block| block.row.started_at).min().unwrap_or(shown.request.started_at);
    let ends = shown.blocks.iter().map(|block| block.row.started_at + block.row.duration_ms.unwrap_or(0));
    let span = (ends.max().unwrap_or(start) - start).max(1);
    let rows: Vec<_> = shown
        .blocks
        .iter()
        .map(|block| {
            let row = &block.row;
            let depth = row.path.matches('/').count();
            let from = ((row.started_at - start) * (WIDTH - 1) / span).clamp(0, WIDTH - 1);
            let length =
                (row.duration_ms.unwrap_or(span - (row.started_at - start)) * WIDTH / span).clamp(1, WIDTH - from);
            let bar: String = " ".repeat(from as usize) + &"█".repeat(length as usize);
            let segment = row.path.rsplit('/').next().unwrap_or(&row.path);
            vec![
                format!("{}{segment}", "  ".repeat(depth)),
                format!("{bar:<32}"),
                duration(row.duration_ms),
                status(row).to_owned(),
                block.row.error.as_ref().map(|error| cut(&error.message)).unwrap_or_default(),
            ]
        })
        .collect();
    table(&["BLOCK", "TIME", "TOOK", "STATUS", ""], &rows)
}
