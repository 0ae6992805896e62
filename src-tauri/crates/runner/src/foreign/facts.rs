//! What a span says of itself, read by the table of its emitter.

mod call;
mod places;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(crate) use self::call::EMBEDDINGS;
use self::call::model_call;
use self::places::{Told, found};
use super::messages::{self, opened};
use super::span::{ArrivedSpan, ERROR};
use super::tables::{Keys, Role, Table, first};

/// No call of a model uses more tokens of a kind.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The event of a span with the messages of its call.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// What a span is, without a copy of anything that it holds: this is known of all spans of a trace at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outline {
    /// The table of its emitter, if one recognizes it.
    table: Option<&'static Table>,
    pub(super) role: Role,
    /// Whether it says what a model used.
    pub(super) has_usage: bool,
    /// Whether it says what a call streamed that another span, which ended before, has begun.
    pub(super) is_end_of_stream: bool,
    pub(super) is_failed: bool,
    pub(super) has_session: bool,
    pub(super) has_user: bool,
}

/// What a span says, in our words.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) input: Option<Value>,
    /// Whether the input is what a user said last in all of an agent's messages. An emitter may write there, as a
    /// user's, what the agent asked the model to mend.
    pub(super) is_input_said_last: bool,
    pub(super) output: Option<Value>,
    pub(super) tool_call_id: Option<String>,
    pub(super) call: Option<Call>,
    /// What it says that cannot be.
    pub(super) notes: Vec<String>,
}

/// A call of a model, as the log records one.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Value,
    pub(super) result: Value,
}

impl Outline {
    pub(super) fn of(span: &ArrivedSpan) -> Outline {
        let Some(table) = Table::of(span) else { return Outline::default() };
        let has_usage = !usage(table, &completed(span), &mut Vec::new()).is_empty();
        let has = |keys: &Keys| first(&span.attributes, keys).is_some_and(Value::is_string);
        Outline {
            table: Some(table),
            role: table.role(&span.attributes),
            has_usage,
            is_end_of_stream: table.is_end_of_stream(&span.attributes),
            is_failed: span.status.code == ERROR,
            has_session: has(&table.session),
            has_user: has(&table.user),
        }
    }

    /// Whether it can be a call of a model: others than [`Role::Model`] are if nothing inside them says what they used.
    pub(super) fn asks_model(&self) -> bool {
        match self.role {
            Role::Model => true,
            Role::Agent | Role::Embedding => self.has_usage,
            _ => false,
        }
    }

    /// The emitter whose conventions it follows, and which version of them.
    pub(super) fn emitter(&self) -> Option<(&'static str, &'static str)> {
        self.table.map(|table| (&*table.name, &*table.version))
    }

    /// What its block is called, if not as the span.
    pub(super) fn name<'s>(&self, span: &'s ArrivedSpan) -> Option<&'s str> {
        let of_tool = self.text(span, |table| &table.tool_name).filter(|_| self.role == Role::Tool);
        of_tool.or_else(|| Some(label(self.table?, span)))
    }

    /// What the span is called.
    pub(super) fn label<'s>(&self, span: &'s ArrivedSpan) -> &'s str {
        self.table.map_or(span.name.as_str(), |table| label(table, span))
    }

    pub(super) fn session(&self, span: &ArrivedSpan) -> Option<String> {
        self.text(span, |table| &table.session).map(str::to_owned)
    }

    pub(super) fn user(&self, span: &ArrivedSpan) -> Option<String> {
        self.text(span, |table| &table.user).map(str::to_owned)
    }

    fn text<'s>(&self, span: &'s ArrivedSpan, keys: impl Fn(&'static Table) -> &'static Keys) -> Option<&'s str> {
        first(&span.attributes, keys(self.table?))?.as_str()
    }
}

impl Facts {
    pub(super) fn of(span: &ArrivedSpan, outline: &Outline) -> Facts {
        let Some(table) = outline.table else { return Facts::default() };
        let completed = completed(span);
        let attributes = &*completed;
        let told = Told { span, attributes };
        let open = if table.are_values_json { messages::opened_json } else { opened };
        let documents = table.documents.as_ref().map(|key| messages::list(attributes, key));
        let documents = documents.filter(|all| !all.is_empty()).map(Value::Array);
        let mut facts = Facts {
            input: first(attributes, &table.input).map(open),
            is_input_said_last: false,
            output: first(attributes, &table.output).map(open).or(documents),
            tool_call_id: first(attributes, &table.tool_call_id).and_then(Value::as_str).map(str::to_owned),
            call: None,
            notes: Vec::new(),
        };
        if outline.asks_model() {
            let usage = usage(table, attributes, &mut facts.notes);
            facts.call = Some(model_call(table, outline.role, told, usage));
        }
        if outline.role == Role::Agent {
            let all = first(attributes, &table.conversation).map(|all| messages::messages(all, None));
            let all = all.unwrap_or_else(|| {
                [found(&table.input_messages, told).0, found(&table.output_messages, told).0].concat()
            });
            let said = |role: &str| all.iter().rfind(|message| message["role"] == role).map(spoken);
            facts.is_input_said_last = facts.input.is_none();
            facts.input = facts.input.or_else(|| said("user"));
            facts.output = facts.output.or_else(|| said("assistant"));
        }
        facts
    }
}

/// The attributes of a span, with those of the event that holds the messages of its call.
fn completed(span: &ArrivedSpan) -> Cow<'_, Map<String, Value>> {
    let mut attributes = Cow::Borrowed(&span.attributes);
    for (name, value) in span.all_events().filter(|event| event.name == DETAILS).flat_map(|event| &event.attributes) {
        if !attributes.contains_key(name) {
            attributes.to_mut().insert(name.clone(), value.clone());
        }
    }
    attributes
}

/// What a span is called: its name, or what its emitter made of that if it is a template.
fn label<'s>(table: &Table, span: &'s ArrivedSpan) -> &'s str {
    let made = first(&span.attributes, &table.label).and_then(Value::as_str);
    made.filter(|_| span.name.contains('{')).unwrap_or(&span.name)
}

/// The text of a message, or its content if it is not all text.
pub(super) fn spoken(message: &Value) -> Value {
    let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    if texts.is_empty() { message["content"].clone() } else { texts.concat().into() }
}

/// The tokens that a span says were used. Counts that cannot be are left out and noted.
fn usage(table: &Table, attributes: &Map<String, Value>, notes: &mut Vec<String>) -> Map<String, Value> {
    let keys = [
        ("promptTokens", &table.prompt_tokens),
        ("completionTokens", &table.completion_tokens),
        ("cacheReadInputTokens", &table.cache_read_input_tokens),
        ("cacheCreationInputTokens", &table.cache_creation_input_tokens),
    ];
    let mut used = Map::new();
    for (name, keys) in keys {
        let Some(value) = first(attributes, keys) else { continue };
        // Some emitters write numbers as texts.
        let of_text = value.as_str().and_then(|text| text.trim().parse::<serde_json::Number>().ok().map(Value::Number));
        let value = of_text.as_ref().unwrap_or(value);
        let count = value.as_u64().or_else(|| Some(value.as_f64().filter(|count| *count >= 0.0)? as u64));
        match count.filter(|count| *count <= MOST_TOKENS) {
            Some(count) => drop(used.insert(name.to_owned(), count.into())),
            None => notes.push(format!("it says that {name} are {value}, which cannot be: they are not counted")),
        }
    }
    used
}
