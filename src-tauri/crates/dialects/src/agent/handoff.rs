//! Handoffs: which agent of the file has a thread, and how another one gets it (SEMANTICS §16.4).
//!
//! The session keeps who has the thread under `agents`, by the agent that messages are sent to, so the next message
//! goes to the agent that the thread was handed to.

use std::rc::Rc;

use serde_json::{Value, json};

use super::hooks::OnFailure;
use super::messages;
use super::state::FlowState;
use engine::callable::SchemaRef;
use engine::context::EmitOptions;
use engine::error::FlowError;
use engine::flow::{Agent, AgentDefinitions, Side};
use engine::operation::Operation;

/// The field of the session's state that keeps who has the thread.
const HOLDERS: &str = "agents";

/// Returns the agent that has the thread: the main one until it hands the thread over. An agent that is not defined any
/// more has none, so the main one gets it back.
pub(super) fn holder(flow: &FlowState, of: &AgentDefinitions) -> String {
    let session = flow.session();
    let kept = session.as_ref().and_then(|session| session.get(HOLDERS)?[&of.main].as_str());
    match kept {
        Some(kept) if of.agents.contains_key(kept) => kept.to_owned(),
        Some(kept) => {
            let main = &of.main;
            let text = format!("agent \"{kept}\", which had this thread, is not defined any more; \"{main}\" gets it");
            flow.cx.log("warn", text);
            main.clone()
        }
        None => of.main.clone(),
    }
}

/// Returns what an agent's arguments are checked by, if anything: they are those of the prompt that speaks first.
pub(super) fn schema_of<'a>(of: &'a AgentDefinitions, agent: &Agent) -> Option<&'a SchemaRef> {
    let prompt = agent.sides.iter().find_map(|side| of.prompts.get(side.prompt.as_deref()?))?;
    prompt.required_schema.as_ref()
}

/// Gives the conversation to another agent of the file; the thread stays. What the call has for the new agent as a
/// message of the user is stored.
pub(super) async fn hand_over(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    name: &str,
    pending: &Value,
) -> Result<(), FlowError> {
    let agent = of.agents.get(name).ok_or_else(|| FlowError::plain(format!("Agent not found: {name}")))?;
    let mut context = flow.get("context");
    if let (Value::Object(context), Value::Object(arguments)) = (&mut context, &pending["arguments"]) {
        context.extend(arguments.clone());
    }
    let side = if agent.side(Side::A).is_human() { Side::B } else { Side::A };
    let mut thread = flow.get("thread");
    thread["metadata"]["agent_id"] = name.into();
    flow.patch(json!({
        "agent": name,
        "agentConfig": agent.config,
        "context": context,
        "currentSide": side.as_str(),
        "sideTurns": { "a": 0, "b": 0 },
        "pendingHandoff": null,
        "thread": thread,
    }))
    .await?;
    let (field, key) = (HOLDERS.to_owned(), of.main.clone());
    flow.write_session(Operation::SetRecord { field, key, value: name.into() }).await?;
    let Some(text) = pending["message"].as_str() else { return Ok(()) };
    let id = flow.message_id(&format!("{}#handoff", flow.cx.frame.path));
    let row = messages::row(flow, &id, side.other().role(), text.into());
    let row = messages::create(flow, of, row, OnFailure::Log).await?;
    flow.cx.emit_message(side.other().role(), row["content"].clone(), EmitOptions::default());
    Ok(())
}
