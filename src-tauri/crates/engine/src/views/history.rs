//! View: a session's items by query, and as the messages a model sees (SEMANTICS §7.4).
//!
//! A turn is one earlier request. Limits cut only between turns, and the newest turn is always shown, because a
//! conversation without the last message is useless.

use serde_json::{Value, json};

use super::items::{Audience, Item};
use crate::model::effects::Message;
use crate::model::item::{AgentType, ItemStatus, Visibility, canonical_item_type};

/// The types of items in the history, unless the query names others.
const CONVERSATION: [&str; 3] = ["message", "reasoning", "block_tool_output"];

/// Which items, and how many. Authors know it as `ItemQuery`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// How many earlier items or requests.
    pub limit: Option<Limit>,
    /// Whether transient items are included.
    pub include_transient: bool,
    /// Only these types, in canonical spelling.
    pub item_types: Option<Vec<String>>,
    /// Only messages of these roles; for [`messages`].
    pub roles: Option<Vec<String>>,
    /// Only these agents.
    pub agent_names: Option<Vec<String>>,
    /// Only agents of these types.
    pub agent_types: Option<Vec<AgentType>>,
    /// Only items with exactly this resolved visibility.
    pub item_visibility: Option<Visibility>,
    /// Whether the items of the running request are left out.
    pub without_in_flight: bool,
}

/// How many earlier items or requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A plain number: turns for [`messages`], items for [`select`].
    Last(usize),
    /// Whole requests.
    Turns(usize),
    /// As many as fit, at four characters per token.
    Tokens(usize),
}

impl Query {
    /// Reads an `ItemQuery`. The error names the field and what would be right.
    pub fn parse(value: &Value) -> Result<Query, String> {
        let Some(fields) = value.as_object() else {
            return match value {
                Value::Null | Value::Bool(true) => Ok(Query::default()),
                other => Err(format!("an item query is an object like {{ limit: {{ turns: 3 }} }}, not {other}")),
            };
        };
        let mut query = Query::default();
        for (name, value) in fields {
            match name.as_str() {
                "limit" => query.limit = Limit::parse(value)?,
                "includeTransient" => query.include_transient = value.as_bool().unwrap_or(false),
                "includeInFlight" => query.without_in_flight = value == &Value::Bool(false),
                "itemTypes" | "types" => {
                    let types = list(name, value)?;
                    query.item_types = Some(types.iter().map(|t| canonical_item_type(t).to_owned()).collect());
                }
                "roles" => query.roles = Some(list(name, value)?),
                "agentName" => query.agent_names = Some(texts(name, value)?),
                "agentType" => {
                    let list = if value.is_array() { value.clone() } else { json!([value]) };
                    query.agent_types = Some(
                        crate::model::json::from_value(list)
                            .map_err(|_| format!("agentType is primary, sub or trace, not {value}"))?,
                    );
                }
                "itemVisibility" => {
                    query.item_visibility = Some(
                        crate::model::json::from_value(value.clone())
                            .map_err(|_| format!("itemVisibility is {{ client, history }}, not {value}"))?,
                    );
                }
                // Ignore unknown fields of newer versions.
                _ => {}
            }
        }
        Ok(query)
    }

    fn admits(&self, item: &Item) -> bool {
        let named = |names: &Vec<String>| item.agent_name.as_ref().is_some_and(|name| names.contains(name));
        (self.include_transient || !item.transient)
            && self.item_types.as_ref().is_none_or(|types| types.contains(&item.item_type))
            && self.agent_names.as_ref().is_none_or(named)
            && self.agent_types.as_ref().is_none_or(|types| item.agent_type.is_some_and(|kind| types.contains(&kind)))
            && self.item_visibility.is_none_or(|wanted| wanted == item.visibility)
    }
}

impl Limit {
    fn parse(value: &Value) -> Result<Option<Limit>, String> {
        let wrong = || format!("limit is a number, {{ turns: number }} or {{ tokens: number }}, not {value}");
        // A negative number counts as zero.
        let count = |value: &Value| value.as_f64().map(|n| n.max(0.0) as usize).ok_or_else(wrong);
        Ok(Some(match value {
            Value::Null => return Ok(None),
            Value::Number(_) => Limit::Last(count(value)?),
            Value::Object(fields) => match (fields.get("turns"), fields.get("tokens")) {
                (Some(turns), _) => Limit::Turns(count(turns)?),
                (_, Some(tokens)) => Limit::Tokens(count(tokens)?),
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        }))
    }
}

fn list(name: &str, value: &Value) -> Result<Vec<String>, String> {
    if value.is_array() {
        texts(name, value)
    } else {
        let like = if name == "roles" { "user" } else { "message" };
        Err(format!("{name} is a list of texts, like [\"{like}\"], not {value}"))
    }
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            Ok(list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
        }
        other => Err(format!("{name} is a text or a list of texts, not {other}")),
    }
}

/// The items that an audience sees, oldest first: earlier requests, then the running one.
pub fn select(turns: Vec<Vec<Item>>, live: Vec<Item>, audience: Audience, query: &Query) -> Vec<Item> {
    let wanted = |item: &Item| {
        let sees = match audience {
            Audience::Client => item.visibility.client,
            Audience::History => item.visibility.history,
            Audience::All | Audience::Trace => audience.sees(item),
        };
        sees && query.admits(item)
    };
    let mut turns: Vec<Vec<Item>> =
        turns.into_iter().map(|turn| turn.into_iter().filter(|item| wanted(item)).collect()).collect();
    if audience != Audience::History {
        // A turn without items does not count.
        turns.retain(|turn| !turn.is_empty());
    }
    let live: Vec<Item> = live.into_iter().filter(|item| wanted(item)).collect();
    let turns_kept = match (audience, query.limit) {
        (_, Some(Limit::Turns(count))) => count,
        // History is always cut between turns.
        (Audience::History, Some(Limit::Tokens(budget))) => newest_that_fit(
            turns.iter().map(|turn| turn.iter().flat_map(of_item).map(|m| tokens_of(&m.content)).sum()),
            budget,
        ),
        _ => turns.len(),
    };
    turns.drain(..turns.len().saturating_sub(turns_kept));
    let mut all: Vec<Item> = turns.into_iter().flatten().chain(live).collect();
    let kept = match (audience, query.limit) {
        (_, Some(Limit::Last(count))) => count,
        (Audience::History, _) => all.len(),
        (_, Some(Limit::Tokens(budget))) => {
            newest_that_fit(all.iter().map(|item| tokens_of(&Value::Object(item.payload.clone()))), budget)
        }
        _ => all.len(),
    };
    all.drain(..all.len().saturating_sub(kept));
    all
}

/// The messages of a session: earlier requests within the limit, then the running one.
pub fn messages(turns: &[Vec<Item>], live: &[Item], query: &Query) -> Vec<Message> {
    let expand = |turn: &Vec<Item>| -> Vec<Message> { expand(turn, query) };
    let mut earlier: Vec<Vec<Message>> = turns.iter().map(expand).collect();
    let kept = match query.limit {
        Some(Limit::Last(count) | Limit::Turns(count)) => count,
        Some(Limit::Tokens(budget)) => {
            newest_that_fit(earlier.iter().map(|turn| turn.iter().map(|m| tokens_of(&m.content)).sum()), budget)
        }
        None => earlier.len(),
    };
    earlier.drain(..earlier.len().saturating_sub(kept));
    let mut all: Vec<Message> = earlier.into_iter().flatten().collect();
    if !query.without_in_flight {
        all.extend(expand(&live.to_vec()));
    }
    // Models refuse a result without its call, and a call without a result.
    let start = all.iter().position(|message| message.role != "tool").unwrap_or(all.len());
    all.drain(..start);
    while all.last().is_some_and(is_only_calls) {
        all.pop();
    }
    all
}

fn is_only_calls(message: &Message) -> bool {
    message.role == "assistant"
        && message.content.as_array().is_some_and(|parts| parts.iter().all(|part| part["type"] == "tool-call"))
}

/// How many of the newest fit into a budget. The newest always counts as fitting.
fn newest_that_fit(sizes: impl DoubleEndedIterator<Item = usize>, budget: usize) -> usize {
    let mut used = 0;
    let mut count = 0;
    for size in sizes.rev() {
        if count > 0 && used + size > budget {
            break;
        }
        used += size;
        count += 1;
    }
    count
}

/// Four characters of JSON make a token.
fn tokens_of(content: &Value) -> usize {
    let characters = match content {
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    };
    characters.div_ceil(4)
}

fn expand(turn: &[Item], query: &Query) -> Vec<Message> {
    let wanted = |item: &&Item| {
        !item.transient
            && item.visibility.history
            && (query.item_types.is_some() || CONVERSATION.contains(&item.item_type.as_str()))
            && query.admits(item)
    };
    turn.iter()
        .filter(wanted)
        .flat_map(of_item)
        .filter(|message| query.roles.as_ref().is_none_or(|roles| roles.contains(&message.role)))
        .collect()
}

/// Converts an item to messages. Empty texts are left out.
pub fn of_item(item: &Item) -> Vec<Message> {
    let spoken = |role: &str, parts: Option<&Value>| {
        let text = parts.map(joined_text).unwrap_or_default();
        if text.is_empty() { Vec::new() } else { vec![Message { role: role.to_owned(), content: text.into() }] }
    };
    match item.item_type.as_str() {
        "message" => {
            let role = item.payload.get("role").and_then(Value::as_str).unwrap_or("assistant");
            spoken(role, item.payload.get("content"))
        }
        "reasoning" => spoken("assistant", item.payload.get("summary").or_else(|| item.payload.get("content"))),
        "block_tool_output" => tool_messages(item),
        _ => Vec::new(),
    }
}

/// A call and its result, as two messages.
fn tool_messages(item: &Item) -> Vec<Message> {
    let Some(call) = item.payload.get("toolCall") else { return Vec::new() };
    let id = &call["callId"];
    let name =
        call["alias"].as_str().map_or_else(|| tool_alias(call["name"].as_str().unwrap_or_default()), str::to_owned);
    let args: Value =
        call["arguments"].as_str().and_then(|text| crate::model::json::parse(text).ok()).unwrap_or_else(|| json!({}));
    let output = match item.status {
        ItemStatus::InProgress => return Vec::new(),
        ItemStatus::Failed | ItemStatus::Incomplete => {
            let message = item.payload.get("error").and_then(|error| error["message"].as_str());
            json!({ "type": "error-text", "value": message.unwrap_or("it did not end") })
        }
        ItemStatus::Completed => match item.payload.get("modelOutput").or_else(|| item.payload.get("output")) {
            Some(Value::String(text)) => json!({ "type": "text", "value": text }),
            other => json!({ "type": "text", "value": other.unwrap_or(&Value::Null).to_string() }),
        },
    };
    let asked = json!([{ "type": "tool-call", "toolCallId": id, "toolName": name, "args": args }]);
    let answered = json!([{ "type": "tool-result", "toolCallId": id, "toolName": name, "output": output }]);
    vec![
        Message { role: "assistant".to_owned(), content: asked },
        Message { role: "tool".to_owned(), content: answered },
    ]
}

/// A tool's name in characters that models accept.
pub fn tool_alias(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// The `payload` of an item for flows: the text of a message, the output of a tool, or the whole item.
pub fn payload(item: &Item) -> Value {
    match item.item_type.as_str() {
        "message" => {
            let content = item.payload.get("content").cloned().unwrap_or_default();
            let text = joined_text(&content);
            if text.is_empty() { content } else { text.into() }
        }
        _ => item.payload.get("output").cloned().unwrap_or_else(|| Value::Object(item.payload.clone())),
    }
}

/// The text of content parts, joined.
pub fn joined_text(parts: &Value) -> String {
    match parts {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("")
        }
        _ => String::new(),
    }
}
