//! What a prompt's model is told: its text, and the conversation as the side that speaks sees it (SEMANTICS §16.3).

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::hooks::{OnFailure, chain};
use super::state::FlowState;
use engine::effects::Message;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentHook, Prompt, PromptPart, Side};
use engine::views::flow_state::is_top_level;

/// What a model is not asked, because a hook said no.
pub(super) struct Blocked(pub(super) String);

/// Returns the messages of a model call, or the reason of the hook that refused it.
pub(super) async fn messages(
    flow: &FlowState,
    of: &Rc<AgentDefinitions>,
    prompt: &Prompt,
    side: Side,
) -> Result<Result<Vec<Message>, Blocked>, FlowError> {
    // Before hooks run: what they write to `context` is for the next text.
    let text = text_of(flow, of, prompt, 0, &mut MAX_INCLUDES.clone());
    let mut rows = if prompt.include_chat { flow.rows() } else { Vec::new() };
    rows.retain(|row| is_top_level(row) && row["status"] != "pending");
    rows.extend(flow.get("extraMessages").as_array().cloned().unwrap_or_default());
    let kept = rows.clone();
    let rows = chain(&flow.cx, of, AgentHook::FilterMessages, OnFailure::Log, rows.into(), |rows| vec![rows.clone()]);
    let rows = match rows.await? {
        Value::Array(rows) => rows,
        _ => kept,
    };
    let mut told = vec![json!({ "role": "system", "content": text })];
    told.retain(|system| system["content"] != "");
    let reasoning_of = prompt.includes_reasoning.then_some(&*prompt.name);
    told.extend(seen_by(side, is_human_b(flow, of), prompt.include_past_tools, reasoning_of, &rows));
    let kept = told.clone();
    let hook = AgentHook::PrefilterLlmHistory;
    let told = chain(&flow.cx, of, hook, OnFailure::Log, told.into(), |told| vec![told.clone()]).await?;
    if let Some(reason) = told["$blocked"].as_str() {
        return Ok(Err(Blocked(reason.to_owned())));
    }
    let told = match told {
        Value::Array(told) => told,
        _ => kept,
    };
    Ok(Ok(complete(&told)))
}

fn is_human_b(flow: &FlowState, of: &AgentDefinitions) -> bool {
    flow.agent(of).is_ok_and(|agent| agent.side(Side::B).is_human())
}

/// Prompts include others at most this deep: one that includes itself has no end.
const DEEPEST_INCLUDE: u32 = 16;

/// A prompt's text includes others at most so often: one that includes itself twice would double with each level.
const MAX_INCLUDES: u32 = 1_000;

/// The prompt's text, with its variables filled in; what was filled in is not looked at again. `left` counts down the
/// prompts that it may include.
fn text_of(flow: &FlowState, of: &AgentDefinitions, prompt: &Prompt, depth: u32, left: &mut u32) -> String {
    let mut values = match flow.get("context") {
        Value::Object(context) => context,
        _ => Map::new(),
    };
    if let Value::Object(arguments) = flow.get("arguments") {
        values.extend(arguments);
    }
    // As it is: what the log holds of it has no secrets.
    let env = flow.cx.run.effects.env();
    let parts = prompt.parts.iter().map(|part| match part {
        PromptPart::Text(text) => fill_in(text, &values),
        PromptPart::Variable(name) => values.get(name).map_or_else(|| format!("{{{{{name}}}}}"), plain),
        PromptPart::Env(name) => env.get(name).map(plain).unwrap_or_default(),
        PromptPart::Include(name) => match of.prompts.get(name) {
            Some(_) if depth >= DEEPEST_INCLUDE => format!("[Prompt included too deep: {name}]"),
            Some(_) if *left == 0 => format!("[Prompt included too often: {name}]"),
            Some(included) => {
                *left -= 1;
                text_of(flow, of, included, depth + 1, left)
            }
            None => format!("[Prompt not found: {name}]"),
        },
    });
    parts.collect()
}

/// Puts values in the place of `{{name}}`. A name without a value stays as it is.
fn fill_in(text: &str, values: &Map<String, Value>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        match after.split_once("}}") {
            Some((name, behind)) if values.contains_key(name.trim()) => {
                filled.push_str(&plain(&values[name.trim()]));
                rest = behind;
            }
            _ => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The conversation from one side: its own messages are the assistant's, the other's are the user's, and tools are
/// shown only to the side that called them. `reasoning_of` is the prompt that is told what it thought.
fn seen_by(side: Side, human_b: bool, include_tools: bool, reasoning_of: Option<&str>, rows: &[Value]) -> Vec<Value> {
    let as_is = side == Side::A && human_b;
    // Whether the newest message with a call of an id is its own: another one may have used the id before.
    let mut own_calls: HashMap<String, bool> = HashMap::new();
    let mut told = Vec::new();
    for row in rows {
        let role = row["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let is_own = row["tool_call_id"].as_str().is_some_and(|id| own_calls.get(id) == Some(&true));
            if include_tools && is_own {
                let content = row["content"].clone();
                told.push(json!({ "role": "tool", "tool_call_id": row["tool_call_id"], "name": row["name"],
                    "content": content, "tool_status": row["tool_status"] }));
            }
            continue;
        }
        let is_own = role == side.role();
        let role = match role {
            "assistant" | "user" if as_is => role,
            "assistant" | "user" if is_own => "assistant",
            "assistant" | "user" => "user",
            other => other,
        };
        let mut message = json!({ "role": role, "content": row["content"] });
        let calls = calls_of(row);
        own_calls.extend(calls.iter().filter_map(|call| Some((call["id"].as_str()?.to_owned(), is_own))));
        if include_tools && is_own && !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        if is_own && reasoning_of.is_some_and(|name| row["prompt"] == name) && row["reasoning_content"].is_string() {
            message["reasoning_content"] = row["reasoning_content"].clone();
        }
        let is_blank = message["content"].as_str().is_none_or(|text| text.trim().is_empty());
        if !is_blank || message.get("tool_calls").is_some() {
            told.push(message);
        }
    }
    told
}

/// The tool calls of a stored message, which are JSON text there.
pub(super) fn calls_of(row: &Value) -> Vec<Value> {
    let text = row["tool_calls"].as_str().unwrap_or("[]");
    match engine::data::parse(text) {
        Ok(Value::Array(calls)) => calls,
        _ => Vec::new(),
    }
}

/// The results of calls, by the place of the message that made a call and the call's id. Messages of a thread may use
/// the same ids, so a result belongs to the nearest such message before it.
fn results(told: &[Value]) -> HashMap<(usize, &str), &Value> {
    let mut found = HashMap::new();
    let mut later: HashMap<&str, &Value> = HashMap::new();
    for (at, message) in told.iter().enumerate().rev() {
        if message["role"] == "tool" {
            later.extend(message["tool_call_id"].as_str().map(|id| (id, message)));
            continue;
        }
        for id in message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| call["id"].as_str()) {
            found.extend(later.remove(id).map(|result| ((at, id), result)));
        }
    }
    found
}

/// An id that no call before has been told with: providers refuse one that is there twice. `told` counts the ids.
fn told_id(id: &str, told: &mut HashMap<String, u32>) -> String {
    let mut next = id.to_owned();
    while told.contains_key(&next) {
        let count = told.entry(id.to_owned()).or_insert(1);
        *count += 1;
        next = format!("{id}_{count}");
    }
    told.insert(next.clone(), 1);
    next
}

/// The messages in the form of a model call. Every call is followed by its result; one without gets a failure, because
/// providers refuse a call without.
fn complete(told: &[Value]) -> Vec<Message> {
    let results = results(told);
    let mut ids = HashMap::new();
    let mut all = Vec::new();
    for (at, message) in told.iter().enumerate().filter(|(_, message)| message["role"] != "tool") {
        let role = message["role"].as_str().unwrap_or("user").to_owned();
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let thought = message["reasoning_content"].as_str();
        if calls.is_empty() && thought.is_none() {
            all.push(Message { role, content: message["content"].clone() });
            continue;
        }
        let text = message["content"].as_str().filter(|text| !text.is_empty());
        let part = |kind: &str, text: &str| json!({ "type": kind, "text": text });
        let mut parts: Vec<Value> = thought.iter().map(|text| part("reasoning", text)).collect();
        parts.extend(text.iter().map(|text| part("text", text)));
        let told_ids: Vec<String> =
            calls.iter().map(|call| told_id(call["id"].as_str().unwrap_or_default(), &mut ids)).collect();
        parts.extend(calls.iter().zip(&told_ids).map(|(call, id)| {
            let arguments = call["function"]["arguments"].as_str().unwrap_or("{}");
            let args = engine::data::parse(arguments).unwrap_or_else(|_| arguments.into());
            let name = &call["function"]["name"];
            json!({ "type": "tool-call", "toolCallId": id, "toolName": name, "args": args })
        }));
        all.push(Message { role, content: parts.into() });
        all.extend(calls.iter().zip(&told_ids).map(|(call, id)| {
            let found = results.get(&(at, call["id"].as_str().unwrap_or_default()));
            let output = match found {
                Some(result) if result["tool_status"] == "error" => {
                    json!({ "type": "error-text", "value": result["content"] })
                }
                Some(result) => json!({ "type": "text", "value": result["content"] }),
                None => json!({ "type": "error-text", "value": "The tool was called and has no result." }),
            };
            let name = &call["function"]["name"];
            let part = json!({ "type": "tool-result", "toolCallId": id, "toolName": name, "output": output });
            Message { role: "tool".to_owned(), content: json!([part]) }
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_unknown_ones_stay() {
        let values = Map::from_iter([("name".to_owned(), json!("Ada")), ("n".to_owned(), json!(2))]);
        assert_eq!(fill_in("Hi {{name}}, {{ n }} {{who}} {{", &values), "Hi Ada, 2 {{who}} {{");
    }

    #[test]
    fn each_side_sees_itself_as_the_assistant() {
        let rows = [json!({ "role": "assistant", "content": "a" }), json!({ "role": "user", "content": "b" })];
        let roles = |side| -> Vec<Value> {
            seen_by(side, false, true, None, &rows).iter().map(|message| message["role"].clone()).collect()
        };
        assert_eq!(roles(Side::A), ["assistant", "user"]);
        assert_eq!(roles(Side::B), ["user", "assistant"]);
    }

    #[test]
    fn a_result_belongs_to_the_nearest_call_before_it() {
        let call = |ids: &[&str]| {
            let calls: Vec<Value> =
                ids.iter().map(|id| json!({ "id": id, "function": { "name": "t", "arguments": "{}" } })).collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        };
        let result = |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
        let told = [
            result("a", "before"),
            call(&["a", "b"]),
            result("b", "b of one"),
            result("a", "a of one"),
            call(&["b"]),
            call(&["b", "a"]),
            result("b", "b of three"),
        ];
        let messages = complete(&told);
        let results: Vec<(Value, Value)> = messages
            .iter()
            .filter(|message| message.role == "tool")
            .map(|message| (message.content[0]["toolCallId"].clone(), message.content[0]["output"]["value"].clone()))
            .collect();
        let none = "The tool was called and has no result.";
        let expected = [("a", "a of one"), ("b", "b of one"), ("b_2", none), ("b_3", "b of three"), ("a_2", none)];
        assert_eq!(results, expected.map(|(id, text)| (json!(id), json!(text))));
    }

    #[test]
    fn a_side_does_not_see_the_tools_of_the_other() {
        let calls = r#"[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]"#;
        let rows = [
            json!({ "role": "assistant", "content": "x", "tool_calls": calls }),
            json!({ "role": "tool", "content": "r", "tool_call_id": "c" }),
        ];
        assert_eq!(seen_by(Side::A, false, true, None, &rows).len(), 2);
        assert_eq!(seen_by(Side::B, false, true, None, &rows), [json!({ "role": "user", "content": "x" })]);
        // Also if both have used the id.
        let both: Vec<Value> =
            rows.iter().cloned().chain([json!({ "role": "user", "content": "y", "tool_calls": calls })]).collect();
        let more = [both, vec![json!({ "role": "tool", "content": "q", "tool_call_id": "c" })]].concat();
        let of_tools = |side| -> Vec<Value> {
            let told = seen_by(side, false, true, None, &more).into_iter();
            told.filter(|message| message["role"] == "tool").map(|message| message["content"].clone()).collect()
        };
        assert_eq!((of_tools(Side::A), of_tools(Side::B)), (vec![json!("r")], vec![json!("q")]));
        assert_eq!(seen_by(Side::A, false, false, None, &rows), [json!({ "role": "assistant", "content": "x" })]);
    }
}
