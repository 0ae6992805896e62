//! When an agent stops, who stopped it and why (SEMANTICS §16.2).

use serde_json::{Value, json};

use super::state::FlowState;
use super::step::Said;
use engine::error::FlowError;
use engine::flow::{Agent, AgentDefinitions, AgentSide, Side};
use engine::operation::Operation;
use engine::views::flow_state::is_top_level;

/// How many turns one execution has at most, where no side says more.
const MAX_TURNS: u64 = 250;
/// How many tool messages in a row may fail with the same words.
const REPEATED_ERRORS: usize = 8;

/// Why an agent stopped, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// An answer without tool calls.
    StopOnResponse,
    /// The stop tool was called.
    StopTool,
    /// The tool that ends the conversation succeeded.
    SessionStop,
    /// The tool that ends it as failed succeeded.
    SessionFail,
    /// A tool or a hook set `stopped`.
    StoppedByCode,
    /// `forceTurn` asked for a person.
    ForcedHumanTurn,
    /// A person speaks next.
    AwaitingHuman,
    /// A hook refused the model call.
    HookBlocked,
    /// Tools fail in the same way again and again.
    RepeatedToolError,
    /// `maxTurns` of the side.
    MaxSideSteps,
    /// The limit of one execution.
    MaxTotalSteps,
    /// `maxSessionTurns` of the agent.
    MaxSessionTurns,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Reason::StopOnResponse => "stop_on_response",
            Reason::StopTool => "stop_tool",
            Reason::SessionStop => "session_stop",
            Reason::SessionFail => "session_fail",
            Reason::StoppedByCode => "stopped_by_code",
            Reason::ForcedHumanTurn => "forced_human_turn",
            Reason::AwaitingHuman => "awaiting_human",
            Reason::HookBlocked => "hook_blocked",
            Reason::RepeatedToolError => "repeated_tool_error",
            Reason::MaxSideSteps => "max_side_steps",
            Reason::MaxTotalSteps => "max_total_steps",
            Reason::MaxSessionTurns => "max_session_turns",
        }
    }

    /// Whether a person goes on from here.
    fn awaits_human(self) -> bool {
        use Reason::{AwaitingHuman, ForcedHumanTurn, StopOnResponse, StopTool};
        matches!(self, StopOnResponse | StopTool | ForcedHumanTurn | AwaitingHuman)
    }

    /// Whether the session ended, so that the next message begins a new one on the same thread.
    fn ends_session(self) -> bool {
        matches!(self, Reason::SessionStop | Reason::SessionFail | Reason::MaxSessionTurns)
    }
}

/// Who stopped, and why.
pub(super) struct Stopped {
    by: Side,
    reason: Reason,
}

impl Stopped {
    /// Returns whether the conversation is over, and not only this execution.
    pub(super) fn ends_session(&self) -> bool {
        self.reason.ends_session()
    }

    pub(super) fn by(by: Side, reason: Reason) -> Stopped {
        Stopped { by, reason }
    }
}

/// What a turn comes to by itself.
pub(super) enum Verdict {
    /// The execution ends.
    Ends(Reason),
    /// The side has finished: the other one goes on, or a person does.
    Completes(Reason),
    GoesOn,
}

/// Looks at what a turn said and called.
pub(super) fn verdict(flow: &FlowState, side: &AgentSide, said: &Said) -> Verdict {
    if said.is_blocked {
        return Verdict::Ends(Reason::HookBlocked);
    }
    let called = |name: &str| said.calls.iter().any(|call| call["function"]["name"] == name);
    let succeeded =
        |name: &str| said.results.iter().any(|(call, result)| call["function"]["name"] == name && result.is_success());
    for (tool, reason) in
        [(&side.session_fail, Reason::SessionFail), (&side.end_conversation_tool, Reason::SessionStop)]
    {
        let Some(tool) = tool.as_ref().filter(|tool| called(&tool.name)) else { continue };
        // One that failed ends nothing: the model is told, and goes on.
        return if succeeded(&tool.name) { Verdict::Ends(reason) } else { Verdict::GoesOn };
    }
    if flow.is_stopped() {
        return Verdict::Ends(Reason::StoppedByCode);
    }
    if side.stop_on_response && said.calls.is_empty() && !said.text.trim().is_empty() {
        return Verdict::Completes(Reason::StopOnResponse);
    }
    match &side.stop_tool {
        Some(tool) if called(tool) => Verdict::Completes(Reason::StopTool),
        _ => Verdict::GoesOn,
    }
}

/// Looks at what forbids the next turn.
pub(super) async fn before_turn(flow: &FlowState, agent: &Agent, side: Side) -> Result<Option<Stopped>, FlowError> {
    let state = flow.read();
    let turns = |field: &str, side: Side| state.get(field).and_then(|turns| turns[side.as_str()].as_u64());
    let session = session_turns(flow);
    let exchanges = ["a", "b"].map(|side| session[side].as_u64().unwrap_or_default()).into_iter().min();
    let settings = agent.side(side);
    let limit = agent.sides.iter().filter_map(|side| side.max_turns).map(u64::from).fold(MAX_TURNS, u64::max);
    Ok(if flow.is_stopped() {
        Some(Stopped::by(side, Reason::StoppedByCode))
    } else if flow.turns() >= limit {
        Some(Stopped::by(side, Reason::MaxTotalSteps))
    } else if agent.max_session_turns.is_some_and(|most| exchanges.unwrap_or_default() >= u64::from(most)) {
        Some(Stopped::by(side, Reason::MaxSessionTurns))
    } else if settings.is_human() {
        Some(Stopped::by(side.other(), Reason::AwaitingHuman))
    } else if settings.max_turns.is_some_and(|most| turns("sideTurns", side).unwrap_or_default() >= u64::from(most)) {
        Some(Stopped::by(side, Reason::MaxSideSteps))
    } else {
        None
    })
}

/// Returns whether no turn follows. The message and each turn write why themselves; what a fork wrote into the state
/// that they left is looked at here.
pub(super) async fn is_over(flow: &FlowState, of: &AgentDefinitions) -> Result<bool, FlowError> {
    let side = flow.side();
    let stopped = if flow.is_stopped() {
        if flow.get("stopReason").is_string() {
            return Ok(true);
        }
        Stopped::by(side, Reason::StoppedByCode)
    } else if flow.agent(of)?.side(side).is_human() {
        Stopped::by(side.other(), Reason::AwaitingHuman)
    } else {
        return Ok(false);
    };
    stop(flow, &stopped).await?;
    Ok(true)
}

/// Writes that the execution stopped. Who a tool or a hook named stays.
pub(super) async fn stop(flow: &FlowState, stopped: &Stopped) -> Result<(), FlowError> {
    let named = match (stopped.reason, flow.get("stoppedBy")) {
        (Reason::StoppedByCode, by) if by == "a" || by == "b" => by,
        _ => stopped.by.as_str().into(),
    };
    flow.patch(json!({
        "stopped": true,
        "stoppedBy": named,
        "stopReason": stopped.reason.as_str(),
        "awaitingHuman": stopped.reason.awaits_human(),
    }))
    .await?;
    if stopped.reason.ends_session() {
        write_session_turns(flow, json!({ "a": 0, "b": 0 })).await?;
    }
    Ok(())
}

/// How many turns each side has finished in the session, over all executions.
fn session_turns(flow: &FlowState) -> Value {
    let session = flow.session();
    let turns = session.as_ref().and_then(|session| session.get("sessionTurns"));
    turns.map_or_else(|| json!({ "a": 0, "b": 0 }), |turns| (**turns).clone())
}

/// Counts a turn that a side has finished.
pub(super) async fn count_session_turn(flow: &FlowState, side: Side) -> Result<(), FlowError> {
    let mut turns = session_turns(flow);
    turns[side.as_str()] = (turns[side.as_str()].as_u64().unwrap_or_default() + 1).into();
    write_session_turns(flow, turns).await
}

async fn write_session_turns(flow: &FlowState, turns: Value) -> Result<(), FlowError> {
    let fields = serde_json::Map::from_iter([("sessionTurns".to_owned(), turns)]);
    flow.write_session(Operation::Patch { fields }).await
}

/// Returns the message of the tool that ended the session, if its side names a property for it (`messageProperty`).
/// That is the newest success of this execution: earlier ones of the thread, and other tools, ended nothing here.
pub(super) fn last_words(flow: &FlowState, of: &AgentDefinitions) -> Option<Value> {
    let side = Side::parse(flow.get("stoppedBy").as_str()?)?;
    let settings = flow.agent(of).ok()?.side(side);
    let reason = flow.get("stopReason");
    let tool = if reason == Reason::SessionFail.as_str() {
        settings.session_fail.as_ref()
    } else if reason == Reason::SessionStop.as_str() {
        settings.end_conversation_tool.as_ref()
    } else {
        None
    };
    let tool = tool.filter(|tool| tool.message_property.is_some())?;
    let (own, rows) = (flow.get("messages"), flow.rows());
    let newest = rows.iter().rev().find(|row| {
        is_top_level(row)
            && row["role"] == "tool"
            && row["tool_status"] == "success"
            && row["name"] == tool.name
            && own.get(row["id"].as_str().unwrap_or_default()).is_some()
    })?;
    Some(newest["content"].clone())
}

/// Whether the newest tool messages are failures in the same words.
pub(super) fn repeats_errors(flow: &FlowState) -> bool {
    let rows = flow.rows();
    let tools = rows.iter().rev().filter(|row| is_top_level(row) && row["role"] == "tool");
    let newest: Vec<&Value> = tools.take(REPEATED_ERRORS).collect();
    newest.len() == REPEATED_ERRORS
        && newest.iter().all(|row| row["tool_status"] == "error")
        && newest.windows(2).all(|two| words(two[0]) == words(two[1]))
}

/// An error's words without what differs from call to call: what is quoted, and numbers.
fn words(row: &Value) -> String {
    let text = row["content"].as_str().unwrap_or_default().to_lowercase();
    let mut outside = String::new();
    let mut quote = None;
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // The apostrophe of "can't" is within a word.
        let is_apostrophe =
            c == '\'' && before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        match quote {
            Some(open) if c == open && !is_apostrophe => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && !is_apostrophe => quote = Some(c),
            None if c.is_ascii_digit() => {}
            None => outside.push(c),
        }
        before = c;
    }
    outside.chars().take(120).collect()
}
