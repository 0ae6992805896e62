//! View: the `FlowState` of an agent with the names authors know, from the states that hold it.
//!
//! The state of the agent's block has it in the form that is cheap to write: messages by id, and only those that the
//! execution stored or changed. Those that were there before are in the session's state. The same functions serve a
//! tool that asks while it runs and a person who looks at an instant of the log.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::model::state::State;

/// The states that a `FlowState` is made of.
pub struct Sources<'a> {
    /// That of the agent's block.
    pub root: &'a State,
    /// That of the sub-prompt's block, where it is one's.
    pub child: Option<&'a State>,
    /// The session's.
    pub session: Option<&'a State>,
    /// The session's id.
    pub thread: &'a str,
    /// The request's id.
    pub request: &'a str,
}

/// Every field of the interface, in its order.
pub const FIELDS: &[&str] = &[
    "threadId",
    "flowId",
    "thread",
    "agentConfig",
    "currentSide",
    "turnCount",
    "stopped",
    "stoppedBy",
    "messageHistory",
    "sequence",
    "storage",
    "env",
    "context",
    "rootState",
    "isChildPrompt",
];

/// The whole `FlowState`. Fields that it does not have are left out.
pub fn whole(of: &Sources<'_>) -> Value {
    let fields = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), field(of, name)?)));
    Value::Object(fields.collect())
}

/// One field of it.
pub fn field(of: &Sources<'_>, name: &str) -> Option<Value> {
    let state = of.child.unwrap_or(of.root);
    let plain = |state: &State, name: &str| state.get(name).map(|value| (**value).clone());
    match name {
        "threadId" => Some(of.thread.into()),
        "flowId" => of.child.map_or_else(|| Some(of.request.into()), |child| plain(child, "flowId")),
        "messageHistory" => Some(Value::Array(history(of))),
        "storage" => Some(of.session.and_then(|session| plain(session, "storage")).unwrap_or_else(|| json!({}))),
        "env" => plain(of.root, name),
        "thread" => plain(of.root, name).map(|thread| with_thread_id(thread, of.thread)),
        "stoppedBy" => plain(state, name).filter(|by| !by.is_null()),
        "rootState" => of.child.map(|_| whole(&Sources { child: None, ..*of })),
        "isChildPrompt" => of.child.map(|_| true.into()),
        "sequence" => Some(public_sequence(plain(state, name))),
        "agentConfig" | "currentSide" | "turnCount" | "stopped" | "context" => plain(state, name),
        _ => None,
    }
}

/// Returns `thread` with the id of the thread that the request is in. The state has the one that the execution began
/// in, which is another one in a fork.
fn with_thread_id(mut thread: Value, id: &str) -> Value {
    let [instance, metadata] = thread_ids(&thread).map(Value::clone);
    // Logs of older forks hold ids that a person gave.
    if !instance.is_string() || (metadata.is_string() && metadata != instance) {
        return thread;
    }
    thread["instance"]["id"] = id.into();
    if metadata.is_string() {
        thread["metadata"]["id"] = id.into();
    }
    thread
}

/// The two places where `thread` has its id.
fn thread_ids(thread: &Value) -> [&Value; 2] {
    ["instance", "metadata"].map(|part| &thread[part]["id"])
}

/// The fields that a fork may edit: they are read where it goes on.
pub const EDITABLE: &[&str] =
    &["currentSide", "turnCount", "stopped", "stoppedBy", "sequence", "context", "thread", "storage"];

/// Fields of the agent's state that have no name for authors, and are read.
const EDITABLE_INSIDE: &[&str] =
    &["messages", "sideTurns", "queuedMessages", "forcedSide", "pendingHandoff", "stopReason", "awaitingHuman"];

/// Returns why a fork cannot give a field of the agent's state this value in place of the old one, if so: nothing would
/// read it, or it is no value of that field.
pub fn refuses_edit(field: &str, old: &Value, value: &Value) -> Option<String> {
    let names = EDITABLE.join(", ");
    let lost = |why: &str| Some(format!("{why}; of the FlowState a fork may set {names}"));
    match field {
        "messages" if !value.is_object() => lost(
            "messageHistory is made of the stored messages, so a list in its place would be lost; edit what one says \
             with --at root/message, or at its turn, and --output TEXT",
        ),
        "env" => lost("env is read from flowglass.json and the environment, not from the state"),
        "agentConfig" | "agent" => lost("the agent is what its file defines, not what the state says of it"),
        "thread" if !value.is_object() => Some("thread must be an object".to_owned()),
        "thread" if thread_ids(old) != thread_ids(value) => {
            lost("the ids of a thread are those of its session, and a fork has a session of its own")
        }
        _ if EDITABLE.contains(&field) => misfit(field, value).map(|what| format!("{field} must be {what}")),
        _ if EDITABLE_INSIDE.contains(&field) => None,
        _ => lost(&format!("nothing reads \"{field}\"")),
    }
}

/// The largest whole number that a JavaScript number holds with all those below it.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Returns what a field must be, if a value is no value of it.
pub fn misfit(field: &str, value: &Value) -> Option<&'static str> {
    let is_count = || value.as_f64().is_some_and(|n| (0.0..=MAX_SAFE_INTEGER).contains(&n) && n.fract() == 0.0);
    let (fits, what) = match field {
        "currentSide" => (value == "a" || value == "b", "\"a\" or \"b\""),
        "stoppedBy" => (value.is_null() || value == "a" || value == "b", "\"a\", \"b\" or undefined"),
        "turnCount" => (is_count(), "a whole number that JavaScript counts exactly"),
        "stopped" => (value.is_boolean(), "true or false"),
        "messageHistory" => (value.is_array(), "a list of messages"),
        "sequence" => (value["queue"].is_array(), "an object with a queue of tool calls"),
        "context" => (value.is_object(), "an object"),
        _ => (true, ""),
    };
    (!fits).then_some(what)
}

/// Returns the place of a field of a `FlowState` as the states name it: `context.total` is `sequencer.context.total`,
/// and what is in `storage` is the session's. `None` for any other text.
pub fn address(text: &str) -> Option<String> {
    let text = ["flowState.", "flow."].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let (field, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    match field {
        "storage" => Some(format!("session.storage{rest}")),
        "messageHistory" if rest.is_empty() => Some("sequencer.messages".to_owned()),
        "thread" | "agentConfig" | "currentSide" | "turnCount" | "stopped" | "stoppedBy" | "sequence" | "env"
        | "context" => Some(format!("sequencer.{text}")),
        _ => None,
    }
}

/// The queue with the fields of the interface only.
fn public_sequence(sequence: Option<Value>) -> Value {
    let sequence = sequence.unwrap_or_default();
    let queue = sequence["queue"].as_array().cloned().unwrap_or_default();
    json!({ "queue": queue, "isHandling": sequence["isHandling"] == true })
}

/// The field of the state that holds what an author's code made of `messageHistory`, until the turn ends.
pub const WORKING_HISTORY: &str = "workingHistory";

/// The conversation: of a sub-prompt what it was given, what it stored itself, and the thread if it includes the chat.
fn history(of: &Sources<'_>) -> Vec<Value> {
    let changed = of.child.unwrap_or(of.root).get(WORKING_HISTORY);
    if let Some(rows) = changed.and_then(|rows| rows.as_array()) {
        return rows.clone();
    }
    let rows = rows(of.root, of.session);
    match of.child {
        Some(child) => known_to(child, rows),
        None => rows.into_iter().filter(is_top_level).collect(),
    }
}

/// The conversation of a sub-prompt: the thread's where its prompt includes the chat, then what it was given, then what
/// it stored itself. `rows` are all messages.
pub fn known_to(child: &State, rows: Vec<Value>) -> Vec<Value> {
    let field = |name: &str| child.get(name).map(|value| (**value).clone()).unwrap_or_default();
    let (parent, given) = (field("parentMessageId"), field("extraMessages"));
    let includes_chat = field("includesChat") == true;
    let (thread, others): (Vec<Value>, Vec<Value>) = rows.into_iter().partition(is_top_level);
    let thread = thread.into_iter().filter(|_| includes_chat);
    let own = others.into_iter().filter(|row| row["parent_id"] == parent);
    thread.chain(given.as_array().cloned().unwrap_or_default()).chain(own).collect()
}

/// Whether a message belongs to the conversation itself, not to a sub-prompt.
pub fn is_top_level(row: &Value) -> bool {
    row["parent_id"].is_null()
}

/// Whether a state is that of an agent's execution.
pub fn is_execution(state: &Map<String, Value>) -> bool {
    ["agentConfig", "currentSide", "sequence", "messages", "origin", "turns"]
        .iter()
        .all(|name| state.contains_key(*name))
}

/// Whether a state is that of a sub-prompt.
pub fn is_sub_prompt(state: &Map<String, Value>) -> bool {
    ["agentConfig", "isChildPrompt", "promptPath", "parentMessageId"].iter().all(|name| state.contains_key(*name))
}

/// Every message of the thread, oldest first.
pub fn rows(root: &State, session: Option<&State>) -> Vec<Value> {
    let own = root.get("messages").and_then(|rows| rows.as_object());
    let empty = Map::new();
    let own = own.unwrap_or(&empty);
    let before = session.and_then(|session| session.get("messages")?.as_object());
    let mut rows: Vec<Value> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (id, row) in before.into_iter().flatten() {
        match own.get(id) {
            Some(Value::Null) => {}
            changed => {
                places.insert(id, rows.len());
                rows.push(changed.unwrap_or(row).clone());
            }
        }
    }
    let new = own.iter().filter(|(id, row)| !row.is_null() && !places.contains_key(id.as_str()));
    rows.extend(new.map(|(_, row)| row.clone()));
    // Stable: what was created at the same time stays in the order in which it was stored.
    rows.sort_by_key(|row| row["created_at"].as_f64().map_or(0, |at| at as i64));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread_of(thread: Value) -> Value {
        let root = State::from(Map::from_iter([("thread".to_owned(), thread)]));
        let sources = Sources { root: &root, child: None, session: None, thread: "now", request: "r" };
        field(&sources, "thread").unwrap_or_default()
    }

    #[test]
    fn a_thread_has_the_id_that_it_has_now() {
        let thread = |instance: &str, metadata: &str| {
            let metadata = json!({ "id": metadata, "n": 1 });
            json!({ "instance": { "id": instance }, "metadata": metadata })
        };
        assert_eq!(thread_of(thread("then", "then")), thread("now", "now"));
        assert_eq!(thread_of(json!({ "instance": { "id": "then" } })), json!({ "instance": { "id": "now" } }));
        // Older forks could give a thread other ids.
        for given in [thread("mine", "then"), json!({ "instance": { "id": 5 } }), json!({}), json!(null)] {
            assert_eq!(thread_of(given.clone()), given);
        }
    }

    #[test]
    fn the_ids_of_a_thread_are_not_edited() {
        let old = json!({ "instance": { "id": "s" }, "metadata": { "id": "s" } });
        let mut other = old.clone();
        other["metadata"]["note"] = 1.into();
        assert_eq!(refuses_edit("thread", &old, &other), None);
        for part in ["instance", "metadata"] {
            let mut given = old.clone();
            given[part]["id"] = "mine".into();
            let why = refuses_edit("thread", &old, &given).unwrap_or_default();
            assert!(why.starts_with("the ids of a thread are those of its session"), "{part}: {why}");
        }
        for given in [json!(5), json!(null), json!([])] {
            let why = refuses_edit("thread", &old, &given);
            assert_eq!(why.as_deref(), Some("thread must be an object"), "{given}");
        }
    }
}
