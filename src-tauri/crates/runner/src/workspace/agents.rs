//! The view of an agent at an instant: its `FlowState`, its turns and its tool queue.
//!
//! It is derived from the states and events of the request, in the form of `engine::views::flow_state`.

mod of_calls;

use engine::event::{Event, EventKind, RequestStatus};
use engine::item::ItemStatus;
use engine::state::State;
use engine::views::Events;
use engine::views::blocks::blocks;
use engine::views::diff::diff;
use engine::views::flow_state::{EDITABLE, Sources, address as address_of, is_execution, is_sub_prompt, whole};
use serde_json::{Map, Value};
use store::{EventQuery, RequestQuery};

use super::{At, Workspace};
use crate::core::fault::Fault;
use crate::views::{AgentView, Change, Json, QueuedCall, StateView, TurnRow, WaitingMessage};

impl Workspace {
    /// Adds the `FlowState` and the agent's turns to the states of an instant, if the request belongs to an agent.
    pub(super) fn add_agent(&self, view: &mut StateView, request: &str, seq: u64) -> Result<(), Fault> {
        let Some(root) = execution(view) else {
            if let Some(mut state) = self.state_of_calls(request, seq)? {
                let of_all = state.remove(&None).unwrap_or_else(|| Value::Object(Map::new()));
                view.call_state = Some(Json(of_all));
                view.call_instances = state.into_iter().filter_map(|(of, own)| Some((of?, Json(own)))).collect();
            }
            return Ok(());
        };
        let row = self.request(request)?;
        let query = EventQuery { to: Some(seq), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let path = events.last().and_then(|event| event.path.clone()).unwrap_or_default();
        let child = sub_prompt(view, &path);
        let session = view.session.as_ref().and_then(|Json(session)| session.as_object().cloned()).map(State::from);
        let sources = Sources {
            root: &root,
            child: child.as_ref(),
            session: session.as_ref(),
            thread: &row.session_id,
            request: &row.id,
        };
        let flow_state = whole(&sources);
        let is_newest = seq >= row.last_seq;
        let waiting = if is_newest { self.waiting_messages(&row.session_id, request)? } else { Vec::new() };
        view.agent = Some(AgentView { waiting_messages: waiting, ..agent_of(&root, &events, is_newest) });
        view.flow_state = Some(Json(flow_state));
        Ok(())
    }

    /// Converts an address to the one in the states: in a request of an agent, it may name a field of the `FlowState`.
    pub(super) fn address_in(&self, request: &str, address: &str) -> Result<String, Fault> {
        let Some(of_states) = address_of(address) else { return Ok(address.to_owned()) };
        Ok(if self.is_of_agent(request)? { of_states } else { address.to_owned() })
    }

    /// Adds the names that the request allows in addition to scopes to the error of a refused address.
    pub(super) fn with_names(&self, request: &str, fault: Fault) -> Fault {
        let Fault::Invalid { message, details } = fault else { return fault };
        let names = match (self.is_of_agent(request), self.state_of_calls(request, u32::MAX.into())) {
            (Ok(true), _) => {
                format!("; in an agent's request also {}, messageHistory, env, agentConfig", EDITABLE.join(", "))
            }
            (_, Ok(Some(_))) => "; in a request with Calls also state, which they write".to_owned(),
            _ => String::new(),
        };
        Fault::Invalid { message: format!("{message}{names}"), details }
    }

    /// Whether a request belongs to an agent with a `FlowState`.
    fn is_of_agent(&self, request: &str) -> Result<bool, Fault> {
        let (path, kind) = (Some("root".to_owned()), Some("state_initialized".to_owned()));
        let query = EventQuery { path, kind, limit: Some(1), ..EventQuery::default() };
        let first = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(first.iter().any(|event| match &event.kind {
            EventKind::StateInitialized { state, .. } => state.as_object().is_some_and(is_execution),
            _ => false,
        }))
    }

    /// The differences between the `FlowState`s of two instants of a request.
    pub fn flow_state_diff(&self, request: &str, from: u64, to: u64) -> Result<Vec<Change>, Fault> {
        let Some(Json(new)) = self.state_at(request, Some(&At::Seq(to)))?.flow_state else { return Ok(Vec::new()) };
        let old = match from {
            0 => None,
            from => self.state_at(request, Some(&At::Seq(from)))?.flow_state.map(|Json(old)| old),
        };
        let old = old.unwrap_or_else(|| Value::Object(Map::new()));
        let found = diff(Some(&old), Some(&new)).into_iter();
        Ok(found.map(|difference| Change::new("flowState", None, difference)).collect())
    }

    /// The messages that wait for the end of a running request in a thread, oldest first.
    fn waiting_messages(&self, session: &str, request: &str) -> Result<Vec<WaitingMessage>, Fault> {
        let query = RequestQuery { session: Some(session.to_owned()), ..RequestQuery::default() };
        let mut waiting = Vec::new();
        for row in self.requests(query)?.into_iter().rev() {
            if row.status != RequestStatus::Queued || row.id == request {
                continue;
            }
            let query = EventQuery { to: Some(1), ..EventQuery::default() };
            let first = self.store.events(&row.id, &query).map_err(Fault::internal)?;
            let input = Events::new(&first).input().cloned().unwrap_or_default();
            waiting.push(WaitingMessage { request_id: row.id, content: Json(input["content"].clone()) });
        }
        Ok(waiting)
    }
}

/// The state of the agent's block, if the request has one.
fn execution(view: &StateView) -> Option<State> {
    view.sequencers.values().find_map(|Json(state)| {
        let fields = state.as_object().filter(|fields| is_execution(fields))?;
        Some(State::from(fields.clone()))
    })
}

/// The state of the innermost sub-prompt that contains a path.
fn sub_prompt(view: &StateView, path: &str) -> Option<State> {
    let mut found: Option<(usize, &Map<String, Value>)> = None;
    for (id, Json(state)) in &view.sequencers {
        let owner = engine::identity::StateOwner::parse(id);
        let Some((own, fields)) = owner.map(|owner| owner.instance.path).zip(state.as_object()) else { continue };
        let holds = path == own || path.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'));
        if holds && is_sub_prompt(fields) && found.is_none_or(|(length, _)| own.len() > length) {
            found = Some((own.len(), fields));
        }
    }
    found.map(|(_, fields)| State::from(fields.clone()))
}

fn agent_of(root: &State, events: &[Event], live: bool) -> AgentView {
    let field = |name: &str| root.get(name).map(|value| (**value).clone()).unwrap_or_default();
    let config = field("agentConfig");
    let side = |name: &str| config[name]["prompt"].as_str().map(str::to_owned);
    let turns = turns(events, live);
    let queue = turns.last().map(|turn| queue(root, events, &turn.path)).unwrap_or_default();
    AgentView {
        name: field("agent").as_str().unwrap_or_default().to_owned(),
        sides: vec![side("sideA"), side("sideB")],
        turns,
        queue,
        stop_reason: field("stopReason").as_str().map(str::to_owned),
        awaiting_human: field("awaitingHuman") == true,
        waiting_messages: Vec::new(),
    }
}

/// The turns, from their blocks; if a block ran again, its newest attempt counts.
fn turns(events: &[Event], live: bool) -> Vec<TurnRow> {
    let mut rows: Vec<TurnRow> = Vec::new();
    for block in blocks(Events::new(events), live) {
        let Some((turn, side)) = turn_of(&block.path) else { continue };
        let output = block.output.cloned().unwrap_or_default();
        let text = |name: &str| output[name].as_str().map(str::to_owned);
        let calls = output["toolCalls"].as_array().into_iter().flatten();
        let row = TurnRow {
            turn,
            side,
            path: block.path.to_string(),
            prompt: block.name.to_string(),
            status: match (block.seq_end, &block.error) {
                (None, _) => "running",
                (Some(_), None) => "completed",
                (Some(_), Some(_)) => "failed",
            }
            .to_owned(),
            content: text("content").filter(|text| !text.is_empty()),
            tool_calls: calls.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            stopped_by: text("stoppedBy"),
            stop_reason: text("stopReason"),
            next: text("next"),
        };
        match rows.iter_mut().find(|known| known.path == row.path) {
            Some(known) => *known = row,
            None => rows.push(row),
        }
    }
    rows
}

/// `root/turn[2]:b` as its number and side.
fn turn_of(path: &str) -> Option<(u32, String)> {
    let (turn, side) = path.strip_prefix("root/turn[")?.split_once("]:")?;
    Some((turn.parse().ok()?, (side == "a" || side == "b").then(|| side.to_owned())?))
}

/// The calls of a turn: first those that have items, then those that wait.
fn queue(root: &State, events: &[Event], turn: &str) -> Vec<QueuedCall> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut calls: Vec<(u64, QueuedCall)> = Vec::new();
    let newest = events
        .iter()
        .rev()
        .find(|event| event.path.as_deref() == Some(turn) && matches!(event.kind, EventKind::BlockStarted { .. }));
    let attempt = newest.map_or(0, |event| event.attempt);
    for event in events.iter().filter(|event| event.path.as_deref() == Some(turn) && event.attempt == attempt) {
        match &event.kind {
            EventKind::ItemAdded { item } if item.item_type == "block_tool_output" => {
                let call = item.payload.get("toolCall").cloned().unwrap_or_default();
                let call = QueuedCall {
                    name: text(&call["name"]),
                    status: "running".to_owned(),
                    arguments: text(&call["arguments"]),
                    result: None,
                };
                calls.push((event.seq, call));
            }
            EventKind::ItemDone { of, status, patch } => {
                if let Some((_, call)) = calls.iter_mut().find(|(seq, _)| seq == of) {
                    let failed = *status == ItemStatus::Failed;
                    call.status = if failed { "failed" } else { "ran" }.to_owned();
                    let result = if failed { &patch["error"]["message"] } else { &patch["output"] };
                    call.result = Some(Json(result.clone()));
                }
            }
            _ => {}
        }
    }
    let sequence = root.get("sequence").map(|sequence| (**sequence).clone()).unwrap_or_default();
    let waiting = sequence["queue"].as_array().cloned().unwrap_or_default();
    let waiting = waiting.iter().map(|call| QueuedCall {
        name: text(&call["function"]["name"]),
        status: "waiting".to_owned(),
        arguments: text(&call["function"]["arguments"]),
        result: None,
    });
    calls.into_iter().map(|(_, call)| call).chain(waiting).collect()
}
