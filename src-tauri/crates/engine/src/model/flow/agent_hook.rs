//! The places where an agent's hooks are called, as events name them. Must not know what a flow declares.

use serde::{Deserialize, Serialize};

/// A place where an agent's hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentHook {
    /// Stored messages, before they become a model's.
    FilterMessages,
    /// The model's messages, before they are sent.
    PrefilterLlmHistory,
    /// A message, before it is stored.
    BeforeCreateMessage,
    /// A message that was stored.
    AfterCreateMessage,
    /// Changes of a message, before they are stored.
    BeforeUpdateMessage,
    /// A message that was changed.
    AfterUpdateMessage,
    /// The result of a tool that succeeded.
    AfterToolCallSuccess,
    /// The result of a tool that failed.
    AfterToolCallFailure,
}

impl AgentHook {
    /// The name authors know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentHook::FilterMessages => "filter_messages",
            AgentHook::PrefilterLlmHistory => "prefilter_llm_history",
            AgentHook::BeforeCreateMessage => "before_create_message",
            AgentHook::AfterCreateMessage => "after_create_message",
            AgentHook::BeforeUpdateMessage => "before_update_message",
            AgentHook::AfterUpdateMessage => "after_update_message",
            AgentHook::AfterToolCallSuccess => "after_tool_call_success",
            AgentHook::AfterToolCallFailure => "after_tool_call_failure",
        }
    }
}
