//! `messageHistory` as an author's code changed it: a working copy of the conversation that lasts until the turn ends
//! (SEMANTICS §16.7).
//!
//! The thread keeps its messages whatever the copy holds. While there is a copy, messages that the engine stores are
//! added to it, so later tools and hooks of the same turn see them. Must not write a message of the thread.

use serde_json::Value;

use super::author::own_key;
use super::hooks::has_role;
use super::messages;
use super::state::FlowState;
use engine::error::FlowError;
use engine::operation::equal;
use engine::views::flow_state::{WORKING_HISTORY, is_top_level, known_to};

/// A field of a message besides its role and content, what it may be, and how that is called.
type Field = (&'static str, fn(&Value) -> bool, &'static str);

const FIELDS: &[Field] = &[
    ("created_at", Value::is_number, "a number of microseconds"),
    ("depth", Value::is_number, "a number"),
    ("silent", |value| value.is_boolean() || value.is_null(), "true or false"),
    ("status", |value| value.is_string() || value.is_null(), "a text"),
    ("name", |value| value.is_string() || value.is_null(), "a text or null"),
    ("tool_call_id", |value| value.is_string() || value.is_null(), "a text or null"),
];

/// Keeps a changed `messageHistory` as the working copy.
pub(super) async fn write(flow: &FlowState, value: &Value) -> Result<(), FlowError> {
    let stored = stored(flow);
    let known = copy(flow).unwrap_or_else(|| stored.clone());
    let mut rows = Vec::new();
    for (at, row) in value.as_array().into_iter().flatten().enumerate() {
        rows.push(checked(flow, &known, at, row)?);
    }
    let rows = Value::Array(rows);
    if equal(&rows, &Value::Array(stored)) {
        return reset(flow).await;
    }
    flow.set(WORKING_HISTORY, rows).await
}

/// Drops the working copy: `messageHistory` is the stored conversation again.
pub(super) async fn reset(flow: &FlowState) -> Result<(), FlowError> {
    if copy(flow).is_some() { flow.set(WORKING_HISTORY, Value::Null).await } else { Ok(()) }
}

/// Adds a message that the engine is about to store, or its new form, to the working copy. A stored message that the
/// author's code took out of the copy stays out.
pub(super) async fn follow(flow: &FlowState, id: &str, row: &Value) -> Result<(), FlowError> {
    let Some(mut rows) = copy(flow) else { return Ok(()) };
    match rows.iter().position(|known| known["id"] == id) {
        Some(at) if row.is_null() => drop(rows.remove(at)),
        Some(at) => rows[at] = row.clone(),
        None if row.is_null() || row["parent_id"] != parent(flow) || flow.message(id).is_some() => return Ok(()),
        None => {
            let created_at = |row: &Value| row["created_at"].as_f64().unwrap_or_default();
            let at = rows.iter().position(|later| created_at(later) > created_at(row));
            rows.insert(at.unwrap_or(rows.len()), row.clone());
        }
    }
    flow.set(WORKING_HISTORY, rows).await
}

fn copy(flow: &FlowState) -> Option<Vec<Value>> {
    flow.read().get(WORKING_HISTORY).and_then(|rows| rows.as_array().cloned())
}

/// The message that a sub-prompt's messages belong to; null of the conversation itself.
fn parent(flow: &FlowState) -> Value {
    if flow.is_child() { flow.get("parentMessageId") } else { Value::Null }
}

/// The conversation without the working copy.
fn stored(flow: &FlowState) -> Vec<Value> {
    if flow.is_child() {
        known_to(&flow.read(), flow.rows())
    } else {
        flow.rows().into_iter().filter(is_top_level).collect()
    }
}

/// A message of a changed `messageHistory` with all its fields. Fails if it is no message.
fn checked(flow: &FlowState, known: &[Value], at: usize, row: &Value) -> Result<Value, FlowError> {
    let Value::Object(given) = row else {
        return Err(FlowError::validation(format!("flow.messageHistory[{at}] is no message: {row}"), None));
    };
    let id = given.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let known = id.and_then(|id| known.iter().find(|known| known["id"] == id));
    if let Some(known) = known.filter(|known| equal(known, row)) {
        return Ok(known.clone());
    }
    let wrong = |field: &str, what: &str, found: &Value| {
        let text = format!("flow.messageHistory[{at}].{field} must be {what}, not {found}");
        Err(FlowError::validation(text, None))
    };
    let role = given.get("role").unwrap_or(&Value::Null);
    if !has_role(role) {
        return wrong("role", "system, user, assistant or tool", role);
    }
    let content = given.get("content").cloned().unwrap_or_default();
    if !(content.is_string() || content.is_null()) {
        return wrong("content", "a text or null", &content);
    }
    for (field, is_right, what) in FIELDS {
        if let Some(found) = given.get(*field).filter(|found| !is_right(found)) {
            return wrong(field, what, found);
        }
    }
    let id = id.map_or_else(|| flow.message_id(&own_key(&flow.cx, "messageHistory")), str::to_owned);
    let mut whole = match known {
        Some(Value::Object(known)) => known.clone(),
        _ => messages::row(flow, &id, role.as_str().unwrap_or_default(), content),
    };
    if flow.is_child() {
        whole.insert("depth".to_owned(), flow.get("depth"));
        whole.insert("parent_id".to_owned(), parent(flow));
    }
    whole.extend(given.iter().filter(|(field, _)| *field != "id").map(|(k, v)| (k.clone(), v.clone())));
    Ok(Value::Object(whole))
}
