//! View: the items of a request, as each audience sees them (seed 003).
//!
//! Emitted items are in the log; `state_change`, `resource_change`, `block_output`,
//! `router_decision` and `error` items are read from the events that cause them, so they can never
//! disagree with them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Events;
use crate::event::{Event, EventKind, Outcome, Recorded, Seq};
use crate::item::{AgentType, ItemStatus, NewItem, Visibility, resolve_item_visibility};
use crate::operation::Operation;
use crate::resource::record::{self, Address};
use crate::scope::ScopeKind;

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Every item.
    All,
    /// What the client gets.
    Client,
    /// What models see later.
    History,
    /// What only a developer may see.
    Trace,
}

impl Audience {
    /// The audience of a name.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "all" => Audience::All,
            "client" => Audience::Client,
            "history" | "llm" => Audience::History,
            "trace" => Audience::Trace,
            _ => return None,
        })
    }

    /// Whether this audience sees the item. Transient items stay out of the views that last.
    pub fn sees(self, item: &Item) -> bool {
        match self {
            Audience::All => true,
            Audience::Client => item.visibility.client && !item.transient,
            Audience::History => item.visibility.history && !item.transient,
            // Transient items stream by; afterwards only a developer finds them (decision 16).
            Audience::Trace => item.transient || (!item.visibility.client && !item.visibility.history),
        }
    }
}

/// Where an item comes from.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The block's name; `runtime` for the request itself.
    pub block_name: String,
    /// The block's path; empty for the request itself.
    pub path: String,
    /// `requestId:path:attempt`.
    pub block_instance_id: String,
    /// Which execution.
    pub attempt: u32,
    /// `main`, or `work` for background work.
    pub phase: &'static str,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Unique in the workspace.
    pub id: String,
    /// A type of seed 003's table.
    #[serde(rename = "type")]
    pub item_type: String,
    /// Its phase.
    pub status: ItemStatus,
    /// Whose request.
    pub request_id: Arc<str>,
    /// Its place among the request's items, never repeated.
    pub item_index: u32,
    /// When it was added, milliseconds since the epoch.
    pub ts: i64,
    /// The event that added it.
    pub seq: Seq,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Who sees it.
    pub visibility: Visibility,
    /// Streams, is not kept for later requests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Seed 003's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<AgentType>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The explicit visibility, kept beside the agent type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_visibility: Option<Visibility>,
    /// The fields of its type.
    #[serde(flatten)]
    pub payload: Map<String, Value>,
}

/// All items of a request, oldest first, without those of abandoned attempts. `live` says whether
/// the request's process still runs it: an attempt without an end is then going on, else abandoned.
pub fn items(request: &Arc<str>, events: Events<'_>, live: bool) -> Vec<Item> {
    let facts = Facts::gather(events, live);
    let mut items: Vec<Item> = Vec::new();
    let mut keyed: HashMap<String, usize> = HashMap::new();
    let mut index = 0;
    for event in events.iter() {
        let Some(new) = facts.item_of(request, events, event) else { continue };
        let dropped = facts.is_dropped(event);
        if let EventKind::ItemDone { .. } = event.kind {
            if let Some(at) = new.key.as_ref().and_then(|key| keyed.get(&identity(&new, key))) {
                items[*at].status = new.status;
                items[*at].payload = new.payload;
            }
            continue;
        }
        index += 1;
        if dropped {
            continue;
        }
        // A keyed component is one item per (request, component, key): the latest version wins.
        if let Some(key) = &new.key {
            if let Some(at) = keyed.get(&identity(&new, key)) {
                items[*at].status = new.status;
                items[*at].payload = new.payload;
                continue;
            }
            keyed.insert(identity(&new, key), items.len());
        }
        items.push(Item {
            id: format!("item_{}_{}_{}", new.item_type, request, event.seq),
            visibility: resolve_item_visibility(&new.item_type, new.agent_type, new.item_visibility),
            item_type: new.item_type,
            status: new.status,
            request_id: request.clone(),
            item_index: index - 1,
            ts: event.at,
            seq: event.seq,
            provenance: facts.provenance(request, event),
            transient: new.transient,
            agent_type: new.agent_type,
            agent_name: new.agent_name,
            item_visibility: new.item_visibility,
            payload: new.payload,
        });
    }
    items
}

fn identity(item: &NewItem, key: &str) -> String {
    let component = item.payload.get("component").and_then(Value::as_str).unwrap_or_default();
    format!("{}\u{0}{component}\u{0}{key}", item.item_type)
}

/// What one pass over the events tells about blocks and commits.
struct Facts<'a> {
    names: HashMap<(&'a str, u32), &'a Event>,
    abandoned: HashSet<(&'a str, u32)>,
    memoized: HashSet<(&'a str, u32)>,
    committed: HashMap<Seq, Option<&'a Value>>,
}

impl<'a> Facts<'a> {
    fn gather(events: Events<'a>, live: bool) -> Self {
        let mut names = HashMap::new();
        let mut abandoned = HashSet::new();
        let mut memoized = HashSet::new();
        let mut committed = HashMap::new();
        let mut open: HashSet<(&'a str, u32)> = HashSet::new();
        for event in events.iter() {
            for commit in event.kind.commits() {
                for (at, seq) in commit.operations.iter().enumerate() {
                    committed.insert(*seq, commit.rebased.get(at).filter(|value| !value.is_null()));
                }
            }
            let Some(path) = event.path.as_deref() else {
                if matches!(event.kind, EventKind::RequestResumed { .. }) {
                    abandoned.extend(open.drain());
                }
                continue;
            };
            match &event.kind {
                EventKind::BlockStarted { .. } => {
                    names.insert((path, event.attempt), event);
                    open.insert((path, event.attempt));
                }
                EventKind::BlockFinished { outcome, memoized: recalled, .. } => {
                    open.remove(&(path, event.attempt));
                    if *recalled {
                        memoized.insert((path, event.attempt));
                    }
                    if *outcome == Outcome::Abandoned {
                        abandoned.insert((path, event.attempt));
                    }
                }
                _ => {}
            }
        }
        if !live {
            abandoned.extend(open);
        }
        Facts { names, abandoned, memoized, committed }
    }

    fn is_dropped(&self, event: &Event) -> bool {
        event.path.as_deref().is_some_and(|path| self.abandoned.contains(&(path, event.attempt)))
    }

    fn is_recalled(&self, event: &Event) -> bool {
        event.path.as_deref().is_some_and(|path| self.memoized.contains(&(path, event.attempt)))
    }

    fn started(&self, event: &Event) -> Option<&'a Event> {
        self.names.get(&(event.path.as_deref()?, event.attempt)).copied()
    }

    fn provenance(&self, request: &str, event: &Event) -> Provenance {
        let block_name = match self.started(event).map(|started| &started.kind) {
            Some(EventKind::BlockStarted { name, .. }) => name.to_string(),
            _ => "runtime".to_owned(),
        };
        let path = event.path.as_deref().unwrap_or_default().to_owned();
        let block_instance_id = format!("{request}:{path}:{}", event.attempt);
        Provenance { block_name, path, block_instance_id, attempt: event.attempt, phase: "main" }
    }

    /// The item an event stands for, if it stands for one.
    fn item_of(&self, request: &str, events: Events<'a>, event: &Event) -> Option<NewItem> {
        let (item_type, status, payload) = match &event.kind {
            EventKind::ItemAdded { item } | EventKind::ItemDone { item } => return Some(item.clone()),
            // What a resume applied again was an item when it first happened.
            EventKind::StateChanged { .. } if self.is_recalled(event) => return None,
            EventKind::StateChanged { scope, operation, value, version } => {
                let rebased = match self.committed.get(&event.seq) {
                    Some(rebased) => *rebased,
                    // Durable operations that no commit names never came into force.
                    None if scope.kind.is_durable() => return None,
                    None => None,
                };
                if scope.kind == ScopeKind::Resource {
                    return resource_change(&scope.id, operation, *version, rebased.or(value.as_ref()));
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
                payload.insert("version".to_owned(), (*version).into());
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
            EventKind::BlockFinished { outcome, output, error, transient: false, .. } => {
                let status = match outcome {
                    Outcome::Completed => ItemStatus::Completed,
                    Outcome::Failed => ItemStatus::Failed,
                    Outcome::Suspended | Outcome::Abandoned => return None,
                };
                let mut payload = self.execution(events, event);
                if let Some(value) = output.as_ref().and_then(|output: &Recorded| resolve(events, output)) {
                    payload.insert("output".to_owned(), value);
                }
                if let Some(error) = error {
                    payload.insert(
                        "error".to_owned(),
                        json!({ "name": error.name, "message": error.message, "code": error.code }),
                    );
                }
                ("block_output", status, payload)
            }
            EventKind::RequestFinished { error: Some(error), .. } if !error.is_abort() => {
                let mut payload = object(json!({ "name": error.name, "message": error.message }));
                if let Some(code) = &error.code {
                    payload.insert("code".to_owned(), code.clone().into());
                }
                if let Some(details) = &error.details {
                    payload.insert("details".to_owned(), details.clone());
                }
                ("error", ItemStatus::Completed, payload)
            }
            _ => return None,
        };
        Some(plain(item_type, status, payload))
    }

    fn execution(&self, events: Events<'a>, event: &Event) -> Map<String, Value> {
        let Some(started) = self.started(event) else { return Map::new() };
        let EventKind::BlockStarted { name, block, input, .. } = &started.kind else { return Map::new() };
        let mut payload = object(json!({
            "blockName": &**name,
            "blockKind": block.as_str(),
            "startedAt": started.at,
            "completedAt": event.at,
            "duration": event.at - started.at,
        }));
        if let Some(input) = events.value(input) {
            payload.insert("input".to_owned(), input.clone());
        }
        payload
    }
}

/// An item that nobody in particular emitted.
fn plain(item_type: &str, status: ItemStatus, payload: Map<String, Value>) -> NewItem {
    NewItem {
        item_type: item_type.to_owned(),
        status,
        key: None,
        transient: false,
        agent_type: None,
        agent_name: None,
        item_visibility: None,
        payload,
    }
}

/// A write to a resource (seed 003: transient, always); changes of an index are nobody's business.
fn resource_change(id: &str, operation: &Operation, version: u64, sums: Option<&Value>) -> Option<NewItem> {
    let address = Address::parse(id).filter(|address| !address.is_index)?;
    let mut payload = object(json!({
        "scope": address.scope.as_str(),
        "resourcePath": address.path,
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
    Some(NewItem { transient: true, ..plain("resource_change", ItemStatus::Completed, payload) })
}

fn resolve(events: Events<'_>, recorded: &Recorded) -> Option<Value> {
    match recorded {
        Recorded::Value(value) => Some(value.clone()),
        Recorded::Undefined => None,
        Recorded::Of(seq) => match &events.get(*seq)?.kind {
            EventKind::RequestStarted { input, .. } | EventKind::BlockInput { input } => resolve(events, input),
            EventKind::BlockFinished { output, .. } => resolve(events, output.as_ref()?),
            _ => None,
        },
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
