//! What a file declares for Calls with `_scopes`: agents, tools, Activities and delegates.
//!
//! Only what was declared. Who runs a Call, and what it gets to see, is decided in `dialects::calls`.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use super::{Block, ValueOrCall};
use crate::model::data::Data;
use crate::model::error::FlowError;

/// The ticks of an agent that says nothing else.
pub const DEFAULT_MAX_TICKS: u32 = 50;

/// How deep delegates of an agent that says nothing else may nest.
pub const DEFAULT_MAX_DEPTH: u32 = 8;

/// An agent: a loop of model calls, each of which answers with Calls, an output, or both.
pub struct CallAgent {
    /// Mock scripts are keyed by it first.
    pub name: Arc<str>,
    /// The model's name, or several that are tried in order.
    pub models: Vec<String>,
    /// JSON Schema of the output.
    pub schema: Option<Value>,
    /// The messages that the first request gets.
    pub context: ValueOrCall,
    /// Which Calls need a person first.
    pub confirm: Option<ValueOrCall>,
    /// The most model calls in a row, also of each delegate.
    pub max_ticks: u32,
    /// How deep delegates may nest.
    pub max_depth: u32,
    /// What its Calls can name.
    pub registered: Rc<Registered>,
}

/// Everything that a file registers, by name.
#[derive(Default)]
pub struct Registered {
    /// JSON Schemas of tools, with their reserved properties.
    pub tools: IndexMap<String, Value>,
    /// Handlers that get `{ call, scoped }`.
    pub activities: IndexMap<String, Rc<Block>>,
    /// Saved requests.
    pub delegates: IndexMap<String, Delegate>,
}

/// A saved request, which a Call can be handed to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delegate {
    /// Its own messages, which come before those scoped from the parent.
    pub context: Vec<Value>,
    /// JSON Schema of its output.
    pub schema: Option<Value>,
}

/// Checks whether the output of a Call can be written where the Call puts it.
pub type ResultCheck = Rc<dyn Fn(&Data) -> Result<(), FlowError>>;

/// A part of an agent that runs as a block of its own.
#[derive(Clone)]
pub enum CallPart {
    /// The agent: ticks until a solution has no Calls.
    Agent(Rc<CallAgent>),
    /// One model call and the Calls of its solution.
    Tick(Rc<CallAgent>),
    /// The model call of a tick.
    Request(Rc<CallAgent>),
    /// One Call. The check decides whether it fails although its Activity or delegate did not.
    Call(Rc<CallAgent>, Option<ResultCheck>),
    /// The isolated request that a Call was handed to.
    Delegate(Rc<CallAgent>, Arc<str>),
}

impl CallPart {
    /// Returns the agent that it is part of.
    pub fn agent(&self) -> &Rc<CallAgent> {
        match self {
            CallPart::Agent(agent)
            | CallPart::Tick(agent)
            | CallPart::Request(agent)
            | CallPart::Call(agent, _)
            | CallPart::Delegate(agent, _) => agent,
        }
    }
}
