//! The messages of a model call: system messages, history, the user's message (SEMANTICS §6.3).
//!
//! The system messages are built again for every step, because they may contain state that a tool has written.

use indexmap::IndexMap;
use serde_json::Value;

use super::tools::Tool;
use crate::execution::ctx::Context;
use crate::execution::step::callback::resolve_value;
use crate::model::data::Data;
use crate::model::effects::Message;
use crate::model::error::FlowError;
use crate::model::flow::{Generator, History};

/// Returns a message of this role and content.
pub(super) fn message(role: &str, content: impl Into<Value>) -> Message {
    Message { role: role.to_owned(), content: content.into() }
}

/// Returns the prompt and the system messages: prompt and tagged context in one message, then the context's plain texts
/// and messages.
pub(super) async fn system(
    cx: &Context,
    generator: &Generator,
    tools: &[Tool],
    input: &Data,
) -> Result<(String, Vec<Message>), FlowError> {
    let mut prompt = Vec::new();
    for part in &generator.prompt {
        match resolve_value(cx, "prompt", part, input).await? {
            Value::String(part) if !part.is_empty() => prompt.push(part),
            Value::String(_) | Value::Null => {}
            other => prompt.push(other.to_string()),
        }
    }
    let mut gathered = Gathered::default();
    for entry in &generator.context {
        gathered.add(resolve_value(cx, "context", entry, input).await?)?;
    }
    let described = tools.iter().filter_map(|tool| {
        let words = tool.offer.description.as_ref()?;
        Some(format!("- {}: {words}", tool.offer.name))
    });
    let described: Vec<String> = if generator.describe_tools { described.collect() } else { Vec::new() };
    if !described.is_empty() {
        gathered.messages.push(message("system", format!("<tools>\n{}\n</tools>", described.join("\n"))));
    }
    let prompt = prompt.join("\n");
    let mut first = prompt.clone();
    let tagged = render(&gathered.tags);
    if !tagged.is_empty() {
        if !first.is_empty() {
            first.push_str("\n\n");
        }
        first.push_str(&tagged);
    }
    let mut all = Vec::new();
    if !first.is_empty() {
        all.push(message("system", first));
    }
    all.extend(gathered.messages);
    Ok((prompt, all))
}

/// Returns the history, then the user's messages. The first of these is left out if the history ends with it.
pub(super) async fn conversation(cx: &Context, generator: &Generator, input: &Data) -> Result<Vec<Message>, FlowError> {
    let mut all = match &generator.history {
        None => Vec::new(),
        Some(History::Query(query)) => cx.session_history(query)?,
        Some(History::Slot(slot)) => spoken(resolve_value(cx, "history", slot, input).await?),
    };
    let Some(user) = &generator.user else { return Ok(all) };
    let mut said = spoken(resolve_value(cx, "user", user, input).await?);
    let repeats = match (all.last(), said.first()) {
        (Some(last), Some(first)) => last.role == "user" && first.role == "user" && last.content == first.content,
        _ => false,
    };
    if repeats {
        said.remove(0);
    }
    all.extend(said);
    Ok(all)
}

/// Returns the messages of a value: a message unchanged, anything else as a message of the user.
fn spoken(value: Value) -> Vec<Message> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(parts) if parts.iter().all(|part| part.is_string() || is_message(part)) => {
            parts.into_iter().flat_map(spoken).collect()
        }
        value if is_message(&value) => {
            let role = value["role"].as_str().unwrap_or("user").to_owned();
            vec![Message::for_log(role, value["content"].clone())]
        }
        other => vec![message("user", other)],
    }
}

/// Returns whether a value is an object with a role that models know and a content.
fn is_message(value: &Value) -> bool {
    matches!(value["role"].as_str(), Some("system" | "user" | "assistant" | "tool")) && value.get("content").is_some()
}

/// The entries of `context`: tagged texts, and messages.
#[derive(Default)]
struct Gathered {
    tags: IndexMap<String, Tag>,
    messages: Vec<Message>,
}

/// The content of one tag.
enum Tag {
    Texts(Vec<String>),
    Nested(IndexMap<String, Tag>),
    /// No content yet: the tag keeps its place in the order.
    Empty,
}

impl Gathered {
    fn add(&mut self, value: Value) -> Result<(), FlowError> {
        match value {
            Value::String(text) if text.is_empty() => Ok(()),
            Value::String(text) => {
                self.messages.push(message("system", text));
                Ok(())
            }
            Value::Array(entries) => entries.into_iter().try_for_each(|entry| self.add(entry)),
            value if is_message(&value) => {
                self.messages.extend(spoken(value));
                Ok(())
            }
            Value::Object(fields) if fields.contains_key("role") => Err(FlowError::plain(format!(
                "a context message needs a role (system, user, assistant or tool) and a content, not {}",
                Value::Object(fields)
            ))),
            Value::Object(fields) => fields.into_iter().try_for_each(|(key, value)| put(&mut self.tags, key, value)),
            _ => Ok(()),
        }
    }
}

/// Adds a value under a key: texts of one key are collected, objects of one key are merged.
fn put(tags: &mut IndexMap<String, Tag>, key: String, value: Value) -> Result<(), FlowError> {
    let name = kebab(&key);
    check_tag(&name)?;
    let slot = tags.entry(name).or_insert(Tag::Empty);
    match value {
        Value::Null => Ok(()),
        Value::Object(fields) => {
            if matches!(slot, Tag::Empty) {
                *slot = Tag::Nested(IndexMap::new());
            }
            let Tag::Nested(inner) = slot else { return Err(mismatch(&key)) };
            fields.into_iter().try_for_each(|(key, value)| put(inner, key, value))
        }
        Value::Array(entries) => entries.into_iter().try_for_each(|entry| put(tags, key.clone(), entry)),
        scalar => {
            if matches!(slot, Tag::Empty) {
                *slot = Tag::Texts(Vec::new());
            }
            let Tag::Texts(texts) = slot else { return Err(mismatch(&key)) };
            texts.push(match scalar {
                Value::String(text) => text,
                other => other.to_string(),
            });
            Ok(())
        }
    }
}

fn mismatch(key: &str) -> FlowError {
    FlowError::plain(format!("Context key \"{key}\" type mismatch: it holds both texts and an object"))
}

/// Names that have a meaning for the engine, or for models that were trained with them.
const RESERVED_TAGS: [&str; 13] = [
    "active-skill",
    "thinking",
    "answer",
    "tool-use",
    "tool-result",
    "function-calls",
    "invoke",
    "parameter",
    "system",
    "user",
    "assistant",
    "role",
    "message",
];

fn check_tag(name: &str) -> Result<(), FlowError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_word) {
        return Err(FlowError::plain(format!(
            "Invalid context tag name {name:?}: a tag is of small letters, digits and dashes, and begins with a letter"
        )));
    }
    if RESERVED_TAGS.contains(&name) {
        return Err(FlowError::plain(format!(
            "Reserved context tag name {name:?}: models give it a meaning of its own; use another name"
        )));
    }
    Ok(())
}

/// Writes the tags with their contents indented by two columns. Tags inside a text are escaped.
fn render(tags: &IndexMap<String, Tag>) -> String {
    let parts = tags.iter().filter_map(|(tag, inside)| {
        let body = match inside {
            Tag::Empty => return None,
            Tag::Texts(texts) => escaped(&filled(texts)),
            Tag::Nested(inner) => render(inner),
        };
        (!body.is_empty()).then(|| format!("<{tag}>\n{}\n</{tag}>", indented(&body)))
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn filled(texts: &[String]) -> String {
    texts.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn indented(text: &str) -> String {
    let lines = text.split('\n').map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// `recentNotes` as `recent-notes`.
fn kebab(key: &str) -> String {
    let mut tag = String::new();
    for c in key.chars() {
        if c.is_uppercase() {
            if !tag.is_empty() {
                tag.push('-');
            }
            tag.extend(c.to_lowercase());
        } else {
            tag.push(if c.is_alphanumeric() { c } else { '-' });
        }
    }
    tag
}
