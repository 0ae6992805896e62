//! A flow as the engine runs it: plain descriptions of blocks and operations.
//!
//! Control flow is data, which `execution` interprets. Only the author's functions and schemas are opaque.

mod agent;
mod agent_hook;
mod block;
mod calls;
mod clash;
mod declarations;
mod generator;
mod hooks;
mod operations;
mod shared;

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::model::callable::{Fun, SchemaRef};
use crate::model::concurrency::Concurrency;
use crate::model::resource::Resources;
use crate::model::retention::Retention;
use crate::model::scope::ScopeKind;

pub use agent::{Agent, AgentDefinitions, AgentPart, AgentSide, Prompt, PromptPart, PromptTool, SessionTool, Side};
pub use agent_hook::AgentHook;
pub use block::{Block, Body, Cache, ContainerItem, Drive, Middleware, Rescue, Retry};
pub use calls::{CallAgent, CallPart, DEFAULT_MAX_DEPTH, DEFAULT_MAX_TICKS, Delegate, Registered, ResultCheck};
pub use clash::contradiction;
pub use declarations::{Conflict, Declaration, Expectation, check_declarations, join_declarations};
pub use generator::{Generator, History, Hook, Model, ModelInstance, Repair, ToolIdentity, ToolSettings, ValueOrCall};
pub use hooks::{ActionHooks, RequestHooks};
pub use operations::{Arm, Child, Each, Operation, Step, StepOptions, number_steps};
pub use shared::{SharedClash, SharedState, shared_states};

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
    /// Settings of its requests and sessions.
    pub settings: Settings,
    /// What runs around every request.
    pub hooks: RequestHooks,
}

/// Settings of a flow's requests and sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long a mutation may take, including the wait for its state's mutex; `None` is unlimited (SEMANTICS §4.3).
    pub mutation_timeout_ms: Option<u64>,
    /// The compare-and-set settings of scopes that do not have the default.
    pub cas: Vec<(ScopeKind, Cas)>,
    /// How many completed requests of its session a request reads.
    pub history_turns: usize,
    /// Which completed requests a session shows; all if absent.
    pub retention: Option<Retention>,
    /// Whether the checkpoints of a sequencer are removed when it ends (SEMANTICS §4.8).
    pub cleanup_checkpoints: bool,
}

/// How often a block runs again after a conflict on a record of a scope (SEMANTICS §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cas {
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// The pause before the first retry, in milliseconds. Parsed but not used: writers wait in the log's queue instead.
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
    /// Returns the compare-and-set settings of a scope.
    pub fn cas(&self, scope: ScopeKind) -> Cas {
        self.cas.iter().find(|(kind, _)| *kind == scope).map_or_else(Cas::default, |(_, cas)| *cas)
    }
}

/// An action, or an entry by its address (SEMANTICS §1.7): what can be run.
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
    /// Which requests must not run at the same time as this one.
    pub concurrency: Option<Concurrency>,
    /// What runs after it.
    pub hooks: ActionHooks,
    /// Whether a block of it refuses to run without a project.
    pub requires_project: bool,
}

/// What starts an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    /// A dispatcher.
    Internal,
    /// A dispatcher of a task board.
    Task,
    /// An event of a provider.
    Webhook,
    /// An event of a bot.
    Chat,
    /// A clock.
    Schedule,
}

impl EntryType {
    /// Returns the word of it in an address.
    pub fn as_str(self) -> &'static str {
        match self {
            EntryType::Internal => "internal",
            EntryType::Task => "task",
            EntryType::Webhook => "webhook",
            EntryType::Chat => "chat",
            EntryType::Schedule => "schedule",
        }
    }

    /// Returns whether it has an event that is mapped to an input: such an entry is fired, any other is run.
    pub fn is_fired(self) -> bool {
        !matches!(self, EntryType::Internal | EntryType::Task)
    }
}

/// How many tokens the models of one request may use; checked once, after the root block
/// (SEMANTICS §1.5).
#[derive(Clone, Debug, PartialEq)]
pub struct TokenBudget {
    /// The budget, over all models.
    pub max_total_tokens: u64,
    /// From where on a warning is emitted: up to 1 a fraction of the budget, above it tokens.
    pub warn_at: Option<u64>,
    /// What happens beyond it.
    pub on_exceeded: OnExceeded,
}

/// What happens to a request that has used more tokens than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceeded {
    /// It fails with `ValidationError`.
    Error,
    /// It ends `incomplete`.
    Stop,
    /// It emits a status item.
    Warn,
}

impl Flow {
    /// Returns the blocks without a parent: those of actions, hooks and reactions.
    pub fn roots(&self) -> Vec<Rc<Block>> {
        let hooks = self.hooks.blocks().chain(self.actions.values().flat_map(|action| action.hooks.blocks()));
        let reactions = self.resources.reactions();
        self.actions.values().map(|action| &action.block).chain(hooks).chain(reactions).cloned().collect()
    }

    /// Returns every block reachable from an action or a hook, each once, parents before children.
    pub fn blocks(&self) -> Vec<Rc<Block>> {
        Flow::reachable(self.roots())
    }

    /// Returns every block reachable from an action, each once, parents before children.
    pub fn blocks_of(&self, action: &str) -> Vec<Rc<Block>> {
        Flow::reachable(self.actions.get(action).map(|action| action.block.clone()).into_iter().collect())
    }

    fn reachable(roots: Vec<Rc<Block>>) -> Vec<Rc<Block>> {
        let mut found: Vec<Rc<Block>> = Vec::new();
        let mut stack: Vec<Rc<Block>> = roots.into_iter().rev().collect();
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
