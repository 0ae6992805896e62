//! The first words of what a request was asked, by which people tell requests apart in a list.
//!
//! They are a column of the request's row, derived from its first event, so that a list reads no event.

use engine::event::{EventKind, Recorded};
use serde_json::{Map, Value};

use crate::sql::without_nul;

/// Longer texts are cut.
const MAX_CHARS: usize = 120;
/// The fields in which people mostly write, in the order of how much they say.
const TELLING: [&str; 13] = [
    "message", "messages", "content", "text", "question", "prompt", "query", "topic", "goal", "task", "title",
    "subject", "name",
];
/// How many values of an object without such a field are shown.
const MAX_VALUES: usize = 3;
/// Deeper values say nothing in a line.
const MAX_DEPTH: usize = 4;

/// The first words of the input of a request, of its first event; `None` if no part of the input reads as text.
pub(crate) fn of_first_event(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::RequestStarted { input: Recorded::Value(input), .. } => of_input(input),
        _ => None,
    }
}

fn of_input(input: &Value) -> Option<String> {
    let words = without_nul(cut(&words_of(input, 0)?));
    Some(words).filter(|words| !words.is_empty())
}

fn words_of(value: &Value, depth: usize) -> Option<String> {
    match value {
        _ if depth > MAX_DEPTH => None,
        Value::Null => None,
        Value::String(text) => Some(first_chars(text)).filter(|text| !text.trim().is_empty()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        // The newest message is at the end of a list of messages; other lists begin with their first words.
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            entries.iter().rev().find_map(|entry| words_of(entry, depth + 1))
        }
        Value::Array(entries) => entries.iter().find_map(|entry| words_of(entry, depth + 1)),
        Value::Object(fields) => words_of_fields(fields, depth),
    }
}

fn words_of_fields(fields: &Map<String, Value>, depth: usize) -> Option<String> {
    for name in TELLING {
        let value = fields.get(name).filter(|value| !matches!(value, Value::Number(_) | Value::Bool(_)));
        if let Some(words) = value.and_then(|value| words_of(value, depth + 1)) {
            return Some(words);
        }
    }
    let mut said = Vec::new();
    for (name, value) in fields {
        let words = words_of(value, depth + 1);
        said.extend(words.map(|words| if value.is_string() { words } else { format!("{name} {words}") }));
        if said.len() == MAX_VALUES {
            break;
        }
    }
    Some(said.join(" · ")).filter(|said| !said.is_empty())
}

/// The begin of a text that leads to at least [`MAX_CHARS`] characters after [`cut`], so that a text of megabytes is
/// not copied.
fn first_chars(text: &str) -> String {
    text.trim_start().chars().take(MAX_CHARS * 8).collect()
}

/// One line, at most [`MAX_CHARS`] long.
fn cut(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(MAX_CHARS + 1));
        // Bytes are at least as many as characters, so few texts are counted at all.
        if words.len() > MAX_CHARS && words.chars().count() > MAX_CHARS {
            break;
        }
    }
    match words.char_indices().nth(MAX_CHARS) {
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
            (json!({"by": 21, "isDry": true}), Some("by 21 · isDry true")),
            (json!({"messages": [{"role": "user", "content": "first"}, {"content": "last"}]}), Some("last")),
            (
                json!({"customer": "Ada", "tickets": ["My lamp is broken", "Where is my bill?"]}),
                Some("Ada · tickets My lamp is broken"),
            ),
            (json!({"title": 7, "deep": {"deep": {"deep": {"deep": {"deep": "x"}}}}}), Some("title 7")),
            (json!("a\0b"), Some("a\u{2400}b")),
            (json!({}), None),
            (json!(null), None),
            (json!("  "), None),
        ] {
            assert_eq!(of_input(&input).as_deref(), told, "{input}");
        }
    }

    #[test]
    fn a_long_text_is_cut_to_a_line() {
        for long in ["wörter ".repeat(500), format!("{}x", " ".repeat(5_000)), "y".repeat(1 << 20)] {
            let words = of_input(&json!({ "message": long })).expect("it has words");
            assert!(words.ends_with('…') && words.chars().count() <= MAX_CHARS + 1 || words == "x", "{words}");
        }
    }
}
