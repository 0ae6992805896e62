//! A generator as its author described it (SEMANTICS §6.1).

use std::rc::Rc;

use serde_json::Value;

use super::{Block, Retry};
use crate::model::callable::Fun;
use crate::model::item::{AgentType, Visibility};

/// A generator's own settings.
pub struct Generator {
    /// Who answers.
    pub model: Model,
    /// The system prompt's parts.
    pub prompt: Vec<Text>,
    /// What the model should know besides the prompt: texts, objects of tagged texts, messages.
    pub context: Vec<Text>,
    /// What the session said before.
    pub history: Option<History>,
    /// The user's message, or a function that gives it.
    pub user: Option<Text>,
    /// Whether the answer is structured; text is streamed.
    pub structured: bool,
    /// Who it speaks as; without either it emits no messages.
    pub agent_type: Option<AgentType>,
    /// The explicit form of the same.
    pub item_visibility: Option<Visibility>,
    /// The name items carry.
    pub agent_name: Option<String>,
    /// The blocks it may call.
    pub tools: Vec<Rc<Block>>,
    /// A function that gives those blocks.
    pub tools_call: Option<Fun>,
    /// Whether the system part lists what the tools are for.
    pub describe_tools: bool,
    /// At most this many model calls.
    pub max_iterations: u32,
    /// Whether tool calls are run, or only reported.
    pub run_tools: bool,
    /// Ends the loop after a step's tools, when it holds.
    pub stop_when: Option<Fun>,
    /// The longest answer of one call, in tokens.
    pub max_tokens: Option<u32>,
    /// What goes to the provider as it is.
    pub provider_options: Option<Text>,
    /// What happens to an answer that breaks the schema.
    pub repair: Repair,
    /// How tools run: the flow's settings under the generator's own.
    pub tool_settings: ToolSettings,
}

/// Who answers a generator.
pub enum Model {
    /// A name, a list of names to try in turn, or a function that gives either or an instance.
    Named(Text),
    /// An author's own model.
    Instance(Rc<ModelInstance>),
}

/// A model that is a flow's own code.
pub struct ModelInstance {
    /// Its `modelId`.
    pub id: String,
    /// `generateStep`: answers one step of the loop.
    pub step: Option<Fun>,
    /// `generate`: answers once; its tool calls are reported, not run (SEMANTICS §6.4).
    pub whole: Option<Fun>,
    /// `streamStep`: as `generateStep`, and tells what it says while it says it.
    pub stream_step: Option<Fun>,
    /// `stream`: as `generate`, likewise.
    pub stream: Option<Fun>,
}

impl ModelInstance {
    /// Whether it answers steps; else it answers once and its tool calls are reported only.
    pub fn answers_steps(&self) -> bool {
        self.step.is_some() || self.stream_step.is_some()
    }

    /// Which of its functions answers, for somebody who listens or not.
    pub fn function(&self, listens: bool) -> Option<&Fun> {
        let (silent, streaming) =
            if self.answers_steps() { (&self.step, &self.stream_step) } else { (&self.whole, &self.stream) };
        if listens { streaming.as_ref().or(silent.as_ref()) } else { silent.as_ref().or(streaming.as_ref()) }
    }
}

/// What a generator is shown of its session.
pub enum History {
    /// The session's history, by an `ItemQuery`.
    Query(Value),
    /// Messages of the author's choice.
    Slot(Text),
}

/// What happens to an answer that breaks the schema (SEMANTICS §6.5).
pub struct Repair {
    /// How often it is mended without a model; 0 in the modes `fail` and `rescue`.
    pub attempts: u32,
    /// The model that is asked for a mended answer; absent when none may be.
    pub coerce: Option<String>,
    /// `repairOutput`: mends in place of the default.
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
    /// Before a call.
    pub on_started: Option<Hook>,
    /// After a good one.
    pub on_completed: Option<Hook>,
    /// After a bad one.
    pub on_errored: Option<Hook>,
}

/// Who a tool's call speaks as.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolIdentity {
    /// As `agentType`.
    pub agent_type: Option<AgentType>,
    /// As `itemVisibility`, which goes before the agent's.
    pub item_visibility: Option<Visibility>,
    /// As `agentName`.
    pub agent_name: Option<String>,
}

/// An author's reaction: a function or a block.
#[derive(Clone)]
pub enum Hook {
    /// Called with what happened.
    Call(Fun),
    /// Run with what happened as its input.
    Block(Rc<Block>),
}

/// A text, or a function that makes one from `(input, ctx)`.
#[derive(Clone)]
pub enum Text {
    /// As written.
    Fixed(Value),
    /// Asked for each time.
    Call(Fun),
}
