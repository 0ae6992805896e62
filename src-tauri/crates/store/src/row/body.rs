//! Bodies: the text of events and keyframes, without the values that are too large for a line.
//!
//! A value above [`MAX_INLINE_BYTES`] bytes of JSON leaves the line and a mark stands for it:
//!
//! - `{"$payload": hash}`: the value whose JSON has this hash.
//! - `{"$parts": [hash, …]}`: a long list or object, cut into runs of entries. Where to cut depends
//!   on the entries alone, so a list that grew by one shares all runs but the last with its former
//!   self, and a history logged at every step costs what was added to it.
//! - `{"$value": …}`: an object of the flow that could be taken for one of these marks.
//!
//! Writing touches no database, so it can run on the thread that appends.

use std::borrow::Cow;

use engine::event::{EventKind, KINDS};
use engine::json::{from_json, from_value, parse};
use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

use crate::row::error::Error;
use crate::row::measure::json_bytes;
use crate::row::payload::{self, Payload};

/// Larger values leave the line: what stays fits a page of 4 KiB beside its neighbours.
pub(crate) const MAX_INLINE_BYTES: usize = 2 << 10;
/// About how long one part of a list is.
const LIST_PART_BYTES: usize = 8 << 10;
const WHOLE: &str = "$payload";
const PARTS: &str = "$parts";
const ESCAPED: &str = "$value";

/// A line, and what left it.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) text: String,
    pub(crate) payloads: Vec<Payload>,
}

/// The line of an event: the fields of its kind. The kind itself has a column.
pub(crate) fn of_event(kind: &EventKind) -> Result<Body, Error> {
    if let EventKind::Unknown { fields, .. } = kind {
        let mut payloads = Vec::new();
        let mut fields = fields.clone();
        for field in fields.values_mut() {
            shrink(field, &mut payloads)?;
        }
        return Ok(Body { text: serde_json::to_string(&fields)?, payloads });
    }
    let text = serde_json::to_string(kind)?;
    let mut payloads = Vec::new();
    let text = if is_plain(&text) {
        text
    } else {
        let mut value: Value = serde_json::to_value(kind)?;
        if let Value::Object(fields) = &mut value {
            for field in fields.values_mut() {
                shrink(field, &mut payloads)?;
            }
        }
        serde_json::to_string(&value)?
    };
    Ok(Body { text: without_tag(kind.name(), &text)?, payloads })
}

/// The line of a whole state.
pub(crate) fn of_state(mut state: Value) -> Result<Body, Error> {
    let mut payloads = Vec::new();
    shrink(&mut state, &mut payloads)?;
    Ok(Body { text: serde_json::to_string(&state)?, payloads })
}

/// The event kind that a line holds.
pub(crate) fn event(connection: &Connection, kind: &str, text: &str) -> Result<EventKind, Error> {
    if !KINDS.contains(&kind) {
        let Value::Object(fields) = value(connection, text)? else {
            return Err(Error::Damaged(format!("a {kind} event is not an object")));
        };
        return Ok(EventKind::Unknown { name: kind.to_owned(), fields });
    }
    let rest = text.strip_prefix('{').ok_or_else(|| Error::Damaged(format!("a {kind} event is not an object")))?;
    let comma = if rest == "}" { "" } else { "," };
    let tagged = format!("{{\"kind\":\"{kind}\"{comma}{rest}");
    fields(connection, &tagged)
}

/// A text of a row, also where its bytes are damaged.
pub(crate) fn lossy<'r>(row: &'r Row<'_>, column: usize) -> Result<Cow<'r, str>, Error> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?))
}

/// The checksum of an event's line: 32 bits of BLAKE3.
pub(crate) fn sum(text: &str) -> i64 {
    let [a, b, c, d, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    u32::from_be_bytes([a, b, c, d]).into()
}

/// As [`event`], of a line whose checksum is known where it was written by a version that has them.
pub(crate) fn whole_event(
    connection: &Connection,
    kind: &str,
    text: &str,
    known: Option<i64>,
) -> Result<EventKind, Error> {
    if known.is_some_and(|known| known != sum(text)) {
        return Err(Error::Damaged("its content does not fit its checksum".to_owned()));
    }
    event(connection, kind, text)
}

/// The same, where a line that is damaged is none.
pub(crate) fn readable(connection: &Connection, kind: &str, text: &str) -> Result<Option<EventKind>, Error> {
    match event(connection, kind, text) {
        Err(Error::Damaged(_)) => Ok(None),
        known => known.map(Some),
    }
}

/// Whatever `T` reads of a line; other fields are passed over.
pub(crate) fn fields<T: serde::de::DeserializeOwned>(connection: &Connection, text: &str) -> Result<T, Error> {
    if has_no_mark(text) {
        return Ok(from_json(text)?);
    }
    Ok(from_value(value(connection, text)?)?)
}

/// The value that a line holds, whole again.
pub(crate) fn value(connection: &Connection, text: &str) -> Result<Value, Error> {
    let mut value = parse(text)?;
    if !has_no_mark(text) {
        grow(connection, &mut value)?;
    }
    Ok(value)
}

/// The payloads that a line names. Those that these name are not among them.
pub(crate) fn names(text: &str) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    if has_marks(text) {
        find_names(&parse(text)?, &mut found);
    }
    Ok(found)
}

fn find_names(value: &Value, found: &mut Vec<String>) {
    let fields = match value {
        Value::Array(items) => return items.iter().for_each(|item| find_names(item, found)),
        Value::Object(fields) => fields,
        _ => return,
    };
    match fields.iter().next().filter(|_| fields.len() == 1).map(|(name, inner)| (name.as_str(), inner)) {
        Some((WHOLE, Value::String(name))) => found.push(name.clone()),
        Some((PARTS, Value::Array(names))) => {
            found.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        // What looks like a mark inside is the flow's own.
        Some((ESCAPED, Value::Object(inner))) => inner.values().for_each(|field| find_names(field, found)),
        _ => fields.values().for_each(|field| find_names(field, found)),
    }
}

fn is_plain(text: &str) -> bool {
    text.len() <= MAX_INLINE_BYTES && has_no_mark(text)
}

/// Whether a line may say less than the whole.
pub(crate) fn has_marks(text: &str) -> bool {
    !has_no_mark(text)
}

/// In JSON the quotes of a text are escaped, so this finds keys and whole strings only.
fn has_no_mark(text: &str) -> bool {
    !text.contains("\"$") || ![WHOLE, PARTS, ESCAPED].iter().any(|mark| text.contains(&format!("\"{mark}\"")))
}

fn without_tag(kind: &str, text: &str) -> Result<String, Error> {
    let rest = text
        .strip_prefix("{\"kind\":\"")
        .and_then(|rest| rest.strip_prefix(kind))
        .and_then(|rest| rest.strip_prefix('"'))
        .ok_or_else(|| Error::Damaged(format!("a {kind} event does not begin with its kind")))?;
    Ok(format!("{{{}", rest.trim_start_matches(',')))
}

/// Moves out what is too large, innermost first. Answers how long the rest is.
fn shrink(value: &mut Value, payloads: &mut Vec<Payload>) -> Result<usize, Error> {
    let bytes = match value {
        Value::Array(items) => {
            let mut bytes = 2;
            for item in items.iter_mut() {
                bytes += shrink(item, payloads)? + 1;
            }
            bytes
        }
        Value::Object(fields) => {
            let mut bytes = 2;
            for (name, field) in fields.iter_mut() {
                bytes += name.len() + 4 + shrink(field, payloads)?;
            }
            // Also one among many: a run of entries may hold it alone.
            if [WHOLE, PARTS, ESCAPED].iter().any(|mark| fields.contains_key(*mark)) {
                let fields = std::mem::take(fields);
                *value = mark(ESCAPED, Value::Object(fields));
                bytes += ESCAPED.len() + 5;
            }
            bytes
        }
        _ => json_bytes(value),
    };
    if bytes <= MAX_INLINE_BYTES {
        return Ok(bytes);
    }
    *value = take_out(value, payloads)?;
    Ok(json_bytes(value))
}

/// Makes a payload of a value, or one of each of its parts, and answers the mark that stands for it.
fn take_out(value: &Value, payloads: &mut Vec<Payload>) -> Result<Value, Error> {
    let mut parts = cut(value)?;
    if parts.len() == 1 {
        let payload = Payload::new(parts.remove(0));
        let name = Value::String(payload.hash.to_hex().to_string());
        payloads.push(payload);
        return Ok(mark(WHOLE, name));
    }
    let names = parts.into_iter().map(|text| {
        let payload = Payload::new(text);
        let name = payload.hash.to_hex().to_string();
        payloads.push(payload);
        Value::String(name)
    });
    let names = Value::Array(names.collect());
    // The list of a very long list's parts is itself a long list.
    Ok(mark(PARTS, if json_bytes(&names) > LIST_PART_BYTES { take_out(&names, payloads)? } else { names }))
}

/// The JSON of a value, long lists and objects in runs of entries.
fn cut(value: &Value) -> Result<Vec<String>, Error> {
    let mut runs = Vec::new();
    let mut run = String::new();
    let mut add = |open: char, entry: &str, close: char| {
        run.push(if run.is_empty() { open } else { ',' });
        run.push_str(entry);
        if ends_run(entry) || run.len() >= 4 * LIST_PART_BYTES {
            run.push(close);
            runs.push(std::mem::take(&mut run));
        }
    };
    let close = match value {
        Value::Array(items) => {
            for item in items {
                add('[', &serde_json::to_string(item)?, ']');
            }
            ']'
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let entry = format!("{}:{}", serde_json::to_string(name)?, serde_json::to_string(field)?);
                add('{', &entry, '}');
            }
            '}'
        }
        leaf => return Ok(vec![serde_json::to_string(leaf)?]),
    };
    if !run.is_empty() {
        run.push(close);
        runs.push(run);
    }
    Ok(runs)
}

/// Whether a run ends after this entry: by chance of its content, once in about [`LIST_PART_BYTES`] bytes.
fn ends_run(entry: &str) -> bool {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = entry.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    let entries_a_run = (LIST_PART_BYTES / entry.len().max(1)).max(1) as u64;
    (hash >> 32).is_multiple_of(entries_a_run)
}

fn mark(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// Puts back what was moved out.
fn grow(connection: &Connection, value: &mut Value) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| grow(connection, item)),
        Value::Object(fields) => {
            if let Some(whole) = marked(connection, fields)? {
                *value = whole;
                return Ok(());
            }
            fields.values_mut().try_for_each(|field| grow(connection, field))
        }
        _ => Ok(()),
    }
}

/// What an object stands for, if it is a mark.
fn marked(connection: &Connection, fields: &mut Map<String, Value>) -> Result<Option<Value>, Error> {
    if fields.len() != 1 {
        return Ok(None);
    }
    let Some((name, inner)) = fields.iter_mut().next() else {
        return Ok(None);
    };
    match (name.as_str(), inner) {
        (WHOLE, Value::String(hash)) => Ok(Some(self::value(connection, &payload::load(connection, hash)?)?)),
        (PARTS, names) => {
            grow(connection, names)?;
            join(connection, names).map(Some)
        }
        (ESCAPED, inner) => {
            let mut inner = inner.take();
            if let Value::Object(fields) = &mut inner {
                fields.values_mut().try_for_each(|field| grow(connection, field))?;
            }
            Ok(Some(inner))
        }
        _ => Ok(None),
    }
}

fn join(connection: &Connection, names: &Value) -> Result<Value, Error> {
    let damaged = || Error::Damaged("a list of parts is not one".to_owned());
    let mut whole: Option<Value> = None;
    for name in names.as_array().ok_or_else(damaged)? {
        let part = value(connection, &payload::load(connection, name.as_str().ok_or_else(damaged)?)?)?;
        match (&mut whole, part) {
            (None, part) => whole = Some(part),
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (Some(Value::Object(fields)), Value::Object(more)) => fields.extend(more),
            _ => return Err(damaged()),
        }
    }
    whole.ok_or_else(damaged)
}
