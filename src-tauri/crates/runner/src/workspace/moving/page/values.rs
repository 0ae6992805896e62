//! Values of a page as text, each large part stored once.
//!
//! A part whose JSON is longer than [`INLINE_BYTES`] is stored in a table by its content, and `{"$": N}` refers to it.
//! A long list is a chain of pieces, so that a list that grew shares pieces with its earlier versions. The path or the
//! id of a block is written as the number of the block's row. `ui/src/host/page/values.ts` reads all this. Must not
//! know what the values mean.

use std::collections::HashMap;
use std::fmt::Write;

use engine::redaction::Redaction;
use serde_json::Value;

/// Longer JSON is stored in the table.
const INLINE_BYTES: usize = 32;
/// How many entries a piece of a long list has.
const PIECE: usize = 32;
/// The size of a chunk of the table.
const CHUNK_BYTES: usize = 512 << 10;

/// Keys with a special meaning. An object of a value that has one of them is written in `$o`.
const REFERENCE: &str = "$";
const LIST: &str = "$l";
const OBJECT: &str = "$o";
/// The path of a row's block, its `path:attempt`, and its instance.
const PATH: &str = "$p";
const ATTEMPT: &str = "$a";
const INSTANCE: &str = "$i";
const SPECIAL: [&str; 6] = [REFERENCE, LIST, OBJECT, PATH, ATTEMPT, INSTANCE];
/// Shorter names are written in full.
const NAME_BYTES: usize = 12;

/// The table of values.
pub(super) struct Values {
    /// Removes secrets, also those that the settings named after the run.
    redaction: Redaction,
    /// The replacements of the names of blocks.
    names: HashMap<String, String>,
    rows: HashMap<String, usize>,
    known: HashMap<blake3::Hash, u64>,
    chunks: Vec<String>,
    /// The number of the first value of each chunk.
    firsts: Vec<u64>,
}

impl Values {
    pub(super) fn new(redaction: Redaction) -> Values {
        Values {
            redaction,
            names: HashMap::new(),
            rows: HashMap::new(),
            known: HashMap::new(),
            chunks: Vec::new(),
            firsts: Vec::new(),
        }
    }

    /// Sets the block of a row.
    pub(super) fn name_row(&mut self, row: usize, request: &str, (path, attempt): (&str, u32)) {
        let instance = format!("{path}:{attempt}");
        self.rows.insert(format!("{request}:{instance}"), row);
        let names = [(PATH, path.to_owned()), (INSTANCE, format!("{request}:{instance}")), (ATTEMPT, instance)];
        for (kind, name) in names.into_iter().filter(|(_, name)| name.len() >= NAME_BYTES) {
            self.names.entry(name).or_insert_with(|| format!("{{\"{kind}\":{row}}}"));
        }
    }

    /// The row of a block, by its instance.
    pub(super) fn row_of(&self, instance: &str) -> Option<usize> {
        self.rows.get(instance).copied()
    }

    /// A value without secrets, as text that refers to its large parts. Its outer `levels` are written in place,
    /// because they occur in no other value.
    pub(super) fn document(&mut self, mut value: Value, levels: usize) -> String {
        self.redaction.known(&mut value);
        self.whole(&value, levels)
    }

    /// A value without secrets, as JSON without references.
    pub(super) fn plain(&self, mut value: Value) -> String {
        self.redaction.known(&mut value);
        value.to_string()
    }

    /// The text of a value, which refers to its large parts.
    fn text(&mut self, value: &Value) -> String {
        let text = self.whole(value, 0);
        if text.len() <= INLINE_BYTES { text } else { format!("{{\"{REFERENCE}\":{}}}", self.number(text)) }
    }

    fn inner(&mut self, value: &Value, levels: usize) -> String {
        if levels == 0 { self.text(value) } else { self.whole(value, levels - 1) }
    }

    /// Like [`text`](Self::text), but the value itself and its outer `levels` are not put into the table.
    fn whole(&mut self, value: &Value, levels: usize) -> String {
        match value {
            Value::String(text) => self.names.get(text).cloned().unwrap_or_else(|| value.to_string()),
            Value::Array(entries) if entries.len() > PIECE && levels == 0 => self.list(entries),
            Value::Array(entries) => {
                let texts: Vec<String> = entries.iter().map(|entry| self.inner(entry, levels)).collect();
                format!("[{}]", texts.join(","))
            }
            Value::Object(fields) => {
                let is_special = |key: &String| SPECIAL.contains(&key.as_str());
                let mut text = String::from("{");
                for (key, value) in fields {
                    let comma = if text.len() > 1 { "," } else { "" };
                    let value = self.inner(value, levels);
                    let _ = write!(text, "{comma}{}:{value}", quoted(key));
                }
                text.push('}');
                if fields.keys().any(is_special) { format!("{{\"{OBJECT}\":{text}}}") } else { text }
            }
            value => value.to_string(),
        }
    }

    fn entries(&mut self, entries: &[Value]) -> String {
        let texts: Vec<String> = entries.iter().map(|entry| self.text(entry)).collect();
        format!("[{}]", texts.join(","))
    }

    /// `{"$l": [the last full piece, the remaining entries]}`; a piece is `[the previous piece or null, its entries]`.
    fn list(&mut self, entries: &[Value]) -> String {
        let pieces = entries.chunks_exact(PIECE);
        let rest = pieces.remainder();
        let mut before = "null".to_owned();
        for piece in pieces {
            let entries = self.entries(piece);
            before = self.number(format!("[{before},{entries}]")).to_string();
        }
        let rest = self.entries(rest);
        format!("{{\"{LIST}\":[{before},{rest}]}}")
    }

    /// The number of a text in the table.
    fn number(&mut self, text: String) -> u64 {
        let next = self.known.len() as u64;
        let number = *self.known.entry(blake3::hash(text.as_bytes())).or_insert(next);
        if number == next {
            if self.chunks.last().is_none_or(|chunk| chunk.len() >= CHUNK_BYTES) {
                self.chunks.push(String::new());
                self.firsts.push(number);
            }
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(if chunk.is_empty() { '[' } else { ',' });
                chunk.push_str(&text);
            }
        }
        number
    }

    /// The chunks of the table, each a JSON list, and the number of the first value of each.
    pub(super) fn into_chunks(self) -> (Vec<String>, Vec<u64>) {
        (self.chunks.into_iter().map(|chunk| chunk + "]").collect(), self.firsts)
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_parts_are_stored_once_and_grown_lists_share_their_pieces() {
        let mut values = Values::new(Redaction::default());
        let long = "x".repeat(1_000);
        let text = values.document(json!({ "one": long, "other": long, "n": 1 }), 0);
        assert_eq!(text, r#"{"one":{"$":0},"other":{"$":0},"n":1}"#);
        let entries: Vec<Value> = (0..5_000).map(|n| json!({ "entry": n })).collect();
        let stored = |values: &Values| values.chunks.iter().map(String::len).sum::<usize>();
        values.text(&json!(entries[..4_999]));
        let before = stored(&values);
        values.text(&json!(entries));
        assert!(stored(&values) - before < 2_000, "{} bytes more", stored(&values) - before);
    }

    #[test]
    fn objects_with_special_keys_are_escaped() {
        let mut values = Values::new(Redaction::default());
        assert_eq!(values.text(&json!({ "$": 3 })), r#"{"$o":{"$":3}}"#);
        assert_eq!(values.text(&json!({ "$o": { "a": 1 } })), r#"{"$o":{"$o":{"a":1}}}"#);
    }

    #[test]
    fn names_of_blocks_become_rows_and_outer_levels_stay_in_place() {
        let mut values = Values::new(Redaction::default());
        values.name_row(7, "r", ("root/step:greet", 1));
        let value = json!({ "of": "r:root/step:greet:1", "in": "root/step:greet", "by": "root/step:greet:1" });
        assert_eq!(values.document(value, 0), r#"{"of":{"$i":7},"in":{"$p":7},"by":{"$a":7}}"#);
        let long = json!({ "whole": { "text": "x".repeat(99), "another": "y".repeat(99) } });
        assert_eq!(values.document(long.clone(), 0), r#"{"whole":{"$":2}}"#);
        assert_eq!(values.document(long, 1), r#"{"whole":{"text":{"$":0},"another":{"$":1}}}"#);
    }
}
