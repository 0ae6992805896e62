//! A generator as its author described it (SEMANTICS §6.1).

use std::rc::Rc;

use serde_json::Value;

use super::{Block, Retry};
use crate::model::callable::Fun;
use crate::model::item::{AgentType, Visibility};

/// A generator's own settings.
pub struct Generator {
    /// The model.
    pub model: Model,
    /// The system prompt's parts.
    pub prompt: Vec<ValueOrCall>,
    /// More system messages: texts, objects of tagged texts, messages.
    pub context: Vec<ValueOrCall>,
    /// Messages of earlier requests of the session.
    pub history: Option<History>,
    /// The user's message, or a function that returns it.
    pub user: Option<ValueOrCall>,
    /// Whether the answer is structured; text is streamed.
    pub structured: bool,
    /// The agent of its items. Without it and `item_visibility` it emits no messages.
    pub agent_type: Option<AgentType>,
    /// Who sees its items, explicitly.
    pub item_visibility: Option<Visibility>,
    /// The agent's name on its items.
    pub agent_name: Option<String>,
    /// The blocks it may call.
    pub tools: Vec<Rc<Block>>,
    /// A function that returns these blocks.
    pub tools_call: Option<Fun>,
    /// Whether the system messages list the tools' descriptions.
    pub describe_tools: bool,
    /// At most this many model calls.
    pub max_iterations: u32,
    /// Whether tool calls are run, or only reported.
    pub run_tools: bool,
    /// Ends the loop after a step's tools if it returns true.
    pub stop_when: Option<Fun>,
    /// The longest answer of one call, in tokens.
    pub max_tokens: Option<u32>,
    /// Options passed on to the provider unchanged.
    pub provider_options: Option<ValueOrCall>,
    /// How an answer that does not fit the schema is repaired.
    pub repair: Repair,
    /// How tools run: the generator's settings, with the flow's as defaults.
    pub tool_settings: ToolSettings,
}

/// The model of a generator.
pub enum Model {
    /// A name, a list of names to try in turn, or a function that returns one of these or an instance.
    Named(ValueOrCall),
    /// An author's own model.
    Instance(Rc<ModelInstance>),
}

/// A model that is a flow's own code.
pub struct ModelInstance {
    /// Its `modelId`.
    pub id: String,
    /// `generateStep`: called for each step of the loop.
    pub step: Option<Fun>,
    /// `generate`: called once; its tool calls are reported, not run (SEMANTICS §6.4).
    pub whole: Option<Fun>,
    /// `streamStep`: as `generateStep`, with streaming.
    pub stream_step: Option<Fun>,
    /// `stream`: as `generate`, with streaming.
    pub stream: Option<Fun>,
}

impl ModelInstance {
    /// Returns whether the model can be called for each step. Otherwise it is called once, and its tool calls are only
    /// reported.
    pub fn answers_steps(&self) -> bool {
        self.step.is_some() || self.stream_step.is_some()
    }

    /// Returns the function to call, with or without a listener for streaming.
    pub fn function(&self, listens: bool) -> Option<&Fun> {
        let (silent, streaming) =
            if self.answers_steps() { (&self.step, &self.stream_step) } else { (&self.whole, &self.stream) };
        if listens { streaming.as_ref().or(silent.as_ref()) } else { silent.as_ref().or(streaming.as_ref()) }
    }
}

/// Which messages of its session a generator gets.
pub enum History {
    /// The session's history, by an `ItemQuery`.
    Query(Value),
    /// Messages of the author's choice.
    Slot(ValueOrCall),
}

/// How an answer that does not fit the schema is repaired (SEMANTICS §6.5).
pub struct Repair {
    /// How many repairs without a model are tried; 0 in the modes `fail` and `rescue`.
    pub attempts: u32,
    /// The model that is asked to rewrite the answer, if any.
    pub coerce: Option<Model>,
    /// `repairOutput`: replaces the default repair.
    pub call: Option<Fun>,
}

/// How a generator's tools run (SEMANTICS §6.7).
#[derive(Clone, Default)]
pub struct ToolSettings {
    /// How long one call may take.
    pub timeout_ms: Option<u64>,
    /// One call after another, instead of a step's calls together.
    pub serial: bool,
    /// How often a call is tried.
    pub retry: Option<Retry>,
    /// Runs before a call.
    pub on_started: Option<Hook>,
    /// Runs after a successful call.
    pub on_completed: Option<Hook>,
    /// Runs after a failed call.
    pub on_errored: Option<Hook>,
}

/// The agent and visibility of a tool call's item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolIdentity {
    /// As `agentType`.
    pub agent_type: Option<AgentType>,
    /// As `itemVisibility`, which overrides the agent's visibility.
    pub item_visibility: Option<Visibility>,
    /// As `agentName`.
    pub agent_name: Option<String>,
}

/// An author's hook of tool calls: a function or a block.
#[derive(Clone)]
pub enum Hook {
    /// Called with the event's data.
    Call(Fun),
    /// Run with the event's data as its input.
    Block(Rc<Block>),
}

/// A setting: a fixed value, or a function of `(input, ctx)` that returns it.
#[derive(Clone)]
pub enum ValueOrCall {
    /// The value.
    Fixed(Value),
    /// Called for each use.
    Call(Fun),
}
