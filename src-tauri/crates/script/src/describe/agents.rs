//! The agents of a file: from the SDK's description to the engine's definitions.

use std::collections::BTreeMap;
use std::rc::Rc;

use engine::error::FlowError;
use engine::flow::{Agent, AgentDefinitions, AgentHook, AgentSide, Prompt, PromptPart, PromptTool};
use serde::Deserialize;
use serde_json::Value;

use crate::describe::registry::Registry;
use crate::describe::schema::schema;
use crate::vm::Vm;

/// Everything that a file defines, as the SDK describes it.
#[derive(Deserialize)]
pub(crate) struct WireAgents {
    main: String,
    models: BTreeMap<String, String>,
    agents: Vec<WireAgent>,
    prompts: Vec<WirePrompt>,
    tools: Vec<WireTool>,
    hooks: Vec<WireAgentHook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAgent {
    name: String,
    sides: [AgentSide; 2],
    max_session_turns: Option<u32>,
    tool_description: Option<String>,
    #[serde(deserialize_with = "engine::json::exact")]
    config: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePrompt {
    name: String,
    parts: Vec<PromptPart>,
    models: Vec<String>,
    tool_description: Option<String>,
    include_chat: bool,
    include_past_tools: bool,
    tools: Vec<PromptTool>,
    required_schema: Option<u32>,
    max_tokens: Option<u32>,
    #[serde(default, deserialize_with = "engine::json::exact")]
    options: Option<Value>,
    include_reasoning: bool,
    exclude_reasoning: bool,
}

#[derive(Deserialize)]
struct WireTool {
    name: String,
    block: u32,
}

#[derive(Deserialize)]
struct WireAgentHook {
    hook: AgentHook,
    execute: u32,
}

impl Registry {
    /// Adds the block of an agent.
    pub(super) fn add_agent(self: &Rc<Self>, vm: &Rc<Vm>, id: u32, agents: WireAgents) -> Result<(), FlowError> {
        let block = dialects::agent::block(&Rc::new(agents.build(vm, self)?));
        self.blocks.borrow_mut().insert(id, block);
        Ok(())
    }
}

impl WireAgents {
    /// The blocks of its tools have been added before.
    pub(crate) fn build(self, vm: &Rc<Vm>, registry: &Rc<Registry>) -> Result<AgentDefinitions, FlowError> {
        let agents = self.agents.into_iter().map(|wire| {
            let agent = Agent {
                sides: wire.sides,
                max_session_turns: wire.max_session_turns,
                tool_description: wire.tool_description,
                config: wire.config,
            };
            (wire.name, agent)
        });
        let prompts = self.prompts.into_iter().map(|wire| {
            let prompt = Prompt {
                name: wire.name.as_str().into(),
                parts: wire.parts,
                models: wire.models,
                tool_description: wire.tool_description,
                include_chat: wire.include_chat,
                include_past_tools: wire.include_past_tools,
                tools: wire.tools,
                required_schema: wire.required_schema.map(|id| schema(vm, id)),
                max_tokens: wire.max_tokens,
                options: wire.options,
                includes_reasoning: wire.include_reasoning,
                excludes_reasoning: wire.exclude_reasoning,
            };
            (wire.name, prompt)
        });
        let tools = self.tools.into_iter().map(|wire| Ok((wire.name, registry.block(wire.block)?)));
        Ok(AgentDefinitions {
            main: self.main,
            models: self.models,
            agents: agents.collect(),
            prompts: prompts.collect(),
            tools: tools.collect::<Result<_, FlowError>>()?,
            hooks: self.hooks.into_iter().map(|wire| (wire.hook, registry.function(vm, wire.execute))).collect(),
        })
    }
}
