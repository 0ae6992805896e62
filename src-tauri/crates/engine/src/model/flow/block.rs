//! A block as the engine runs it, and what each kind of it is.
//!
//! [`Body`] is the closed list of kinds; what a kind does is `execution::driver`. What else of the engine must know of
//! a kind, it asks [`Block`] as a property, and does not match the kinds itself.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use super::{Expectation, Generator, Step, Text, ToolIdentity};
use crate::model::callable::{Fun, SchemaRef};
use crate::model::event::BlockKind;
use crate::model::resource::Resource;
use crate::model::scope::ScopeKind;

/// A block.
pub struct Block {
    /// Never blank.
    pub name: Arc<str>,
    /// What it does when it runs.
    pub body: Body,
    /// For people and models.
    pub description: Option<String>,
    /// Checked before it runs.
    pub input_schema: Option<SchemaRef>,
    /// Checked after it ran.
    pub output_schema: Option<SchemaRef>,
    /// The shape of its own state, where it has one.
    pub state_schema: Option<SchemaRef>,
    /// What it says of the states of blocks around it.
    pub expects: Vec<Expectation>,
    /// What the blocks inside say of its state: see [`join_declarations`].
    pub joined: OnceCell<Vec<SchemaRef>>,
    /// Its fingerprint, once somebody asked for it.
    pub fingerprint: OnceCell<Option<Arc<str>>>,
    /// Maps what it is given to its input.
    pub connect_input: Option<Fun>,
    /// Maps its output to what leaves it.
    pub connect_output: Option<Fun>,
    /// What a model sees of its output when it is a tool; everything else sees the output itself.
    pub map_model_output: Option<Fun>,
    /// Whether and how long a tool call's answer is used again.
    pub cache: Option<Cache>,
    /// Runs after a good end, inside the block.
    pub on_completed: Option<Fun>,
    /// Runs after a bad end; its own failure is swallowed.
    pub on_errored: Option<Fun>,
    /// How often it may be tried.
    pub retry: Option<Retry>,
    /// Leaves no `block_output` item.
    pub transient: bool,
    /// What the status line says while it runs.
    pub active_status: Option<Text>,
    /// The item that contains what a sequencer or a router shows.
    pub container: Option<ContainerItem>,
    /// What to do about its failure; a sequencer's handlers cover its whole chain.
    pub rescue: Vec<Rescue>,
    /// The resources it declares itself.
    pub resources: Vec<Rc<Resource>>,
    /// The capabilities it uses, by numbers that mean something to the host of its functions.
    pub uses: Vec<u32>,
}

/// `container`: what stands around the items of a block.
#[derive(Clone)]
pub struct ContainerItem {
    /// How a client draws it.
    pub component: Option<String>,
    /// Its title.
    pub label: Option<Text>,
    /// Whatever else a client should know: an object.
    pub metadata: Option<Text>,
}

/// `cacheable`: an equal call of the tool within its scope is answered by the first one.
#[derive(Clone)]
pub struct Cache {
    /// Milliseconds an answer may be old.
    pub ttl_ms: Option<u64>,
    /// Makes the key from the arguments; their JSON with sorted keys when absent.
    pub key: Option<Fun>,
    /// Whether an output may be kept.
    pub keep_if: Option<Fun>,
}

/// What a block does.
pub enum Body {
    /// Calls a function.
    Handler { execute: Fun },
    /// Runs operations one after another.
    Sequencer { steps: Vec<Step>, durable: bool },
    /// Lets a function choose one of the routes.
    Router { routes: Vec<Rc<Block>>, execute: Fun, validate: Option<Fun> },
    /// Asks a model.
    Generator(Box<Generator>),
    /// `asTool`: a handler that runs a block as a call of a tool.
    Tool { block: Rc<Block>, identity: ToolIdentity },
}

impl Block {
    /// Which of the four kinds it is.
    pub fn kind(&self) -> BlockKind {
        match self.body {
            Body::Handler { .. } | Body::Tool { .. } => BlockKind::Handler,
            Body::Sequencer { .. } => BlockKind::Sequencer,
            Body::Router { .. } => BlockKind::Router,
            Body::Generator(_) => BlockKind::Generator,
        }
    }

    /// Whether it only runs other blocks: gone through again, it does nothing new of its own.
    pub(crate) fn only_runs_others(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. } | Body::Router { .. } | Body::Tool { .. })
    }

    /// Whether its body is one function, which a conflict runs again as a whole.
    pub(crate) fn is_one_function(&self) -> bool {
        matches!(self.body, Body::Handler { .. })
    }

    /// Whether its `rescue` covers what runs inside it, instead of its own failure.
    pub(crate) fn rescues_inside(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. })
    }

    /// Whether checkpoints show the state of its own; always, but for a sequencer with `durable: false`.
    pub(crate) fn has_checkpoints(&self) -> bool {
        !matches!(self.body, Body::Sequencer { durable: false, .. })
    }

    /// Whether what it shows stands inside a `container` item, where it declares one.
    pub(crate) fn can_contain_items(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. } | Body::Router { .. })
    }

    /// Whether its model calls are those of its own loop, and not of an author's function.
    pub(crate) fn asks_models_itself(&self) -> bool {
        matches!(self.body, Body::Generator(_))
    }

    /// Which kind of scope holds the state of its own.
    pub(crate) fn state_scope(&self) -> ScopeKind {
        if self.rescues_inside() { ScopeKind::Sequencer } else { ScopeKind::Block }
    }

    /// The block whose input a call of it takes: inside `asTool`, the wrapped one.
    pub(crate) fn called_block(self: &Rc<Self>) -> &Rc<Block> {
        match &self.body {
            Body::Tool { block, .. } => block,
            _ => self,
        }
    }

    /// The blocks it may run that are known before it does, in its order.
    pub fn children(&self) -> Vec<Rc<Block>> {
        let mut inside: Vec<Rc<Block>> = match &self.body {
            Body::Sequencer { steps, .. } => steps.iter().flat_map(|step| step.operation.blocks()).cloned().collect(),
            Body::Router { routes, .. } => routes.clone(),
            Body::Generator(generator) => generator.tools.clone(),
            Body::Tool { block, .. } => vec![block.clone()],
            Body::Handler { .. } => Vec::new(),
        };
        inside.extend(self.rescue.iter().map(|rescue| rescue.block.clone()));
        inside
    }
}

/// What to do about an error: the block runs with it when its class matches.
pub struct Rescue {
    /// Class names; empty matches every error.
    pub when: Vec<String>,
    /// Its output replaces the failure.
    pub block: Rc<Block>,
}

/// How often a block may be tried (SEMANTICS §2.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// At least 1.
    pub max_attempts: u32,
    /// The first pause; it doubles.
    pub base_delay_ms: u64,
    /// The longest pause.
    pub max_delay_ms: u64,
    /// Only errors of these classes are tried again; empty means all that are retryable.
    pub retryable_errors: Vec<String>,
}
