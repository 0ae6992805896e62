//! A block as the engine runs it, and what each kind of it is.
//!
//! [`Body`] is the closed list of kinds; what each does is in `execution::drivers`. All other code of the engine uses
//! the properties of [`Block`] instead of matching the kinds.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;

use super::{AgentPart, CallPart, Expectation, Generator, Step, ToolIdentity, ValueOrCall};
use crate::model::callable::{Fun, Invocation, SchemaRef};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::BlockKind;
use crate::model::path::{encode, join};
use crate::model::resource::Resource;
use crate::model::scope::ScopeKind;
use crate::model::step_value::StepValue;

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
    /// What it declares of the states of enclosing blocks.
    pub expects: Vec<Expectation>,
    /// What the blocks inside it declare of its state: see [`join_declarations`](super::join_declarations).
    pub joined: OnceCell<Vec<SchemaRef>>,
    /// Its fingerprint, computed on first use.
    pub fingerprint: OnceCell<Option<Arc<str>>>,
    /// Maps the given value to its input.
    pub connect_input: Option<Fun>,
    /// Maps the body's output to its output.
    pub connect_output: Option<Fun>,
    /// As a tool: maps its output to what the model gets. All others get the output itself.
    pub map_model_output: Option<Fun>,
    /// As a tool: whether and how long its output is cached.
    pub cache: Option<Cache>,
    /// Called after success, inside the block: a failure of it is the block's.
    pub on_completed: Option<Fun>,
    /// Called after a failure; its own failure is ignored.
    pub on_errored: Option<Fun>,
    /// How often it may be tried.
    pub retry: Option<Retry>,
    /// As a tool: how long one call may take, 0 for as long as it takes. Absent: as the settings for tools say.
    pub timeout_ms: Option<u64>,
    /// Leaves no `block_output` item.
    pub transient: bool,
    /// The status line while it runs.
    pub active_status: Option<ValueOrCall>,
    /// The item that contains the items of a sequencer or a router.
    pub container: Option<ContainerItem>,
    /// What runs around it, outermost first.
    pub middleware: Vec<Middleware>,
    /// The handlers of its failure; a sequencer's handle failures of its chain.
    pub rescue: Vec<Rescue>,
    /// The resources it declares itself.
    pub resources: Vec<Rc<Resource>>,
    /// The capabilities it uses, by numbers of the script host.
    pub uses: Vec<u32>,
}

/// `container`: the item around the items of a block.
#[derive(Clone)]
pub struct ContainerItem {
    /// The client component that draws it.
    pub component: Option<String>,
    /// Its title.
    pub label: Option<ValueOrCall>,
    /// More data for clients: an object.
    pub metadata: Option<ValueOrCall>,
}

/// `cacheable`: an equal call of the tool within the request gets the output of the first one.
#[derive(Clone)]
pub struct Cache {
    /// Makes `{ key, ttlMs }` of the arguments: what the call is known by, and how old an output may be, in
    /// milliseconds. Nothing where outputs are not cached.
    pub key: Fun,
    /// Decides whether an output is cached.
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
    /// An agent, or a part of one, and what runs it.
    Agent(AgentPart, Drive<AgentPart>),
    /// An agent whose model answers with Calls, or a part of one, and what runs it.
    Calls(CallPart, Drive<CallPart>),
}

/// Runs the body of a part of an agent with the block's input. A crate on top of the engine has that code: it makes the
/// block, and reaches the engine through `engine::driver`.
pub type Drive<P> = fn(&P, &Data, Invocation) -> LocalBoxFuture<'static, Result<StepValue, FlowError>>;

impl Block {
    /// Returns its kind as stored.
    pub fn kind(&self) -> BlockKind {
        match self.body {
            Body::Handler { .. } | Body::Tool { .. } => BlockKind::Handler,
            Body::Sequencer { .. } => BlockKind::Sequencer,
            Body::Router { .. } => BlockKind::Router,
            Body::Generator(_) | Body::Calls(CallPart::Request(_), ..) => BlockKind::Generator,
            Body::Calls(..) => BlockKind::Sequencer,
            Body::Agent(AgentPart::Conversation(_), ..) => BlockKind::Sequencer,
            Body::Agent(AgentPart::Message(_), ..) => BlockKind::Handler,
            Body::Agent(AgentPart::Turn(..) | AgentPart::SubPrompt(..), ..) => BlockKind::Generator,
        }
    }

    /// Returns whether its body has parsed the block's output with `outputSchema`: a generator checks what its model
    /// answered.
    pub(crate) fn checks_output(&self) -> bool {
        matches!(self.body, Body::Generator(_)) && self.connect_output.is_none()
    }

    /// Refuses an output that cannot be used, although the block made it: the result of a Call that cannot be written.
    pub(crate) fn check_result(&self, output: &Data) -> Result<(), FlowError> {
        match &self.body {
            Body::Calls(CallPart::Call(_, Some(check)), ..) => check(output),
            _ => Ok(()),
        }
    }

    /// Returns whether it is a part of an agent. What its tools return says whether their calls failed.
    pub fn is_of_agent(&self) -> bool {
        matches!(self.body, Body::Agent(..))
    }

    /// Returns whether its body only runs other blocks, so that running it again has no effects of its own.
    pub(crate) fn only_runs_others(&self) -> bool {
        match &self.body {
            Body::Sequencer { .. } | Body::Router { .. } | Body::Tool { .. } | Body::Agent(..) => true,
            Body::Calls(part, ..) => !matches!(part, CallPart::Request(_)),
            Body::Handler { .. } | Body::Generator(_) => false,
        }
    }

    /// Returns whether its body is one function, which runs again as a whole after a conflict.
    pub(crate) fn is_one_function(&self) -> bool {
        matches!(self.body, Body::Handler { .. })
    }

    /// Returns whether its body is a chain, whose output error names the last step.
    pub(crate) fn is_chain(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. })
    }

    /// Returns whether its `rescue` handles failures inside it, instead of its own failure.
    pub(crate) fn rescues_inside(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. })
    }

    /// Returns the first rescue handler that matches a failure.
    pub(crate) fn handler_of(&self, error: &FlowError) -> Option<&Rescue> {
        let matches = |handler: &&Rescue| {
            handler.when.is_empty() || error.classes.iter().any(|class| handler.when.contains(class))
        };
        self.rescue.iter().find(matches).filter(|_| !error.is_uncatchable())
    }

    /// Returns the handler that runs when the block has ended with a failure. Those of a sequencer run inside it, so it
    /// ends after them.
    pub(crate) fn handler_after(&self, error: &FlowError) -> Option<&Rescue> {
        if self.rescues_inside() { None } else { self.handler_of(error) }
    }

    /// Returns whether checkpoints contain its own state: false only for a sequencer with `durable: false`.
    pub(crate) fn has_checkpoints(&self) -> bool {
        !matches!(self.body, Body::Sequencer { durable: false, .. })
    }

    /// Returns whether its items can be inside a `container` item.
    pub(crate) fn can_contain_items(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. } | Body::Router { .. })
    }

    /// Returns whether its model calls are made by the engine, not by an author's function.
    pub(crate) fn asks_models_itself(&self) -> bool {
        match &self.body {
            Body::Generator(_) | Body::Calls(CallPart::Request(_), ..) => true,
            Body::Agent(part, ..) => part.asks_models(),
            _ => false,
        }
    }

    /// Returns the kind of scope of its own state.
    pub(crate) fn state_scope(&self) -> ScopeKind {
        if self.kind() == BlockKind::Sequencer { ScopeKind::Sequencer } else { ScopeKind::Block }
    }

    /// Returns the block whose input schema a tool call has: of `asTool` the wrapped one, else itself.
    pub(crate) fn called_block(self: &Rc<Self>) -> &Rc<Block> {
        match &self.body {
            Body::Tool { block, .. } => block,
            _ => self,
        }
    }

    /// Returns the blocks it may run, in its order, except those that a factory makes while it runs.
    pub fn children(&self) -> Vec<Rc<Block>> {
        let mut inside: Vec<Rc<Block>> = match &self.body {
            Body::Sequencer { steps, .. } => steps.iter().flat_map(|step| step.operation.blocks()).cloned().collect(),
            Body::Router { routes, .. } => routes.clone(),
            Body::Generator(generator) => generator.tools.clone(),
            Body::Tool { block, .. } => vec![block.clone()],
            Body::Agent(part, ..) => part.definitions().tools.values().cloned().collect(),
            Body::Calls(part, ..) => part.agent().registered.activities.values().cloned().collect(),
            Body::Handler { .. } => Vec::new(),
        };
        inside.extend(self.rescue.iter().map(|rescue| rescue.block.clone()));
        inside
    }
}

/// A function that runs around a block and goes on by `next()` (SEMANTICS §2.13).
#[derive(Clone)]
pub struct Middleware {
    /// How its author calls it.
    pub name: String,
    /// Called with the block's input; its answer is the block's output.
    pub around: Fun,
    /// Whether it is the flow's, which runs around every block.
    pub is_of_flow: bool,
}

/// A rescue handler: the block runs with the error as its input, if the class matches.
pub struct Rescue {
    /// Class names; empty matches every error.
    pub when: Vec<String>,
    /// Its output replaces the failure.
    pub block: Rc<Block>,
}

impl Rescue {
    /// Returns the path at which it runs for a block.
    pub(crate) fn path(&self, of: &str) -> String {
        join(of, &format!("rescue:{}", encode(&self.block.name)))
    }
}

/// How often a block may be tried (SEMANTICS §2.4), as its author wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retry {
    /// At least 1; 1 if absent.
    pub max_attempts: Option<u32>,
    /// The first pause, which doubles; 0 if absent.
    pub base_delay_ms: Option<u64>,
    /// The longest pause; 10 s if absent.
    pub max_delay_ms: Option<u64>,
    /// Only errors of these classes are tried again; absent or empty means all that are retryable.
    pub retryable_errors: Option<Vec<String>>,
}

impl Retry {
    /// Returns how often the block is tried, the first time included.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts.unwrap_or(1).max(1)
    }

    /// Returns how long to wait after this many failed tries, in milliseconds.
    pub fn pause_after(&self, failed: u32) -> u64 {
        let doubled = self.base_delay_ms.unwrap_or(0).saturating_mul(1 << failed.saturating_sub(1).min(20));
        doubled.min(self.max_delay_ms.unwrap_or(10_000))
    }

    /// Returns whether errors of this class are tried again.
    pub fn lists(&self, error: &FlowError) -> bool {
        let listed = self.retryable_errors.as_deref().unwrap_or_default();
        listed.is_empty() || error.classes.iter().any(|class| listed.contains(class))
    }

    /// Returns these settings, completed field by field from others.
    pub fn or(&self, other: &Retry) -> Retry {
        Retry {
            max_attempts: self.max_attempts.or(other.max_attempts),
            base_delay_ms: self.base_delay_ms.or(other.base_delay_ms),
            max_delay_ms: self.max_delay_ms.or(other.max_delay_ms),
            retryable_errors: self.retryable_errors.clone().or_else(|| other.retryable_errors.clone()),
        }
    }
}
