//! What questions about the inside of a block are answered with: values at statements, places in the code, and how
//! often lines ran (SEMANTICS §10.9).

use serde::Serialize;
use serde_json::Value;

use super::Json;

/// A value as it was at a statement.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Captured {
    /// `undefined`, `null`, `boolean`, `number`, `string`, `bigint`, `symbol`, `function`, `array`, `object`, `map`,
    /// `set`, `date`, `regexp`, `error`, `typedArray`, `promise`, `instance`, or `cut` for what is not looked at.
    pub kind: String,
    /// A line for people.
    pub preview: String,
    /// The value, if it is exactly JSON and small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Json>,
    /// Opens the value, if the preview does not show all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// Why an expression has no value at a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct ThrownByExpression {
    /// `TypeError`.
    pub name: String,
    /// What it says.
    pub message: String,
}

/// The value of an expression at a statement, or why it has none.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(untagged)]
pub enum PrintedValue {
    /// It has one.
    Captured(Captured),
    /// It threw, or ran for too long.
    Failed {
        /// What it threw.
        error: ThrownByExpression,
    },
}

/// The values of expressions at one execution of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct PrintedHit {
    /// The request.
    pub request_id: String,
    /// The block whose code ran.
    pub path: String,
    /// Which attempt, from 0.
    pub attempt: u32,
    /// Which statement of the execution, from 1.
    #[specta(type = specta_typescript::Number)]
    pub tick: u64,
    /// The newest recorded event before the statement.
    #[specta(type = specta_typescript::Number)]
    pub seq: u64,
    /// When that was recorded, in milliseconds since the epoch.
    #[specta(type = specta_typescript::Number)]
    pub at: i64,
    /// Where the statement begins, from 1.
    pub line: u32,
    /// Where the statement begins, from 1, in UTF-16 units.
    pub column: u32,
    /// One for each expression.
    pub values: Vec<PrintedValue>,
}

/// A request that a question was not asked of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct NotAsked {
    /// The request.
    pub request_id: String,
    /// Why.
    pub why: String,
}

/// What must be known of the hits of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RequestNote {
    /// The request.
    pub request_id: String,
    /// That its run differs from the recording, how a condition failed, or that its code was changed.
    pub note: String,
    /// Whether a limit of memory or time ended its run, so that hits may be missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended_by_limit: bool,
}

/// The answer of `print`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Printed {
    /// The newest request first, and in the order of time.
    pub hits: Vec<PrintedHit>,
    /// How many hits there are, whatever the limit.
    pub total: u32,
    /// Whether there may be more than `total`, because a limit ended the search.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub total_is_at_least: bool,
    /// Whether the limit left hits out, or requests.
    pub truncated: bool,
    /// How many executions of blocks ran again for the answer.
    pub ran: u32,
    /// Requests that were not asked.
    pub not_asked: Vec<NotAsked>,
    /// What must be known of requests that were asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RequestNote>,
    /// What is to be said of the place: that the line holds no statement, or was never reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether no code that ran has a statement at the line.
    #[serde(skip)]
    pub lacks_statement: bool,
}

/// A name in scope, and its value.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct Local {
    /// As the source has it.
    pub name: String,
    /// Its value, or why it has none: a name whose declaration has not run yet.
    pub value: PrintedValue,
}

/// A function on the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct StackFrame {
    /// Its name.
    pub function: String,
    /// The author's file.
    pub file: String,
    /// The line that is about to run, or that called the function above.
    pub line: u32,
}

/// How a block ended, if an instant is at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum EndOfBlock {
    /// Before the first statement.
    Start,
    /// After the last statement.
    End,
    /// After the last statement, which threw.
    Error,
}

/// The state of a scope as a block sees it.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ScopeSeen {
    /// `session`, `user`, `project`, `request` or `sequencer[PATH]`.
    pub scope: String,
    /// Its state, with what the block has written itself.
    pub value: Json,
    /// The fields that the block has written and that take effect when it ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_in_force: Vec<String>,
}

/// An instant inside a block: the values are those before its statement runs.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Instant {
    /// `PATH#ATTEMPT+TICK`.
    pub instant: String,
    /// The hash of the code that ran, whose files these are.
    pub code: String,
    /// Relative to the workspace.
    pub file: String,
    /// Where the statement begins, from 1.
    pub line: u32,
    /// Where the statement begins, from 1, in UTF-16 units.
    pub column: u32,
    /// Where it ends, or what comes before the statements inside.
    pub end_line: u32,
    /// Where it ends, or what comes before the statements inside.
    pub end_column: u32,
    /// The function around the statement.
    pub function: String,
    /// The block.
    pub path: String,
    /// Which attempt, from 0.
    pub attempt: u32,
    /// Which statement of the execution, from 1; 0 before the first, and one more than there are after the last.
    #[specta(type = specta_typescript::Number)]
    pub tick: u64,
    /// How many statements the execution has.
    #[specta(type = specta_typescript::Number)]
    pub ticks: u64,
    /// The names in scope except those of the whole file, the nearest first.
    pub locals: Vec<Local>,
    /// The state of every scope as the block sees it, if it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<ScopeSeen>,
    /// Watch expressions that were given, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<PrintedValue>,
    /// The functions that run, the newest first.
    pub stack: Vec<StackFrame>,
    /// The newest recorded event before the statement.
    #[specta(type = specta_typescript::Number)]
    pub seq: u64,
    /// Which of the statements of all blocks of the request, from 1: instants of blocks that ran side by side are in
    /// this order.
    #[specta(type = specta_typescript::Number)]
    pub order: u64,
    /// Whether the instant is at an end of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndOfBlock>,
    /// What the block threw, if it failed and its last statement is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ThrownByExpression>,
    /// What is to be said of the answer: that the replay differs from the recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How often a line ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct LineHits {
    /// From 1.
    pub line: u32,
    /// How often the first statement that begins here ran.
    #[specta(type = specta_typescript::Number)]
    pub hits: u64,
}

/// How often the lines of a file ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct FileCoverage {
    /// Relative to the workspace.
    pub file: String,
    /// Every line on which a statement begins.
    pub lines: Vec<LineHits>,
    /// The hash of the code, if the file was changed before the request was resumed: then there is one entry for each
    /// text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The first event of the part of the request that ran this text, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_seq: Option<u64>,
    /// Whether a limit of memory or time ended the run, so that lines may have run more often.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended_by_limit: bool,
}

/// How often the lines of a request's code ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// In order of their names.
    pub files: Vec<FileCoverage>,
    /// What is to be said of the counts: that the run differs from the recording, or may.
    pub note: Option<String>,
}

/// An entry of an opened value.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct OpenedEntry {
    /// The name of a property, an index, or the key of a map.
    pub name: String,
    /// Its value.
    pub value: Captured,
}

/// A value, and what is inside.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct OpenedValue {
    /// `array`, as of a [`Captured`].
    pub kind: String,
    /// Of a text, all of it up to a megabyte.
    pub preview: String,
    /// The first of what is inside.
    pub entries: Vec<OpenedEntry>,
    /// How many entries there are, or the letters of a text.
    #[specta(type = specta_typescript::Number)]
    pub total: u64,
}

impl PrintedValue {
    /// Reads what a probe took. `handle` makes the handle of a value that has more inside.
    pub(crate) fn read(taken: &Value, handle: impl FnOnce() -> String) -> PrintedValue {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(error) = taken.get("error") {
            let error = ThrownByExpression { name: text(&error["name"]), message: text(&error["message"]) };
            return PrintedValue::Failed { error };
        }
        PrintedValue::Captured(Captured {
            kind: text(&taken["kind"]),
            preview: text(&taken["preview"]),
            json: taken.get("json").cloned().map(Json),
            handle: taken["more"].as_bool().unwrap_or(false).then(handle),
        })
    }
}
