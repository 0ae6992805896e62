//! The state that an agent's Calls write: it is part of the context that the ticks hand on, so it is read from their
//! inputs and outputs. Only the ticks of the agent itself count: a delegate has a context of its own.

use std::collections::{BTreeMap, BTreeSet};

use dialects::calls::state_of;
use engine::event::{Event, EventKind, Outcome, Recorded, Seq};
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
    /// What it added when it ended, and then what forks made of that, oldest first.
    added: Vec<Added>,
}

/// The messages that a tick added to its context.
struct Added {
    seq: Seq,
    /// The event from which on it holds: its own, but for the edit of a fork the first own event of that fork.
    from: Seq,
    at: i64,
    messages: Vec<Value>,
    /// Whether a fork gave them: the tick did not run for them.
    is_edit: bool,
}

impl Tick {
    fn state(&self, seq: Seq) -> CallState {
        let newest = self.added.iter().rev().find(|added| added.from <= seq);
        state_of(self.context.iter().chain(newest.iter().flat_map(|added| &added.messages)))
    }

    fn is_edited(&self) -> bool {
        self.added.last().is_some_and(|added| added.is_edit)
    }
}

/// The ticks of the outermost agent with Calls, oldest first; of one that ran again, the newest run. `begun` are the
/// first own events of the forks that the log holds.
fn ticks(events: &[Event], begun: &[Seq]) -> Vec<Tick> {
    let lookup = Events::new(events);
    let mut ticks: Vec<Tick> = Vec::new();
    let mut around: Option<String> = None;
    for event in events {
        let Some(path) = event.path.as_deref() else { continue };
        let Some((parent, segment)) = path.rsplit_once('/') else { continue };
        if !segment.starts_with("tick[") || around.as_deref().is_some_and(|around| around != parent) {
            continue;
        }
        let known = ticks.iter_mut().rev().find(|tick| tick.path == path);
        let is_edited = known.as_ref().is_some_and(|tick| tick.is_edited());
        let added = |output: &Recorded, is_edit: bool| {
            let messages = lookup.value(output).and_then(|output| output.get("messages")?.as_array()).cloned();
            let from = if is_edit { holds_from(begun, event.seq) } else { event.seq };
            Added { seq: event.seq, from, at: event.at, messages: messages.unwrap_or_default(), is_edit }
        };
        match &event.kind {
            // What was edited is only handed on.
            EventKind::BlockStarted { .. } | EventKind::BlockFinished { .. } if is_edited => {}
            EventKind::BlockStarted { input, .. } => {
                let Some(context) = lookup.value(input).and_then(|input| input.get("context")?.as_array()) else {
                    continue;
                };
                around = Some(parent.to_owned());
                ticks.retain(|known| known.path != path);
                ticks.push(Tick { path: path.to_owned(), context: context.clone(), added: Vec::new() });
            }
            EventKind::BlockFinished { outcome: Outcome::Completed, output: Some(output), .. } => {
                if let Some(tick) = known {
                    tick.added = vec![added(output, false)];
                }
            }
            EventKind::OutputEdited { output } => {
                if let Some(tick) = known {
                    tick.added.push(added(output, true));
                }
            }
            _ => {}
        }
    }
    ticks
}

/// Returns the first own event of the fork that made an edit, from which on the edit holds (SEMANTICS §10.6).
fn holds_from(begun: &[Seq], edit: Seq) -> Seq {
    begun.iter().copied().filter(|begun| *begun <= edit).max().unwrap_or(edit)
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
        let mut events = self.store.events(request, &query).map_err(Fault::internal)?;
        let begun = self.forks_begun(request)?;
        if begun.iter().any(|begun| *begun <= seq) {
            // A fork records its edit after events that have the edit already.
            let (from, kind) = (Some(seq.saturating_add(1)), Some("output_edited".to_owned()));
            let query = EventQuery { from, kind, ..EventQuery::default() };
            let later = self.store.events(request, &query).map_err(Fault::internal)?;
            events.extend(later.into_iter().filter(|edit| holds_from(&begun, edit.seq) <= seq));
        }
        Ok(ticks(&events, &begun).last().map(|tick| tick.state(seq)))
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
        let ticks = ticks(&events, &self.forks_begun(request)?);
        if ticks.is_empty() {
            return Ok(None);
        }
        let place = match rest {
            "" => Place::default(),
            rest => Place::parse(rest).map_err(|what| Fault::invalid(format!("--path {address:?}: {what}")))?,
        };
        let find = |state: Option<&Value>| match state {
            Some(Value::Object(fields)) => place.find(&State::from(fields.clone())),
            _ => None,
        };
        let mut rows = Vec::new();
        for tick in &ticks {
            let mut before = tick.state(0);
            for added in &tick.added {
                let after = tick.state(added.seq);
                let instances: BTreeSet<&Option<String>> = before.keys().chain(after.keys()).collect();
                for instance in instances {
                    let (old, new) = (find(before.get(instance)), find(after.get(instance)));
                    if old == new {
                        continue;
                    }
                    rows.push(WriteRow {
                        seq: added.seq,
                        committed: added.from,
                        by: (!added.is_edit).then(|| tick.path.clone()),
                        instance: instance.clone(),
                        operation: if added.is_edit { WriteRow::EDIT } else { "patch" }.to_owned(),
                        old: old.map(Json),
                        new: new.map(Json),
                        at: added.at,
                    });
                }
                before = after;
            }
        }
        Ok(Some(rows))
    }

    /// The first own event of a fork, and of each fork that it comes from whose own events it keeps.
    fn forks_begun(&self, request: &str) -> Result<Vec<Seq>, Fault> {
        let (mut begun, mut until) = (Vec::new(), Seq::MAX);
        let mut from = self.request(request)?.forked_from;
        while let Some(fork) = from {
            begun.extend(Some(fork.first_own()).filter(|first| *first <= until));
            until = until.min(fork.seq);
            from = self.store.request(&fork.request_id).map_err(Fault::internal)?.and_then(|row| row.forked_from);
        }
        Ok(begun)
    }
}
