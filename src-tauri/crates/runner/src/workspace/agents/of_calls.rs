//! The state that an agent's Calls write: it is part of the context that the ticks hand on, so it is read from their
//! inputs and outputs. Only the ticks of the agent itself count: a delegate has a context of its own.

use std::collections::{BTreeMap, BTreeSet};

use dialects::calls::state_of;
use engine::event::{Event, EventKind, Outcome, Seq};
use engine::state::State;
use engine::views::Events;
use engine::views::place::Place;
use serde_json::Value;
use store::EventQuery;

use super::super::Workspace;
use crate::core::fault::Fault;
use crate::views::{Json, WriteRow};

/// By instance, and for all under `None`.
type CallState = BTreeMap<Option<String>, Value>;

/// One tick.
struct Tick {
    path: String,
    context: Vec<Value>,
    /// Its end and the messages that it added, if it has ended.
    ended: Option<(Seq, i64, Vec<Value>)>,
}

impl Tick {
    fn state(&self, seq: Seq) -> CallState {
        let added = self.ended.iter().filter(|(ended, ..)| *ended <= seq).flat_map(|(.., added)| added);
        state_of(self.context.iter().chain(added))
    }
}

/// The ticks of the outermost agent with Calls, oldest first; of one that ran again, the newest run.
fn ticks(events: &[Event]) -> Vec<Tick> {
    let lookup = Events::new(events);
    let mut ticks: Vec<Tick> = Vec::new();
    let mut around: Option<String> = None;
    for event in events {
        let Some(path) = event.path.as_deref() else { continue };
        let Some((parent, segment)) = path.rsplit_once('/') else { continue };
        if !segment.starts_with("tick[") || around.as_deref().is_some_and(|around| around != parent) {
            continue;
        }
        match &event.kind {
            EventKind::BlockStarted { input, .. } => {
                let Some(context) = lookup.value(input).and_then(|input| input.get("context")?.as_array()) else {
                    continue;
                };
                around = Some(parent.to_owned());
                ticks.retain(|known| known.path != path);
                ticks.push(Tick { path: path.to_owned(), context: context.clone(), ended: None });
            }
            EventKind::BlockFinished { outcome: Outcome::Completed, output: Some(output), .. } => {
                let added = lookup.value(output).and_then(|output| output.get("messages")?.as_array()).cloned();
                if let Some(tick) = ticks.iter_mut().rev().find(|tick| tick.path == path) {
                    tick.ended = Some((event.seq, event.at, added.unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
    ticks
}

impl Workspace {
    /// The state that Calls have written as of an event; `None` if the request is not one of an agent with Calls.
    pub(in crate::workspace) fn state_of_calls(&self, request: &str, seq: Seq) -> Result<Option<CallState>, Fault> {
        // A request of another kind is known by one look.
        let path = Some("root/tick[0]".to_owned());
        let query = EventQuery { to: Some(seq), path, limit: Some(1), ..EventQuery::default() };
        if self.store.events(request, &query).map_err(Fault::internal)?.is_empty() {
            return Ok(None);
        }
        let query = EventQuery { to: Some(seq), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(ticks(&events).last().map(|tick| tick.state(seq)))
    }

    /// The ticks that changed a place of the state of Calls, `state.error`; `None` for any other address.
    pub(in crate::workspace) fn writes_of_calls(
        &self,
        request: &str,
        address: &str,
    ) -> Result<Option<Vec<WriteRow>>, Fault> {
        let Some(rest) = address.trim_start_matches('†').strip_prefix("state") else { return Ok(None) };
        let Some(rest) = rest.strip_prefix('.').or_else(|| rest.is_empty().then_some("")) else { return Ok(None) };
        let (_, events) = self.log_of(request)?;
        let ticks = ticks(&events);
        if ticks.is_empty() {
            return Ok(None);
        }
        let place = match rest {
            "" => Place::default(),
            rest => Place::parse(rest).map_err(|what| Fault::invalid(format!("--path {address:?}: {what}")))?,
        };
        let find = |state: Option<Value>| match state {
            Some(Value::Object(fields)) => place.find(&State::from(fields)),
            _ => None,
        };
        let mut rows = Vec::new();
        for tick in &ticks {
            let Some((seq, at, _)) = tick.ended else { continue };
            let (mut before, mut after) = (tick.state(0), tick.state(seq));
            let instances: BTreeSet<Option<String>> = before.keys().chain(after.keys()).cloned().collect();
            for instance in instances {
                let (old, new) = (find(before.remove(&instance)), find(after.remove(&instance)));
                if old != new {
                    rows.push(WriteRow {
                        seq,
                        committed: seq,
                        by: Some(tick.path.clone()),
                        instance,
                        operation: "patch".to_owned(),
                        old: old.map(Json),
                        new: new.map(Json),
                        at,
                    });
                }
            }
        }
        Ok(Some(rows))
    }
}
