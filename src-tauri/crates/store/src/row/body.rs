//! Bodies: the JSON of events, keyframes and code, without their large values.
//!
//! A value above [`MAX_INLINE_BYTES`] bytes of JSON is stored in `payload`, and the body has a reference instead:
//!
//! - `{"$payload": hash}`: the value whose JSON has this hash.
//! - `{"$parts": [hash, …]}`: a long list or object, split into parts of consecutive entries. Where a part ends
//!   depends on the entries alone (content-defined chunking), so a list that grew by one entry shares all parts but
//!   the last with its previous version, and a history that is logged at every step costs only what was added.
//! - `{"$value": …}`: an escape, around an object of the flow that has one of these keys itself.
//!
//! Making a body needs no database, so it runs on the thread that appends.

use std::borrow::Cow;

use crate::sql::{Connection, Row};
use engine::event::{EventKind, KINDS};
use engine::json::{from_json, from_value, parse};
use serde_json::{Map, Value};

use crate::row::error::Error;
use crate::row::measure::{json_bytes, value_bytes};
use crate::row::payload::{self, Payload};

/// Larger values are stored in `payload`, so that several rows fit into a page of 4 KiB.
pub(crate) const MAX_INLINE_BYTES: usize = 3 << 10;
/// The approximate size of a part of a list in bytes.
const LIST_PART_BYTES: usize = 8 << 10;
/// The stack of a thread that holds values: the default one is too small for code that recurses into deep JSON.
pub(crate) const THREAD_STACK_BYTES: usize = 64 << 20;
const PAYLOAD_KEY: &str = "$payload";
const PARTS_KEY: &str = "$parts";
const ESCAPE_KEY: &str = "$value";

/// The text of a body, and the payloads that it refers to.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) text: String,
    pub(crate) payloads: Vec<Payload>,
}

/// Makes the body of an event: the fields of its kind, without `kind`, which has a column.
pub(crate) fn of_event(kind: &EventKind) -> Result<Body, Error> {
    if let EventKind::Unknown { fields, .. } = kind {
        let mut payloads = Vec::new();
        let mut fields = fields.clone();
        for field in fields.values_mut() {
            move_out_large(field, &mut payloads)?;
        }
        return Ok(Body { text: serde_json::to_string(&fields)?, payloads });
    }
    let mut payloads = Vec::new();
    // Do not serialize a large event twice.
    let text = if value_bytes(kind) <= MAX_INLINE_BYTES { Some(serde_json::to_string(kind)?) } else { None };
    let text = if let Some(text) = text.filter(|text| is_stored_as_is(text)) {
        text
    } else {
        let mut value: Value = serde_json::to_value(kind)?;
        if let Value::Object(fields) = &mut value {
            for field in fields.values_mut() {
                move_out_large(field, &mut payloads)?;
            }
        }
        serde_json::to_string(&value)?
    };
    Ok(Body { text: without_tag(kind.name(), &text)?, payloads })
}

/// Makes the body of any other value, such as a state.
pub(crate) fn of_state(mut state: Value) -> Result<Body, Error> {
    let mut payloads = Vec::new();
    move_out_large(&mut state, &mut payloads)?;
    Ok(Body { text: serde_json::to_string(&state)?, payloads })
}

/// Reads an event from its body. A kind that this version does not know becomes [`EventKind::Unknown`].
pub(crate) fn event(connection: &Connection, kind: &str, text: &str) -> Result<EventKind, Error> {
    if has_no_reference(text) {
        return event_in_place(kind, text);
    }
    if !KINDS.contains(&kind) {
        return unknown(kind, value(connection, text)?);
    }
    fields(connection, &tagged(kind, text)?)
}

/// Like [`event`], for a body that [`has_no_reference`].
pub(crate) fn event_in_place(kind: &str, text: &str) -> Result<EventKind, Error> {
    if !KINDS.contains(&kind) {
        return unknown(kind, parse(text)?);
    }
    if let Some(frequent) = EventKind::read_frequent(kind, text) {
        return Ok(frequent?);
    }
    Ok(from_json(&tagged(kind, text)?)?)
}

fn unknown(kind: &str, value: Value) -> Result<EventKind, Error> {
    let Value::Object(fields) = value else {
        return Err(Error::Damaged(format!("a {kind} event is not an object")));
    };
    Ok(EventKind::Unknown { name: kind.to_owned(), fields })
}

/// A body with the event's kind among its fields.
fn tagged(kind: &str, text: &str) -> Result<String, Error> {
    let rest = text.strip_prefix('{').ok_or_else(|| Error::Damaged(format!("a {kind} event is not an object")))?;
    let comma = if rest == "}" { "" } else { "," };
    Ok(format!("{{\"kind\":\"{kind}\"{comma}{rest}"))
}

/// A text column, with invalid UTF-8 replaced: damaged bytes are no error here.
pub(crate) fn lossy<'r>(row: Row<'r>, column: usize) -> Result<Cow<'r, str>, Error> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?))
}

/// The checksum of an event's body: the first 32 bits of its BLAKE3 hash.
pub(crate) fn checksum(text: &str) -> i64 {
    let [a, b, c, d, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    u32::from_be_bytes([a, b, c, d]).into()
}

/// Like [`event`], after comparing the checksum if there is one.
pub(crate) fn checked_event(
    connection: &Connection,
    kind: &str,
    text: &str,
    known: Option<i64>,
) -> Result<EventKind, Error> {
    compare_checksum(text, known)?;
    event(connection, kind, text)
}

/// Fails if a body does not match its checksum, if it has one.
pub(crate) fn compare_checksum(text: &str, known: Option<i64>) -> Result<(), Error> {
    if known.is_some_and(|known| known != checksum(text)) {
        return Err(Error::Damaged("its content does not fit its checksum".to_owned()));
    }
    Ok(())
}

/// Like [`event`], but `None` if the body is damaged.
pub(crate) fn event_if_readable(connection: &Connection, kind: &str, text: &str) -> Result<Option<EventKind>, Error> {
    match event(connection, kind, text) {
        Err(Error::Damaged(_)) => Ok(None),
        known => known.map(Some),
    }
}

/// Like [`event`], but references to large values stay; `None` if the event's fields themselves are such a reference.
pub(crate) fn event_unresolved(kind: &str, text: &str) -> Option<EventKind> {
    let rest = text.strip_prefix('{').filter(|rest| *rest != "}")?;
    from_json(&format!("{{\"kind\":\"{kind}\",{rest}")).ok()
}

/// Reads the fields of a body that `T` has, and ignores others.
pub(crate) fn fields<T: serde::de::DeserializeOwned>(connection: &Connection, text: &str) -> Result<T, Error> {
    if has_no_reference(text) {
        return Ok(from_json(text)?);
    }
    Ok(from_value(value(connection, text)?)?)
}

/// Reads a body, with its payloads inserted.
pub(crate) fn value(connection: &Connection, text: &str) -> Result<Value, Error> {
    let mut value = parse(text)?;
    if !has_no_reference(text) {
        resolve(connection, &mut value)?;
    }
    Ok(value)
}

/// A reference in a body in which references are not resolved.
pub(crate) enum Reference<'a> {
    /// The value is a payload, or several.
    Elsewhere,
    /// This object of the flow, which has the key of a reference.
    Escaped(&'a Value),
}

/// Returns the reference or the escaped object that an object is, if any.
pub(crate) fn reference(value: &Value) -> Option<Reference<'_>> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    match fields.iter().next().map(|(name, inner)| (name.as_str(), inner))? {
        (PAYLOAD_KEY | PARTS_KEY, _) => Some(Reference::Elsewhere),
        (ESCAPE_KEY, inner) => Some(Reference::Escaped(inner)),
        _ => None,
    }
}

/// The hashes of the payloads that a body refers to, as hex; not those that these payloads refer to in turn.
pub(crate) fn referenced_payloads(text: &str) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    if may_have_references(text) {
        collect_references(&parse(text)?, &mut found);
    }
    Ok(found)
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    let fields = match value {
        Value::Array(items) => return items.iter().for_each(|item| collect_references(item, found)),
        Value::Object(fields) => fields,
        _ => return,
    };
    match fields.iter().next().filter(|_| fields.len() == 1).map(|(name, inner)| (name.as_str(), inner)) {
        Some((PAYLOAD_KEY, Value::String(name))) => found.push(name.clone()),
        Some((PARTS_KEY, Value::Array(names))) => {
            found.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        // The keys of an escaped object are the flow's own; its fields may contain references.
        Some((ESCAPE_KEY, Value::Object(inner))) => inner.values().for_each(|field| collect_references(field, found)),
        _ => fields.values().for_each(|field| collect_references(field, found)),
    }
}

fn is_stored_as_is(text: &str) -> bool {
    text.len() <= MAX_INLINE_BYTES && has_no_reference(text)
}

/// Whether a text may contain references. May be true for a text without references, but never false for one with them.
pub(crate) fn may_have_references(text: &str) -> bool {
    !has_no_reference(text)
}

/// Whether a text contains no reference. Quotes inside JSON strings are escaped, so this matches only keys and whole
/// strings.
pub(crate) fn has_no_reference(text: &str) -> bool {
    !text.contains("\"$")
        || ![PAYLOAD_KEY, PARTS_KEY, ESCAPE_KEY].iter().any(|key| text.contains(&format!("\"{key}\"")))
}

fn without_tag(kind: &str, text: &str) -> Result<String, Error> {
    let rest = text
        .strip_prefix("{\"kind\":\"")
        .and_then(|rest| rest.strip_prefix(kind))
        .and_then(|rest| rest.strip_prefix('"'))
        .ok_or_else(|| Error::Damaged(format!("a {kind} event does not begin with its kind")))?;
    Ok(format!("{{{}", rest.trim_start_matches(',')))
}

/// Replaces large values by references, innermost first. Returns the approximate number of remaining bytes of JSON.
fn move_out_large(value: &mut Value, payloads: &mut Vec<Payload>) -> Result<usize, Error> {
    let bytes = match value {
        Value::Array(items) => {
            let mut bytes = 2;
            for item in items.iter_mut() {
                bytes += move_out_large(item, payloads)? + 1;
            }
            bytes
        }
        Value::Object(fields) => {
            let mut bytes = 2;
            for (name, field) in fields.iter_mut() {
                bytes += name.len() + 4 + move_out_large(field, payloads)?;
            }
            // Also if there are other keys: a part may consist of this entry alone.
            if [PAYLOAD_KEY, PARTS_KEY, ESCAPE_KEY].iter().any(|key| fields.contains_key(*key)) {
                let fields = std::mem::take(fields);
                *value = single_field(ESCAPE_KEY, Value::Object(fields));
                bytes += ESCAPE_KEY.len() + 5;
            }
            bytes
        }
        _ => json_bytes(value),
    };
    if bytes <= MAX_INLINE_BYTES {
        return Ok(bytes);
    }
    *value = to_reference(value, payloads)?;
    Ok(json_bytes(value))
}

/// Makes a payload of a value, or of each of its parts. Returns the reference that replaces the value.
fn to_reference(value: &Value, payloads: &mut Vec<Payload>) -> Result<Value, Error> {
    let mut parts = split_into_parts(value)?;
    if parts.len() == 1 {
        let payload = Payload::new(parts.remove(0));
        let name = Value::String(payload.hash.to_hex().to_string());
        payloads.push(payload);
        return Ok(single_field(PAYLOAD_KEY, name));
    }
    let names = parts.into_iter().map(|text| {
        let payload = Payload::new(text);
        let name = payload.hash.to_hex().to_string();
        payloads.push(payload);
        Value::String(name)
    });
    let names = Value::Array(names.collect());
    // The list of hashes may itself be long; then it becomes a payload too.
    Ok(single_field(
        PARTS_KEY,
        if json_bytes(&names) > LIST_PART_BYTES { to_reference(&names, payloads)? } else { names },
    ))
}

/// The JSON of a value; that of a list or object in parts, each a list or object of consecutive entries.
fn split_into_parts(value: &Value) -> Result<Vec<String>, Error> {
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

/// Whether a part ends after this entry. Decided by a hash of the entry, about once in [`LIST_PART_BYTES`] bytes.
fn ends_run(entry: &str) -> bool {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = entry.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    let entries_a_run = (LIST_PART_BYTES / entry.len().max(1)).max(1) as u64;
    (hash >> 32).is_multiple_of(entries_a_run)
}

fn single_field(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// Replaces references by the values that they refer to.
fn resolve(connection: &Connection, value: &mut Value) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| resolve(connection, item)),
        Value::Object(fields) => {
            if let Some(whole) = resolve_object(connection, fields)? {
                *value = whole;
                return Ok(());
            }
            fields.values_mut().try_for_each(|field| resolve(connection, field))
        }
        _ => Ok(()),
    }
}

/// The value that an object refers to or escapes, if it does.
fn resolve_object(connection: &Connection, fields: &mut Map<String, Value>) -> Result<Option<Value>, Error> {
    if fields.len() != 1 {
        return Ok(None);
    }
    let Some((name, inner)) = fields.iter_mut().next() else {
        return Ok(None);
    };
    match (name.as_str(), inner) {
        (PAYLOAD_KEY, Value::String(hash)) => Ok(Some(self::value(connection, &payload::load(connection, hash)?)?)),
        (PARTS_KEY, names) => {
            resolve(connection, names)?;
            join(connection, names).map(Some)
        }
        (ESCAPE_KEY, inner) => {
            let mut inner = inner.take();
            if let Value::Object(fields) = &mut inner {
                fields.values_mut().try_for_each(|field| resolve(connection, field))?;
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
