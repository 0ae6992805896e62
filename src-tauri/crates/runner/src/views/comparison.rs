//! Two requests side by side.

use engine::event::BlockKind;
use engine::views::blocks::BlockStatus;
use serde::{Deserialize, Serialize};

use super::{Json, PrintedValue, Replay, RequestRow};

/// What differs between two blocks of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum BlockDifference {
    /// The right request does not have it.
    OnlyLeft,
    /// The left request does not have it.
    OnlyRight,
    /// It stands otherwise.
    Status,
    /// It was called with something else.
    Input,
    /// It made something else, or failed with another error.
    Output,
    /// It added more items, or fewer.
    Items,
    /// It changed state more often, or less.
    Changes,
}

impl BlockDifference {
    /// All of them, in the order in which they are told.
    pub const ALL: [BlockDifference; 7] = [
        BlockDifference::OnlyLeft,
        BlockDifference::OnlyRight,
        BlockDifference::Status,
        BlockDifference::Input,
        BlockDifference::Output,
        BlockDifference::Items,
        BlockDifference::Changes,
    ];

    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// One of two requests that are compared.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ComparedSide {
    /// Its row.
    pub request: RequestRow,
    /// All executions of blocks.
    pub blocks: u64,
    /// Those that failed.
    pub failed: u64,
    /// How many items they added.
    pub items: u64,
    /// How many answers of models they got.
    pub model_calls: u64,
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// Milliseconds from the beginning of its first block to the end of its last one, without the time between a fork
    /// and its origin. The request's row says how long the request took.
    pub length_ms: i64,
}

/// Two requests that were laid beside each other, or one and its replay.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ComparisonHead {
    /// The comparison's number, for as long as it is open.
    pub comparison: u64,
    /// What is on the left.
    pub left: ComparedSide,
    /// What is on the right.
    pub right: ComparedSide,
    /// How many pairs of blocks there are.
    pub pairs: u64,
    /// How many of them differ themselves.
    pub differing: u64,
    /// Of a replay that stopped: how many pairs it says nothing about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncompared: Option<u64>,
    /// How many rows are shown where only what differs is.
    pub rows: u64,
    /// Which of those is the difference that came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<ComparedRow>,
    /// What the replay came to, where the right side is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// Two blocks of one path, or a number of pairs that are equal.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRow {
    /// Which row it is.
    pub row: u64,
    /// How many quiet pairs it stands for, which are equal or all uncompared; 0 where it is a pair.
    pub equal: u64,
    /// How many rows it stands below.
    pub depth: u32,
    /// The path; of several equal ones the first.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Of a turn of a loop or an entry of a list: the id, the name or the title of what it was called with, or its
    /// first words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<BlockKind>,
    /// In what the two differ themselves.
    pub differs: Vec<BlockDifference>,
    /// Whether something inside of it differs.
    pub inside: bool,
    /// Whether a replay stopped before the end of the block.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uncompared: bool,
    /// The block of the left request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<ComparedBlock>,
    /// The block of the right request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<ComparedBlock>,
}

/// A block of one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ComparedBlock {
    /// `requestId:path:attempt`.
    pub instance_id: String,
    /// How it stands.
    pub status: BlockStatus,
    /// Milliseconds from the beginning of its request's first block.
    pub started_ms: i64,
    /// Milliseconds; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// How often its path ran.
    pub attempts: u32,
    /// Taken from an earlier execution by a resume: what it did is what that one did.
    pub memoized: bool,
    /// How many items it added itself.
    pub items: u32,
    /// How many state operations it made itself.
    pub changes: u32,
    /// How many answers of models it got itself.
    pub model_calls: u32,
    /// Input and output tokens.
    pub tokens: u64,
    /// Its first event.
    pub seq_start: u64,
    /// Its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_end: Option<u64>,
}

/// In what two requests differ besides their state, for somebody who looks once.
#[derive(Clone, Debug)]
pub struct RequestsCompared {
    /// One of them.
    pub left: EndOfRequest,
    /// The other one.
    pub right: EndOfRequest,
    /// How many pairs of blocks there are.
    pub blocks: u64,
    /// How many of them differ themselves.
    pub differing: u64,
}

/// What a request was asked, and what became of it.
#[derive(Clone, Debug)]
pub struct EndOfRequest {
    /// Its row, with its status and its error.
    pub request: RequestRow,
    /// What it was asked.
    pub input: Option<Json>,
    /// What it answered.
    pub output: Option<Json>,
}

/// Which rows of a comparison.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
pub struct ComparedQuery {
    /// The first row.
    pub offset: u64,
    /// At most this many.
    pub limit: u32,
    /// Also those that are equal.
    #[serde(default)]
    pub all: bool,
}

/// From where to look for the next difference.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
pub struct DifferenceQuery {
    /// The row after which is looked (before which, backwards); from the first (the last) one when absent.
    #[serde(default)]
    pub from: Option<u64>,
    /// Towards the first row.
    #[serde(default)]
    pub backwards: bool,
    /// As rows are counted where equal ones are shown.
    #[serde(default)]
    pub all: bool,
}

/// What a block of a replay got and made; the log has none of it.
#[derive(Clone, Debug, Default, Serialize, specta::Type)]
pub struct ReplayedBlock {
    /// What it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A statement of one of two executions that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ComparedStatement {
    /// The request.
    pub request_id: String,
    /// `PATH#ATTEMPT+TICK`; of a replay none can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instant: Option<String>,
    /// The newest recorded event before it.
    #[specta(type = specta_typescript::Number)]
    pub seq: u64,
    /// Which statement of the execution, from 1.
    #[specta(type = specta_typescript::Number)]
    pub tick: u64,
    /// The author's file.
    pub file: String,
    /// Where it begins, from 1.
    pub line: u32,
    /// The function around it.
    pub function: String,
}

/// A name in scope whose values differ.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct DifferingLocal {
    /// As the source has it.
    pub name: String,
    /// Its value on the left; absent if it is not in scope there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<PrintedValue>,
    /// Its value on the right; absent if it is not in scope there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<PrintedValue>,
}

/// Where two executions of a block first have other locals, or go another way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LocalsCompared {
    /// How many statements both ran alike before that.
    #[specta(type = specta_typescript::Number)]
    pub equal: u64,
    /// The statement of the left one; absent if it had ended, or nothing differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<ComparedStatement>,
    /// The statement of the right one, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<ComparedStatement>,
    /// The locals that differ before these statements. Empty if only the statements do.
    pub locals: Vec<DifferingLocal>,
    /// What must be known: that only the first statements were compared, or what is not certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Two executions whose locals are compared.
#[derive(Clone, Debug, PartialEq, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LocalsQuery {
    /// The request on the left.
    pub left: String,
    /// Which execution of it: `PATH[#ATTEMPT]`.
    pub left_at: String,
    /// The request on the right; what the code of today does with the left one, if it is absent.
    pub right: Option<String>,
    /// Which execution of it: `PATH[#ATTEMPT]`.
    pub right_at: String,
}
