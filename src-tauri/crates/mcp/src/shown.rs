//! Shows recorded values on one line: completely if they are short, otherwise their beginning and their address.
//!
//! Recorded text is quoted and its line breaks are escaped, so that it never looks like a line of the answer.

use serde_json::{Value, json};

use crate::address::Address;

/// How many bytes of a value a row shows.
pub(crate) const IN_ROW: usize = 240;

/// A value, as text and as JSON.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) json: Value,
}

/// Shows a value of at most `bytes` bytes; a longer one is cut and names its address.
pub(crate) fn shown(value: &Value, bytes: usize, address: &Address) -> Shown {
    let text = value.to_string();
    if text.len() <= bytes {
        return Shown { text, json: value.clone() };
    }
    let head = head(&text, bytes);
    let uri = address.to_string();
    Shown {
        text: format!("{head}… ({} bytes: {uri})", text.len()),
        json: json!({ "head": head, "bytes": text.len(), "uri": uri }),
    }
}

/// The beginning of a text, ending at a character boundary.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The beginning of a text, with an ellipsis if it is cut.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    let begin = head(text, bytes);
    if begin.len() < text.len() { format!("{begin}…") } else { begin.to_owned() }
}

/// A recorded text in quotes, cut.
pub(crate) fn quoted(text: &str, bytes: usize) -> String {
    let begin = head(text, bytes);
    let mark = if begin.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", Value::String(begin.to_owned()))
}

/// A name that an author has chosen, in quotes unless it looks like a name.
pub(crate) fn name(text: &str) -> String {
    const PLAIN: &str = "_./:~#[]@+-";
    let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
    if !text.is_empty() && text.len() <= 200 && text.chars().all(is_plain) {
        return text.to_owned();
    }
    quoted(text, 200)
}

/// How often something happened, in words.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// A word of a closed list, as JSON has it.
pub(crate) fn word(word: &impl serde::Serialize) -> String {
    json!(word).as_str().unwrap_or_default().to_owned()
}
