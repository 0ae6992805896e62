//! The agents of one file, or of one project, as their author described them: sides, prompts, tools and hooks
//! (SEMANTICS §16).
//!
//! Everything is known by name here, because prompts refer to tools, to other prompts and to agents by their names,
//! also to themselves. What a turn does with it is in `dialects::agent`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AgentHook, Block};
use crate::model::callable::{Fun, SchemaRef};

/// The agents, prompts, tools and hooks of one file, or of the files of one project.
pub struct AgentDefinitions {
    /// The agent that a message of the user starts.
    pub main: String,
    /// The models that are defined by the names that prompts use: each is `provider/model`.
    pub models: BTreeMap<String, String>,
    /// The agents by name: the main one, and those that it can hand the conversation to.
    pub agents: IndexMap<String, Agent>,
    /// The prompts by name.
    pub prompts: IndexMap<String, Prompt>,
    /// The tools by name: handlers.
    pub tools: IndexMap<String, Rc<Block>>,
    /// In the author's order.
    pub hooks: Vec<(AgentHook, Fun)>,
}

/// One agent: two sides that speak in turns.
pub struct Agent {
    /// Its sides, `a` first.
    pub sides: [AgentSide; 2],
    /// How many exchanges a session has at most.
    pub max_session_turns: Option<u32>,
    /// What a model is told of it, where a prompt offers it as a tool.
    pub tool_description: Option<String>,
    /// The whole definition as plain data: `agentConfig` of the `FlowState`.
    pub config: Value,
}

/// A prompt: what a model is told, and what it may call.
pub struct Prompt {
    /// Its name; mock scripts are keyed by it.
    pub name: Arc<str>,
    /// Its text, in parts.
    pub parts: Vec<PromptPart>,
    /// The model, or several to try in turn.
    pub models: Vec<String>,
    /// What a model is told of it, where another prompt offers it as a tool.
    pub tool_description: Option<String>,
    /// Whether the model is told the conversation.
    pub include_chat: bool,
    /// Whether that conversation holds calls of tools and their results.
    pub include_past_tools: bool,
    /// The tools, prompts and agents that its model may call.
    pub tools: Vec<PromptTool>,
    /// Its arguments, where it is called as a tool.
    pub required_schema: Option<SchemaRef>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// `toolChoice`, `parallelToolCalls`, `reasoningEffort` and `reasoningMaxTokens`, for the provider.
    pub options: Option<Value>,
    /// Whether the model is told what it thought before.
    pub includes_reasoning: bool,
    /// Whether what the model thinks is neither shown nor kept with its message.
    pub excludes_reasoning: bool,
}

/// One side of an agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSide {
    /// The prompt that speaks for it; a side without one is a human.
    pub prompt: Option<String>,
    /// Whether its turns end with an answer without tool calls.
    pub stop_on_response: bool,
    /// The tool that ends its turns when it is called.
    pub stop_tool: Option<String>,
    /// The argument of that call which becomes the answer.
    pub stop_tool_response_property: Option<String>,
    /// How many model calls it has at most within one execution.
    pub max_turns: Option<u32>,
    /// The tool that ends the conversation when it succeeds.
    pub end_conversation_tool: Option<SessionTool>,
    /// The tool that ends the conversation as failed when it succeeds.
    pub session_fail: Option<SessionTool>,
}

/// A tool that ends the conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTool {
    /// Its name.
    pub name: String,
    /// The argument that becomes the content of its message.
    pub message_property: Option<String>,
}

/// A part of a prompt's text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptPart {
    /// The text itself.
    Text(String),
    /// The text of another prompt.
    Include(String),
    /// A value of `env`.
    Env(String),
    /// A value of `context` or of the arguments.
    Variable(String),
}

/// What a prompt may call, and how a sub-prompt is called.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptTool {
    /// Of a tool, a prompt or an agent.
    pub name: String,
    /// The argument that the sub-prompt gets as a message of the user.
    pub init_user_message_property: Option<String>,
    /// Whether its result holds its text.
    pub include_text_response: bool,
    /// Whether its result holds its tool calls.
    pub include_tool_calls: bool,
    /// Whether its result says what failed.
    pub include_errors: bool,
}

/// One of the two sides of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Its messages are stored as `assistant`.
    A,
    /// Its messages are stored as `user`.
    B,
}

impl Side {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }

    /// The side of this name.
    pub fn parse(name: &str) -> Option<Side> {
        match name {
            "a" | "side_a" => Some(Side::A),
            "b" | "side_b" => Some(Side::B),
            _ => None,
        }
    }

    /// The one that answers it.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    /// The role under which its messages are stored.
    pub fn role(self) -> &'static str {
        match self {
            Side::A => "assistant",
            Side::B => "user",
        }
    }

    /// The side that answers a message of this role.
    pub fn answering(role: &str) -> Side {
        if role == "assistant" { Side::B } else { Side::A }
    }
}

impl Agent {
    /// One of its sides.
    pub fn side(&self, side: Side) -> &AgentSide {
        &self.sides[side as usize]
    }
}

impl AgentSide {
    /// Whether a person speaks for it.
    pub fn is_human(&self) -> bool {
        self.prompt.is_none()
    }

    /// Whether something of it ends a turn: otherwise the sides alternate with every model call.
    pub fn has_stop_condition(&self) -> bool {
        self.stop_on_response || self.stop_tool.is_some()
    }
}

/// A block of an agent. All of them run under the agent's own block, whose state is the `FlowState`.
#[derive(Clone)]
pub enum AgentPart {
    /// The agent's block: one execution, turn after turn.
    Conversation(Rc<AgentDefinitions>),
    /// Stores the message that the execution begins with.
    Message(Rc<AgentDefinitions>),
    /// One model call of a side, and the tools it asked for.
    Turn(Rc<AgentDefinitions>, Side),
    /// A prompt that a model called as a tool.
    SubPrompt(Rc<AgentDefinitions>, Arc<str>),
}

impl AgentPart {
    /// What the file defines.
    pub fn definitions(&self) -> &Rc<AgentDefinitions> {
        match self {
            AgentPart::Conversation(of)
            | AgentPart::Message(of)
            | AgentPart::Turn(of, _)
            | AgentPart::SubPrompt(of, _) => of,
        }
    }

    /// Whether it makes model calls.
    pub fn asks_models(&self) -> bool {
        matches!(self, AgentPart::Turn(..) | AgentPart::SubPrompt(..))
    }
}
