//! What of a recorded answer is the same in every run, and how it is written.

use std::collections::BTreeSet;

use serde_json::Value;

/// Answers that depend on how often the page was told, on times, or only repeat others.
const TOLD_ELSEWHERE: &[&str] =
    &["frames", "rows", "items", "rowsAt", "itemsAt", "diffs", "cells", "failures", "gaps", "critical"];

/// The places of a value with their types, and the words that say what happened.
pub(super) fn shape(value: &Value) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    collect(value, "", &mut places);
    places
}

fn collect(value: &Value, place: &str, places: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !TOLD_ELSEWHERE.contains(&name.as_str())) {
                collect(value, &format!("{place}.{name}"), places);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, &format!("{place}[]"), places)),
        Value::String(word) if [".kind", ".status", ".path"].iter().any(|end| place.ends_with(end)) => {
            places.insert(format!("{place}: {word}"));
        }
        Value::String(_) => drop(places.insert(format!("{place}: text"))),
        Value::Number(_) => drop(places.insert(format!("{place}: number"))),
        Value::Bool(_) => drop(places.insert(format!("{place}: true or false"))),
        Value::Null => drop(places.insert(format!("{place}: null"))),
    }
}

/// JSON with an entry a line two levels deep, so that a change is a few lines.
pub(super) fn write_lines(value: &Value) -> String {
    let mut text = String::new();
    lines(value, 0, &mut text);
    text.push('\n');
    text
}

fn lines(value: &Value, depth: usize, text: &mut String) {
    let indent = " ".repeat(depth + 1);
    match value {
        Value::Object(fields) if depth < 3 && !fields.is_empty() => {
            text.push_str("{\n");
            for (n, (name, value)) in fields.iter().enumerate() {
                text.push_str(if n > 0 { ",\n" } else { "" });
                text.push_str(&format!("{indent}{}: ", Value::from(name.as_str())));
                lines(value, depth + 1, text);
            }
            text.push_str(&format!("\n{}}}", " ".repeat(depth)));
        }
        Value::Array(entries) if depth < 3 && entries.iter().any(|one| one.is_object() || one.is_array()) => {
            text.push_str("[\n");
            for (n, value) in entries.iter().enumerate() {
                text.push_str(if n > 0 { ",\n" } else { "" });
                text.push_str(&format!("{indent}{value}"));
            }
            text.push_str(&format!("\n{}]", " ".repeat(depth)));
        }
        other => text.push_str(&other.to_string()),
    }
}
