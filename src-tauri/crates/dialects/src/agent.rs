//! The driver of agents: one execution of an agent, turn after turn (SEMANTICS §16).
//!
//! The agent's block runs a child for every turn (`root/turn[n]:a`), and goes by what the turns wrote into its state,
//! the `FlowState`: who speaks next, and whether anybody stopped. It decides nothing itself, so a resume that takes
//! turns from the log goes on where they left. A turn is one model call and the tools it asked for, in `step`; what
//! ends it is in `stopping`. What authors' tools and hooks can do is in `author`.

pub mod author;
mod blocks;
mod handoff;
mod history;
mod hook_events;
mod hooks;
mod messages;
mod queue;
mod state;
mod step;
mod stopping;
mod sub_prompt;
mod tool_result;
mod turn;
mod working_history;

use std::rc::Rc;

use engine::callable::Invocation;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

use engine::context::Context;
use engine::data::Data;
use engine::driver::run_block;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentPart};
use engine::path::join;
use engine::step_value::StepValue;
use state::FlowState;

pub use blocks::conversation as block;
pub use tool_result::error_of;

/// Runs the body of a block of an agent.
fn run(
    part: &AgentPart,
    input: &Data,
    invocation: Invocation,
) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    let (cx, part, input) = (Context::of(&invocation), part.clone(), input.clone());
    async move {
        match &part {
            AgentPart::Conversation(of) => conversation(&cx, of, &input).await,
            AgentPart::Message(of) => turn::begin(&cx, of, &input).await,
            AgentPart::Turn(of, side) => turn::run(&cx, of, *side).await,
            AgentPart::SubPrompt(of, name) => sub_prompt::run(&cx, of, name, &input).await,
        }
    }
    .boxed_local()
}

/// One execution: the message, then turns until somebody stops.
async fn conversation(cx: &Context, of: &Rc<AgentDefinitions>, input: &Data) -> Result<StepValue, FlowError> {
    let child = |block, path: String, input: Data| {
        run_block(cx.run.clone(), block, Some(cx.frame.clone()), path, StepValue::new(input))
    };
    let path = join(&cx.frame.path, "message");
    let said = child(blocks::message(of), path.clone(), input.clone()).await?;
    let flow = FlowState::root(cx)?;
    take_edited(&flow, &path, &said.data).await?;
    while !stopping::is_over(&flow, of).await? {
        let side = flow.side();
        let turns = flow.turns();
        let path = join(&cx.frame.path, &format!("turn[{turns}]:{}", side.as_str()));
        let took = child(blocks::turn(of, &flow.agent_name(), side), path.clone(), Data::UNDEFINED).await?;
        take_edited(&flow, &path, &took.data).await?;
        if flow.turns() == turns {
            // A fork took the turn's output from somewhere else than its state.
            return Err(FlowError::plain(format!("{path} ended without a turn of the agent's state")));
        }
    }
    messages::persist(&flow).await?;
    let state = flow.read();
    let field = |name: &str| state.get(name).map_or(Value::Null, |value| (**value).clone());
    Ok(StepValue::new(
        json!({
            "response": stopping::last_words(&flow, of).unwrap_or_else(|| messages::newest_text(&flow)),
            "turnCount": field("turnCount"),
            "stopped": field("stopped"),
            "stoppedBy": field("stoppedBy"),
            "stopReason": field("stopReason"),
            "awaitingHuman": field("awaitingHuman"),
        })
        .into(),
    ))
}

/// Puts the text that a fork gave a message in the place of what was said: the output of the block that stored it was
/// edited, and its state was not.
async fn take_edited(flow: &FlowState, path: &str, output: &Data) -> Result<(), FlowError> {
    let output = output.to_json();
    let text = match &output {
        Value::String(text) => text.as_str(),
        other => match other["content"].as_str() {
            Some(text) => text,
            None => return Ok(()),
        },
    };
    let id = match output["messageId"].as_str() {
        Some(id) => id.to_owned(),
        None => flow.message_id(path),
    };
    let Some(Value::Object(mut row)) = flow.message(&id) else { return Ok(()) };
    if row.get("content").and_then(Value::as_str).unwrap_or_default() == text {
        return Ok(());
    }
    row.insert("content".to_owned(), text.into());
    flow.put_message(&id, Value::Object(row)).await
}
