//! The message an execution begins with, and the turns that follow (SEMANTICS §16.2).
//!
//! A turn writes everything that it comes to, also who speaks next: taken from the log, it leaves the `FlowState` as
//! it left it when it ran.

use std::rc::Rc;

use serde_json::{Value, json};

use super::handoff;
use super::hooks::OnFailure;
use super::messages;
use super::state::FlowState;
use super::step::{self, Step};
use super::stopping::{self, Reason, Stopped};
use engine::context::{Context, EmitOptions};
use engine::data::Data;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, Side};
use engine::step_value::StepValue;

/// Stores the message that the execution begins with, and says whose turn it is.
pub(super) async fn begin(cx: &Context, of: &Rc<AgentDefinitions>, input: &Data) -> Result<StepValue, FlowError> {
    let flow = FlowState::root(cx)?;
    let name = handoff::holder(&flow, of);
    let agent = of.agents.get(&name).ok_or_else(|| FlowError::plain(format!("Agent not found: {name}")))?;
    let input = input.to_json();
    // An effect, so that a replay numbers messages from the same time.
    let started = cx.now().max(0) as u64 * 1_000;
    let caller = cx.caller();
    let thread = &*caller.session;
    // Behind every message of the thread, also where the clock was set back.
    let newest = flow.rows().last().and_then(|row| row["created_at"].as_u64()).unwrap_or_default();
    let side = if agent.side(Side::A).is_human() { Side::B } else { Side::A };
    // What the log holds of it has no secrets; authors get it as it is.
    let mut env = cx.run.effects.env();
    cx.run.effects.redaction().value(&mut env);
    flow.begin(json!({
        "origin": &*caller.request,
        "base": started.max(newest.saturating_add(1)),
        "env": env,
        "agent": name,
        "agentConfig": agent.config,
        "currentSide": side.as_str(),
        "thread": {
            "instance": { "id": thread },
            "metadata": {
                "id": thread,
                "agent_id": name,
                "user_id": &*cx.run.start.user,
                "created_at": flow.rows().first().map_or(json!(started), |row| row["created_at"].clone()),
            },
        },
    }))
    .await?;
    let id = flow.message_id(&cx.frame.path);
    // What a person says is the other side's.
    let mut row = messages::row(&flow, &id, side.other().role(), input["content"].clone());
    row.insert("silent".to_owned(), (input["silent"] == true).into());
    let row = messages::create(&flow, of, row, OnFailure::Log).await?;
    if row["silent"] != true
        && let Some(text) = row["content"].as_str()
    {
        cx.emit_message(side.other().role(), text.into(), EmitOptions::default());
    }
    if agent.side(side.other()).is_human() {
        stopping::count_session_turn(&flow, side.other()).await?;
    }
    // Hooks of the message may have changed `currentSide` or `stopped`.
    if let Some(stopped) = stopping::before_turn(&flow, agent, flow.side()).await? {
        stopping::stop(&flow, &stopped).await?;
    }
    messages::persist(&flow).await?;
    Ok(StepValue::new(json!({ "messageId": id, "role": row["role"], "content": row["content"] }).into()))
}

/// One turn: a model call of a side and its tools, then who speaks next.
pub(super) async fn run(cx: &Context, of: &Rc<AgentDefinitions>, side: Side) -> Result<StepValue, FlowError> {
    let flow = FlowState::root(cx)?;
    let agent = flow.agent(of)?;
    let settings = agent.side(side);
    let name = settings.prompt.as_deref().unwrap_or_default();
    let prompt = of.prompts.get(name).ok_or_else(|| FlowError::plain(format!("Prompt not found: {name}")))?;
    let mut side_turns = flow.get("sideTurns");
    side_turns[side.as_str()] = (side_turns[side.as_str()].as_u64().unwrap_or_default() + 1).into();
    flow.set("sideTurns", side_turns).await?;
    let number = flow.turns();
    let step = Step { flow: &flow, of, prompt, side, settings: Some(settings), number };
    let said = step::run(&step).await?;
    flow.patch(json!({ "turns": number + 1, "turnCount": flow.turn_count().saturating_add(1) })).await?;
    let mut stopped = after(&flow, of, agent, side, &said).await?;
    // A session that has ended goes on with no message that waits.
    if drain(&flow, of).await? && !stopped.as_ref().is_some_and(Stopped::ends_session) {
        stopped = None;
    }
    if stopped.is_none() {
        let agent = flow.agent(of)?;
        stopped = stopping::before_turn(&flow, agent, flow.side()).await?;
    }
    if let Some(stopped) = &stopped {
        stopping::stop(&flow, stopped).await?;
    }
    messages::persist(&flow).await?;
    let field = |name: &str| flow.get(name);
    let mut output = json!({
        "side": side.as_str(),
        "messageId": said.message_id,
        "content": said.text,
        "toolCalls": said.calls.iter().map(|call| call["function"]["name"].clone()).collect::<Value>(),
        "turnCount": field("turnCount"),
        "stopped": field("stopped"),
    });
    if !said.queued.is_empty() {
        output["queuedTools"] = said.queued.iter().map(|call| call["function"]["name"].clone()).collect();
    }
    match &stopped {
        Some(_) => {
            output["stoppedBy"] = field("stoppedBy");
            output["stopReason"] = field("stopReason");
            output["awaitingHuman"] = field("awaitingHuman");
        }
        None => output["next"] = field("currentSide"),
    }
    Ok(StepValue::new(output.into()))
}

/// What a turn comes to: who stopped, or who speaks next.
async fn after(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    agent: &engine::flow::Agent,
    side: Side,
    said: &step::Said,
) -> Result<Option<Stopped>, FlowError> {
    let settings = agent.side(side);
    let verdict = stopping::verdict(flow, settings, said);
    let is_human = agent.side(side.other()).is_human();
    let (ends, completes) = match verdict {
        stopping::Verdict::Ends(reason) => (Some(reason), false),
        stopping::Verdict::Completes(reason) => (is_human.then_some(reason), true),
        stopping::Verdict::GoesOn => (None, !settings.has_stop_condition() && !is_human),
    };
    let pending = flow.get("pendingHandoff");
    if let Some(name) = pending["agent"].as_str() {
        let name = name.to_owned();
        handoff::hand_over(flow, of, &name, &pending).await?;
        // What stopped in the same turn stays so: the new agent waits for the next message.
        return Ok(ends.map(|reason| Stopped::by(side, reason)));
    }
    let is_forced = flow.get("forcedSide").is_string();
    let repeats_errors = ends.is_none() && !is_forced && !said.calls.is_empty() && stopping::repeats_errors(flow);
    if repeats_errors {
        // Before anything is written to the session: a hook commits what its block wrote, and a turn that runs again
        // after that would count twice.
        let text = "The same tool error came back eight times, so the agent stopped.";
        let id = flow.message_id(&format!("{}#stopped", flow.cx.frame.path));
        messages::create(flow, of, messages::row(flow, &id, side.role(), text.into()), OnFailure::Log).await?;
    }
    if completes {
        stopping::count_session_turn(flow, side).await?;
    }
    if let Some(forced) = Side::parse(flow.get("forcedSide").as_str().unwrap_or_default()) {
        flow.patch(json!({ "forcedSide": null, "currentSide": forced.as_str(), "stopped": false, "stoppedBy": null }))
            .await?;
        let is_human = agent.side(forced).is_human();
        return Ok(is_human.then(|| Stopped::by(side, Reason::ForcedHumanTurn)));
    }
    if let Some(reason) = ends {
        return Ok(Some(Stopped::by(side, reason)));
    }
    if completes && !is_human {
        flow.set("currentSide", side.other().as_str()).await?;
    }
    if repeats_errors {
        return Ok(Some(Stopped::by(side, Reason::RepeatedToolError)));
    }
    Ok(None)
}

/// Stores the messages that were queued meanwhile. The first of them says who answers, and nobody has stopped then.
async fn drain(flow: &FlowState, of: &Rc<AgentDefinitions>) -> Result<bool, FlowError> {
    let Value::Array(queued) = flow.get("queuedMessages") else { return Ok(false) };
    let Some(first) = queued.first() else { return Ok(false) };
    let agent = flow.agent(of)?;
    let side = Side::answering(first["role"].as_str().unwrap_or("user"));
    flow.patch(json!({
        "queuedMessages": [], "currentSide": side.as_str(), "stopped": false, "stoppedBy": null, "stopReason": null,
    }))
    .await?;
    for queued in &queued {
        let role = queued["role"].as_str().unwrap_or("user");
        let id = queued["id"].as_str().unwrap_or_default();
        let mut row = messages::row(flow, id, role, queued["content"].clone());
        row.insert("silent".to_owned(), (queued["silent"] == true).into());
        // They were said before, so no hook of a new message is asked.
        flow.put_message(id, Value::Object(row)).await?;
        if queued["silent"] != true
            && let Some(text) = queued["content"].as_str()
        {
            flow.cx.emit_message(role, text.into(), EmitOptions::default());
        }
    }
    if agent.side(side.other()).is_human() {
        stopping::count_session_turn(flow, side.other()).await?;
    }
    Ok(true)
}
