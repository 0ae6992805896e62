//! The blocks, functions and schemas of a loaded bundle: from the SDK's descriptions to the engine's flow.
//!
//! Must not interpret a flow: the engine does.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use engine::callable::Fun;
use engine::data::from_json;
use engine::error::FlowError;
use engine::flow::{
    Arm, Block, Body, Cache, Cas, Child, ContainerItem, Each, Expectation, Flow, Generator, History, Hook, Middleware,
    Model, ModelInstance, Operation, Repair, RequestHooks, Rescue, Settings, StepOptions, ToolIdentity, ToolSettings,
    ValueOrCall, join_declarations, number_steps,
};
use engine::resource::{ResourceConflict, Resources};
use engine::scope::ScopeKind;
use indexmap::IndexMap;
use rquickjs::Function;
use serde::Deserialize;
use serde_json::Value;

use crate::describe::function::ScriptFunction;
use crate::describe::schema::schema;
use crate::describe::wire::*;
use crate::vm::Vm;

/// The blocks, functions and schemas of one loaded bundle, each created once.
#[derive(Default)]
pub(crate) struct Registry {
    pub(super) blocks: RefCell<HashMap<u32, Rc<Block>>>,
    functions: RefCell<HashMap<u32, Fun>>,
    fingerprints: RefCell<HashMap<u32, Option<Arc<str>>>>,
}

/// Why a flow cannot be built from its description.
pub(crate) struct BuildError {
    pub(crate) error: FlowError,
    /// The resource definition that is at fault, by its number.
    pub(crate) definition: Option<u32>,
}

impl From<FlowError> for BuildError {
    fn from(error: FlowError) -> Self {
        BuildError { error, definition: None }
    }
}

impl From<ResourceConflict> for BuildError {
    fn from(clash: ResourceConflict) -> Self {
        BuildError { error: clash.error, definition: Some(clash.definition) }
    }
}

impl Registry {
    pub(crate) fn function(self: &Rc<Self>, vm: &Rc<Vm>, id: u32) -> Fun {
        let mut functions = self.functions.borrow_mut();
        functions
            .entry(id)
            .or_insert_with(|| Rc::new(ScriptFunction { vm: vm.clone(), registry: Rc::downgrade(self), id }))
            .clone()
    }

    /// Returns a function's fingerprint. The first call computes those of all functions so far.
    pub(crate) fn fingerprint(&self, vm: &Vm, id: u32) -> Option<Arc<str>> {
        if let Some(known) = self.fingerprints.borrow().get(&id) {
            return known.clone();
        }
        // All at once the first time: a call into the runtime costs more than a fingerprint.
        let first = if self.fingerprints.borrow().is_empty() { 0 } else { id };
        let count = if first < id { u32::MAX } else { 1 };
        let sources: String =
            vm.enter(|_, host| host.get::<_, Function>("sources")?.call::<_, String>((first, count))).ok()?;
        let mut fingerprints = self.fingerprints.borrow_mut();
        for (at, source) in sources.split('\0').enumerate() {
            fingerprints.insert(first + at as u32, crate::bundle::fingerprint::of_source(source));
        }
        fingerprints.get(&id).cloned().flatten()
    }

    /// Returns the block that a factory made while the flow runs, from its description.
    pub(crate) fn block_from_factory(self: &Rc<Self>, vm: &Rc<Vm>, json: &str) -> Result<Rc<Block>, FlowError> {
        #[derive(Deserialize)]
        struct Late {
            id: u32,
            blocks: Vec<WireBlock>,
        }
        let wire: Late = from_json(json).map_err(|error| FlowError::plain(error.to_string()))?;
        let is_new = !wire.blocks.is_empty();
        for block in wire.blocks {
            self.add(vm, block)?;
        }
        let block = self.block(wire.id)?;
        if is_new {
            join_declarations(vec![block.clone()]);
        }
        Ok(block)
    }

    pub(crate) fn blocks_from_factory(self: &Rc<Self>, vm: &Rc<Vm>, json: &str) -> Result<Vec<Rc<Block>>, FlowError> {
        let each: Vec<Box<serde_json::value::RawValue>> =
            serde_json::from_str(json).map_err(|error| FlowError::plain(error.to_string()))?;
        each.iter().map(|block| self.block_from_factory(vm, block.get())).collect()
    }

    pub(crate) fn block(&self, id: u32) -> Result<Rc<Block>, FlowError> {
        self.blocks.borrow().get(&id).cloned().ok_or_else(|| FlowError::plain(format!("block {id} is not described")))
    }

    pub(super) fn optional(&self, id: Option<u32>) -> Result<Option<Rc<Block>>, FlowError> {
        id.map(|id| self.block(id)).transpose()
    }

    pub(crate) fn flow(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireFlow, code_hash: &str) -> Result<Flow, BuildError> {
        for block in wire.blocks {
            self.add(vm, block)?;
        }
        let mut actions = IndexMap::new();
        for (name, action) in wire.actions {
            actions.insert(name, self.action(vm, action)?);
        }
        let own = wire.resources.into_iter().map(|wire| self.resource(vm, wire)).collect::<Result<Vec<_>, _>>()?;
        let cas = wire.settings.cas.into_iter().filter_map(|(scope, cas)| {
            Some((ScopeKind::parse(&scope)?, Cas { max_retries: cas.max_retries, base_delay_ms: cas.base_delay_ms }))
        });
        let settings = Settings {
            mutation_timeout_ms: wire.settings.mutation_timeout_ms,
            cas: cas.collect(),
            history_turns: wire.settings.history_turns,
            retention: wire.settings.retention,
            cleanup_checkpoints: wire.settings.cleanup_checkpoints,
        };
        let mut flow = Flow {
            kind: wire.kind.into(),
            actions,
            declarations: wire.declarations.into_iter().filter_map(|declared| declared.build(vm)).collect(),
            // The flow's own first: their reactions are among its blocks.
            resources: Resources::gather(own.clone(), &[])?,
            code_hash: code_hash.to_owned(),
            settings,
            hooks: RequestHooks {
                on_started: self.optional(wire.hooks.on_started)?,
                on_completed: self.optional(wire.hooks.on_completed)?,
                on_errored: self.optional(wire.hooks.on_errored)?,
                on_finished: self.optional(wire.hooks.on_finished)?,
                on_step_errored: self.optional(wire.hooks.on_step_errored)?,
            },
        };
        flow.resources = Resources::gather(own, &flow.blocks())?;
        join_declarations(flow.roots());
        Ok(flow)
    }

    pub(super) fn add(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireBlock) -> Result<(), FlowError> {
        let middleware: Vec<Middleware> = wire.middleware.into_iter().map(|layer| self.layer(vm, layer)).collect();
        match (wire.agent, wire.calls) {
            (Some(agents), _) => return self.add_agent(vm, wire.id, *agents),
            (None, Some(calls)) => return self.add_calls(vm, wire.id, *calls, (&wire.name, middleware)),
            (None, None) => {}
        }
        let function = |id: Option<u32>| id.map(|id| self.function(vm, id));
        let needed = |id: Option<u32>, what: &str| {
            function(id).ok_or_else(|| FlowError::plain(format!("block \"{}\" has no {what}", wire.name)))
        };
        let body = match wire.kind.as_str() {
            "handler" => Body::Handler { execute: needed(wire.execute, "execute function")? },
            "router" => Body::Router {
                routes: wire.routes.iter().map(|id| self.block(*id)).collect::<Result<_, _>>()?,
                execute: needed(wire.execute, "execute function")?,
                validate: function(wire.validate_route),
            },
            "tool" => Body::Tool {
                block: self.block(wire.tool.ok_or_else(|| FlowError::plain("asTool has no block"))?)?,
                identity: ToolIdentity {
                    agent_type: wire.agent_type,
                    item_visibility: wire.item_visibility,
                    agent_name: wire.agent_name,
                },
            },
            "sequencer" => {
                let operations =
                    wire.steps.into_iter().map(|step| self.operation(vm, step)).collect::<Result<Vec<_>, _>>()?;
                Body::Sequencer { steps: number_steps(operations), durable: wire.durable }
            }
            _ => {
                let settings = wire
                    .generator
                    .ok_or_else(|| FlowError::plain(format!("block \"{}\" has no generator settings", wire.name)))?;
                Body::Generator(Box::new(self.generator(vm, *settings)?))
            }
        };
        let active_status = wire.active_status.map(|text| self.value_or_call(vm, *text));
        let block = Block {
            name: wire.name.as_str().into(),
            body,
            description: wire.description,
            input_schema: wire.input_schema.map(|id| schema(vm, id)),
            output_schema: wire.output_schema.map(|id| schema(vm, id)),
            state_schema: wire.state_schema.map(|state| state.build(vm)),
            expects: wire
                .expects
                .into_iter()
                .filter_map(|one| Some(Expectation { target: one.target, declaration: one.declaration.build(vm)? }))
                .collect(),
            joined: OnceCell::new(),
            fingerprint: OnceCell::new(),
            connect_input: function(wire.connect_input),
            connect_output: function(wire.connect_output),
            map_model_output: function(wire.map_model_output),
            cache: wire
                .cache
                .map(|cache| Cache { key: self.function(vm, cache.key), keep_if: function(cache.keep_if) }),
            on_completed: function(wire.on_completed),
            on_errored: function(wire.on_errored),
            retry: wire.retry.map(|retry| retry.build()),
            timeout_ms: wire.timeout_ms,
            transient: wire.transient,
            active_status,
            container: wire.container.map(|container| ContainerItem {
                component: container.component,
                label: container.label.map(|text| self.value_or_call(vm, text)),
                metadata: container.metadata.map(|text| self.value_or_call(vm, text)),
            }),
            middleware,
            rescue: wire
                .rescue
                .into_iter()
                .map(|handler| Ok(Rescue { when: handler.when, block: self.block(handler.block)? }))
                .collect::<Result<_, FlowError>>()?,
            resources: wire.resources.into_iter().map(|wire| self.resource(vm, wire)).collect::<Result<_, _>>()?,
            uses: wire.uses,
        };
        self.blocks.borrow_mut().insert(wire.id, Rc::new(block));
        Ok(())
    }

    pub(crate) fn value_or_call(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireValueOrCall) -> ValueOrCall {
        match wire {
            WireValueOrCall::Fixed(value) => ValueOrCall::Fixed(value),
            WireValueOrCall::Call(id) => ValueOrCall::Call(self.function(vm, id)),
        }
    }

    fn generator(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireGenerator) -> Result<Generator, FlowError> {
        let text = |wire: WireValueOrCall| self.value_or_call(vm, wire);
        let model = |wire: WireModel| match wire {
            WireModel::Named(named) => Model::Named(text(named)),
            WireModel::Instance(instance) => Model::Instance(self.instance(vm, instance)),
        };
        Ok(Generator {
            model: wire.model.map_or_else(|| Model::Named(ValueOrCall::Fixed(Value::Null)), model),
            prompt: wire.prompt.into_iter().map(text).collect(),
            context: wire.context.into_iter().flatten().map(text).collect(),
            history: match (wire.history_slot, wire.history) {
                (Some(slot), _) => Some(History::Slot(text(slot))),
                (None, query) => query.map(History::Query),
            },
            user: wire.user.map(text),
            structured: wire.structured,
            agent_type: wire.agent_type,
            item_visibility: wire.item_visibility,
            agent_name: wire.agent_name,
            tools: wire.tools.iter().map(|id| self.block(*id)).collect::<Result<_, _>>()?,
            tools_call: wire.tools_call.map(|id| self.function(vm, id)),
            describe_tools: wire.describe_tools,
            max_iterations: wire.max_iterations.max(1.0) as u32,
            run_tools: wire.run_tools,
            stop_when: wire.stop_when.map(|id| self.function(vm, id)),
            max_tokens: wire.max_tokens,
            provider_options: wire.provider_options.map(text),
            repair: Repair {
                attempts: wire.repair.attempts,
                coerce: wire.repair.coerce.map(model),
                call: wire.repair.call.map(|id| self.function(vm, id)),
            },
            tool_settings: ToolSettings {
                timeout_ms: wire.tool_settings.timeout_ms,
                serial: wire.tool_settings.serial,
                retry: wire.tool_settings.retry.map(WireRetry::build),
                on_started: self.hook(vm, wire.tool_settings.on_started)?,
                on_completed: self.hook(vm, wire.tool_settings.on_completed)?,
                on_errored: self.hook(vm, wire.tool_settings.on_errored)?,
            },
        })
    }

    pub(crate) fn instance(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireInstance) -> Rc<ModelInstance> {
        Rc::new(ModelInstance {
            id: wire.model_id,
            step: wire.step.map(|id| self.function(vm, id)),
            whole: wire.whole.map(|id| self.function(vm, id)),
            stream_step: wire.stream_step.map(|id| self.function(vm, id)),
            stream: wire.stream.map(|id| self.function(vm, id)),
        })
    }

    fn hook(self: &Rc<Self>, vm: &Rc<Vm>, wire: Option<WireHook>) -> Result<Option<Hook>, FlowError> {
        Ok(match wire {
            None => None,
            Some(WireHook::Call(id)) => Some(Hook::Call(self.function(vm, id))),
            Some(WireHook::Block(id)) => Some(Hook::Block(self.block(id)?)),
        })
    }

    fn operation(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireStep) -> Result<Operation, FlowError> {
        let function = |id: Option<u32>| id.map(|id| self.function(vm, id));
        let missing = |what: &str| FlowError::plain(format!("{} has no {what}", wire.op));
        let options = StepOptions { signal: function(wire.signal), settled: function(wire.settled) };
        let child = match wire.block {
            Some(id) => Some(Child { connector: function(wire.connector), block: self.block(id)?, options }),
            None => None,
        };
        let arms = || {
            wire.arms
                .iter()
                .map(|arm| {
                    Ok(Arm {
                        key: arm.key.clone().unwrap_or_default(),
                        condition: function(arm.condition),
                        child: Child {
                            connector: function(arm.connector),
                            block: self.block(arm.block)?,
                            options: StepOptions::default(),
                        },
                    })
                })
                .collect::<Result<Vec<_>, FlowError>>()
        };
        let call = function(wire.call);
        let condition = || function(wire.condition).ok_or_else(|| missing("condition"));
        let limit = wire.limit.map(|limit| limit.max(1.0) as usize);
        let each = |block: Option<Child>| match (block, function(wire.each)) {
            (Some(child), _) => Ok((child.connector, Each::Block(child.block))),
            (None, Some(factory)) => Ok((function(wire.connector), Each::Factory(factory))),
            (None, None) => Err(missing("block")),
        };
        Ok(match (wire.op.as_str(), child, call) {
            ("step", Some(child), _) => Operation::Step(child),
            ("stepIf", Some(child), _) => Operation::StepIf { condition: condition()?, child },
            ("map", _, Some(call)) => Operation::Map(call),
            ("connectInput", _, Some(call)) => Operation::ConnectInput(call),
            ("tap", Some(child), _) => Operation::Tap(child),
            ("tap", None, Some(call)) => Operation::TapCall(call),
            ("tapIf", Some(child), _) => Operation::TapIf { condition: condition()?, child },
            ("tapIf", None, Some(call)) => Operation::TapCallIf { condition: condition()?, call },
            ("exitIf", ..) => Operation::ExitIf(condition()?),
            ("throwIf", _, Some(call)) => Operation::ThrowIf { condition: condition()?, call },
            ("parallel", ..) => Operation::Parallel { arms: arms()?, limit },
            ("stepAll", ..) => Operation::StepAll { arms: arms()?, limit },
            ("stepAny", ..) => Operation::StepAny { arms: arms()? },
            ("race", ..) => Operation::Race { arms: arms()?, limit },
            ("branch", ..) => Operation::Branch { arms: arms()? },
            ("forEach", child, _) => {
                let (connector, each) = each(child)?;
                Operation::ForEach { connector, each, limit }
            }
            ("forEachBackground", child, _) => {
                let (connector, each) = each(child)?;
                Operation::ForEachBackground { connector, each, limit: limit.unwrap_or(16) }
            }
            ("doUntil", Some(child), _) => Operation::Loop { condition: condition()?, until: true, child },
            ("doWhile", Some(child), _) => Operation::Loop { condition: condition()?, until: false, child },
            ("loopBack", ..) => Operation::LoopBack {
                target: wire.target.clone().ok_or_else(|| missing("target"))?,
                when: function(wire.condition),
                max_iterations: limit.unwrap_or(1) as u32,
            },
            ("work", Some(child), _) => {
                Operation::Work { condition: function(wire.condition), child, name: wire.target.clone() }
            }
            ("waitForWork", ..) => {
                Operation::WaitForWork { fail_on_error: wire.fail_on_error, timeout_ms: wire.timeout_ms }
            }
            ("waitForCondition", _, wake_on) => Operation::WaitForCondition {
                condition: condition()?,
                wake_on,
                timeout_ms: wire.timeout_ms.ok_or_else(|| missing("timeoutMs"))?,
            },
            _ => return Err(FlowError::plain(format!("operation \"{}\" is not understood", wire.op))),
        })
    }
}
