//! What is shown of one block.

use engine::views::blocks::BlockView;
use serde::Serialize;

use super::{BlockRow, Change, ErrorInfo, Gap, ItemRow, Json, ModelCallRow, SuspensionRow, worked};

/// Everything about one block.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockDetail {
    /// Its row.
    pub block: BlockRow,
    /// What kept last what it had come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<KeptBy>,
    /// What it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Of a foreign request, the span that the block is: its attributes, resource, scope and the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Json>,
    /// The items it emitted itself.
    pub items: Vec<ItemRow>,
    /// What it changed in each scope, in order.
    pub changes: Vec<Change>,
    /// What it wrote to the console.
    pub logs: Vec<LogLine>,
    /// What it asked people, in any of its executions, oldest first; and what they answered.
    pub asked: Vec<SuspensionRow>,
    /// What else it did outside of itself: fetches, pauses, times, random values, `runOnce`.
    pub effects: Vec<EffectRow>,
    /// The models it asked.
    pub model_calls: Vec<ModelCallRow>,
}

/// What keeps what a block has come to: it does not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum KeptBy {
    /// A resume of the request, counted from 1.
    Resume(u32),
    /// The fork, which has it from the request that it was forked from.
    Fork,
}

/// One effect of a block.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EffectRow {
    /// The event that began it; of one that was there at once, its only event.
    pub seq: u64,
    /// `model`, `fetch`, `sleep`, `clock`, `random`, `uuid` or `once`.
    pub effect: String,
    /// Counts those of its kind in one execution of the block, from 0.
    pub ordinal: u32,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// Milliseconds; absent while it runs, or where its process died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What was asked, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Json>,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Taken from the log by a resume.
    pub memoized: bool,
}

/// One line of a flow's console.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct LogLine {
    /// `log`, `info`, `warn`, `error` or `debug`.
    pub level: String,
    /// One line, or a few.
    pub text: String,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// The file in which a block was defined, as it ran.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockSource {
    /// The file, relative to the workspace.
    pub file: String,
    /// The hash of the bundle that the file was a part of.
    pub hash: String,
    /// The whole file.
    pub text: String,
    /// The first line of the block, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Its last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
}

fn gaps(block: &BlockView<'_>) -> Vec<Gap> {
    block.gaps.iter().map(|(from, to)| Gap { from: *from, to: *to }).collect()
}

impl BlockRow {
    pub(crate) fn new(request: &str, block: &BlockView<'_>) -> Self {
        let ran = |end| worked(block.started_at, end, block.gaps.iter().copied());
        BlockRow {
            path: block.path.to_string(),
            instance_id: format!("{request}:{}:{}", block.path, block.attempt),
            parent: block.parent.as_ref().map(|parent| format!("{request}:{parent}")),
            name: block.name.to_string(),
            kind: block.kind,
            attempt: block.attempt,
            status: block.status,
            started_at: block.started_at,
            duration_ms: block.finished_at.map(ran),
            cut_ms: block.cut_at.map(ran),
            gaps: Some(gaps(block)).filter(|gaps| !gaps.is_empty()),
            memoized: block.memoized,
            seq_start: block.seq_start,
            seq_end: block.seq_end,
            changes: block.changes,
            items: block.items,
            error: block.error.map(ErrorInfo::from),
        }
    }
}
