//! Event bodies as text: values above 16 KiB leave the line and are stored once by content.
//!
//! A value that left is written `{"$payload": "<hash>", "bytes": n}`. A flow's own object with such
//! a key is wrapped, so that nothing a flow writes can be taken for one.

use engine::data::from_json;
use engine::event::EventKind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value};

use crate::error::Error;

/// Larger values leave the line.
pub(crate) const INLINE: usize = 16 << 10;
const MARK: &str = "$payload";
const WRAP: &str = "$wrapped";
const LEVEL: i32 = 1;

/// What was written, for the running totals.
#[derive(Default)]
pub(crate) struct Weight {
    pub(crate) bytes: i64,
    pub(crate) unique: i64,
    /// Bytes of marks in the line at hand: they stand for a payload and are none.
    marks: i64,
}

/// An event kind as the text of its line.
pub(crate) fn write(connection: &Connection, kind: &EventKind, weight: &mut Weight) -> Result<String, Error> {
    shrink(connection, serde_json::to_string(kind)?, weight)
}

/// JSON text with its large parts moved out.
pub(crate) fn shrink(connection: &Connection, text: String, weight: &mut Weight) -> Result<String, Error> {
    weight.bytes += text.len() as i64;
    if text.len() <= INLINE && !text.contains("\"$payload\"") && !text.contains("\"$wrapped\"") {
        weight.unique += text.len() as i64;
        return Ok(text);
    }
    let mut value: Value = from_json(&text)?;
    shrink_value(connection, &mut value, 0, weight)?;
    let marks = weight.marks;
    let text = serde_json::to_string(&value)?;
    weight.unique += text.len() as i64 - marks;
    weight.marks = 0;
    Ok(text)
}

fn shrink_value(connection: &Connection, value: &mut Value, depth: usize, weight: &mut Weight) -> Result<usize, Error> {
    let size = match &mut *value {
        Value::Array(items) => {
            let mut size = 2;
            for item in items {
                size += shrink_value(connection, item, depth + 1, weight)? + 1;
            }
            size
        }
        Value::Object(fields) => {
            let mut size = 2;
            for (key, item) in fields.iter_mut() {
                size += key.len() + 4 + shrink_value(connection, item, depth + 1, weight)?;
            }
            if fields.contains_key(MARK) || fields.contains_key(WRAP) {
                let inner = std::mem::take(fields);
                fields.insert(WRAP.to_owned(), Value::Object(inner));
            }
            size
        }
        Value::String(text) => text.len() + 2,
        other => other.to_string().len(),
    };
    // The line itself stays; only values in it leave.
    if size <= INLINE || depth == 0 {
        return Ok(size);
    }
    let text = serde_json::to_string(&value)?;
    let hash = blake3::hash(text.as_bytes());
    let known: Option<i64> = connection
        .prepare_cached("SELECT 1 FROM payload WHERE hash = ?1")?
        .query_row((hash.as_bytes(),), |row| row.get(0))
        .optional()?;
    if known.is_none() {
        let packed = zstd::bulk::compress(text.as_bytes(), LEVEL).map_err(|error| Error::Damaged(error.to_string()))?;
        connection
            .prepare_cached("INSERT INTO payload (hash, bytes, body) VALUES (?1, ?2, ?3)")?
            .execute((hash.as_bytes(), text.len() as i64, packed))?;
        weight.unique += text.len() as i64;
    }
    let mut mark = Map::new();
    mark.insert(MARK.to_owned(), hash.to_hex().to_string().into());
    mark.insert("bytes".to_owned(), text.len().into());
    *value = Value::Object(mark);
    weight.marks += serde_json::to_string(&value)?.len() as i64;
    Ok(100)
}

/// The event kind of a line, with everything that left it brought back.
pub(crate) fn read(connection: &Connection, text: &str) -> Result<EventKind, Error> {
    if !text.contains("\"$payload\"") && !text.contains("\"$wrapped\"") {
        return Ok(from_json(text)?);
    }
    Ok(serde_json::from_value(read_value(connection, text)?)?)
}

/// JSON text with everything that left it brought back.
pub(crate) fn read_value(connection: &Connection, text: &str) -> Result<Value, Error> {
    let mut value = from_json(text)?;
    if text.contains("\"$payload\"") || text.contains("\"$wrapped\"") {
        grow(connection, &mut value)?;
    }
    Ok(value)
}

fn grow(connection: &Connection, value: &mut Value) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| grow(connection, item)),
        Value::Object(fields) => {
            if let Some(Value::String(hash)) = fields.get(MARK) {
                *value = payload(connection, hash)?;
                return grow(connection, value);
            }
            if fields.len() == 1
                && let Some(inner) = fields.get_mut(WRAP)
            {
                let mut inner = inner.take();
                if let Value::Object(fields) = &mut inner {
                    fields.values_mut().try_for_each(|item| grow(connection, item))?;
                }
                *value = inner;
                return Ok(());
            }
            fields.values_mut().try_for_each(|item| grow(connection, item))
        }
        _ => Ok(()),
    }
}

fn payload(connection: &Connection, hash: &str) -> Result<Value, Error> {
    let damaged = |what: &str| Error::Damaged(format!("payload {hash}: {what}"));
    let key = blake3::Hash::from_hex(hash).map_err(|_| damaged("not a hash"))?;
    let (bytes, packed): (i64, Vec<u8>) = connection
        .prepare_cached("SELECT bytes, body FROM payload WHERE hash = ?1")?
        .query_row((key.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .ok_or_else(|| damaged("missing"))?;
    let text = zstd::bulk::decompress(&packed, bytes as usize).map_err(|error| damaged(&error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| damaged(&error.to_string()))?;
    Ok(from_json(&text)?)
}
