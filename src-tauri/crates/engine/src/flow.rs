//! A flow as the engine runs it: plain descriptions of blocks and operations.
//!
//! Control flow is data here and is interpreted by [`block`](crate::block) and
//! [`sequencer`](crate::sequencer); only the author's functions and schemas stay opaque.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use crate::callable::{Fun, SchemaRef};
use crate::error::FlowError;
use crate::event::BlockKind;
use crate::item::{AgentType, Visibility};
use crate::path::{Numbering, encode};
use crate::scope::ScopeKind;

/// A flow: its kind, its actions, and what its scopes must look like.
pub struct Flow {
    /// The name it is run by.
    pub kind: Arc<str>,
    /// In the author's order.
    pub actions: IndexMap<String, Action>,
    /// Every declaration of a scope's state in the flow, its own first.
    pub declarations: Vec<Declaration>,
    /// The hash of the bundle it came from.
    pub code_hash: String,
}

/// One `…StateSchema` of a flow or of one of its blocks.
#[derive(Clone)]
pub struct Declaration {
    /// The scope it speaks of.
    pub scope: ScopeKind,
    /// Who declares it: `flow "chat"` or `block "planner"`.
    pub owner: String,
    /// What it demands.
    pub schema: SchemaRef,
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
    /// Maps what it is given to its input.
    pub connect_input: Option<Fun>,
    /// Maps its output to what leaves it.
    pub connect_output: Option<Fun>,
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
}

impl Block {
    /// Which of the four kinds it is.
    pub fn kind(&self) -> BlockKind {
        match self.body {
            Body::Handler { .. } => BlockKind::Handler,
            Body::Sequencer { .. } => BlockKind::Sequencer,
            Body::Router { .. } => BlockKind::Router,
            Body::Generator(_) => BlockKind::Generator,
        }
    }
}

/// One operation of a sequencer with its place in the paths.
pub struct Step {
    /// What it does.
    pub operation: Operation,
    /// Its segment, numbered within the chain; empty for operations that run no block.
    pub segment: String,
}

/// The operations of the chain.
pub enum Operation {
    /// `step`: the child's output flows on.
    Step(Child),
    /// `stepIf`: as `step` when the condition holds, else the value flows on.
    StepIf { condition: Fun, child: Child },
    /// `map`: a function, no block.
    Map(Fun),
    /// `tap(block)`: a side effect; the value flows on.
    Tap(Child),
    /// `tap(fn)`.
    TapCall(Fun),
    /// `tapIf(condition, block)`.
    TapIf { condition: Fun, child: Child },
    /// `tapIf(condition, fn)`.
    TapCallIf { condition: Fun, call: Fun },
}

impl Operation {
    /// The operation's name as authors write it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Step(_) => "step",
            Operation::StepIf { .. } => "stepIf",
            Operation::Map(_) => "map",
            Operation::Tap(_) | Operation::TapCall(_) => "tap",
            Operation::TapIf { .. } | Operation::TapCallIf { .. } => "tapIf",
        }
    }

    /// The blocks it may run.
    pub fn blocks(&self) -> Vec<&Rc<Block>> {
        match self {
            Operation::Step(child) | Operation::Tap(child) => vec![&child.block],
            Operation::StepIf { child, .. } | Operation::TapIf { child, .. } => vec![&child.block],
            Operation::Map(_) | Operation::TapCall(_) | Operation::TapCallIf { .. } => Vec::new(),
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

/// Gives every operation its segment (decision 14); conditionals count whether they run or not.
pub fn number_steps(operations: Vec<Operation>) -> Vec<Step> {
    let mut numbering = Numbering::default();
    operations
        .into_iter()
        .map(|operation| {
            let segment = match &operation {
                Operation::Step(child) => format!("step:{}", encode(&child.block.name)),
                Operation::StepIf { child, .. } => format!("stepIf:{}", encode(&child.block.name)),
                Operation::Tap(child) | Operation::TapIf { child, .. } => {
                    format!("tap:{}", encode(&child.block.name))
                }
                Operation::Map(_) | Operation::TapCall(_) | Operation::TapCallIf { .. } => String::new(),
            };
            let segment = if segment.is_empty() { segment } else { numbering.number(segment) };
            Step { operation, segment }
        })
        .collect()
}

/// A generator's own settings.
pub struct Generator {
    /// The model's name, or a function that gives it.
    pub model: Text,
    /// The system prompt's parts.
    pub prompt: Vec<Text>,
    /// The user's message, or a function that gives it.
    pub user: Option<Text>,
    /// Whether the session's history is shown to the model.
    pub history: bool,
    /// Whether the answer is text, which is streamed and emitted, or structured.
    pub structured: bool,
    /// Who it speaks as; without either it emits no messages.
    pub agent_type: Option<AgentType>,
    /// The explicit form of the same.
    pub item_visibility: Option<Visibility>,
    /// The name items carry.
    pub agent_name: Option<String>,
}

/// A text, or a function that makes it from `(input, ctx)`.
pub enum Text {
    /// As written.
    Fixed(Value),
    /// Asked for each time.
    Call(Fun),
}

/// How often a block may be tried (core-semantics §2.5).
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
    /// Every block reachable from an action, each once, parents before children.
    pub fn blocks(&self) -> Vec<Rc<Block>> {
        let mut found: Vec<Rc<Block>> = Vec::new();
        let mut queue: Vec<Rc<Block>> = self.actions.values().rev().map(|action| action.block.clone()).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(block) = queue.pop() {
            if !seen.insert(Rc::as_ptr(&block)) {
                continue;
            }
            match &block.body {
                Body::Sequencer { steps, .. } => {
                    for step in steps.iter().rev() {
                        queue.extend(step.operation.blocks().into_iter().rev().cloned());
                    }
                }
                Body::Router { routes, .. } => queue.extend(routes.iter().rev().cloned()),
                Body::Handler { .. } | Body::Generator(_) => {}
            }
            found.push(block);
        }
        found
    }
}

/// Refuses declarations of one scope's field that cannot both hold (authoring, difference 3):
/// a value that satisfies one type can never satisfy the other.
pub fn check_declarations(flow: &Flow) -> Result<(), FlowError> {
    let mut known: IndexMap<(ScopeKind, String), (String, Value)> = IndexMap::new();
    for declaration in &flow.declarations {
        let described = declaration.schema.describe();
        let Some(properties) = described.get("properties").and_then(Value::as_object) else { continue };
        for (field, shape) in properties {
            let key = (declaration.scope, field.clone());
            let Some((owner, other)) = known.get(&key) else {
                known.insert(key, (declaration.owner.clone(), shape.clone()));
                continue;
            };
            let (one, two) = (types(other), types(shape));
            if !one.is_empty() && !two.is_empty() && one.iter().all(|kind| !two.contains(kind)) {
                let scope = declaration.scope.as_str();
                let mut error = FlowError::new(
                    "SchemaConflictError",
                    format!(
                        "{scope} state field \"{field}\" is declared as {} by {owner} and as {} by {}",
                        one.join(" or "),
                        two.join(" or "),
                        declaration.owner
                    ),
                );
                error.code = Some("schema_conflict".to_owned());
                error.details = Some(serde_json::json!({
                    "scope": scope,
                    "field": field,
                    "blocks": [owner, declaration.owner],
                    "types": [other, shape],
                }));
                return Err(error);
            }
        }
    }
    Ok(())
}

/// The JSON types a described schema lets through; empty means any.
fn types(shape: &Value) -> Vec<&str> {
    if let Some(kind) = shape.get("type").and_then(Value::as_str) {
        return vec![if kind == "integer" { "number" } else { kind }];
    }
    if let Some(constant) = shape.get("const") {
        return vec![json_type(constant)];
    }
    let Some(options) = shape.get("anyOf").and_then(Value::as_array) else { return Vec::new() };
    let mut all = Vec::new();
    for option in options {
        let kinds = types(option);
        if kinds.is_empty() {
            return Vec::new();
        }
        all.extend(kinds);
    }
    all
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
