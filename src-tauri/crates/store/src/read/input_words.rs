//! The first words of what a request was asked, by which people tell requests apart in a list.
//!
//! Reads one event of each request, and of large inputs only what is small enough to be read for a line of a list.

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value};

use crate::Store;
use crate::row::error::Error;
use crate::row::{body, payload};

/// Longer texts are cut.
const MOST_CHARS: usize = 120;
/// A larger value is not read for the sake of its first words.
const MOST_BYTES: i64 = 64 << 10;
/// The fields in which people mostly write, in the order of how much they say.
const TELLING: [&str; 13] = [
    "message", "messages", "content", "text", "question", "prompt", "query", "topic", "goal", "task", "title",
    "subject", "name",
];
/// Of an object without such a field, so many values are shown.
const MOST_VALUES: usize = 3;
/// Deeper values say nothing in a line.
const MOST_DEPTH: usize = 4;

impl Store {
    /// The first words of the inputs of requests, in their order; `None` where a request has no input that reads as
    /// text, or is not there.
    pub fn input_words<I: AsRef<str>>(&self, requests: &[I]) -> Result<Vec<Option<String>>, Error> {
        self.read(|connection| requests.iter().map(|request| of_request(connection, request.as_ref())).collect())
    }
}

/// The first words of the input of one request.
pub(super) fn of_request(connection: &Connection, request: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT e.body FROM event e
         WHERE e.request = (SELECT n FROM request WHERE id = ?1) AND e.seq = 1 AND e.kind = 'request_started'",
    )?;
    let Some(body) = statement.query_row((request,), |row| row.get::<_, String>(0)).optional()? else {
        return Ok(None);
    };
    // Damaged events are reported by `check`.
    // An input that is undefined is a word instead of `{"value": …}`.
    let value = |mut body: Value| body.get_mut("input")?.get_mut("value").map(Value::take);
    let input = engine::json::parse(&body).ok().and_then(value);
    let words = input.map(|input| words_of(connection, &input, 0)).transpose()?.flatten();
    Ok(words.map(|words| cut(&words)).filter(|words| !words.is_empty()))
}

fn words_of(connection: &Connection, value: &Value, depth: usize) -> Result<Option<String>, Error> {
    match value {
        _ if depth > MOST_DEPTH => Ok(None),
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(entries) => {
            // What was said last is at the end of a list of messages.
            let told = entries.iter().rev().find_map(|entry| words_of(connection, entry, depth + 1).transpose());
            told.transpose()
        }
        Value::Object(fields) => match body::referenced_payload(fields) {
            Some(hash) => {
                let small = stored(connection, hash)?;
                small.map_or(Ok(None), |value| words_of(connection, &value, depth + 1))
            }
            None => words_of_fields(connection, fields, depth),
        },
    }
}

fn words_of_fields(
    connection: &Connection,
    fields: &Map<String, Value>,
    depth: usize,
) -> Result<Option<String>, Error> {
    for name in TELLING {
        let told = fields.get(name).filter(|value| !matches!(value, Value::Number(_) | Value::Bool(_)));
        if let Some(words) = told.map(|value| words_of(connection, value, depth + 1)).transpose()?.flatten() {
            return Ok(Some(words));
        }
    }
    let mut said = Vec::new();
    for (name, value) in fields {
        let words = words_of(connection, value, depth + 1)?;
        said.extend(words.map(|words| if value.is_string() { words } else { format!("{name} {words}") }));
        if said.len() == MOST_VALUES {
            break;
        }
    }
    Ok(Some(said.join(" · ")).filter(|said| !said.is_empty()))
}

fn stored(connection: &Connection, hash: &str) -> Result<Option<Value>, Error> {
    let Ok(hash_bytes) = blake3::Hash::from_hex(hash) else { return Ok(None) };
    let bytes: Option<i64> = connection
        .prepare_cached("SELECT bytes FROM payload WHERE hash = ?1")?
        .query_row((hash_bytes.as_bytes(),), |row| row.get(0))
        .optional()?;
    if bytes.is_none_or(|bytes| bytes > MOST_BYTES) {
        return Ok(None);
    }
    // A damaged payload is reported by `check`, and the list is shown without its words.
    Ok(payload::load(connection, hash).ok().and_then(|text| engine::json::parse(&text).ok()))
}

/// One line, at most [`MOST_CHARS`] long.
fn cut(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(MOST_CHARS + 1));
        // Bytes are at least as many as characters, so that few texts are counted at all.
        if words.len() > MOST_CHARS && words.chars().count() > MOST_CHARS {
            break;
        }
    }
    match words.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}…", words[..at].trim_end()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::row::payload::Payload;

    fn bed() -> Connection {
        let connection = Connection::open_in_memory().expect("there is memory");
        let table = "CREATE TABLE payload (n INTEGER PRIMARY KEY, hash BLOB UNIQUE, bytes INTEGER, body BLOB);
            CREATE TABLE removal (kind TEXT, n INTEGER, import TEXT, name TEXT, last INTEGER);";
        connection.execute_batch(table).expect("the tables are new");
        connection
    }

    fn words(connection: &Connection, input: &Value) -> Option<String> {
        words_of(connection, input, 0).expect("nothing is damaged").map(|words| cut(&words))
    }

    #[test]
    fn an_input_is_told_by_what_people_write_in_it() {
        let connection = bed();
        for (input, told) in [
            (json!("Hi there"), Some("Hi there")),
            (json!({"id": "u-1", "message": "  How do\n cities cool down? "}), Some("How do cities cool down?")),
            (json!({"orderId": "A-200", "reason": "unwanted"}), Some("A-200 · unwanted")),
            (json!({"by": 21, "isDry": true}), Some("by 21 · isDry true")),
            (json!({"messages": [{"role": "user", "content": "first"}, {"content": "last"}]}), Some("last")),
            (json!({"title": 7, "deep": {"deep": {"deep": {"deep": {"deep": "x"}}}}}), Some("title 7")),
            (json!({}), None),
            (json!(null), None),
            (json!("  "), None),
        ] {
            assert_eq!(words(&connection, &input).as_deref(), told, "{input}");
        }
        let long = words(&connection, &json!("wörter ".repeat(500))).expect("it has words");
        assert!(long.ends_with('…') && long.chars().count() <= MOST_CHARS + 1, "{long}");
    }

    #[test]
    fn a_value_that_is_stored_apart_is_read_where_it_is_small() {
        let connection = bed();
        let stored = |text: String| {
            let payload = Payload::new(json!(text).to_string());
            crate::row::payload::insert(&connection, &payload).expect("it is new");
            json!({ "$payload": payload.hash.to_hex().to_string() })
        };
        let small = stored(format!("A long question {}", "x".repeat(5_000)));
        assert!(
            words(&connection, &json!({ "message": small })).is_some_and(|told| told.starts_with("A long question"))
        );
        let large = stored("y".repeat(100_000));
        assert_eq!(words(&connection, &json!({ "message": large, "user": "ada" })).as_deref(), Some("ada"));
        let missing = json!({ "$payload": "00".repeat(32) });
        assert_eq!(words(&connection, &json!({ "message": missing })), None);
    }
}
