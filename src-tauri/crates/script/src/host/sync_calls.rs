//! The synchronous host functions: reading state, items and other blocks, emitting, clock and random values.
//!
//! No function here waits; `async_calls` has those that do. Must not enforce rules: the engine does.

use std::collections::HashMap;
use std::sync::Arc;

use engine::context::{Context as Cx, EmitOptions, Target};
use engine::data::{from_json, parse};
use engine::effects::{ModelDelta, SyncEffect};
use engine::item::{AgentType, Visibility, canonical_item_type, resolve_item_visibility};
use engine::resource::pattern::Pattern;
use engine::scope::ScopeKind;
use engine::state::State;
use engine::views::items::Audience;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::vm::calls::enclosing_block;
use crate::vm::time_zone;
use crate::vm::{LOAD_TOKEN, Shared};

/// The warning about a string that JSON cannot hold.
const LONE: &str = "a text has half of a surrogate pair, which JSON cannot hold: U+FFFD is kept in its place";

/// Serves a synchronous call. `token` identifies the running call of an author's function, and so its block. The error
/// is thrown in the flow.
pub(crate) fn sync(shared: &Shared, op: &str, token: u32, payload: &str) -> Result<Option<String>, String> {
    if op == "url" {
        let asked = parse(payload).map_err(|error| error.to_string())?;
        return Ok(crate::host::url::parts(&asked).map(|parts| parts.to_string()));
    }
    if op == "digest" {
        return crate::host::digest::digest(payload);
    }
    let zone = || shared.load_time.zone();
    match op {
        "locale" if payload == "zone" => return Ok(Some(zone().to_owned())),
        "locale" => return Ok(crate::host::locale::data(payload)),
        "zone_changes" => return Ok(time_zone::changes(payload, zone()).map(|changes| changes.to_string())),
        "zone_change" => {
            let (ms, name) = payload.split_once(' ').unwrap_or((payload, ""));
            let ms = ms.parse().map_err(|_| format!("{ms} is no time"))?;
            return Ok(time_zone::change_at(name, zone(), ms).map(|change| change.to_string()));
        }
        "zone_offset" | "zone_offset_of_local" => {
            let ms = payload.parse().map_err(|_| format!("{payload} is no time"))?;
            // In an unknown zone, local time is UTC.
            let found = if op == "zone_offset" {
                time_zone::offset(zone(), ms).map_or_else(|| "[0,null,null]".to_owned(), |found| found.to_string())
            } else {
                time_zone::offset_of_local(zone(), ms).unwrap_or(0).to_string()
            };
            return Ok(Some(found));
        }
        _ => {}
    }
    if op == "process" {
        return Ok(Some(json!({ "env": shared.load_time.env(), "cwd": shared.trace.workspace() }).to_string()));
    }
    if op == "stop" {
        return crate::host::cancel::cancel(shared, payload);
    }
    if op == "hold" {
        return crate::host::cancel::hold(shared, payload);
    }
    if op == "pattern" {
        return Pattern::declared(payload).map(|_| None);
    }
    if op == "visibility" {
        return visibility(payload).map(Some);
    }
    let cx = shared.contexts.borrow().get(&token).cloned();
    if op == "lone" {
        if let Some(cx) = cx.filter(|cx| cx.run.note_once(LONE.to_owned())) {
            cx.log("warn", LONE.to_owned());
        }
        return Ok(None);
    }
    let Some(cx) = cx else { return without_block(shared, op, token, payload) };
    let parsed = || parse(payload).map_err(|error| error.to_string());
    Ok(match op {
        "read" => {
            let asked = parsed()?;
            match state_of(&cx, &asked[0])? {
                None => Some("0\n{}".to_owned()),
                Some((stamp, _)) if Some(stamp.to_string().as_str()) == asked[1].as_str() => None,
                Some((stamp, state)) => {
                    Some(format!("{stamp}\n{}", fields_and_lists(&state).map_err(|error| error.to_string())?))
                }
            }
        }
        "chunk" => {
            let asked = parsed()?;
            let state = state_of(&cx, &asked[0])?;
            let entries = state.as_ref().and_then(|(_, state)| state.chunk(asked[1].as_str()?, asked[2].as_u64()?));
            let entries = entries.ok_or("the list has no such chunk")?;
            Some(serde_json::to_string(entries).map_err(|error| error.to_string())?)
        }
        "info" => Some(info(&cx).to_string()),
        "emit" => emit(&cx, parsed()?)?.map(|seq| seq.to_string()),
        "emit.update" => {
            let asked = parsed()?;
            let of = asked[0].as_u64().ok_or("an item has a number")?;
            cx.update_item(of, asked[1].as_str().ok_or("an item has fields")?, asked[2].clone());
            None
        }
        "emit.delta" => {
            let asked = parsed()?;
            let of = asked[0].as_u64().ok_or("an item has a number")?;
            cx.grow_item(of, asked[1].as_str().ok_or("a piece is a text")?.to_owned());
            None
        }
        "log" => {
            let asked = parsed()?;
            cx.log(asked[0].as_str().unwrap_or("log"), shared.trace.map_text(asked[1].as_str().unwrap_or_default()));
            None
        }
        "journal.append" => {
            let Value::Object(entry) = parsed()? else { return Err("a journal entry is an object".to_owned()) };
            Some(cx.append_journal(entry).to_string())
        }
        "journal.read" => {
            let asked = parsed()?;
            let limit = asked["limit"].as_u64().map(|n| n as usize);
            let offset = asked["offset"].as_u64().unwrap_or(0) as usize;
            let entries = cx.journal(limit, offset).map_err(|error| error.message)?;
            Some(Value::Array(entries).to_string())
        }
        "say" => {
            let asked = parsed()?;
            let text = asked[1].as_str().unwrap_or_default().to_owned();
            cx.stream_delta(if asked[0] == "reasoning" { ModelDelta::Reasoning(text) } else { ModelDelta::Text(text) });
            None
        }
        "hasOnce" => cx.has_once(parsed()?.as_str().unwrap_or_default()).then(String::new),
        "send" => Some(cx.next_send()),
        "usage" => {
            let usage = cx.run.usage.borrow();
            let budget = cx.run.flow.actions.get(&cx.run.start.action).and_then(|action| action.token_budget.as_ref());
            let mut json = serde_json::to_value(&*usage).map_err(|error| error.to_string())?;
            json["remaining"] =
                json!(budget.map(|budget| budget.max_total_tokens.saturating_sub(usage.total_consumed)));
            Some(json.to_string())
        }
        "metadata.read" => Some(cx.metadata().map_err(|error| error.message)?.to_string()),
        "metadata" => {
            cx.set_metadata(parsed()?);
            None
        }
        "items" => {
            let asked = parsed()?;
            if asked[0] == "request" {
                return Ok(Some(Value::Array(cx.request_items().map_err(|error| error.message)?).to_string()));
            }
            let view = asked[0].as_str().and_then(Audience::parse).ok_or("unknown view")?;
            let found = match view {
                Audience::History => cx
                    .session_history(&asked[1])
                    .map(|messages| messages.iter().map(engine::effects::Message::for_author).collect()),
                view => cx.session_items(view, &asked[1]),
            };
            Some(found.map_err(|error| error.message)?.to_string())
        }
        "target" => {
            let asked = parsed()?;
            match cx.target(asked.as_str().unwrap_or_default()) {
                Err(error) => Some(json!({ "error": error }).to_string()),
                Ok(None) => None,
                Ok(Some(found)) => Some(
                    json!({
                        "name": found.name(),
                        "instance": found.instance(),
                        "instanceId": format!("{}:{}", cx.caller().request, found.instance()),
                        "input": found.input().to_json(),
                        "hasState": found.own().is_some(),
                    })
                    .to_string(),
                ),
            }
        }
        // Only if no earlier operation is pending, to keep their order.
        "apply" if shared.pending_applies.borrow().is_empty() => apply(&cx, payload).map(|changed| changed.to_string()),
        "apply" => None,
        "relative.kind" => enclosing_block(&cx, payload).map(|frame| {
            let kind = if frame.own.is_some() { "stateful" } else { "stateless" };
            kind.to_owned()
        }),
        "relative.facts" => enclosing_block(&cx, payload).map(|frame| facts(&cx, &frame)),
        "relative.input" => enclosing_block(&cx, payload).and_then(|frame| {
            let input = frame.input.borrow();
            input.as_value().map(Value::to_string)
        }),
        "blockResult" => Some(cx.block_result(parsed()?.as_str().unwrap_or_default()).to_string()),
        "blockOutput" => cx.block_output(parsed()?.as_str().unwrap_or_default()).as_value().map(Value::to_string),
        "wasRescued" => Some(cx.was_rescued(parsed()?.as_str().unwrap_or_default()).to_string()),
        op if op.starts_with("flow.") => crate::host::agent_calls::sync(&cx, &op["flow.".len()..], payload)?,
        op if op.starts_with("resource") => crate::host::resource_calls::sync(&cx, op, payload)?,
        other => match sync_effect(other, payload) {
            Some(effect) => Some(encode_sync_effect(&cx.sync_effect(effect))),
            None => return Err(format!("unknown operation \"{other}\"")),
        },
    })
}

/// Returns who sees an item: `{ client, history }`.
fn visibility(payload: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked {
        r#type: String,
        agent_type: Option<AgentType>,
        item_visibility: Option<Visibility>,
    }
    let asked: Asked = from_json(payload).map_err(|error| error.to_string())?;
    let kind = canonical_item_type(&asked.r#type);
    let seen = resolve_item_visibility(kind, asked.agent_type, asked.item_visibility);
    serde_json::to_string(&seen).map_err(|error| error.to_string())
}

/// Returns the synchronous effect of an operation, or `None` if it has none.
fn sync_effect(op: &str, payload: &str) -> Option<SyncEffect> {
    Some(match op {
        "now" => SyncEffect::Clock,
        "clock" => SyncEffect::PreciseClock,
        "random" => SyncEffect::Random,
        "bytes" => SyncEffect::Bytes(payload.parse().ok()?),
        "uuid" => SyncEffect::Uuid,
        _ => return None,
    })
}

/// Returns the result of a synchronous effect as a string, which the SDK expects.
fn encode_sync_effect(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.get("base64").and_then(Value::as_str).unwrap_or_default().to_owned(),
        other => other.to_string(),
    }
}

/// Serves a call for which no block runs. While the file loads, clock and random values are real; after a block has
/// ended they are constants. All other calls fail.
fn without_block(shared: &Shared, op: &str, token: u32, payload: &str) -> Result<Option<String>, String> {
    match sync_effect(op, payload) {
        Some(effect) if token == LOAD_TOKEN => Ok(Some(encode_sync_effect(&shared.load_time.draw(effect)))),
        Some(effect) => Ok(Some(encode_sync_effect(&effect.placeholder()))),
        None if op == "log" => {
            let asked = parse(payload).map_err(|error| error.to_string())?;
            if let Some(cx) = shared.late.borrow().get(&token) {
                cx.log(
                    asked[0].as_str().unwrap_or("log"),
                    shared.trace.map_text(asked[1].as_str().unwrap_or_default()),
                );
            }
            Ok(None)
        }
        None if token == LOAD_TOKEN => Err("a file cannot ask for this while it loads; ask inside a block".to_owned()),
        None => Err("the block has ended; await what it starts before it returns".to_owned()),
    }
}

/// Applies a state operation (JSON, a line end, and its target) if it need not wait. Returns `None` if it must, and
/// also if it is invalid: the asynchronous call then reports the error.
fn apply(cx: &Cx, payload: &str) -> Option<bool> {
    let (operation, target) = payload.split_once('\n')?;
    cx.apply_at_once(&Target::parse(target)?, from_json(operation).ok()?)
}

fn info(cx: &Cx) -> Value {
    let (asked, caller) = (&cx.run.start, cx.caller());
    // A block has the capabilities of its ancestors; of two with the same name the outer one wins.
    let mut around: Vec<_> = cx.frame.chain().collect();
    around.reverse();
    let uses: Vec<u32> = around.iter().flat_map(|frame| frame.block.uses.iter().copied()).collect();
    let mut info = json!({
        "requestId": &*caller.request,
        "flow": &*cx.run.flow.kind,
        "action": asked.action,
        "startedAt": caller.began_at,
        "session": &*caller.session,
        "ephemeral": caller.ephemeral,
        "user": &*asked.user,
        "userRecord": asked.record_name(ScopeKind::User).as_deref(),
        "path": &*cx.frame.path,
        "instance": format!("{}:{}", caller.request, cx.frame.instance),
        "block": &*cx.frame.block.name,
        "kind": cx.frame.block.kind().as_str(),
        "attempt": cx.frame.tries,
        "uses": uses,
    });
    if let Some(project) = &asked.project {
        info["project"] = (&**project).into();
        info["projectRecord"] = asked.record_name(ScopeKind::Project).as_deref().into();
    }
    info
}

/// The state of a scope or a resource as the block sees it, and the stamp that changes with it.
fn state_of(cx: &Cx, target: &Value) -> Result<Option<(u64, Arc<State>)>, String> {
    let target = target.as_str().and_then(Target::parse).ok_or("unknown scope")?;
    match &target {
        Target::Resource(id, key) => cx.read_resource(*id, key.as_deref()).map(Some).map_err(|error| error.message),
        other => Ok(cx.read(other)),
    }
}

/// A state as a JSON object. Long lists are null in it; a second line holds, by field, the ids of the list's chunks,
/// each of which the SDK requests once, and the entries after the last chunk.
fn fields_and_lists(state: &State) -> serde_json::Result<String> {
    let lists: HashMap<&str, (Vec<u64>, &[Arc<Value>])> =
        state.long_lists().map(|list| (list.field, (list.chunks, list.rest))).collect();
    if lists.is_empty() {
        return serde_json::to_string(state);
    }
    let mut fields = state.clone();
    lists.keys().for_each(|field| fields.set(field, Arc::default()));
    Ok(format!("{}\n{}", serde_json::to_string(&fields)?, serde_json::to_string(&lists)?))
}

/// Returns the name, kind and id of an enclosing block. `relative.input` returns its input, which may be large.
fn facts(cx: &Cx, frame: &engine::frame::Frame) -> String {
    let facts = json!({
        "name": &*frame.block.name,
        "kind": frame.block.kind().as_str(),
        "instanceId": format!("{}:{}", cx.caller().request, frame.instance),
    });
    facts.to_string()
}

/// Emits an item. Returns the number of its event if it is a message or a component: a status may emit none.
fn emit(cx: &Cx, asked: Value) -> Result<Option<u64>, String> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Options {
        agent_type: Option<AgentType>,
        item_visibility: Option<Visibility>,
        agent_name: Option<String>,
        transient: Option<bool>,
        key: Option<String>,
        blocked: Option<bool>,
        background_tasks: Option<u64>,
    }
    let given: Options =
        engine::json::from_value(asked["options"].clone()).map_err(|error| format!("ctx.emit: {error}"))?;
    let options = EmitOptions {
        agent_type: given.agent_type,
        item_visibility: given.item_visibility,
        agent_name: given.agent_name,
        transient: given.transient,
        key: given.key,
    };
    match asked["kind"].as_str() {
        Some("message") => return Ok(Some(cx.emit_message("assistant", asked["content"].clone(), options))),
        Some("component") => {
            let name = asked["name"].as_str().unwrap_or_default();
            return Ok(Some(cx.emit_component(name, asked["data"].clone(), options)));
        }
        Some("status") => {
            let mut signals = Map::new();
            if let Some(blocked) = given.blocked {
                signals.insert("blocked".to_owned(), blocked.into());
            }
            if let Some(tasks) = given.background_tasks {
                signals.insert("backgroundTasks".to_owned(), tasks.into());
            }
            cx.emit_status(asked["message"].as_str().map(str::to_owned), signals, options);
        }
        other => return Err(format!("ctx.emit: unknown item {other:?}")),
    }
    Ok(None)
}
