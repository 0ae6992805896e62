//! Agents whose model answers with Calls: from the SDK's description to the engine's definitions.

use std::rc::Rc;

use engine::error::FlowError;
use engine::flow::{CallAgent, DEFAULT_MAX_DEPTH, DEFAULT_MAX_TICKS, Delegate, Middleware, Registered, ValueOrCall};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use crate::describe::registry::Registry;
use crate::describe::wire::WireValueOrCall;
use crate::vm::Vm;

/// An agent, and all that its file registers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCalls {
    models: Vec<String>,
    #[serde(default, deserialize_with = "engine::json::exact")]
    schema: Option<Value>,
    context: WireValueOrCall,
    confirm: Option<WireValueOrCall>,
    max_ticks: Option<u32>,
    max_depth: Option<u32>,
    #[serde(deserialize_with = "engine::json::exact")]
    tools: Value,
    activities: Vec<WireActivity>,
    delegates: Vec<WireDelegate>,
}

#[derive(Deserialize)]
struct WireActivity {
    name: String,
    block: u32,
}

#[derive(Deserialize)]
struct WireDelegate {
    name: String,
    #[serde(deserialize_with = "engine::json::exact")]
    context: Vec<Value>,
    #[serde(default, deserialize_with = "engine::json::exact")]
    schema: Option<Value>,
}

impl Registry {
    /// Adds the block of an agent whose model answers with Calls.
    pub(super) fn add_calls(
        self: &Rc<Self>,
        vm: &Rc<Vm>,
        id: u32,
        calls: WireCalls,
        (name, middleware): (&str, Vec<Middleware>),
    ) -> Result<(), FlowError> {
        let mut block = dialects::calls::block(&Rc::new(calls.build(vm, self, name)?));
        if let Some(own) = Rc::get_mut(&mut block) {
            own.middleware = middleware;
        }
        self.blocks.borrow_mut().insert(id, block);
        Ok(())
    }
}

impl WireCalls {
    /// The blocks of its Activities have been added before.
    fn build(self, vm: &Rc<Vm>, registry: &Rc<Registry>, name: &str) -> Result<CallAgent, FlowError> {
        let value_or_call = |wire: WireValueOrCall| -> ValueOrCall { registry.value_or_call(vm, wire) };
        let activities = self.activities.into_iter().map(|wire| Ok((wire.name, registry.block(wire.block)?)));
        let delegates =
            self.delegates.into_iter().map(|wire| (wire.name, Delegate { context: wire.context, schema: wire.schema }));
        let tools: IndexMap<String, Value> = match self.tools {
            Value::Object(tools) => tools.into_iter().collect(),
            _ => IndexMap::new(),
        };
        if let Some(fault) = tools.iter().find_map(|(name, schema)| dialects::calls::tool_fault(name, schema)) {
            return Err(FlowError::plain(fault));
        }
        let registered = Registered {
            tools,
            activities: activities.collect::<Result<_, FlowError>>()?,
            delegates: delegates.collect(),
        };
        Ok(CallAgent {
            name: name.into(),
            models: self.models,
            schema: self.schema.filter(|schema| !schema.is_null()),
            context: value_or_call(self.context),
            confirm: self.confirm.map(value_or_call),
            max_ticks: self.max_ticks.unwrap_or(DEFAULT_MAX_TICKS),
            max_depth: self.max_depth.unwrap_or(DEFAULT_MAX_DEPTH),
            registered: Rc::new(registered),
        })
    }
}
