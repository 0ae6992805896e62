//! View: the items of a request, as each audience sees them (SEMANTICS §7).
//!
//! Emitted items are in the log; `state_change`, `resource_change`, `block_output`, `router_decision`,
//! `state_snapshot` and `error` items are read from the events that cause them, so they can never
//! disagree with them.

mod facts;
pub mod follow;
mod of_few;
pub mod rules;

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Events;
use super::snapshots::snapshots;
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::item::{AgentType, ItemStatus, NewItem, Visibility, resolve_item_visibility};
use crate::model::scope::{ScopeKey, ScopeKind};
use facts::Facts;
pub use of_few::{Few, item_of_few};

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
            "all" | "selectForContext" => Audience::All,
            "client" => Audience::Client,
            "history" | "llm" => Audience::History,
            "trace" => Audience::Trace,
            _ => return None,
        })
    }

    /// Whether this audience sees the item. Transient items stay out of the views that last.
    pub fn sees(self, item: &Item) -> bool {
        self.sees_what(item.visibility, item.transient)
    }

    /// As [`sees`](Self::sees), by what decides it.
    pub fn sees_what(self, visibility: Visibility, transient: bool) -> bool {
        match self {
            Audience::All => true,
            Audience::Client => visibility.client && !transient,
            Audience::History => visibility.history && !transient,
            // Transient items stream by; afterwards only a developer finds them.
            Audience::Trace => transient || (!visibility.client && !visibility.history),
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
    /// A type of SEMANTICS §7.1.
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
    /// Who it speaks as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<AgentType>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The explicit visibility, kept beside the agent type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_visibility: Option<Visibility>,
    /// The block instance of the innermost container around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owned_by: Option<Arc<str>>,
    /// The fields of its type.
    #[serde(flatten)]
    pub payload: Map<String, Value>,
}

impl Item {
    /// Shows a newer version of a keyed component in this one's place. Nothing of the older version stays: its audience
    /// may be another.
    fn show(&mut self, new: NewItem) {
        self.visibility = resolve_item_visibility(&new.item_type, new.agent_type, new.item_visibility);
        let NewItem { status, transient, agent_type, agent_name, item_visibility, owned_by, payload, .. } = new;
        (self.status, self.transient, self.payload) = (status, transient, payload);
        (self.agent_type, self.agent_name) = (agent_type, agent_name);
        (self.item_visibility, self.owned_by) = (item_visibility, owned_by);
    }
}

/// What the items of the request that is still running are read from: an event whole, of a model's
/// answer only what it used, and nothing of an event that no item shows.
pub(crate) fn of_items(event: &Event) -> Option<Event> {
    let concerns_items = matches!(
        &event.kind,
        EventKind::RequestStarted { .. }
            | EventKind::InputEdited { .. }
            | EventKind::OutputEdited { .. }
            | EventKind::RequestResumed { .. }
            | EventKind::RequestStatus { .. }
            | EventKind::RequestFinished { .. }
            | EventKind::BlockStarted { .. }
            | EventKind::BlockResumed { .. }
            | EventKind::BlockInput { .. }
            | EventKind::BlockFinished { .. }
            | EventKind::RouteDecided { .. }
            | EventKind::StateInitialized { scope: ScopeKey { kind: ScopeKind::Sequencer, .. }, .. }
            | EventKind::StateChanged { .. }
            | EventKind::ItemAdded { .. }
            | EventKind::ItemDelta { .. }
            | EventKind::ItemUpdated { .. }
            | EventKind::ItemDone { .. }
            | EventKind::CallbackReturned { .. }
            | EventKind::Suspended(_)
            | EventKind::SuspensionResolved(_)
            | EventKind::SuspensionReopened { .. }
    );
    if concerns_items {
        return Some(event.clone());
    }
    let of_request = |request: &Value| json!({ "model": request["model"] });
    let kind = match &event.kind {
        EventKind::EffectStarted { effect: effect @ EffectKind::Model, ordinal, request } => {
            EventKind::EffectStarted { effect: *effect, ordinal: *ordinal, request: request.as_ref().map(of_request) }
        }
        EventKind::EffectFinished {
            effect: effect @ EffectKind::Model,
            ordinal,
            started,
            request,
            result,
            memoized,
            ..
        } => EventKind::EffectFinished {
            effect: *effect,
            ordinal: *ordinal,
            started: *started,
            request: request.as_ref().map(of_request),
            result: json!({ "usage": result["usage"] }),
            error: None,
            memoized: *memoized,
            dispatch: None,
        },
        _ => return None,
    };
    Some(Event { path: event.path.clone(), kind, ..*event })
}

/// All items of a request, oldest first, without those of abandoned attempts. `live` says whether
/// the request's process still runs it: an attempt without an end is then going on, else abandoned.
pub fn items(request: &Arc<str>, events: Events<'_>, live: bool) -> Vec<Item> {
    let facts = Facts::gather(events, live);
    let mut snapshots = snapshots(request, events, live);
    let mut items: Vec<Item> = Vec::new();
    let mut keyed: HashMap<String, usize> = HashMap::new();
    // Where each identity was emitted first, in an attempt that no longer counts, too: the event, its number and time.
    let mut first_of: HashMap<String, (Seq, u32, i64)> = HashMap::new();
    // Items that may change after they were added, by the event that added them: those added in progress, which a
    // block that resumes continues even if they are done, and components and messages without a key.
    let mut changeable: HashMap<Seq, usize> = HashMap::new();
    // Those added in progress that are not done.
    let mut open: HashMap<Seq, usize> = HashMap::new();
    // The newest answer to each question.
    let mut answers: HashMap<&str, usize> = HashMap::new();
    let mut index = 0;
    for event in events.iter() {
        match &event.kind {
            EventKind::SuspensionReopened { id } => {
                if let Some(at) = answers.remove(id.as_str()) {
                    refuse(&mut items[at]);
                }
                continue;
            }
            EventKind::ItemDelta { of, text } => {
                if let Some(at) = changeable.get(of) {
                    grow(&mut items[*at], text);
                }
                continue;
            }
            EventKind::ItemUpdated { of, patch } => {
                if let Some(at) = changeable.get(of) {
                    items[*at].payload.extend(patch.clone());
                }
                continue;
            }
            EventKind::ItemDone { of, status, patch } => {
                if let Some(at) = changeable.get(of) {
                    items[*at].payload.extend(patch.clone());
                    items[*at].status = *status;
                    open.remove(of);
                }
                continue;
            }
            _ => {}
        }
        let mut new = match snapshots.remove(&event.seq) {
            Some(snapshot) => snapshot.item(),
            None => match facts.item_of(request, events, event) {
                Some(new) => new,
                None => {
                    // A write that waits for its commit keeps its number free, so that no number moves.
                    index += u32::from(facts.may_become_item(event));
                    continue;
                }
            },
        };
        index += 1;
        let mut first = (event.seq, index - 1, event.at);
        let identity = new.key.as_ref().map(|key| identity(&new, key));
        if let Some(identity) = &identity {
            first = *first_of.entry(identity.clone()).or_insert(first);
        }
        if facts.is_dropped(event) {
            continue;
        }
        // A keyed component is one item per (request, component, key): the latest version wins, also in who sees it.
        if let (Some(key), Some(identity)) = (&new.key, identity) {
            new.payload.insert("key".to_owned(), key.as_str().into());
            if let Some(at) = keyed.get(&identity) {
                items[*at].show(new);
                continue;
            }
            keyed.insert(identity, items.len());
        }
        if new.status == ItemStatus::InProgress {
            open.insert(event.seq, items.len());
            changeable.insert(event.seq, items.len());
        } else if ["component", "message"].contains(&new.item_type.as_str()) && new.key.is_none() {
            changeable.insert(event.seq, items.len());
        }
        if let EventKind::SuspensionResolved(resolved) = &event.kind {
            answers.insert(&resolved.id, items.len());
        }
        let (seq, item_index, ts) = first;
        items.push(Item {
            id: format!("item_{}_{request}_{seq}", new.item_type),
            visibility: resolve_item_visibility(&new.item_type, new.agent_type, new.item_visibility),
            item_type: new.item_type,
            status: new.status,
            request_id: request.clone(),
            item_index,
            ts,
            seq,
            provenance: facts.provenance(request, event),
            transient: new.transient,
            agent_type: new.agent_type,
            agent_name: new.agent_name,
            item_visibility: new.item_visibility,
            owned_by: new.owned_by,
            payload: new.payload,
        });
    }
    // What its block left unfinished stays as far as it came.
    for (seq, at) in open {
        if events.get(seq).is_some_and(|added| facts.has_ended(added)) {
            items[at].status = ItemStatus::Incomplete;
        }
    }
    // An item that is emitted again keeps its place.
    items.sort_by_key(|item| item.item_index);
    for (at, item) in items.iter_mut().enumerate().filter(|(_, item)| item.item_type == "continuation") {
        item.payload.insert("priorItemCount".to_owned(), at.into());
    }
    items
}

/// The items that no block made of a request that was resumed: that it failed, and that it was continued. Each with the
/// event that adds it.
pub(crate) fn items_of_request(events: Events<'_>) -> Vec<(&Event, NewItem)> {
    if !events.iter().any(|event| matches!(event.kind, EventKind::RequestResumed { .. })) {
        return Vec::new();
    }
    let facts = Facts::gather(events, false);
    let is_of_request =
        |event: &&Event| matches!(event.kind, EventKind::RequestResumed { .. } | EventKind::RequestFinished { .. });
    let of_request = events.iter().filter(is_of_request);
    of_request.filter_map(|event| Some((event, facts.item_of("", events, event)?))).collect()
}

/// Whether an event takes a number among the items of its request, in a request that repeats nothing: see [`repeats`].
/// Must agree with [`items`], which asks for the whole log.
pub fn takes_number(kind: &EventKind, has_path: bool) -> bool {
    match kind {
        EventKind::ItemAdded { .. }
        | EventKind::Suspended(_)
        | EventKind::SuspensionResolved(_)
        | EventKind::RouteDecided { .. } => true,
        EventKind::StateChanged { .. } => has_path,
        EventKind::StateInitialized { scope, .. } => has_path && scope.kind == ScopeKind::Sequencer,
        EventKind::BlockFinished { outcome, memoized, .. } => {
            !memoized && matches!(outcome, Outcome::Completed | Outcome::Failed)
        }
        EventKind::RequestFinished { error: Some(error), .. } => !error.is_abort(),
        _ => false,
    }
}

/// Whether with an event a request repeats what was an item already, so that numbers depend on the whole log.
pub fn repeats(kind: &EventKind) -> bool {
    match kind {
        EventKind::RequestResumed { .. } => true,
        EventKind::BlockFinished { memoized, .. } => *memoized,
        EventKind::CallbackReturned { memoized, superseded, .. } => *memoized || !superseded.is_empty(),
        _ => false,
    }
}

/// Marks an answer that was refused, or taken back: its question is open again.
fn refuse(answer: &mut Item) {
    answer.status = ItemStatus::Failed;
    answer.payload.insert("refused".to_owned(), true.into());
}

/// Puts a piece of text at the end of a message or a reasoning.
fn grow(item: &mut Item, text: &str) {
    let part = if item.item_type == "reasoning" { "summary" } else { "content" };
    let last = item.payload.get_mut(part).and_then(Value::as_array_mut).and_then(|parts| parts.last_mut());
    if let Some(Value::String(known)) = last.and_then(|part| part.get_mut("text")) {
        known.push_str(text);
    }
}

fn identity(item: &NewItem, key: &str) -> String {
    let component = item.payload.get("component").and_then(Value::as_str).unwrap_or_default();
    format!("{}\u{0}{component}\u{0}{key}", item.item_type)
}
