//! An agent at an instant, for people: its turns, what waits, and the `FlowState`.

use std::fmt::Write as _;

use runner::{AgentView, Json, StateView, TurnRow};
use serde_json::Value;

use super::state::indented;
use super::{cut, table};
use crate::terminal::harmless;

/// The agent of a request, where it is one of an agent. Its state is shown with the names that authors know.
pub(super) fn agent(state: &StateView) -> String {
    let (Some(agent), Some(Json(flow))) = (&state.agent, &state.flow_state) else { return String::new() };
    let mut text = format!("agent {}: {}\n", harmless(&agent.name), standing(agent, flow));
    for waiting in &agent.waiting_messages {
        let _ = writeln!(text, "waits: {} {}", waiting.request_id, cut(&waiting.content.0.to_string()));
    }
    if !agent.turns.is_empty() {
        let rows: Vec<_> = agent.turns.iter().map(row).collect();
        text.push_str(&table(&["TURN", "SIDE", "PROMPT", "SAID", "THEN"], &rows));
    }
    let waiting: Vec<&str> =
        agent.queue.iter().filter(|call| call.status == "waiting").map(|call| call.name.as_str()).collect();
    if !waiting.is_empty() {
        let _ = writeln!(text, "tools that wait: {}", waiting.join(", "));
    }
    let whose = if flow["isChildPrompt"] == true { " of the sub-prompt" } else { "" };
    let _ = writeln!(text, "flowState{whose}\n{}", indented(flow));
    text
}

fn standing(agent: &AgentView, flow: &Value) -> String {
    let side = |field: &str| flow[field].as_str().unwrap_or("?").to_owned();
    if flow["stopped"] != true {
        return format!("side {} has the turn", side("currentSide"));
    }
    let reason = agent.stop_reason.as_deref().unwrap_or("no reason yet");
    let next = if agent.awaiting_human { "; a person speaks next" } else { "" };
    format!("stopped by side {}: {reason}{next}", side("stoppedBy"))
}

fn row(turn: &TurnRow) -> Vec<String> {
    let calls = (!turn.tool_calls.is_empty()).then(|| format!("calls {}", turn.tool_calls.join(", ")));
    let said: Vec<String> = turn.content.iter().cloned().chain(calls).collect();
    let then = match (&turn.stopped_by, &turn.next) {
        (Some(by), _) => format!("stopped by {by}: {}", turn.stop_reason.as_deref().unwrap_or("no reason")),
        (None, Some(next)) => format!("side {next}"),
        (None, None) => turn.status.clone(),
    };
    vec![turn.turn.to_string(), turn.side.clone(), turn.prompt.clone(), cut(&said.join("; ")), then]
}
