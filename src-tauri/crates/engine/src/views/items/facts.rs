//! What one pass over a request's events tells of blocks and commits, and which event is an item.
//!
//! Must not order or number items: that is `items`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Provenance;
use super::rules::{Mark, is_of_run, is_told_failure};
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Outcome, Recorded, RequestStatus, Seq};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::operation::Operation;
use crate::model::resource::record::{self, Address};
use crate::model::scope::ScopeKind;
use crate::views::Events;
use crate::views::attempts::Ends;
use crate::views::usage::Usage;

/// What one pass over the events tells about blocks and commits.
pub(super) struct Facts<'a> {
    /// How every execution stands.
    ends: Ends<'a>,
    live: bool,
    /// What came into force of writes to durable records: the version, and sums that their events do not tell.
    committed: HashMap<Seq, (u64, Option<&'a Value>)>,
    /// What the models of each attempt were asked and used.
    models: HashMap<(&'a str, u32), (&'a str, Usage)>,
    /// What attempts worked with, where that is not what they were given: a person edited it, or the block changed it.
    inputs: HashMap<(&'a str, u32), &'a Recorded>,
    /// Where the request was taken up without having waited, and the block it had come to.
    pub(super) continued: HashMap<Seq, Option<&'a str>>,
}

impl<'a> Facts<'a> {
    pub(super) fn gather(events: Events<'a>, live: bool) -> Self {
        let ends = Ends::read(events.0);
        let mut committed = HashMap::new();
        let mut models: HashMap<(&'a str, u32), (&'a str, Usage)> = HashMap::new();
        let mut inputs = HashMap::new();
        // Where the request has come to: the blocks that have begun and not ended, in the order they began.
        let mut open: Vec<(&'a str, u32)> = Vec::new();
        let mut continued = HashMap::new();
        // Nothing is continued before a block has begun; what waited goes on with its answer.
        let (mut goes_on, mut failed_at) = (false, None);
        for event in events.iter() {
            for commit in event.kind.commits() {
                committed.extend(commit.operations.iter().filter_map(|seq| Some((*seq, commit.in_force(*seq)?))));
            }
            match (&event.kind, event.path.as_deref()) {
                (EventKind::RequestStarted { .. }, None) => goes_on = false,
                (EventKind::RequestStatus { status }, None) => {
                    // A fork begins as one that was interrupted, and continues nothing of its own.
                    goes_on &= !matches!(status, RequestStatus::Suspended | RequestStatus::Interrupted);
                }
                (EventKind::RequestResumed { .. }, None) => {
                    if goes_on {
                        continued.insert(event.seq, open.last().map(|(path, _)| *path).or(failed_at));
                    }
                    open.clear();
                }
                (EventKind::RequestFinished { error, .. }, None) => {
                    failed_at = error.as_ref().and_then(|error| error.path.as_deref());
                }
                (EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }, Some(path)) => {
                    (goes_on, failed_at) = (true, None);
                    open.push((path, event.attempt));
                }
                (EventKind::BlockFinished { .. }, Some(path)) => {
                    // The newest end first, so this looks at few.
                    if let Some(at) = open.iter().rposition(|one| *one == (path, event.attempt)) {
                        open.remove(at);
                    }
                }
                (EventKind::BlockInput { input }, Some(path)) => drop(inputs.insert((path, event.attempt), input)),
                (EventKind::EffectFinished { effect: EffectKind::Model, result, .. }, Some(path)) => {
                    let asked = events.effect_request(&event.kind);
                    let model = asked.and_then(|request| request["model"].as_str()).unwrap_or_default();
                    let asked = models.entry((path, event.attempt)).or_default();
                    asked.0 = model;
                    asked.1.add(model, result.get("usage"));
                }
                _ => {}
            }
        }
        Facts { ends, live, committed, models, inputs, continued }
    }

    /// Whether the block that made an event has ended, or will never.
    pub(super) fn has_ended(&self, event: &Event) -> bool {
        self.ends.of(event).is_none_or(|attempt| attempt.stands.has_ended(self.live))
    }

    /// Whether an event that is no item yet will be one when its block commits.
    pub(super) fn may_become_item(&self, event: &Event) -> bool {
        matches!(&event.kind, EventKind::StateChanged { scope, .. } if scope.kind.is_durable())
            && !self.is_recalled(event)
    }

    pub(super) fn is_dropped(&self, event: &Event) -> bool {
        if event.path.is_none() {
            return false;
        }
        let attempt = self.ends.of(event);
        let mark = Mark {
            stands: attempt.map(|attempt| attempt.stands),
            was_cut: attempt.is_some_and(|attempt| attempt.was_cut),
            runs_again: attempt.is_some_and(|attempt| attempt.runs_again),
            is_before_begin: attempt.is_some_and(|attempt| event.seq < attempt.started.seq),
            is_question: matches!(event.kind, EventKind::Suspended(_)),
            is_told_failure: is_told_failure(&event.kind),
            is_shared_write: matches!(&event.kind, EventKind::StateChanged { scope, .. } if !scope.kind.is_durable()),
            is_kept: self.ends.is_kept(event),
            is_repeated: self.ends.is_repeated(event),
            is_superseded: self.ends.is_superseded(event),
            is_taken_from_log: self.ends.is_taken_from_log(event),
            is_of_run: is_of_run(&event.kind),
            went_on: self.ends.went_on(event),
        };
        mark.is_dropped(self.live)
    }

    fn is_recalled(&self, event: &Event) -> bool {
        self.ends.is_taken_from_log(event) || self.ends.is_repeated(event) || self.ends.is_superseded(event)
    }

    fn started(&self, event: &Event) -> Option<&'a Event> {
        self.ends.of(event).map(|attempt| attempt.started)
    }

    pub(super) fn provenance(&self, request: &str, event: &Event) -> Provenance {
        let block_name = match self.started(event).map(|started| &started.kind) {
            Some(EventKind::BlockStarted { name, .. }) => name.to_string(),
            _ => "runtime".to_owned(),
        };
        let path = event.path.as_deref().unwrap_or_default().to_owned();
        let block_instance_id = format!("{request}:{path}:{}", event.attempt);
        let beside =
            path.split('/').any(|segment| segment.starts_with("work:") || segment.starts_with("forEachBackground"));
        let phase = if beside { "work" } else { "main" };
        Provenance { block_name, path, block_instance_id, attempt: event.attempt, phase }
    }

    /// The item an event stands for, if it stands for one.
    pub(super) fn item_of(&self, request: &str, events: Events<'a>, event: &Event) -> Option<NewItem> {
        let (item_type, status, payload) = match &event.kind {
            EventKind::ItemAdded { item } => return Some(item.clone()),
            // What a resume applied again was an item when it first happened.
            EventKind::StateChanged { .. } if event.path.is_none() || self.is_recalled(event) => return None,
            EventKind::RequestResumed { .. } => {
                let path = self.continued.get(&event.seq)?;
                let mut payload = object(json!({ "trigger": "recovery", "continuedAt": event.at }));
                payload.extend(path.map(|path| ("resumedAtPath".to_owned(), path.into())));
                ("continuation", ItemStatus::Completed, payload)
            }
            EventKind::Suspended(asking) => {
                let mut payload = object(serde_json::to_value(asking).unwrap_or_default());
                rename(&mut payload, "id", "suspensionId");
                // How a resume finds it again is nobody's business.
                payload.retain(|field, _| field != "ordinal" && field != "callback");
                payload.insert("suspensionStatus".to_owned(), "pending".into());
                payload.insert("blockInstanceId".to_owned(), self.provenance(request, event).block_instance_id.into());
                ("suspension", ItemStatus::Completed, payload)
            }
            EventKind::SuspensionResolved(resolved) => {
                let mut payload = object(serde_json::to_value(resolved).unwrap_or_default());
                for (from, to) in [("id", "suspensionId"), ("data", "resumeData"), ("by", "resolvedBy")] {
                    rename(&mut payload, from, to);
                }
                payload.insert("resolvedAt".to_owned(), event.at.into());
                ("suspension_resume", ItemStatus::Completed, payload)
            }
            EventKind::StateChanged { scope, operation, value, version } => {
                let (version, rebased) = match self.committed.get(&event.seq) {
                    Some(in_force) => *in_force,
                    // Durable operations that no commit names never came into force.
                    None if scope.kind.is_durable() => return None,
                    None => (*version, None),
                };
                if scope.kind == ScopeKind::Resource {
                    return resource_change(&scope.id, operation, version, rebased.or(value.as_ref()));
                }
                let mut payload = Map::new();
                payload.insert("scope".to_owned(), scope.kind.as_str().into());
                payload.insert("scopeId".to_owned(), (&*scope.id).into());
                if !scope.kind.is_durable() && scope.kind.as_str() != "request" {
                    payload.insert("blockInstanceId".to_owned(), (&*scope.id).into());
                }
                payload.insert("operation".to_owned(), operation.name().into());
                if let Some(path) = operation.path() {
                    payload.insert("path".to_owned(), path.into());
                }
                payload.insert("delta".to_owned(), operation.delta());
                let value = rebased.cloned().or_else(|| value.clone()).unwrap_or_else(|| operation.delta());
                payload.insert("value".to_owned(), value);
                payload.insert("version".to_owned(), version.into());
                ("state_change", ItemStatus::Completed, payload)
            }
            EventKind::RouteDecided { route } => {
                let router = self.provenance(request, event).block_name;
                (
                    "router_decision",
                    ItemStatus::Completed,
                    object(json!({ "routerName": router, "selectedRoute": route })),
                )
            }
            // What a resume took from the log was an item when it ran.
            EventKind::BlockFinished { memoized: true, .. } => return None,
            EventKind::BlockFinished { outcome, output, error, transient, .. } => {
                let status = match outcome {
                    Outcome::Completed => ItemStatus::Completed,
                    Outcome::Failed => ItemStatus::Failed,
                    Outcome::Suspended | Outcome::Abandoned => return None,
                };
                let mut payload = self.execution(events, event);
                if let Some(value) = output.as_ref().and_then(|output: &Recorded| events.value(output).cloned()) {
                    payload.insert("output".to_owned(), value);
                }
                if let Some(error) = error {
                    payload.insert("error".to_owned(), error.to_public_json());
                }
                let transient = *transient;
                return Some(NewItem { transient, ..NewItem::plain("block_output", status, payload) });
            }
            EventKind::RequestFinished { error: Some(error), .. } if !error.is_abort() => {
                let mut payload = object(json!({ "name": error.name, "message": error.message }));
                if let Some(code) = &error.code {
                    payload.insert("code".to_owned(), code.clone().into());
                }
                if let Some(details) = &error.details {
                    payload.insert("details".to_owned(), details.clone());
                }
                ("error", ItemStatus::Failed, payload)
            }
            _ => return None,
        };
        Some(NewItem::plain(item_type, status, payload))
    }

    fn execution(&self, events: Events<'a>, event: &Event) -> Map<String, Value> {
        let Some(started) = self.started(event) else { return Map::new() };
        let EventKind::BlockStarted { name, block, input, .. } = &started.kind else { return Map::new() };
        let mut payload = object(json!({
            "blockName": &**name,
            "blockKind": block.as_str(),
            "startedAt": started.at,
            "completedAt": event.at,
            "duration": event.at.saturating_sub(started.at),
        }));
        let attempt = event.path.as_deref().map(|path| (path, event.attempt));
        let worked_with = attempt.and_then(|attempt| self.inputs.get(&attempt).copied()).unwrap_or(input);
        if let Some(input) = events.value(worked_with) {
            payload.insert("input".to_owned(), input.clone());
        }
        if let Some((model, usage)) = attempt.and_then(|attempt| self.models.get(&attempt)) {
            payload.insert("model".to_owned(), (*model).into());
            payload.insert("modelUsage".to_owned(), json!(usage.by_model));
        }
        payload
    }
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.shift_remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// A write to a resource (transient, always); changes of an index are nobody's business.
fn resource_change(id: &str, operation: &Operation, version: u64, sums: Option<&Value>) -> Option<NewItem> {
    let address = Address::parse(id)?;
    let mut payload = object(json!({
        "scope": address.scope.as_str(),
        "resourcePath": address.path()?,
        "changeType": record::change_type(operation, version),
        "operation": operation.name(),
        "delta": record::delta(operation),
        "version": version,
    }));
    if let Some(path) = operation.path() {
        payload.insert("path".to_owned(), path.into());
    }
    if let Some(sums) = sums {
        payload.insert("value".to_owned(), sums.clone());
    }
    Some(NewItem { transient: true, ..NewItem::plain("resource_change", ItemStatus::Completed, payload) })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
