//! An agent as it is shown: its turns, who stopped and why, and the tools of the newest turn.

use serde::Serialize;

use super::Json;

/// An agent's execution at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// The agent that has the conversation.
    pub name: String,
    /// The prompts of side a and side b; none for a person.
    pub sides: Vec<Option<String>>,
    /// The turns that had begun, oldest first.
    pub turns: Vec<TurnRow>,
    /// The tools of the newest turn: those that ran, the one that runs, and those that wait.
    pub queue: Vec<QueuedCall>,
    /// Why the execution stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Whether a person speaks next.
    pub awaiting_human: bool,
    /// Executions of the thread that wait for this one, with the messages they begin with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_messages: Vec<WaitingMessage>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct TurnRow {
    /// From 0.
    pub turn: u32,
    /// `a` or `b`.
    pub side: String,
    /// Its path.
    pub path: String,
    /// The prompt that spoke.
    pub prompt: String,
    /// `running`, `completed` or `failed`.
    pub status: String,
    /// What was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tools that its model called.
    pub tool_calls: Vec<String>,
    /// Who stopped with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Who speaks next, where nobody stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A call of the newest turn.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct QueuedCall {
    /// The tool, prompt or agent.
    pub name: String,
    /// `ran`, `failed`, `running` or `waiting`.
    pub status: String,
    /// Its arguments, as JSON text.
    pub arguments: String,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
}

/// A message that arrived while an execution runs.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WaitingMessage {
    /// The request that will begin with it.
    pub request_id: String,
    /// What it says.
    pub content: Json,
}
