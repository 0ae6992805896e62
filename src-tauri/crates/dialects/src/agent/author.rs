//! What an agent's tools and hooks can do: read and write the `FlowState`, queue tools, inject messages
//! (SEMANTICS §16.7).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::hooks::{OnFailure, has_role};
use super::state::FlowState;
use super::{messages, working_history};
use engine::context::{Context, EmitOptions, Target};
use engine::error::FlowError;
use engine::flow::Side;
use engine::operation::{Operation, equal};
use engine::views::flow_state::{self, Sources};

/// Whose `FlowState` is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// That of the code that asks: of its sub-prompt, or of the execution.
    Own,
    /// `rootState`: that of the execution.
    Root,
}

impl Which {
    /// By the script host's word.
    pub fn parse(word: &str) -> Option<Which> {
        match word {
            "own" => Some(Which::Own),
            "root" => Some(Which::Root),
            _ => None,
        }
    }
}

/// A message that a tool or a hook puts into the thread.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InjectedMessage {
    /// What it says.
    pub content: String,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its id, where the author gives it one.
    #[serde(default)]
    pub id: Option<String>,
    /// The message that it is put before.
    #[serde(default)]
    pub before_message_id: Option<String>,
    /// The call that it answers, of a tool's message.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// The tool's name.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether people do not see it.
    #[serde(default)]
    pub silent: bool,
    /// Anything the author wants to keep with it.
    #[serde(default, deserialize_with = "engine::json::exact")]
    pub metadata: Option<Value>,
    /// Whether a sub-prompt puts it into the conversation itself.
    #[serde(default)]
    pub force_top_level: bool,
    /// The side that speaks after it.
    #[serde(default)]
    pub force_turn: Option<String>,
}

/// The fields that authors may write.
const WRITABLE: &[&str] =
    &["currentSide", "turnCount", "stopped", "stoppedBy", "messageHistory", "sequence", "context"];

fn flow_of(cx: &Context, which: Which) -> Result<FlowState, FlowError> {
    match which {
        Which::Own => FlowState::own(cx),
        Which::Root => FlowState::root(cx),
    }
}

/// One field of a `FlowState`, with the name authors know; `None` where it is not there.
pub fn flow_field(cx: &Context, which: Which, field: &str) -> Result<Option<Value>, FlowError> {
    let flow = flow_of(cx, which)?;
    match field {
        "env" => return Ok(Some(cx.run.effects.env())),
        // What others may change has been looked at.
        "storage" => drop(cx.read(&Target::Session)),
        _ => {}
    }
    let root = flow.root_of()?.read();
    let own = flow.read();
    let session = flow.session();
    let caller = cx.caller();
    let of = Sources {
        root: &root,
        child: flow.is_child().then_some(&*own),
        session: session.as_deref(),
        thread: &caller.session,
        request: &caller.request,
    };
    Ok(flow_state::field(&of, field))
}

/// Writes fields of a `FlowState` that an author's code changed, as the operations that make the difference.
pub async fn write_flow_fields(cx: &Context, which: Which, fields: Map<String, Value>) -> Result<(), FlowError> {
    let flow = flow_of(cx, which)?;
    let old = flow.read();
    for (field, value) in fields {
        check(&field, &value)?;
        match field.as_str() {
            "messageHistory" => working_history::write(&flow, &value).await?,
            "context" => write_context(&flow, old.get("context"), value).await?,
            "sequence" => {
                let queue: Vec<Value> = value["queue"].as_array().into_iter().flatten().map(forced(&flow)).collect();
                flow.set("sequence", json!({ "queue": queue, "isHandling": value["isHandling"] == true })).await?;
            }
            _ => flow.set(&field, value).await?,
        }
    }
    Ok(())
}

/// `queueTool`: the call runs after those that wait, or with the next turn. Returns it.
pub async fn queue_tool(cx: &Context, which: Which, name: &str, args: &Value) -> Result<Value, FlowError> {
    let flow = flow_of(cx, which)?;
    let of = flow.definitions();
    if !(of.tools.contains_key(name) || of.prompts.contains_key(name) || of.agents.contains_key(name)) {
        let known: Vec<&str> = of.tools.keys().chain(of.prompts.keys()).map(String::as_str).collect();
        return Err(FlowError::plain(format!(
            "queueTool: there is no tool, prompt or agent \"{name}\"; there are {}",
            known.join(", ")
        )));
    }
    let is_agent = !of.tools.contains_key(name) && !of.prompts.contains_key(name);
    if is_agent && of.agents.get(name).is_some_and(|agent| agent.sides.iter().all(|side| !side.is_human())) {
        return Err(FlowError::plain(format!(
            "queueTool: agent \"{name}\" has a prompt on both sides, so it cannot be called: it would take the \
             conversation over and return nothing"
        )));
    }
    let key = own_key(cx, "queueTool");
    let call = json!({
        "id": format!("call_{}", &blake3::hash(key.as_bytes()).to_hex()[..16]),
        "type": "function",
        "function": { "name": name, "arguments": args.to_string() },
        "forceAllow": true,
    });
    let mut sequence = flow.get("sequence");
    if let Some(queue) = sequence["queue"].as_array_mut() {
        queue.push(call.clone());
    }
    flow.set("sequence", sequence).await?;
    Ok(call)
}

/// `injectMessage`: stores a message without a turn. Returns it as it was stored.
pub async fn inject_message(cx: &Context, which: Which, asked: InjectedMessage) -> Result<Value, FlowError> {
    let flow = flow_of(cx, which)?;
    if !has_role(&asked.role.as_str().into()) {
        return Err(FlowError::validation(
            format!("injectMessage: role is system, user, assistant or tool, not \"{}\"", asked.role),
            None,
        ));
    }
    if let Some(side) = &asked.force_turn {
        side_named(side)?;
    }
    // A block that runs again gives the same message again.
    if let Some(known) = asked.id.as_ref().and_then(|id| flow.message(id))
        && (known["role"] != asked.role.as_str() || known["content"] != asked.content.as_str())
    {
        let text = format!("injectMessage: this thread has another message {} already", known["id"]);
        return Err(FlowError::validation(text, None));
    }
    let id = asked.id.unwrap_or_else(|| flow.message_id(&own_key(cx, "injectMessage")));
    let mut row = messages::row(&flow, &id, &asked.role, asked.content.as_str().into());
    if let Some(before) = &asked.before_message_id {
        let target = flow
            .message(before)
            .ok_or_else(|| FlowError::plain(format!("injectMessage: no message \"{before}\" in this thread")))?;
        let at = target["created_at"].as_f64().unwrap_or_default() as i64;
        row.insert("created_at".to_owned(), at.saturating_sub(1).into());
    }
    row.insert("silent".to_owned(), asked.silent.into());
    row.insert("name".to_owned(), asked.name.into());
    row.insert("tool_call_id".to_owned(), asked.tool_call_id.into());
    if let Some(metadata) = asked.metadata {
        row.insert("metadata".to_owned(), metadata);
    }
    if flow.is_child() && !asked.force_top_level {
        row.insert("depth".to_owned(), flow.get("depth"));
        row.insert("parent_id".to_owned(), flow.get("parentMessageId"));
    }
    let stored = messages::create(&flow, &flow.definitions(), row, OnFailure::Fail).await?;
    if !asked.silent && matches!(asked.role.as_str(), "user" | "assistant") {
        cx.emit_message(&asked.role, stored["content"].clone(), EmitOptions::default());
    }
    if let Some(side) = &asked.force_turn {
        force_turn(cx, side).await?;
    }
    Ok(stored)
}

/// `queueMessage`: a message that is stored before the next turn, and decides who has it.
pub async fn queue_message(cx: &Context, role: &str, content: &str, silent: bool) -> Result<String, FlowError> {
    let flow = FlowState::root(cx)?;
    let id = flow.message_id(&own_key(cx, "queueMessage"));
    let queued = json!({ "id": id, "role": role, "content": content, "silent": silent });
    flow.write(Operation::Push { field: "queuedMessages".to_owned(), value: queued }).await?;
    Ok(id)
}

/// `getMessages`: a part of the thread.
pub fn thread_messages(cx: &Context, limit: usize, offset: usize, newest_first: bool) -> Result<Vec<Value>, FlowError> {
    let mut rows = FlowState::root(cx)?.rows();
    if newest_first {
        rows.reverse();
    }
    Ok(rows.into_iter().skip(offset).take(limit).collect())
}

/// `reloadHistory`: `messageHistory` is the stored conversation again.
pub async fn reload_history(cx: &Context, which: Which) -> Result<(), FlowError> {
    working_history::reset(&flow_of(cx, which)?).await
}

/// `forceTurn`: who speaks when this turn has ended.
pub async fn force_turn(cx: &Context, side: &str) -> Result<(), FlowError> {
    let side = side_named(side)?;
    FlowState::root(cx)?.set("forcedSide", side.as_str()).await
}

/// What tells one act of an author's code from the others of its block, the same whenever the block runs again.
pub(super) fn own_key(cx: &Context, act: &str) -> String {
    let call = cx.callback_name();
    format!("{}:{}:{call}:{act}:{}", cx.caller().request, cx.frame.path, cx.ordinal(act))
}

fn side_named(side: &str) -> Result<Side, FlowError> {
    Side::parse(side).ok_or_else(|| {
        let text = format!("forceTurn: the side is \"side_a\" or \"side_b\", not \"{side}\"");
        FlowError::validation(text, None)
    })
}

/// Calls that code puts into the queue itself may be of any tool, as those of `queueTool`.
fn forced(flow: &FlowState) -> impl Fn(&Value) -> Value {
    let known = flow.get("sequence")["queue"].as_array().cloned().unwrap_or_default();
    move |call| match known.iter().find(|known| known["id"] == call["id"]) {
        Some(known) => {
            let mut kept = call.clone();
            kept["forceAllow"] = (known["forceAllow"] == true).into();
            kept
        }
        None => {
            let mut made = call.clone();
            made["forceAllow"] = true.into();
            made
        }
    }
}

/// Refuses what the interface does not let authors write.
fn check(field: &str, value: &Value) -> Result<(), FlowError> {
    if let Some(what) = flow_state::misfit(field, value) {
        return Err(FlowError::validation(format!("flow.{field} must be {what}, not {value}"), None));
    }
    match field {
        "sequence" => match value["queue"].as_array().into_iter().flatten().find(|call| !is_call(call)) {
            Some(call) => Err(FlowError::validation(
                format!(
                    "flow.sequence.queue holds tool calls {{ id, type, function: {{ name, arguments }} }}, not {call}"
                ),
                None,
            )),
            None => Ok(()),
        },
        field if WRITABLE.contains(&field) => Ok(()),
        _ => Err(FlowError::validation(format!("flow.{field} cannot be written"), None)),
    }
}

fn is_call(call: &Value) -> bool {
    call["id"].is_string() && call["function"]["name"].is_string() && call["function"]["arguments"].is_string()
}

/// Writes each key of `context` that changed as one operation, so that large values of other keys are not written
/// again.
async fn write_context(flow: &FlowState, old: Option<&std::sync::Arc<Value>>, new: Value) -> Result<(), FlowError> {
    let Value::Object(new) = new else { return Ok(()) };
    let empty = Map::new();
    let old = old.and_then(|old| old.as_object()).unwrap_or(&empty);
    let field = || "context".to_owned();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        flow.write(Operation::DeleteRecord { field: field(), key: key.clone() }).await?;
    }
    for (key, value) in new {
        if !old.get(&key).is_some_and(|old| equal(old, &value)) {
            flow.write(Operation::SetRecord { field: field(), key, value }).await?;
        }
    }
    Ok(())
}
