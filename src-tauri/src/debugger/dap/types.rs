//! What is used of the Debug Adapter Protocol 1.68: arguments as the editor writes them, and bodies of answers and
//! events. The published crates of these types are unfinished or no longer kept, so the few that are needed are here.

use serde::{Deserialize, Serialize};

/// Of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeArguments {
    #[serde(default = "yes")]
    pub(super) lines_start_at1: bool,
    #[serde(default = "yes")]
    pub(super) columns_start_at1: bool,
}

fn yes() -> bool {
    true
}

/// Of `launch` and `attach`: our own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LaunchArguments {
    /// The workspace.
    pub(super) dir: Option<String>,
    /// The database.
    pub(super) data: Option<String>,
    /// An id, `last-failed` or `last`.
    pub(super) request_id: Option<String>,
    /// The same; VS Code writes `launch` or `attach` here.
    pub(super) request: Option<String>,
    /// `PATH[#ATTEMPT][+TICK]`
    pub(super) at: Option<String>,
    /// Begin at the first statement.
    pub(super) stop_on_entry: bool,
}

/// What the adapter can do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capabilities {
    pub(super) supports_configuration_done_request: bool,
    pub(super) supports_conditional_breakpoints: bool,
    pub(super) supports_hit_conditional_breakpoints: bool,
    pub(super) supports_log_points: bool,
    pub(super) supports_data_breakpoints: bool,
    pub(super) supports_evaluate_for_hovers: bool,
    pub(super) supports_step_back: bool,
    pub(super) supports_goto_targets_request: bool,
    pub(super) supports_terminate_request: bool,
    pub(super) supports_exception_info_request: bool,
    pub(super) exception_breakpoint_filters: Vec<ExceptionFilter>,
}

#[derive(Debug, Serialize)]
pub(super) struct ExceptionFilter {
    pub(super) filter: &'static str,
    pub(super) label: &'static str,
    pub(super) description: &'static str,
    pub(super) default: bool,
}

/// A file, as the editor or the adapter names it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    /// Asks for the text with `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_reference: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetBreakpointsArguments {
    pub(super) source: Source,
    #[serde(default)]
    pub(super) breakpoints: Vec<SourceBreakpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceBreakpoint {
    pub(super) line: i64,
    pub(super) column: Option<i64>,
    pub(super) condition: Option<String>,
    pub(super) hit_condition: Option<String>,
    pub(super) log_message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetDataBreakpointsArguments {
    #[serde(default)]
    pub(super) breakpoints: Vec<DataBreakpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataBreakpoint {
    pub(super) data_id: String,
    pub(super) condition: Option<String>,
    pub(super) hit_condition: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataBreakpointInfoArguments {
    pub(super) variables_reference: Option<i64>,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetExceptionBreakpointsArguments {
    #[serde(default)]
    pub(super) filters: Vec<String>,
    #[serde(default)]
    pub(super) filter_options: Vec<FilterOption>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FilterOption {
    pub(super) filter_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadArguments {
    pub(super) thread_id: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTraceArguments {
    pub(super) thread_id: i64,
    #[serde(default)]
    pub(super) start_frame: usize,
    pub(super) levels: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopesArguments {
    pub(super) frame_id: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VariablesArguments {
    pub(super) variables_reference: i64,
    #[serde(default)]
    pub(super) start: usize,
    pub(super) count: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluateArguments {
    pub(super) expression: String,
    pub(super) frame_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GotoTargetsArguments {
    pub(super) source: Source,
    pub(super) line: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GotoArguments {
    pub(super) target_id: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceArguments {
    pub(super) source: Option<Source>,
    #[serde(default)]
    pub(super) source_reference: i64,
}

/// A breakpoint, as it was set.
#[derive(Debug, Default, Serialize)]
pub(super) struct Breakpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u32>,
    pub(super) verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<i64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Breakpoints {
    pub(super) breakpoints: Vec<Breakpoint>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataBreakpointInfo {
    /// `null` if there is nothing to stop at.
    pub(super) data_id: Option<String>,
    pub(super) description: String,
    pub(super) access_types: [&'static str; 1],
    pub(super) can_persist: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Thread {
    pub(super) id: i64,
    pub(super) name: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Threads {
    pub(super) threads: Vec<Thread>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackFrame {
    pub(super) id: i64,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    pub(super) line: i64,
    pub(super) column: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_column: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presentation_hint: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTrace {
    pub(super) stack_frames: Vec<StackFrame>,
    pub(super) total_frames: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scope {
    pub(super) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presentation_hint: Option<&'static str>,
    pub(super) variables_reference: i64,
    pub(super) expensive: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Scopes {
    pub(super) scopes: Vec<Scope>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Opens it with `variables`; 0 if there is nothing inside.
    pub(super) variables_reference: i64,
    /// The expression whose value it is, for `evaluate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evaluate_name: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Variables {
    pub(super) variables: Vec<Variable>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Evaluated {
    pub(super) result: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    pub(super) variables_reference: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Continued {
    pub(super) all_threads_continued: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct GotoTarget {
    pub(super) id: usize,
    pub(super) label: String,
    pub(super) line: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct GotoTargets {
    pub(super) targets: Vec<GotoTarget>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceText {
    pub(super) content: String,
    pub(super) mime_type: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionInfo {
    pub(super) exception_id: String,
    pub(super) description: String,
    pub(super) break_mode: &'static str,
}

/// Of the event `stopped`.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped {
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    pub(super) thread_id: i64,
    pub(super) all_threads_stopped: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hit_breakpoint_ids: Vec<u32>,
}

/// Of the event `output`.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    pub(super) category: &'static str,
    pub(super) output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<i64>,
}
