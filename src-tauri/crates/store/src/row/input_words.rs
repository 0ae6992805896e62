//! The first words of what a request or a block was called with, by which people tell them apart in a list.
//!
//! Those of a request are a column of its row, derived from the event that holds its input, so that a list reads no
//! event: from its first event, or from the last event that gave a fork another input. A row keeps the words that the
//! version derived which wrote it: [`of_request_before`] are those of older versions.

use engine::event::{EventKind, Recorded};
use serde_json::{Map, Value};

use crate::row::body::{self, Reference};
use crate::sql::without_nul;

/// Longer texts are cut.
const MAX_CHARS: usize = 120;
/// The same of a block's words, which stand in a row of a tree.
const MAX_BLOCK_CHARS: usize = 40;
/// The fields in which people mostly write, in the order of how much they say.
const TELLING: [&str; 13] = [
    "message", "messages", "content", "text", "question", "prompt", "query", "topic", "goal", "task", "title",
    "subject", "name",
];
/// The fields that name one entry of a list.
const NAMING: [&str; 3] = ["id", "name", "title"];
/// Who speaks in a message.
const ROLES: [&str; 8] = ["system", "user", "human", "assistant", "ai", "tool", "developer", "function"];
/// How many values of an object without such a field are shown.
const MAX_VALUES: usize = 3;
/// Deeper values say nothing in a line.
const MAX_DEPTH: usize = 4;
/// A text without a space that is as long and has as many digits as an id made by a machine.
const ID_CHARS: usize = 20;
const ID_DIGITS: usize = 6;

/// Which version of the program derives the words.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Version {
    /// `order 17`, `isDry true`, `tickets Where is my bill?`.
    First,
    /// `Order 17`, `dry`, `Where is my bill?`; of any list of objects the words of the last one.
    Second,
    /// Only of a list of messages the words of the last one.
    Third,
    /// Of a message that is a pair of a role and a text, the text.
    Now,
}

/// Whether an event holds the input of its request. The last such event counts.
pub(crate) fn holds_input(kind: &EventKind, path: Option<&str>) -> bool {
    matches!(kind, EventKind::RequestStarted { .. } | EventKind::InputEdited { .. }) && path.is_none()
}

/// The first words of the input of a request, of the event that holds it; `None` if no part of the input reads as text.
pub(crate) fn of_request(kind: &EventKind) -> Option<String> {
    request_input(kind, Version::Now)
}

/// As older versions derived them, the newest of these first.
pub(crate) fn of_request_before(kind: &EventKind) -> [Option<String>; 3] {
    [Version::Third, Version::Second, Version::First].map(|version| request_input(kind, version))
}

/// The id, the name or the title of what a block was called with, or its first words. Large values are left out: the
/// value may have references in their place.
pub(crate) fn of_block(input: &Value) -> Option<String> {
    let fields = input.as_object().filter(|_| body::reference(input).is_none());
    let named = fields.and_then(|fields| NAMING.iter().find_map(|name| naming(fields.get(*name)?)));
    let words = named.or_else(|| words_of(input, 0, Version::Now))?;
    Some(without_nul(cut(&words, MAX_BLOCK_CHARS))).filter(|words| !words.is_empty())
}

fn naming(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() && !is_machine_made(text) => Some(first_chars(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn request_input(kind: &EventKind, version: Version) -> Option<String> {
    match kind {
        EventKind::RequestStarted { input: Recorded::Value(input), .. }
        | EventKind::InputEdited { input: Recorded::Value(input) } => of_input(input, version),
        _ => None,
    }
}

fn of_input(input: &Value, version: Version) -> Option<String> {
    let words = without_nul(cut(&words_of(input, 0, version)?, MAX_CHARS));
    Some(words).filter(|words| !words.is_empty())
}

fn words_of(value: &Value, depth: usize, version: Version) -> Option<String> {
    match value {
        _ if depth > MAX_DEPTH => None,
        Value::Null => None,
        Value::String(text) => Some(first_chars(text)).filter(|text| !text.trim().is_empty()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(pair) if version == Version::Now && is_said(pair) => words_of(&pair[1], depth + 1, version),
        // The newest message is at the end of a list of messages; other lists begin with their first words.
        Value::Array(entries) if entries.iter().any(|entry| is_message(entry, version)) => {
            entries.iter().rev().find_map(|entry| words_of(entry, depth + 1, version))
        }
        Value::Array(entries) => entries.iter().find_map(|entry| words_of(entry, depth + 1, version)),
        Value::Object(fields) => match body::reference(value).filter(|_| version > Version::First) {
            Some(Reference::Escaped(inner)) => words_of(inner, depth, version),
            Some(Reference::Elsewhere) => None,
            None => words_of_fields(fields, depth, version),
        },
    }
}

/// Whether an entry of a list is a message.
fn is_message(entry: &Value, version: Version) -> bool {
    match version {
        Version::First | Version::Second => entry.is_object(),
        Version::Third => entry.get("role").is_some() || entry.get("content").is_some(),
        Version::Now => is_message(entry, Version::Third) || entry.as_array().is_some_and(|pair| is_said(pair)),
    }
}

/// Whether a list is a message as LangGraph takes one: the role of the speaker, and the words.
fn is_said(pair: &[Value]) -> bool {
    pair.len() == 2 && pair[0].as_str().is_some_and(|role| ROLES.contains(&role))
}

fn words_of_fields(fields: &Map<String, Value>, depth: usize, version: Version) -> Option<String> {
    for name in TELLING {
        let value = fields.get(name).filter(|value| !matches!(value, Value::Number(_) | Value::Bool(_)));
        if let Some(words) = value.and_then(|value| words_of(value, depth + 1, version)) {
            return Some(words);
        }
    }
    match version {
        Version::First => {
            let said = fields.iter().filter_map(|(name, value)| {
                let words = words_of(value, depth + 1, version)?;
                Some(if value.is_string() { words } else { format!("{name} {words}") })
            });
            joined(said)
        }
        Version::Second | Version::Third | Version::Now => {
            let say = |(name, value): (&String, &Value)| said_of_field(name, value, depth, version);
            // Ids of machines say nothing beside other words.
            let is_id = |value: &Value| value.as_str().is_some_and(is_machine_made);
            joined(fields.iter().filter(|(_, value)| !is_id(value)).filter_map(say))
                .or_else(|| joined(fields.iter().filter_map(say)))
                .map(|words| if depth == 0 { capitalized(&words, fields) } else { words })
        }
    }
}

fn joined(said: impl Iterator<Item = String>) -> Option<String> {
    let said: Vec<String> = said.take(MAX_VALUES).collect();
    Some(said.join(" · ")).filter(|said| !said.is_empty())
}

/// What a field says: a text alone, a number with its name, a yes as its name.
fn said_of_field(name: &str, value: &Value, depth: usize, version: Version) -> Option<String> {
    let words = words_of(value, depth + 1, version)?;
    Some(match value {
        Value::Bool(true) => spoken(name),
        Value::Bool(false) => format!("not {}", spoken(name)),
        // The name of the object around it is said in its place.
        Value::Number(_) if name == "id" && depth > 0 => words,
        Value::Number(_) => format!("{} {words}", spoken(name)),
        // A list of numbers, or an object of such, needs the name as well.
        Value::Array(_) | Value::Object(_) if words.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("{} {words}", spoken(name))
        }
        _ => words,
    })
}

/// `order` of `orderId`, `dry` of `isDry`, `due date` of `due_date`.
fn spoken(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        let is_start = letter.is_uppercase() && words.chars().last().is_some_and(char::is_lowercase);
        if is_start || matches!(letter, '_' | '-') {
            words.push(' ');
        }
        words.extend(letter.to_lowercase().filter(|letter| !matches!(letter, '_' | '-')));
    }
    let short = words.strip_prefix("is ").or_else(|| words.strip_prefix("has ")).unwrap_or(&words);
    let short = short.strip_suffix(" id").unwrap_or(short).trim();
    if short.is_empty() { name.to_owned() } else { short.to_owned() }
}

/// A line that begins with the name of a field begins with a capital letter; the words of people stay as they are.
fn capitalized(words: &str, fields: &Map<String, Value>) -> String {
    let begins_with_name = |(name, value): (&String, &Value)| {
        !value.is_string() && (words.starts_with(&spoken(name)) || words.starts_with(&format!("not {}", spoken(name))))
    };
    let mut letters = words.chars();
    match letters.next().filter(|_| fields.iter().any(begins_with_name)) {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words.to_owned(),
    }
}

fn is_machine_made(text: &str) -> bool {
    // The first characters decide, so that a text of megabytes is not read.
    let mut begin = text.chars().take(ID_CHARS * 4);
    let digits = text.bytes().take(ID_CHARS * 4).filter(u8::is_ascii_digit).count();
    text.len() >= ID_CHARS && digits >= ID_DIGITS && !begin.any(char::is_whitespace)
}

/// The begin of a text that leads to at least [`MAX_CHARS`] characters after [`cut`], so that a text of megabytes is
/// not copied.
fn first_chars(text: &str) -> String {
    text.trim_start().chars().take(MAX_CHARS * 8).collect()
}

/// One line, at most so many characters long.
fn cut(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(most + 1));
        // Bytes are at least as many as characters, so few texts are counted at all.
        if words.len() > most && words.chars().count() > most {
            break;
        }
    }
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", words[..at].trim_end()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_is_told_by_what_people_write_in_it() {
        for (input, told) in [
            (json!("Hi there"), Some("Hi there")),
            (json!({"id": "u-1", "message": "  How do\n cities cool down? "}), Some("How do cities cool down?")),
            (json!({"orderId": "A-200", "reason": "unwanted"}), Some("A-200 · unwanted")),
            (json!({"by": 21, "isDry": true}), Some("By 21 · dry")),
            (json!({"order": 17}), Some("Order 17")),
            (json!({"orderId": 17, "isUrgent": false}), Some("Order 17 · not urgent")),
            (json!({"scores": [3, 4]}), Some("Scores 3")),
            (json!({"order": {"id": 17, "due_date": 3}}), Some("Order 17 · due date 3")),
            (json!({"thread": "ephemeral_1795780470326", "city": "Rome"}), Some("Rome")),
            (json!({"thread": "ephemeral_1795780470326"}), Some("ephemeral_1795780470326")),
            (json!({"messages": [{"role": "user", "content": "first"}, {"content": "last"}]}), Some("last")),
            (json!({"messages": [["system", "Answer briefly."], ["user", "Is it wet?"]]}), Some("Is it wet?")),
            (json!({"messages": [["user", "Is it wet?"]]}), Some("Is it wet?")),
            (json!({"ways": ["user", "machine", "other"]}), Some("user")),
            (json!({"lines": [{"sku": "A-1", "title": "Lamp"}, {"sku": "A-2", "title": "Chair"}]}), Some("Lamp")),
            (
                json!({"customer": "Ada", "tickets": ["My lamp is broken", "Where is my bill?"]}),
                Some("Ada · My lamp is broken"),
            ),
            (json!({"title": 7, "deep": {"deep": {"deep": {"deep": {"deep": "x"}}}}}), Some("Title 7")),
            (json!("a\0b"), Some("a\u{2400}b")),
            (json!(17), Some("17")),
            (json!({}), None),
            (json!(null), None),
            (json!("  "), None),
        ] {
            assert_eq!(of_input(&input, Version::Now).as_deref(), told, "{input}");
        }
    }

    #[test]
    fn rows_of_older_versions_keep_their_words() {
        for (input, told) in [
            (json!({"by": 21, "isDry": true}), Some("by 21 · isDry true")),
            (json!({"customer": "Ada", "tickets": ["Where is my bill?"]}), Some("Ada · tickets Where is my bill?")),
            (json!({"orderId": "A-200", "reason": "unwanted"}), Some("A-200 · unwanted")),
            (json!({}), None),
        ] {
            assert_eq!(of_input(&input, Version::First).as_deref(), told, "{input}");
        }
        let lines = json!({"lines": [{"title": "Lamp"}, {"title": "Chair"}]});
        assert_eq!(of_input(&lines, Version::First).as_deref(), Some("lines Chair"));
        assert_eq!(of_input(&lines, Version::Second).as_deref(), Some("Chair"));
    }

    #[test]
    fn a_block_is_told_by_what_names_its_input() {
        let long = "word ".repeat(40);
        for (input, told) in [
            (json!({"text": "Read this", "id": "A-200"}), Some("A-200")),
            (json!({"id": 7, "name": "Ada"}), Some("7")),
            (json!({"id": "0b4ae2f1-7c55-4a68-9a3c-51f0d2a8e911", "name": "Ada"}), Some("Ada")),
            (json!({"title": "How trees cool"}), Some("How trees cool")),
            (json!("evidence for pale roofs"), Some("evidence for pale roofs")),
            (json!({"angle": "what it may cost"}), Some("what it may cost")),
            (json!(3), Some("3")),
            (json!({"$payload": "0f"}), None),
            (json!({"page": {"$parts": ["0f"]}, "url": "a.html"}), Some("a.html")),
            (json!({"$value": {"$payload": "mine", "name": "kept"}}), Some("kept")),
            (json!({}), None),
        ] {
            assert_eq!(of_block(&input).as_deref(), told, "{input}");
        }
        let words = of_block(&json!({ "name": long })).expect("it has words");
        assert!(words.ends_with('…') && words.chars().count() <= MAX_BLOCK_CHARS + 1, "{words}");
    }

    #[test]
    fn a_long_text_is_cut_to_a_line() {
        for long in ["wörter ".repeat(500), format!("{}x", " ".repeat(5_000)), "y".repeat(1 << 20)] {
            let words = of_input(&json!({ "message": long }), Version::Now).expect("it has words");
            assert!(words.ends_with('…') && words.chars().count() <= MAX_CHARS + 1 || words == "x", "{words}");
        }
    }
}
