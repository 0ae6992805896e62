//! The tree of a request's blocks as text: groups of turns and of attempts as one row while they are folded.

use std::fmt::Write as _;

use engine::views::blocks::BlockStatus;
use engine::views::fork_edits::EditedPart;
use runner::{GroupOf, Json, RequestRow, Totals, TreeView, ViewGroup, ViewRow};

use super::clock::{Clock, Ran};
use super::timeline::{head, standing};
use super::{counted, cut, duration, table};

/// As many levels are indented.
const MOST_LEVELS: usize = 24;

/// A long request: what came in and out, its tree with groups folded, and how to see the rest.
pub(crate) fn shown_folded(tree: &TreeView, input: Option<&Json>, output: Option<&Json>) -> String {
    let totals = Totals { blocks: tree.counts.blocks, failed: tree.counts.failed, sums: tree.sums, kept: tree.kept };
    let request = RequestRow { totals: Some(totals), ..tree.request.clone() };
    let mut text = head(&request, input, output);
    text.push('\n');
    text.push_str(&rows(tree));
    let id = &tree.request.id;
    if tree.hidden > 0 {
        let _ = writeln!(text, "\n{} folded: show {id} --tree --unfolded prints every row,", are(tree.hidden));
    } else {
        text.push('\n');
    }
    let _ = writeln!(text, "show {id} --tree --filter 'status:failed' those that fit with what is around them");
    text
}

/// The rows as they are folded and filtered.
pub(crate) fn tree(tree: &TreeView) -> String {
    let mut text = rows(tree);
    if let Some(matches) = tree.matches {
        let _ = writeln!(text, "\n{} of {}", fitting(matches), counted(tree.counts.blocks, "block"));
    } else if tree.hidden > 0 {
        let _ = writeln!(text, "\n{} folded; --unfolded prints every row", are(tree.hidden));
    }
    text
}

fn fitting(matches: u64) -> String {
    format!("the filter fits {matches}")
}

fn are(rows: u64) -> String {
    format!("{} {}", counted(rows, "row"), if rows == 1 { "is" } else { "are" })
}

fn rows(tree: &TreeView) -> String {
    let clock = Clock::of(&tree.request, tree.rows.iter().map(Ran::from));
    let cells = |row: &ViewRow| {
        vec![
            format!("{}{}", indentation(row.depth as usize), label(row)),
            clock.bar(row.into()),
            duration(if row.group.is_some() { clock.took(row.started_at, row.duration_ms) } else { row.worked_ms() }),
            stands(row).to_owned(),
            row.group
                .as_ref()
                .map_or_else(|| row.error.as_deref().map(cut).unwrap_or_default(), |group| told(row, group)),
        ]
    };
    let rows: Vec<Vec<String>> = tree.rows.iter().map(cells).collect();
    table(&["BLOCK", "TIME", "TOOK", "STATUS", ""], &rows)
}

/// The indentation of a level. Deeper ones are told by number, so that the other columns stay in sight.
pub(super) fn indentation(level: usize) -> String {
    match level.checked_sub(MOST_LEVELS) {
        None | Some(0) => "  ".repeat(level),
        Some(_) => format!("{}{level:>3} · ", "  ".repeat(MOST_LEVELS - 1)),
    }
}

/// How a row stands; a fork's output of a block is nobody's who ran.
fn stands(row: &ViewRow) -> &'static str {
    if row.edited == Some(EditedPart::Output) {
        return "= edited";
    }
    standing(row.status.unwrap_or(BlockStatus::Running), row.memoized)
}

fn label(row: &ViewRow) -> String {
    match &row.group {
        None => match row.attempt {
            Some(attempt) if attempt > 0 => format!("{} (attempt {attempt})", row.label),
            _ => row.label.clone(),
        },
        Some(group) => {
            let what = match group.of {
                GroupOf::Turns => "×",
                GroupOf::Attempts => "attempts ×",
            };
            format!("{} {what} {}", row.label, group.count)
        }
    }
}

fn told(row: &ViewRow, group: &ViewGroup) -> String {
    let counts = [(group.failed, "failed"), (group.running, "running"), (group.suspended, "suspended")];
    let mut told: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if row.is_folded {
        told.push(format!("{} folded", counted(row.hidden, "row")));
    }
    told.join(", ")
}
