//! Which value of a list or an object a span of its compact JSON is.
//!
//! Must not look for an origin: it only finds the place.

use serde_json::Value;

use super::pointer;
use super::spot::{Span, Spot};

/// The innermost value that has all bytes of a span of the JSON, with the bytes of a text that they are.
pub(super) fn in_json(spot: Spot) -> Spot {
    let found = match (spot.span, spot.value()) {
        (Some(span), Some(value)) => innermost(&value, span),
        _ => (String::new(), None),
    };
    let (inner, span) = found;
    Spot { pointer: format!("{}{inner}", spot.pointer), span, ..spot }
}

/// The pointer to the innermost value around a span of the compact JSON of a value, and the span in it if it is a part
/// of a text.
fn innermost(value: &Value, (from, to): Span) -> (String, Option<Span>) {
    let (mut here, mut start, mut pointer) = (value, 0, String::new());
    loop {
        let found = inside(here).into_iter().find_map(|(segment, inner, at)| {
            let first = start + at;
            (first <= from && to <= first + length(inner)).then_some((segment, inner, first))
        });
        let Some((segment, inner, first)) = found else { break };
        pointer::push(&mut pointer, &segment);
        (here, start) = (inner, first);
    }
    let Value::String(text) = here else { return (pointer, None) };
    let span = (unescaped(text, from.saturating_sub(start + 1)), unescaped(text, to.saturating_sub(start + 1)));
    (pointer, Some(span).filter(|span| *span != (0, text.len()) && span.0 < span.1))
}

/// The values in a list or an object: the name, the value, and where its JSON begins in that of the whole.
fn inside(value: &Value) -> Vec<(String, &Value, usize)> {
    let mut at = 1;
    let mut found = Vec::new();
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                found.push((number.to_string(), item, at));
                at += length(item) + 1;
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                at += text_length(key) + 1;
                found.push((key.clone(), item, at));
                at += length(item) + 1;
            }
        }
        _ => {}
    }
    found
}

/// How many bytes the compact JSON of a value has.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text_length(text),
        other => other.to_string().len(),
    }
}

fn text_length(text: &str) -> usize {
    2 + text.chars().map(escaped).sum::<usize>()
}

/// How many bytes a character of a text has in JSON.
fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// The byte of a text at a byte of its JSON behind the quotation mark, or the end of the text.
fn unescaped(text: &str, at: usize) -> usize {
    let mut passed = 0;
    for (byte, c) in text.char_indices() {
        if passed >= at {
            return byte;
        }
        passed += escaped(c);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_span_of_json_is_a_part_of_a_text_or_a_whole_value() {
        let value = json!({ "a/b": [1, "one \"quoted\" text"], "n": 12, "note": "line\nnext ü" });
        let json = value.to_string();
        let of = |part: &str| {
            let from = json.find(part).unwrap_or_default();
            innermost(&value, (from, from + part.len()))
        };
        assert_eq!(of("quoted"), ("/a~1b/1".to_owned(), Some((5, 11))));
        assert_eq!(of("next ü"), ("/note".to_owned(), Some((5, 12))));
        assert_eq!(of("\"line\\nnext ü\""), ("/note".to_owned(), None));
        assert_eq!(of("line\\nnext ü"), ("/note".to_owned(), None));
        assert_eq!(of("12"), ("/n".to_owned(), None));
        assert_eq!(of("12,\"note"), (String::new(), None), "parts of several values are in the whole one");
        assert_eq!(of(&json), (String::new(), None));
    }
}
