//! The layout of JSON files that people read and edit: one fact a line, wrapped at 120 columns.
//!
//! Must keep the order of keys, which a case may be about.

use serde_json::{Map, Value};

const WIDTH: usize = 120;

/// Returns a list as a file: each entry is a block of lines. `open` are the keys whose lists have a line or more for
/// each entry.
pub fn list(entries: &[Value], open: &[&str]) -> String {
    let mut text = "[\n".to_owned();
    for (at, entry) in entries.iter().enumerate() {
        text.push_str("  ");
        match entry {
            Value::Object(fields) => {
                let fields = of_fields(fields);
                broken(&fields, ["{", "}"], 2, open, &mut text);
            }
            other => value(other, 2, 2, &mut text),
        }
        text.push_str(if at + 1 < entries.len() { ",\n" } else { "\n" });
    }
    text.push_str("]\n");
    text
}

/// Appends a value, on one line if it fits. `column` is where it begins.
fn value(shown: &Value, indent: usize, column: usize, text: &mut String) {
    let line = compact(shown);
    // A comma may follow.
    if column + line.chars().count() < WIDTH {
        text.push_str(&line);
        return;
    }
    match shown {
        Value::Object(fields) if !fields.is_empty() => {
            broken(&of_fields(fields), ["{", "}"], indent, &[], text);
        }
        Value::Array(entries) if !entries.is_empty() => {
            broken(&of_entries(entries), ["[", "]"], indent, &[], text);
        }
        _ => text.push_str(&line),
    }
}

/// Appends what is in brackets, a line or more for each entry.
fn broken(entries: &[Entry<'_>], [before, after]: [&str; 2], indent: usize, open: &[&str], text: &mut String) {
    text.push_str(before);
    for (at, (key, entry)) in entries.iter().enumerate() {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        let inner = indent + 2;
        let key_text = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
        text.push_str(&format!("{}{key_text}", " ".repeat(inner)));
        match entry {
            Value::Array(entries) if key.is_some_and(|key| open.contains(&key)) && !entries.is_empty() => {
                broken(&of_entries(entries), ["[", "]"], inner, &[], text);
            }
            entry => value(entry, inner, inner + key_text.chars().count(), text),
        }
    }
    text.push_str(&format!("\n{}{after}", " ".repeat(indent)));
}

/// What is in brackets: a value, with its key if they are those of an object.
type Entry<'v> = (Option<&'v str>, &'v Value);

fn of_fields(fields: &Map<String, Value>) -> Vec<Entry<'_>> {
    fields.iter().map(|(key, value)| (Some(key.as_str()), value)).collect()
}

fn of_entries(entries: &[Value]) -> Vec<Entry<'_>> {
    entries.iter().map(|value| (None, value)).collect()
}

/// A value on one line.
fn compact(shown: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match shown {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), compact(value)));
            format!("{{ {} }}", joined(fields.collect()))
        }
        Value::Array(entries) => format!("[{}]", joined(entries.iter().map(compact).collect())),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_is_one_line_and_what_does_not_is_broken() {
        let long = "x".repeat(100);
        let text = list(
            &[json!({ "name": "a", "runs": [{ "input": {}, "output": [1, [2]] }], "long": [long, long] })],
            &["runs"],
        );
        let expected = format!(
            "[\n  {{\n    \"name\": \"a\",\n    \"runs\": [\n      {{ \"input\": {{}}, \"output\": [1, [2]] }}\n    ],\n    \
             \"long\": [\n      \"{long}\",\n      \"{long}\"\n    ]\n  }}\n]\n"
        );
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it is JSON")[0]["long"][1], long);
    }
}
