//! What the attributes of spans are called: a table for each emitter and version of its conventions.
//!
//! A table is data, `tables/*.json`. A span is read by the first table that recognizes it, in the order of [`TABLES`].
//! What no table names is still kept with its span.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::span::ArrivedSpan;

/// The tables in the order in which they are tried: those that recognize most are last.
static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let texts = [
        include_str!("tables/flowglass.json"),
        include_str!("tables/openinference.json"),
        include_str!("tables/vercel-ai.json"),
        include_str!("tables/vercel-genai.json"),
        include_str!("tables/langsmith.json"),
        include_str!("tables/logfire.json"),
        include_str!("tables/openllmetry.json"),
        include_str!("tables/genai.json"),
        include_str!("tables/genai-old.json"),
    ];
    // A test reads each of them.
    texts.into_iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
});

/// Names of attributes, best first.
pub(super) type Keys = Vec<String>;

/// What a span is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// A call of a model.
    Model,
    /// A call of a tool.
    Tool,
    /// An agent's turn, or a loop around a model.
    Agent,
    /// Steps.
    Chain,
    /// A search.
    Retriever,
    /// A call of a model that answers vectors.
    Embedding,
    /// Anything else.
    #[default]
    Other,
}

/// One emitter's conventions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Table {
    /// The emitter, as people call it.
    pub(super) name: String,
    /// Of its conventions.
    pub(super) version: String,
    /// Instrumentation scopes: a span of one, or of one below it, is read by this table.
    scopes: Vec<String>,
    /// Attributes, or their beginnings: a span with one is read by this table.
    marks: Vec<String>,
    roles: Vec<RoleRule>,
    /// What a span is called whose name is a template.
    #[serde(default)]
    pub(super) label: Keys,
    /// An attribute and its value: a call of a model with it says what another one, beside and before it, streamed.
    #[serde(default)]
    end_of_stream: Option<(String, String)>,
    #[serde(default)]
    pub(super) input: Keys,
    #[serde(default)]
    pub(super) output: Keys,
    /// Whether inputs and outputs are always JSON, so that a text has quotes.
    #[serde(default)]
    pub(super) are_values_json: bool,
    /// The list of what a search found, `key.0.…`, `key.1.…`.
    #[serde(default)]
    pub(super) documents: Option<String>,
    #[serde(default)]
    pub(super) asked: Keys,
    #[serde(default)]
    pub(super) answered: Keys,
    /// A JSON object of what else a model was asked with.
    #[serde(default)]
    pub(super) parameters: Keys,
    /// The same one by one, by our names.
    #[serde(default)]
    pub(super) named: HashMap<String, Keys>,
    #[serde(default)]
    pub(super) prompt_tokens: Keys,
    #[serde(default)]
    pub(super) completion_tokens: Keys,
    #[serde(default)]
    pub(super) cache_read_input_tokens: Keys,
    #[serde(default)]
    pub(super) cache_creation_input_tokens: Keys,
    /// US dollars that the call cost.
    #[serde(default)]
    pub(super) cost: Keys,
    /// Instructions that are not among the messages.
    #[serde(default)]
    pub(super) system: Keys,
    /// The same as messages.
    #[serde(default)]
    pub(super) system_messages: Vec<Place>,
    #[serde(default)]
    pub(super) input_messages: Vec<Place>,
    #[serde(default)]
    pub(super) output_messages: Vec<Place>,
    /// All messages of an agent, with what it was asked and what it answered.
    #[serde(default)]
    pub(super) conversation: Keys,
    #[serde(default)]
    pub(super) tools: Vec<Place>,
    #[serde(default)]
    pub(super) finish: Keys,
    #[serde(default)]
    pub(super) tool_name: Keys,
    #[serde(default)]
    pub(super) tool_call_id: Keys,
    #[serde(default)]
    pub(super) session: Keys,
    #[serde(default)]
    pub(super) user: Keys,
}

/// How the role of a span is known.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RoleRule {
    /// By the value of an attribute.
    Value { key: String, is: HashMap<String, Role> },
    /// By an attribute that is there.
    Presence { has: String, role: Role },
}

/// Where messages, or tools, are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", tag = "as", deny_unknown_fields)]
pub(super) enum Place {
    /// `key.0.…`, `key.1.…`.
    List {
        key: String,
        #[serde(default)]
        role: Option<String>,
    },
    /// A JSON text, or a value, with all of them; or a field of it.
    Json {
        key: String,
        #[serde(default)]
        field: Option<String>,
        /// Whether each message without calls of tools is one choice among several.
        #[serde(default)]
        choices: bool,
        #[serde(default)]
        role: Option<String>,
    },
    /// A list of JSON texts.
    Items { key: String },
    /// One message, of attributes for its parts.
    Parts {
        role: String,
        #[serde(default)]
        text: Keys,
        #[serde(default)]
        reasoning: Keys,
        #[serde(default)]
        calls: Keys,
        #[serde(default)]
        object: Keys,
    },
    /// An attribute of the span's event of this name.
    Event {
        key: String,
        field: String,
        #[serde(default)]
        role: Option<String>,
    },
    /// The span's events of these names, each a message.
    Events { roles: HashMap<String, String> },
}

impl Table {
    /// The table for a span, if one recognizes it.
    pub(super) fn of(span: &ArrivedSpan) -> Option<&'static Table> {
        TABLES.iter().find(|table| table.recognizes(span))
    }

    fn recognizes(&self, span: &ArrivedSpan) -> bool {
        let scope = span.scope["name"].as_str().unwrap_or_default();
        let is_below = |known: &String| {
            scope.strip_prefix(known.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
        };
        let is_marked = |mark: &String| {
            span.attributes.contains_key(mark)
                || mark.ends_with('.') && span.attributes.keys().any(|key| key.starts_with(mark.as_str()))
        };
        let has_role = || self.roles.iter().any(|rule| rule.role(&span.attributes).is_some());
        self.marks.iter().any(is_marked) || self.scopes.iter().any(is_below) && (self.marks.is_empty() || has_role())
    }

    /// See [`end_of_stream`](Self::end_of_stream).
    pub(super) fn is_end_of_stream(&self, attributes: &Map<String, Value>) -> bool {
        self.end_of_stream.as_ref().is_some_and(|(key, value)| attributes.get(key).is_some_and(|is| is == value))
    }

    /// What a span is for.
    pub(super) fn role(&self, attributes: &Map<String, Value>) -> Role {
        self.roles.iter().find_map(|rule| rule.role(attributes)).unwrap_or_default()
    }
}

impl RoleRule {
    fn role(&self, attributes: &Map<String, Value>) -> Option<Role> {
        match self {
            RoleRule::Value { key, is } => is.get(attributes.get(key)?.as_str()?).copied(),
            RoleRule::Presence { has, role } => attributes.contains_key(has).then_some(*role),
        }
    }
}

/// The first of these attributes that is there and not empty.
pub(super) fn first<'a>(attributes: &'a Map<String, Value>, keys: &Keys) -> Option<&'a Value> {
    keys.iter().filter_map(|key| attributes.get(key)).find(|value| !value.is_null() && *value != "")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/foreign/tables")).unwrap() {
            let path = file.unwrap().path();
            let table: Table = serde_json::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(TABLES.iter().any(|known| known.name == table.name && known.version == table.version));
        }
    }
}
