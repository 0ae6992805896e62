//! A request as text: what came in and out, and its timeline as a tree with bars.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use engine::path::path_below;
use engine::views::blocks::BlockStatus;
use runner::{BlockRow, Json, RequestRow, Shown};

use super::clock::{Clock, Ran};
use super::tree::indentation;
use super::{cut, duration, short, table};

pub(crate) fn shown(shown: &Shown) -> String {
    let mut text = head(&shown.request, shown.input.as_ref(), shown.output.as_ref());
    text.push('\n');
    text.push_str(&timeline(shown));
    text
}

/// The request, and what came in and out.
pub(super) fn head(request: &RequestRow, input: Option<&Json>, output: Option<&Json>) -> String {
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
    if let Some(emitter) = &request.received_from {
        let _ = writeln!(text, "received as a trace ({emitter}): without code and state");
    }
    if let Some(totals) = &request.totals {
        let _ = writeln!(text, "{}", super::totals(totals));
    }
    if let Some(input) = input {
        let _ = writeln!(text, "input   {}", short(&input.0));
    }
    if let Some(output) = output {
        let _ = writeln!(text, "output  {}", short(&output.0));
    }
    if let Some(error) = &request.error {
        text.push_str(&super::errors::lines(error));
    }
    text
}

/// How a block stands.
pub(super) fn status(row: &BlockRow) -> &'static str {
    standing(row.status, row.memoized)
}

pub(super) fn standing(status: BlockStatus, is_memoized: bool) -> &'static str {
    match status {
        BlockStatus::Running => "▶ running",
        BlockStatus::Completed if is_memoized => "= memoized",
        BlockStatus::Completed => "✓ completed",
        BlockStatus::Failed => "✗ failed",
        BlockStatus::ReturnedError => "✗ returned an error",
        BlockStatus::TimedOut => "✗ timed out, ended later",
        BlockStatus::Suspended => "⏸ suspended",
        BlockStatus::Abandoned => "~ abandoned",
    }
}

/// How blocks are named in the tree: by what their path adds to that of the block around them, and by their attempt
/// where there is more than one, with the number that `block --attempt` takes.
struct Labels<'s> {
    /// How often each path ran.
    attempts: HashMap<&'s str, u32>,
    /// The path of each execution that was named, and how many are around it.
    named: HashMap<&'s str, (&'s str, usize)>,
}

impl<'s> Labels<'s> {
    fn new(shown: &'s Shown) -> Self {
        let mut attempts = HashMap::new();
        for block in &shown.blocks {
            *attempts.entry(block.row.path.as_str()).or_insert(0) += 1;
        }
        Labels { attempts, named: HashMap::new() }
    }

    /// The next block's. What is around it was named before.
    fn label(&mut self, row: &'s BlockRow) -> String {
        let around = row.parent.as_deref().and_then(|parent| self.named.get(parent).copied());
        let (segment, depth) = match around {
            Some((path, depth)) => (path_below(&row.path, path).unwrap_or(&row.path), depth + 1),
            None => (row.path.as_str(), 0),
        };
        self.named.insert(row.instance_id.as_str(), (row.path.as_str(), depth));
        let attempt = match self.attempts.get(row.path.as_str()) {
            Some(2..) => format!(" (attempt {})", row.attempt),
            _ => String::new(),
        };
        format!("{}{segment}{attempt}", indentation(depth))
    }
}

/// The blocks in the order of a tree: each after the block around it, and those in one block in the order in which they
/// began. A resume goes on with a block after others have begun.
fn as_tree(shown: &Shown) -> Vec<&BlockRow> {
    let rows = || shown.blocks.iter().map(|block| &block.row);
    let known: HashSet<&str> = rows().map(|row| row.instance_id.as_str()).collect();
    let mut inside: HashMap<&str, Vec<&BlockRow>> = HashMap::new();
    let mut open = Vec::new();
    for row in rows() {
        match row.parent.as_deref().filter(|parent| known.contains(parent)) {
            Some(parent) => inside.entry(parent).or_default().push(row),
            None => open.push(row),
        }
    }
    open.reverse();
    let mut ordered = Vec::with_capacity(shown.blocks.len());
    while let Some(row) = open.pop() {
        ordered.push(row);
        open.extend(inside.remove(row.instance_id.as_str()).into_iter().flatten().rev());
    }
    ordered
}

/// The timeline as a tree with bars.
pub(crate) fn timeline(shown: &Shown) -> String {
    let clock = Clock::of(&shown.request, shown.blocks.iter().map(|block| Ran::from(&block.row)));
    let mut labels = Labels::new(shown);
    let rows: Vec<_> = as_tree(shown)
        .into_iter()
        .map(|row| {
            vec![
                labels.label(row),
                clock.bar(row.into()),
                duration(row.duration_ms.or(row.cut_ms)),
                status(row).to_owned(),
                row.error.as_ref().map(|error| cut(&error.told())).unwrap_or_default(),
            ]
        })
        .collect();
    table(&["BLOCK", "TIME", "TOOK", "STATUS", ""], &rows)
}
