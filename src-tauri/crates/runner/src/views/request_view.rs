//! What a window shows of an open request: its head, windows of rows, updates, an overview.
//!
//! Sent many times a second: small, and without payloads.

use engine::event::BlockKind;
use engine::views::blocks::BlockStatus;
use engine::views::fork_edits::EditedPart;
use serde::{Deserialize, Serialize};

use super::{BlockRow, ItemsUpdate, RequestRow, Sums, worked};

/// The numbers of blocks of a request, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
pub struct Counts {
    /// All executions of blocks.
    pub blocks: u64,
    /// Those that have ended, in whatever way.
    pub finished: u64,
    /// Those that run.
    pub running: u64,
    /// Those that failed, without those that failed only because a block inside them did.
    pub failed: u64,
    /// Those that wait, or waited, for an answer.
    pub suspended: u64,
    /// How many items they emitted.
    pub items: u64,
    /// Ticks of Calls, each execution.
    pub ticks: u64,
    /// Calls in those, each once.
    pub calls: u64,
}

/// A request that was opened.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ViewHead {
    /// The view's number, for as long as it is open.
    pub view: u64,
    /// The request's row.
    pub request: RequestRow,
    /// The newest event that the rows include.
    pub seq: u64,
    /// How many rows there are, as folded and filtered now.
    pub rows: u64,
    /// The first of them, so that a page shows them without another question.
    pub page: Vec<ViewRow>,
    /// Its blocks, by status.
    pub counts: Counts,
    /// What they asked of models and wrote. A fork has not asked for the answers that it keeps.
    pub sums: Sums,
    /// The answers of models that a fork keeps, and that its origin paid for; absent if it keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Sums>,
    /// The answers that another sample of an experiment paid for, without costs; absent if it shares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Sums>,
    /// When its first event was, in milliseconds since the epoch. Of a fork that is the first of the request that it
    /// leaves. All times of a request are told from here.
    pub from: i64,
    /// When its newest event was.
    pub to: i64,
    /// The event before the root's first one; 0 where there is none yet.
    pub start: u64,
    /// The newest execution of the root block; null before it began.
    pub root: Option<String>,
    /// The first words of what the request was asked.
    pub words: Option<String>,
    /// The execution that a person looks for: the one that failed, or the one that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What has changed in an open request since the last update.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ViewUpdate {
    /// Which view.
    pub view: u64,
    /// The request's row.
    pub request: RequestRow,
    /// The newest event that the rows include.
    pub seq: u64,
    /// How many rows there are.
    pub rows: u64,
    /// Its blocks, by status.
    pub counts: Counts,
    /// What they asked of models and wrote. A fork has not asked for the answers that it keeps.
    pub sums: Sums,
    /// The answers of models that a fork keeps, and that its origin paid for; absent if it keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Sums>,
    /// The answers that another sample of an experiment paid for, without costs; absent if it shares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Sums>,
    /// When its first event was, in milliseconds since the epoch. Of a fork that is the first of the request that it
    /// leaves. All times of a request are told from here.
    pub from: i64,
    /// When its newest event was.
    pub to: i64,
    /// The newest execution of the root block; null before it began.
    pub root: Option<String>,
    /// The first row that may have changed; equal to `rows` if none has. Rows before it keep everything but `siblings`.
    pub changed_from: u64,
    /// What changed of its items, where those are watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsUpdate>,
}

/// Updates that are sent together. The next batch waits until the page has answered this one.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ViewBatch {
    /// Its number, for the answer.
    pub batch: u64,
    /// One for each view that changed.
    pub updates: Vec<ViewUpdate>,
}

/// A window of rows.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct ViewRows {
    /// The newest event that they include.
    pub seq: u64,
    /// How many rows there are in all.
    pub rows: u64,
    /// Which row is the first of these.
    pub offset: u64,
    /// The rows.
    pub page: Vec<ViewRow>,
}

impl ViewRow {
    /// How long it ran, in milliseconds, without its gaps; `None` if it has not ended.
    pub fn worked_ms(&self) -> Option<i64> {
        let gaps = self.gaps.iter().flatten().map(|gap| (gap.from, gap.to));
        self.duration_ms.map(|took| worked(0, took, gaps))
    }
}

/// Ticks and Calls that changed after an event, with what is directly around and inside of them.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ViewCalls {
    /// The newest event that they include.
    pub seq: u64,
    /// In start order.
    pub blocks: Vec<BlockRow>,
}

/// One row of the tree: an execution of a block, or a group of such.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ViewRow {
    /// Its number, for the life of the view.
    pub node: u64,
    /// How many rows it stands below.
    pub depth: u32,
    /// Its place below the block around it, like `step:plan`.
    pub label: String,
    /// Whether the rows below it are hidden.
    pub is_folded: bool,
    /// Whether there are rows below it.
    pub has_children: bool,
    /// How many rows it hides.
    pub hidden: u64,
    /// Its place among its siblings, from 1.
    pub position: u64,
    /// How many siblings there are, itself included.
    pub siblings: u64,
    /// Whether the filter fits it, and not only something below it. Always where there is no filter.
    pub matches: bool,
    /// Whether the request's end waited for it.
    pub is_critical: bool,
    /// `requestId:path:attempt`; as all of a block, absent for a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Its logical path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What tells a turn of a loop, or an entry of a list, from the others: the id, the name or the title of what it
    /// was called with, or its first words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<BlockKind>,
    /// Which execution of the path, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How it stands; null where it had not begun at the instant that was asked for.
    pub status: Option<BlockStatus>,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// Milliseconds from its start to its end, with its gaps; absent while it runs, or where its process died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// If it was cut off without an end: milliseconds until the last event from which it is known to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_ms: Option<i64>,
    /// When it did not run between its start and its end: it was interrupted, or waited, and went on. Absent if it ran
    /// in one go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<Gap>>,
    /// Its first event.
    pub seq_start: u64,
    /// Its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_end: Option<u64>,
    /// Its output is not its own: a resume took it from the log, or a fork was given it.
    pub memoized: bool,
    /// Which of its values a fork gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited: Option<EditedPart>,
    /// Whether its error was caught.
    pub caught: bool,
    /// How many state operations it made itself. These four and the tokens are 0 where it had not ended at the instant
    /// that was asked for: what it had done until then is not known.
    pub changes: u32,
    /// How many items it emitted itself.
    pub items: u32,
    /// How many answers of models it got itself.
    pub model_calls: u32,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Completion tokens.
    pub completion_tokens: u64,
    /// What it and everything below it asked of models and wrote; of a fork without the answers that it keeps.
    pub sums: Sums,
    /// The message of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it stands for, where it is a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<ViewGroup>,
}

/// What makes a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum GroupOf {
    /// One block many times in one container: a loop's turns, a list's entries, branches.
    Turns,
    /// The executions of one path.
    Attempts,
}

/// A group of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct ViewGroup {
    /// Of what.
    pub of: GroupOf,
    /// How many had begun. A turn that ran more than once is one, and stands as its newest execution.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many run.
    pub running: u64,
    /// How many wait.
    pub suspended: u64,
    /// How many began when: 48 equal parts of the group's own time.
    pub cells: Vec<u32>,
    /// How many of those failed.
    pub failures: Vec<u32>,
    /// How long its turns took, once one has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durations: Option<ViewDurations>,
}

/// How long the turns of a group took, in at most eight cells; each cell is wider than the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct ViewDurations {
    /// None took less, in milliseconds.
    pub from: i64,
    /// None took more.
    pub to: i64,
    /// How many took how long.
    pub cells: Vec<u32>,
    /// How many of those failed.
    pub failures: Vec<u32>,
}

/// Which rows, as of when.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
pub struct RowsQuery {
    /// The first row.
    pub offset: u64,
    /// At most this many.
    pub limit: u32,
    /// As of which event; the newest when absent.
    #[serde(default)]
    pub at: Option<u64>,
}

/// What to look for in the rows, and from where.
#[derive(Clone, Debug, Deserialize, specta::Type)]
pub struct FindQuery {
    /// In the language of the filter.
    pub text: String,
    /// The row after which is looked (before which, backwards); from the first (the last) one when absent.
    #[serde(default)]
    pub from: Option<u64>,
    /// Towards the first row.
    #[serde(default)]
    pub backwards: bool,
}

/// Which execution of a block: one by its instance, or the newest of a path.
#[derive(Clone, Debug, Default, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockQuery {
    /// `requestId:path:attempt`.
    #[serde(default)]
    pub instance_id: Option<String>,
    /// A path.
    #[serde(default)]
    pub path: Option<String>,
}

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct FoundRow {
    /// Which row, as folded and filtered now.
    pub row: u64,
    /// Its node.
    pub node: u64,
    /// The execution that it shows.
    pub instance_id: String,
}

/// How many rows are left by a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct Filtered {
    /// Rows: what fits, and what is around it.
    pub rows: u64,
    /// What fits.
    pub matches: u64,
}

/// Where the slider can go from an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum StepTo {
    /// The end of a block before it.
    PreviousEnd,
    /// The end of a block after it.
    NextEnd,
    /// A failure before it.
    PreviousFailure,
    /// A failure after it.
    NextFailure,
    /// The end of a step of the root before it.
    PreviousBoundary,
    /// The end of a step of the root after it.
    NextBoundary,
}

/// The whole request, or a part of its time, in as many cells as there is room for.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct Overview {
    /// The first instant, in milliseconds since the epoch.
    pub from: i64,
    /// The last one.
    pub to: i64,
    /// How many blocks began or ended in each cell.
    pub cells: Vec<u32>,
    /// How many failed in each cell.
    pub failures: Vec<u32>,
    /// Stretches of 100 ms and more in which no handler and no generator ran: the longest, in order.
    pub gaps: Vec<Gap>,
    /// What the request's end waited for; empty while it runs.
    pub critical: Vec<CriticalPart>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct Gap {
    /// Milliseconds since the epoch.
    pub from: i64,
    /// Milliseconds since the epoch.
    pub to: i64,
}

/// A stretch of time in which the request's end waited for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct CriticalPart {
    /// Milliseconds since the epoch.
    pub from: i64,
    /// Milliseconds since the epoch.
    pub to: i64,
    /// The innermost such block.
    pub node: u64,
}
