//! The blocks of an agent: its own, whose state is the `FlowState`, and those of its messages, turns and sub-prompts.
//!
//! Turns and sub-prompts are made when they are reached: a prompt may call itself, so they are no tree.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use engine::callable::{Field, Issue, Schema};
use engine::context::Context;
use engine::data::Data;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentPart, Block, Body, Side};
use engine::written;

/// The shape of a `FlowState`: its fields with their first values. Only the engine writes it, so anything fits.
struct FlowStateShape(Vec<Field>);

impl FlowStateShape {
    fn of(defaults: Value) -> Rc<FlowStateShape> {
        let Value::Object(defaults) = defaults else { return Rc::new(FlowStateShape(Vec::new())) };
        let field = |(name, default)| Field { name, default: Some(default), transient: false };
        Rc::new(FlowStateShape(defaults.into_iter().map(field).collect()))
    }
}

impl Schema for FlowStateShape {
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>> {
        Ok(data.clone())
    }

    fn check_field(&self, _field: &str, _value: &Value) -> Result<(), Vec<Issue>> {
        Ok(())
    }

    fn is_known_valid(&self, _field: &str, _value: &Value) -> bool {
        true
    }

    fn is_entry_known_valid(&self, _field: &str, _entry: &Value) -> bool {
        true
    }

    fn fields(&self) -> Option<&[Field]> {
        Some(&self.0)
    }

    fn is_open(&self) -> bool {
        true
    }

    fn describe(&self) -> Value {
        json!({ "type": "object" })
    }
}

/// The fields that the state of an agent and that of a sub-prompt begin with.
fn first_fields() -> Value {
    json!({
        "agent": "",
        "agentConfig": {},
        "currentSide": "a",
        "turnCount": 0,
        "stopped": false,
        "stoppedBy": null,
        "sequence": { "queue": [], "isHandling": false },
        "context": {},
    })
}

/// The agent's own block.
pub fn conversation(of: &Rc<AgentDefinitions>) -> Rc<Block> {
    let mut defaults = first_fields();
    defaults["agent"] = of.main.as_str().into();
    defaults["agentConfig"] = of.agents.get(&of.main).map_or_else(|| json!({}), |agent| agent.config.clone());
    let more = json!({
        "stopReason": null, "awaitingHuman": false, "sideTurns": { "a": 0, "b": 0 }, "messages": {}, "env": {},
        "running": null, "queuedMessages": [], "forcedSide": null, "pendingHandoff": null, "thread": {},
        "origin": "", "base": 0, "turns": 0,
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut defaults, more) {
        fields.extend(more);
    }
    Rc::new(Block {
        state_schema: Some(FlowStateShape::of(defaults)),
        ..written::block(&of.main, Body::Agent(AgentPart::Conversation(of.clone()), super::run))
    })
}

/// The block that stores the message an execution begins with.
pub(super) fn message(of: &Rc<AgentDefinitions>) -> Rc<Block> {
    Rc::new(written::block("message", Body::Agent(AgentPart::Message(of.clone()), super::run)))
}

/// One turn of a side; it has the name of the prompt that speaks.
pub(super) fn turn(of: &Rc<AgentDefinitions>, agent: &str, side: Side) -> Rc<Block> {
    let prompt = of.agents.get(agent).and_then(|agent| agent.side(side).prompt.as_deref());
    Rc::new(written::block(prompt.unwrap_or(agent), Body::Agent(AgentPart::Turn(of.clone(), side), super::run)))
}

/// One call of a prompt as a tool.
pub(super) fn sub_prompt(of: &Rc<AgentDefinitions>, name: &Arc<str>) -> Rc<Block> {
    let mut defaults = first_fields();
    let config = json!({
        "name": &**name,
        "type": "ai_human",
        "sideA": { "prompt": &**name, "stopOnResponse": true },
        "sideB": { "human": true },
    });
    defaults["agent"] = (&**name).into();
    defaults["agentConfig"] = config;
    let more = json!({
        "isChildPrompt": true, "flowId": "", "parentMessageId": null, "depth": 0, "promptPath": [], "arguments": {},
        "extraMessages": [],
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut defaults, more) {
        fields.extend(more);
    }
    Rc::new(Block {
        state_schema: Some(FlowStateShape::of(defaults)),
        ..written::block(name, Body::Agent(AgentPart::SubPrompt(of.clone(), name.clone()), super::run))
    })
}

/// The row of a call that runs no block of the file: a handoff, or a call that cannot run. It ends as the call did, and
/// leaves no item, because the call has one.
pub(super) fn ended(name: &str, ended: Result<Value, FlowError>) -> Rc<Block> {
    let execute = move |_: Value, _: Context| std::future::ready(ended.clone());
    let body = Body::Handler { execute: Rc::new(written::Function(execute)) };
    Rc::new(Block { transient: true, ..written::block(name, body) })
}
