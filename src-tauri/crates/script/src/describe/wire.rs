//! The SDK's descriptions of a flow, as they come from JavaScript.
//!
//! Functions, schemas and blocks of the bundle are referred to by numbers.

use std::collections::HashMap;
use std::rc::Rc;

use engine::callable::{Field, SchemaRef};
use engine::flow::{Declaration, Retry};
use engine::item::{AgentType, Visibility};
use engine::retention::Retention;
use engine::scope::ScopeKind;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use crate::describe::actions::EntryDescription;
use crate::describe::agents::WireAgents;
use crate::describe::calls::WireCalls;
use crate::describe::plain::Plain;
use crate::describe::policies::WireConcurrency;
use crate::describe::resources::WireResource;
use crate::describe::schema::ScriptSchema;
use crate::vm::Vm;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireFlow {
    pub(crate) kind: String,
    pub(crate) description: Option<String>,
    pub(crate) actions: IndexMap<String, WireAction>,
    pub(crate) hooks: WireHooks,
    pub(crate) declarations: Vec<WireDeclaration>,
    pub(crate) blocks: Vec<WireBlock>,
    pub(crate) resources: Vec<WireResource>,
    pub(crate) settings: WireSettings,
    pub(crate) client: bool,
    /// Whether it declares something of an organisation, or else of a project; absent where of neither.
    pub(crate) declares_org: Option<bool>,
    pub(crate) isolated: Vec<ScopeKind>,
    pub(crate) resolves: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireSettings {
    pub(crate) mutation_timeout_ms: Option<u64>,
    pub(crate) cas: IndexMap<String, WireCas>,
    pub(crate) history_turns: usize,
    pub(crate) retention: Option<Retention>,
    pub(crate) cleanup_checkpoints: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCas {
    pub(crate) max_retries: u32,
    pub(crate) base_delay_ms: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireAction {
    pub(crate) block: u32,
    pub(crate) input_schema: Option<u32>,
    pub(crate) description: Option<String>,
    pub(crate) user_message: Option<u32>,
    pub(crate) token_budget: Option<WireBudget>,
    pub(crate) concurrency: Option<WireConcurrency>,
    pub(crate) hooks: WireHooks,
    #[serde(default)]
    pub(crate) requires_project: bool,
    pub(crate) entry: Option<EntryDescription>,
}

/// The blocks of a request's hooks, or of an action's, which has some of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireHooks {
    pub(crate) on_started: Option<u32>,
    pub(crate) on_completed: Option<u32>,
    pub(crate) on_errored: Option<u32>,
    pub(crate) on_finished: Option<u32>,
    pub(crate) on_step_errored: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireBudget {
    pub(crate) max_total_tokens: u64,
    pub(crate) warn_at: Option<u64>,
    pub(crate) on_exceeded: String,
}

#[derive(Deserialize)]
pub(crate) struct WireDeclaration {
    pub(crate) scope: String,
    pub(crate) owner: String,
    pub(crate) schema: WireState,
    pub(crate) site: Option<u32>,
}

impl WireDeclaration {
    pub(crate) fn build(self, vm: &Rc<Vm>) -> Option<Declaration> {
        let scope = ScopeKind::parse(&self.scope)?;
        Some(Declaration { scope, owner: self.owner, schema: self.schema.build(vm), site: self.site })
    }
}

/// What a block declares of the state of the nearest enclosing sequencer, or of the enclosing block `target`.
#[derive(Deserialize)]
pub(crate) struct WireExpectation {
    pub(crate) target: Option<String>,
    pub(crate) declaration: WireDeclaration,
}

#[derive(Deserialize)]
pub(crate) struct WireState {
    pub(crate) id: u32,
    pub(crate) fields: Option<Vec<WireField>>,
    pub(crate) open: bool,
}

impl WireState {
    pub(crate) fn build(self, vm: &Rc<Vm>) -> SchemaRef {
        let mut plain = HashMap::new();
        let fields = self.fields.map(|fields| {
            fields
                .into_iter()
                .map(|field| {
                    plain.extend(field.plain.map(|shape| (field.name.clone(), shape)));
                    Field { name: field.name, default: field.default, transient: field.transient }
                })
                .collect()
        });
        Rc::new(ScriptSchema { vm: vm.clone(), id: self.id, fields, plain, open: self.open })
    }
}

#[derive(Deserialize)]
pub(crate) struct WireField {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "engine::json::given")]
    pub(crate) default: Option<Value>,
    pub(crate) transient: bool,
    pub(crate) plain: Option<Plain>,
}

/// A block. What few blocks have is in boxes: all blocks of a flow are in memory at once when it is loaded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireBlock {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Option<u32>,
    pub(crate) output_schema: Option<u32>,
    pub(crate) state_schema: Option<Box<WireState>>,
    #[serde(default)]
    pub(crate) expects: Vec<WireExpectation>,
    pub(crate) connect_input: Option<u32>,
    pub(crate) connect_output: Option<u32>,
    pub(crate) map_model_output: Option<u32>,
    pub(crate) cache: Option<WireCache>,
    pub(crate) on_completed: Option<u32>,
    pub(crate) on_errored: Option<u32>,
    pub(crate) retry: Option<Box<WireRetry>>,
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(crate) middleware: Vec<WireLayer>,
    #[serde(default)]
    pub(crate) transient: bool,
    pub(crate) active_status: Option<Box<WireValueOrCall>>,
    pub(crate) container: Option<Box<WireContainer>>,
    pub(crate) execute: Option<u32>,
    pub(crate) validate_route: Option<u32>,
    #[serde(default)]
    pub(crate) routes: Vec<u32>,
    #[serde(default)]
    pub(crate) steps: Vec<WireStep>,
    #[serde(default)]
    pub(crate) durable: bool,
    pub(crate) generator: Option<Box<WireGenerator>>,
    #[serde(default)]
    pub(crate) rescue: Vec<WireHandler>,
    #[serde(default)]
    pub(crate) resources: Vec<WireResource>,
    #[serde(default)]
    pub(crate) uses: Vec<u32>,
    pub(crate) tool: Option<u32>,
    pub(crate) agent: Option<Box<WireAgents>>,
    pub(crate) calls: Option<Box<WireCalls>>,
    pub(crate) agent_type: Option<AgentType>,
    pub(crate) item_visibility: Option<Visibility>,
    pub(crate) agent_name: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct WireLayer {
    pub(crate) name: String,
    pub(crate) call: u32,
    pub(crate) flow: bool,
}

#[derive(Deserialize)]
pub(crate) struct WireContainer {
    pub(crate) component: Option<String>,
    pub(crate) label: Option<WireValueOrCall>,
    pub(crate) metadata: Option<WireValueOrCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireRetry {
    pub(crate) max_attempts: Option<u32>,
    pub(crate) base_delay_ms: Option<u64>,
    pub(crate) max_delay_ms: Option<u64>,
    pub(crate) retryable_errors: Option<Vec<String>>,
}

impl WireRetry {
    pub(crate) fn build(self) -> Retry {
        Retry {
            max_attempts: self.max_attempts,
            base_delay_ms: self.base_delay_ms,
            max_delay_ms: self.max_delay_ms,
            retryable_errors: self.retryable_errors,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCache {
    pub(crate) key: u32,
    pub(crate) keep_if: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireValueOrCall {
    Fixed(#[serde(deserialize_with = "engine::json::exact")] Value),
    Call(u32),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireStep {
    pub(crate) op: String,
    pub(crate) block: Option<u32>,
    pub(crate) connector: Option<u32>,
    pub(crate) signal: Option<u32>,
    pub(crate) settled: Option<u32>,
    pub(crate) condition: Option<u32>,
    pub(crate) call: Option<u32>,
    #[serde(default)]
    pub(crate) arms: Vec<WireArm>,
    pub(crate) each: Option<u32>,
    pub(crate) target: Option<String>,
    pub(crate) limit: Option<f64>,
    #[serde(default)]
    pub(crate) fail_on_error: bool,
    pub(crate) timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
pub(crate) struct WireArm {
    pub(crate) key: Option<String>,
    pub(crate) block: u32,
    pub(crate) connector: Option<u32>,
    pub(crate) condition: Option<u32>,
}

#[derive(Deserialize)]
pub(crate) struct WireHandler {
    pub(crate) when: Vec<String>,
    pub(crate) block: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireGenerator {
    pub(crate) model: Option<WireModel>,
    pub(crate) prompt: Vec<WireValueOrCall>,
    #[serde(default)]
    pub(crate) context: Vec<Option<WireValueOrCall>>,
    #[serde(default, deserialize_with = "engine::json::exact")]
    pub(crate) history: Option<Value>,
    pub(crate) history_slot: Option<WireValueOrCall>,
    pub(crate) user: Option<WireValueOrCall>,
    pub(crate) structured: bool,
    pub(crate) agent_type: Option<AgentType>,
    pub(crate) item_visibility: Option<Visibility>,
    pub(crate) agent_name: Option<String>,
    #[serde(default)]
    pub(crate) tools: Vec<u32>,
    pub(crate) tools_call: Option<u32>,
    pub(crate) describe_tools: bool,
    pub(crate) max_iterations: f64,
    pub(crate) run_tools: bool,
    pub(crate) stop_when: Option<u32>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) provider_options: Option<WireValueOrCall>,
    pub(crate) repair: WireRepair,
    pub(crate) tool_settings: WireToolSettings,
}

/// A model by its name, names or function, or an author's own.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireModel {
    Named(WireValueOrCall),
    Instance(WireInstance),
}

/// An author's own model, by its functions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireInstance {
    pub(crate) model_id: String,
    pub(crate) step: Option<u32>,
    pub(crate) whole: Option<u32>,
    pub(crate) stream_step: Option<u32>,
    pub(crate) stream: Option<u32>,
}

#[derive(Deserialize)]
pub(crate) struct WireRepair {
    pub(crate) attempts: u32,
    pub(crate) coerce: Option<WireModel>,
    pub(crate) call: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireToolSettings {
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) serial: bool,
    pub(crate) retry: Option<WireRetry>,
    pub(crate) on_started: Option<WireHook>,
    pub(crate) on_completed: Option<WireHook>,
    pub(crate) on_errored: Option<WireHook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireHook {
    Call(u32),
    Block(u32),
}
