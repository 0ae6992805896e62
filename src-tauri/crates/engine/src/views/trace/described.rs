//! Describes an event of a block for people and programs, without what differs by itself in each run.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Outcome, Recorded, Seq};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::resource::record::Address;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::views::Events;

/// Fields that tell of time or of place in the log, where an item or a note has them itself. Values of an author inside
/// of it may have fields with these names.
const VOLATILE: [&str; 8] =
    ["startedAt", "completedAt", "duration", "ts", "id", "expiresAt", "cacheAgeMs", "blockInstanceId"];

/// The fields of the engine that earlier versions left out of a description.
const NEW: [&str; 7] = ["agentName", "agentType", "itemVisibility", "key", "resource", "transient", "undefined"];

/// What an event tells. `types` are those of items that were whole when they were added.
pub(super) fn what(events: Events<'_>, types: &HashMap<Seq, String>, event: &Event) -> Option<Value> {
    Some(match &event.kind {
        EventKind::BlockStarted { name, block, input, .. } => {
            let mut begin = json!({ "block": &**name, "kind": block.as_str() });
            put(&mut begin, "input", value(events, input));
            begin
        }
        EventKind::BlockInput { input } => alone("input", value(events, input)),
        EventKind::StateChanged { scope, operation, .. } => {
            let mut write = json!({
                "state": scope.kind.as_str(), "operation": operation.name(),
                "path": operation.path(), "delta": operation.delta(),
            });
            if let Some(resource) = resource(scope) {
                write["resource"] = resource.into();
            }
            write
        }
        // That a block failed is told by the block; who hears of it, and when, may be another after a resume.
        EventKind::ItemAdded { item } if item.item_type == "step_error" => return None,
        EventKind::ItemAdded { item } => self::item(item),
        EventKind::ItemDelta { of, text } => json!({ "item": types.get(of)?, "delta": text }),
        EventKind::ItemUpdated { of, patch } => json!({ "item": types.get(of)?, "update": patch }),
        EventKind::ItemDone { patch, status, .. } => json!({ "item": status, "payload": still(patch) }),
        EventKind::RouteDecided { route } => json!({ "route": route }),
        EventKind::JournalAppended { entry } => match entry {
            Value::Object(entry) => json!({ "journal": still(entry) }),
            other => json!({ "journal": other }),
        },
        EventKind::MetadataSet { metadata } => json!({ "metadata": metadata }),
        EventKind::BlockFinished { outcome: Outcome::Suspended, .. } => return None,
        EventKind::BlockFinished { error: Some(error), output: None, .. } => self::error(error),
        EventKind::BlockFinished { output, .. } => {
            alone("output", output.as_ref().and_then(|output| value(events, output)))
        }
        _ => return None,
    })
}

/// The result in the end of a request; `None` if the event is no end.
pub(super) fn end_of_request(events: Events<'_>, kind: &EventKind) -> Option<Value> {
    match kind {
        EventKind::RequestFinished { error: Some(error), output: None, .. } => Some(self::error(error)),
        EventKind::RequestFinished { output, .. } => {
            Some(alone("output", output.as_ref().and_then(|output| value(events, output))))
        }
        _ => None,
    }
}

/// What an item that is added tells.
pub(super) fn item(item: &NewItem) -> Value {
    let mut told = match item.status {
        ItemStatus::InProgress => json!({ "item": item.item_type, "begins": true }),
        _ => json!({ "item": item.item_type, "payload": still(&item.payload) }),
    };
    let given = [
        ("agentName", item.agent_name.as_deref().map(Value::from)),
        ("agentType", item.agent_type.map(|agent| json!(agent))),
        ("itemVisibility", item.item_visibility.map(|visibility| json!(visibility))),
        ("key", item.key.as_deref().map(Value::from)),
        ("transient", item.transient.then_some(Value::Bool(true))),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).for_each(|(name, value)| told[name] = value);
    told
}

/// Adds the next part of a growing text.
pub(super) fn grow(first: &mut Value, next: &Value) {
    if let (Some(Value::String(text)), Some(more)) = (first.get_mut("delta"), next["delta"].as_str()) {
        text.push_str(more);
    }
}

/// What earlier versions told in place of this.
pub(super) fn as_before(what: Value) -> Value {
    let Value::Object(mut fields) = what else { return what };
    fields.retain(|name, _| !NEW.contains(&name.as_str()));
    if let Some(error) = fields.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("details");
    }
    for name in ["payload", "journal"] {
        if let Some(told) = fields.get_mut(name) {
            *told = still_inside(told.take());
        }
    }
    Value::Object(fields)
}

fn error(error: &FlowError) -> Value {
    let mut told = json!({ "name": error.name, "message": error.message, "code": error.code });
    // How often a block ran until it gave up depends on others.
    if let Some(details) = error.details.as_ref().filter(|_| error.code.as_deref() != Some("concurrent_modification")) {
        told["details"] = details.clone();
    }
    json!({ "error": told })
}

/// A recorded value; `None` if it is `undefined`.
fn value(events: Events<'_>, recorded: &Recorded) -> Option<Value> {
    match recorded {
        Recorded::Value(value) => Some(value.clone()),
        Recorded::Undefined => None,
        Recorded::Of(seq) => events.value(&Recorded::Of(*seq)).cloned(),
    }
}

fn alone(name: &str, value: Option<Value>) -> Value {
    let mut told = Value::Object(Map::new());
    put(&mut told, name, value);
    told
}

/// JSON has no `undefined`: a field of that name marks it.
fn put(told: &mut Value, name: &str, value: Option<Value>) {
    if value.is_none() {
        told["undefined"] = true.into();
    }
    told[name] = value.unwrap_or_default();
}

/// Which resource a record is, without whose: sessions and users may have generated names.
fn resource(scope: &ScopeKey) -> Option<String> {
    let address = Address::parse(&scope.id).filter(|_| scope.kind == ScopeKind::Resource)?;
    let place = scope.id.splitn(3, '/').nth(2)?;
    Some(format!("{}/{place}", address.scope.as_str()))
}

/// What an item or a note has, without what tells of time and place.
fn still(fields: &Map<String, Value>) -> Value {
    let kept = fields.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The same, at every depth.
fn still_inside(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            fields.into_iter().map(|(name, value)| (name, still_inside(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(still_inside).collect(),
        other => other,
    }
}
