//! A flow as the engine runs it: plain descriptions of blocks and operations.
//!
//! Control flow is data here and is interpreted by `execution`;
//! only the author's functions and schemas stay opaque.

mod clash;
mod declarations;
mod generator;
mod hooks;

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::model::callable::{Fun, SchemaRef};
use crate::model::concurrency::Concurrency;
use crate::model::event::BlockKind;
use crate::model::path::{Numbering, encode};
use crate::model::resource::{Resource, Resources};
use crate::model::retention::Retention;
use crate::model::scope::ScopeKind;

pub use declarations::{Conflict, Declaration, Expectation, check_declarations, join_declarations};
pub use generator::{Generator, History, Hook, Model, ModelInstance, Repair, Text, ToolIdentity, ToolSettings};
pub use hooks::{ActionHooks, RequestHooks};

/// A flow: its kind, its actions, and what its scopes must look like.
pub struct Flow {
    /// The name it is run by.
    pub kind: Arc<str>,
    /// In the author's order.
    pub actions: IndexMap<String, Action>,
    /// Every declaration of a scope's state in the flow, its own first.
    pub declarations: Vec<Declaration>,
    /// Every resource that its blocks can reach by name.
    pub resources: Resources,
    /// The hash of the bundle it came from.
    pub code_hash: String,
    /// How its requests treat state, and its sessions the past.
    pub settings: Settings,
    /// What runs around every request.
    pub hooks: RequestHooks,
}

/// How a flow's requests treat state, and its sessions the past.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long a mutation may wait for its turn and run; `None` is for ever (SEMANTICS §4.3).
    pub mutation_timeout_ms: Option<u64>,
    /// The compare-and-set loop of each scope that does not keep the default.
    pub cas: Vec<(ScopeKind, Cas)>,
    /// How many completed requests of its session a request looks back on.
    pub history_turns: usize,
    /// Which completed requests a session keeps in sight; all where it says nothing.
    pub retention: Option<Retention>,
    /// Whether the checkpoint of a sequencer goes when the sequencer ends; it stays otherwise (SEMANTICS §4.8).
    pub cleanup_checkpoints: bool,
}

/// How often a block runs again because a record changed under it (SEMANTICS §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cas {
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// The pause before the first retry, in milliseconds. Read, and not used: writers wait in the queue instead.
    pub base_delay_ms: u64,
}

impl Default for Cas {
    fn default() -> Self {
        Cas { max_retries: 3, base_delay_ms: 10 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mutation_timeout_ms: Some(30_000),
            cas: Vec::new(),
            history_turns: 50,
            retention: None,
            cleanup_checkpoints: false,
        }
    }
}

impl Settings {
    /// The loop of a scope.
    pub fn cas(&self, scope: ScopeKind) -> Cas {
        self.cas.iter().find(|(kind, _)| *kind == scope).map_or_else(Cas::default, |(_, cas)| *cas)
    }
}

/// An action: what a person can run.
pub struct Action {
    /// Checked before anything runs; the root block's schema where the action has none.
    pub input_schema: Option<SchemaRef>,
    /// For people.
    pub description: Option<String>,
    /// What runs.
    pub block: Rc<Block>,
    /// Makes the user's message from the input.
    pub user_message: Option<Fun>,
    /// How many tokens its models may use.
    pub token_budget: Option<TokenBudget>,
    /// What it must not run at the same time with.
    pub concurrency: Option<Concurrency>,
    /// What runs after it.
    pub hooks: ActionHooks,
}

/// How many tokens the models of one request may use; checked once, after the root block
/// (SEMANTICS §1.5).
#[derive(Clone, Debug, PartialEq)]
pub struct TokenBudget {
    /// The budget, over all models.
    pub max_total_tokens: u64,
    /// Where a warning is due.
    pub warn_at: Option<u64>,
    /// What happens beyond it.
    pub on_exceeded: OnExceeded,
}

/// What a spent budget does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceeded {
    /// It fails with `ValidationError`.
    Error,
    /// It ends `incomplete`.
    Stop,
    /// A status item says so.
    Warn,
}

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

    /// Whether it only has others run: gone through again, it does nothing new of its own.
    pub(crate) fn is_chain(&self) -> bool {
        matches!(self.body, Body::Sequencer { .. } | Body::Router { .. } | Body::Tool { .. })
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

/// One operation of a sequencer with its place in the paths.
pub struct Step {
    /// What it does.
    pub operation: Operation,
    /// Its segment, numbered within the chain; empty for operations that run no block.
    pub segment: String,
    /// What its functions are known by: the segment, or `map`, `map~2` of operations without one.
    pub label: String,
}

/// The operations of the chain (SEMANTICS §3.1).
pub enum Operation {
    /// `step`: the child's output flows on.
    Step(Child),
    /// `stepIf`: as `step` when the condition holds, else the value flows on.
    StepIf { condition: Fun, child: Child },
    /// `map`: a function, no block.
    Map(Fun),
    /// `connectInput` of a sequencer: the same, before all else; no loop goes back to it by `map`.
    ConnectInput(Fun),
    /// `tap(block)`: a side effect; the value flows on.
    Tap(Child),
    /// `tap(fn)`.
    TapCall(Fun),
    /// `tapIf(condition, block)`.
    TapIf { condition: Fun, child: Child },
    /// `tapIf(condition, fn)`.
    TapCallIf { condition: Fun, call: Fun },
    /// `exitIf`: the chain ends with the value.
    ExitIf(Fun),
    /// `throwIf`: the call throws.
    ThrowIf { condition: Fun, call: Fun },
    /// `parallel`: an object of outputs, keyed like the arms.
    Parallel { arms: Vec<Arm>, limit: Option<usize> },
    /// `stepAll`: a list of outputs, in the arms' order.
    StepAll { arms: Vec<Arm>, limit: Option<usize> },
    /// `stepAny`: one after another, until one succeeds.
    StepAny { arms: Vec<Arm> },
    /// `race`: together; the first success is the value.
    Race { arms: Vec<Arm>, limit: Option<usize> },
    /// `branch`: the first arm whose condition holds.
    Branch { arms: Vec<Arm> },
    /// `forEach`: a list of outputs, in the items' order.
    ForEach { connector: Option<Fun>, each: Each, limit: Option<usize> },
    /// `forEachBackground`: as background work; the value flows on.
    ForEachBackground { connector: Option<Fun>, each: Each, limit: usize },
    /// `doUntil` and `doWhile`: at least once, then as the condition on the output says.
    Loop { condition: Fun, until: bool, child: Child },
    /// `loopBack`: jumps to the first operation of that name.
    LoopBack { target: String, when: Option<Fun>, max_iterations: u32 },
    /// `work` and `workIf`: runs beside the chain.
    Work { condition: Option<Fun>, child: Child, name: Option<String> },
    /// `waitForWork`: waits for this sequencer's background work.
    WaitForWork { fail_on_error: bool, timeout_ms: Option<u64> },
    /// `waitForCondition`: waits for the request's items; whether time ran out is the value.
    WaitForCondition { condition: Fun, wake_on: Option<Fun>, timeout_ms: u64 },
}

/// One of several branches.
pub struct Arm {
    /// Its key, where the author gave one.
    pub key: String,
    /// Whether it runs, for `branch`.
    pub condition: Option<Fun>,
    /// What runs.
    pub child: Child,
}

/// The block of each item.
pub enum Each {
    /// The same for all.
    Block(Rc<Block>),
    /// Made from `(item, index, ctx)`.
    Factory(Fun),
}

/// What to do about an error: the block runs with it when its class matches.
pub struct Rescue {
    /// Class names; empty matches every error.
    pub when: Vec<String>,
    /// Its output replaces the failure.
    pub block: Rc<Block>,
}

impl Operation {
    /// The operation's name as authors write it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Step(_) => "step",
            Operation::StepIf { .. } => "stepIf",
            Operation::Map(_) => "map",
            Operation::ConnectInput(_) => "connectInput",
            Operation::Tap(_) | Operation::TapCall(_) => "tap",
            Operation::TapIf { .. } | Operation::TapCallIf { .. } => "tapIf",
            Operation::ExitIf(_) => "exitIf",
            Operation::ThrowIf { .. } => "throwIf",
            Operation::Parallel { .. } => "parallel",
            Operation::StepAll { .. } => "stepAll",
            Operation::StepAny { .. } => "stepAny",
            Operation::Race { .. } => "race",
            Operation::Branch { .. } => "branch",
            Operation::ForEach { .. } => "forEach",
            Operation::ForEachBackground { .. } => "forEachBackground",
            Operation::Loop { until: true, .. } => "doUntil",
            Operation::Loop { until: false, .. } => "doWhile",
            Operation::LoopBack { .. } => "loopBack",
            Operation::Work { .. } => "work",
            Operation::WaitForWork { .. } => "waitForWork",
            Operation::WaitForCondition { .. } => "waitForCondition",
        }
    }

    /// The name that `loopBack` finds it by (SEMANTICS §3.4).
    pub fn target_name(&self) -> String {
        match self {
            Operation::Step(child) => child.block.name.to_string(),
            Operation::StepIf { child, .. } => format!("if:{}", child.block.name),
            Operation::Work { child, name, .. } => name.clone().unwrap_or_else(|| format!("work:{}", child.block.name)),
            other => other.name().to_owned(),
        }
    }

    /// The blocks it may run.
    pub fn blocks(&self) -> Vec<&Rc<Block>> {
        match self {
            Operation::Step(child)
            | Operation::Tap(child)
            | Operation::StepIf { child, .. }
            | Operation::TapIf { child, .. }
            | Operation::Loop { child, .. }
            | Operation::Work { child, .. } => vec![&child.block],
            Operation::Parallel { arms, .. }
            | Operation::StepAll { arms, .. }
            | Operation::StepAny { arms }
            | Operation::Race { arms, .. }
            | Operation::Branch { arms } => arms.iter().map(|arm| &arm.child.block).collect(),
            Operation::ForEach { each: Each::Block(block), .. }
            | Operation::ForEachBackground { each: Each::Block(block), .. } => vec![block],
            _ => Vec::new(),
        }
    }
}

/// A block in a chain, with the function that makes its input.
pub struct Child {
    /// Maps the chain's value to the block's input.
    pub connector: Option<Fun>,
    /// What runs.
    pub block: Rc<Block>,
}

/// Gives every operation its segment (SEMANTICS §3.2); conditionals count whether they run or not.
pub fn number_steps(operations: Vec<Operation>) -> Vec<Step> {
    let (mut numbering, mut labels) = (Numbering::default(), Numbering::default());
    operations
        .into_iter()
        .map(|operation| {
            let named = |operation: &str, block: &Rc<Block>| format!("{operation}:{}", encode(&block.name));
            let segment = match &operation {
                Operation::Step(child) => Some(named("step", &child.block)),
                Operation::StepIf { child, .. } => Some(named("stepIf", &child.block)),
                Operation::Tap(child) | Operation::TapIf { child, .. } => Some(named("tap", &child.block)),
                Operation::Work { child, .. } => Some(named("work", &child.block)),
                Operation::Loop { child, .. } => Some(named(operation.name(), &child.block)),
                Operation::ForEach { each: Each::Block(block), .. }
                | Operation::ForEachBackground { each: Each::Block(block), .. } => Some(named(operation.name(), block)),
                Operation::ForEach { .. }
                | Operation::ForEachBackground { .. }
                | Operation::Parallel { .. }
                | Operation::StepAll { .. }
                | Operation::StepAny { .. }
                | Operation::Race { .. }
                | Operation::Branch { .. } => Some(operation.name().to_owned()),
                Operation::LoopBack { .. } => Some("loop".to_owned()),
                _ => None,
            };
            let segment = segment.map(|segment| numbering.number(segment)).unwrap_or_default();
            let label = match segment.is_empty() {
                true => labels.number(operation.name().to_owned()),
                false => segment.clone(),
            };
            Step { operation, segment, label }
        })
        .collect()
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

impl Flow {
    /// The blocks that something outside of all blocks runs: those of the hooks and of the actions.
    pub fn roots(&self) -> Vec<Rc<Block>> {
        let hooks = self.hooks.blocks().chain(self.actions.values().flat_map(|action| action.hooks.blocks()));
        self.actions.values().map(|action| &action.block).chain(hooks).cloned().collect()
    }

    /// Every block reachable from an action or a hook, each once, parents before children.
    pub fn blocks(&self) -> Vec<Rc<Block>> {
        let mut found: Vec<Rc<Block>> = Vec::new();
        let mut stack: Vec<Rc<Block>> = self.roots().into_iter().rev().collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(block) = stack.pop() {
            if seen.insert(Rc::as_ptr(&block)) {
                stack.extend(block.children().into_iter().rev());
                found.push(block);
            }
        }
        found
    }
}
