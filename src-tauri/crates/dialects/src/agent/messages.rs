//! Messages of a thread: stored, changed, and kept for later executions (SEMANTICS §16.5).
//!
//! A message is first part of the execution's state; at the end of a turn what is new or changed is written to the
//! session, where the next execution finds it. Hooks of messages are called here and nowhere else.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::hooks::{OnFailure, chain, chain_as};
use super::state::FlowState;
use super::working_history;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentHook};
use engine::operation::{Operation, equal};
use engine::views::flow_state::is_top_level;

/// A message as it is stored first: every field of the interface.
pub(super) fn row(flow: &FlowState, id: &str, role: &str, content: Value) -> Map<String, Value> {
    let row = json!({
        "id": id,
        "role": role,
        "content": content,
        "name": null,
        "tool_calls": null,
        "tool_call_id": null,
        "log_id": null,
        "created_at": flow.next_created_at(),
        "status": "completed",
        "silent": false,
        "depth": 0,
        "parent_id": null,
    });
    match row {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The fields that say where a message belongs, which its words do not change.
const PLACE: [&str; 6] = ["id", "role", "parent_id", "tool_call_id", "created_at", "depth"];

/// Puts what a model said into its message, which waits for it: hooks of new messages see its words here for the first
/// time. Returns the message as it is then; null where it is gone.
pub(super) async fn answer(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    id: &str,
    said: Value,
) -> Result<Value, FlowError> {
    let Some(Value::Object(mut whole)) = flow.message(id) else { return Ok(Value::Null) };
    let Value::Object(mut updates) = said else { return Ok(Value::Null) };
    whole.extend(updates.clone());
    // Logs from before this call hold answers of the others, by their order.
    let hook = (AgentHook::BeforeCreateMessage, "before_create_message.answer");
    let made = chain_as(&flow.cx, of, hook, OnFailure::Log, whole.clone().into(), |row| vec![row.clone()]).await?;
    if let Value::Object(made) = made {
        let is_said = |field: &str| !PLACE.contains(&field);
        updates.extend(made.into_iter().filter(|(field, value)| is_said(field) && whole.get(field) != Some(value)));
    }
    update(flow, of, id, updates.into()).await
}

/// Stores a message, through the hooks. Returns it as it was stored.
pub(super) async fn create(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    row: Map<String, Value>,
    on_failure: OnFailure,
) -> Result<Value, FlowError> {
    let id = row.get("id").cloned().unwrap_or_default();
    let given = Value::Object(row);
    let made =
        chain(&flow.cx, of, AgentHook::BeforeCreateMessage, on_failure, given.clone(), |row| vec![row.clone()]).await?;
    let mut made = if made.is_object() { made } else { given };
    // A message is known by its id: a hook does not give it another.
    made["id"] = id.clone();
    flow.put_message(id.as_str().unwrap_or_default(), made.clone()).await?;
    notify(flow, of, AgentHook::AfterCreateMessage, &made).await?;
    Ok(made)
}

/// Changes a message, through the hooks. Returns it as it is then; null where it is gone.
pub(super) async fn update(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    id: &str,
    updates: Value,
) -> Result<Value, FlowError> {
    let wanted = updates.clone();
    let made = chain(&flow.cx, of, AgentHook::BeforeUpdateMessage, OnFailure::Log, updates, |updates| {
        vec![id.into(), updates.clone()]
    })
    .await?;
    let made = if made.is_object() { made } else { wanted };
    let Some(Value::Object(mut row)) = flow.message(id) else { return Ok(Value::Null) };
    if let Value::Object(made) = made {
        row.extend(made.into_iter().filter(|(field, _)| field != "id"));
    }
    let row = Value::Object(row);
    flow.put_message(id, row.clone()).await?;
    notify(flow, of, AgentHook::AfterUpdateMessage, &row).await?;
    Ok(row)
}

/// Calls hooks that look on: what they return has no meaning.
async fn notify(flow: &FlowState, of: &Rc<AgentDefinitions>, hook: AgentHook, row: &Value) -> Result<(), FlowError> {
    chain(&flow.cx, of, hook, OnFailure::Log, Value::Null, |_| vec![row.clone()]).await.map(drop)
}

/// Ends a turn: drops the working copy of `messageHistory`, and writes what is new or changed to the session, as part
/// of the block that runs.
pub(super) async fn persist(flow: &FlowState) -> Result<(), FlowError> {
    working_history::reset(flow).await?;
    let root = flow.root_of()?.read();
    let Some(own) = root.get("messages").and_then(|rows| rows.as_object()) else { return Ok(()) };
    for (id, row) in own {
        let session = flow.session();
        let kept = session.as_ref().and_then(|session| session.get("messages")?.get(id));
        let (field, key) = ("messages".to_owned(), id.clone());
        match (row, kept) {
            (Value::Null, None) => {}
            (Value::Null, Some(_)) => flow.write_session(Operation::DeleteRecord { field, key }).await?,
            (row, Some(kept)) if equal(row, kept) => {}
            (row, _) => flow.write_session(Operation::SetRecord { field, key, value: row.clone() }).await?,
        }
    }
    Ok(())
}

/// The newest text of either side in this execution.
pub(super) fn newest_text(flow: &FlowState) -> Value {
    let own = flow.get("messages");
    let rows = flow.rows();
    let said = rows.iter().rev().find(|row| {
        let is_text = row["content"].as_str().is_some_and(|text| !text.trim().is_empty());
        // What a person said belongs to no prompt.
        is_top_level(row)
            && is_text
            && row["role"] != "tool"
            && (row["prompt"].is_string() || row["role"] == "assistant")
            && own.get(row["id"].as_str().unwrap_or("")).is_some()
    });
    said.map_or(Value::Null, |row| row["content"].clone())
}
