//! A value with the lengths of its large parts, measured once, so that a page of it costs what the page shows.

use std::collections::HashMap;
use std::io::{BufWriter, Write};

use serde_json::Value;

use crate::core::fault::Fault;
use crate::views::{Json, LargeValue, Payload, PayloadEntry, PayloadPage, PayloadQuery, ValueKind};

/// Values up to so many bytes of JSON travel whole.
pub(crate) const MAX_INLINE_BYTES: u64 = 4 << 10;
/// All values that travel whole in one answer.
pub(crate) const MAX_ANSWER_BYTES: u64 = 16 << 10;
const MAX_ENTRIES: u64 = 1_000;
const MAX_CHARACTERS: u64 = 100_000;
const HEAD_CHARACTERS: usize = 100;

/// How much of an answer may still be values.
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn new() -> Self {
        Room(MAX_ANSWER_BYTES)
    }

    /// Whether a value of so many bytes travels whole.
    pub(crate) fn takes(&mut self, bytes: u64) -> bool {
        let fits = bytes <= MAX_INLINE_BYTES.min(self.0) || bytes <= 16;
        if fits {
            self.0 = self.0.saturating_sub(bytes);
        }
        fits
    }
}

/// A value that does not change any more.
pub(crate) struct Measured {
    value: Value,
    pub(crate) bytes: u64,
    pub(crate) hash: String,
    /// The lengths of parts that do not travel whole, by their addresses in memory: those do not move.
    large: HashMap<usize, u64>,
}

impl Measured {
    pub(crate) fn new(value: Value) -> Result<Self, Fault> {
        let mut large = HashMap::new();
        let bytes = measure(&value, &mut large);
        let mut text = BufWriter::with_capacity(1 << 16, Hashing(blake3::Hasher::new()));
        serde_json::to_writer(&mut text, &value).map_err(Fault::internal)?;
        let hasher = text.into_inner().map_err(Fault::internal)?;
        Ok(Measured { value, bytes, hash: hasher.0.finalize().to_hex().to_string(), large })
    }

    /// What is known of the value, without a reference.
    pub(crate) fn head(&self) -> LargeValue {
        large_value(&self.value, self.bytes)
    }

    /// What stands at a JSON pointer.
    pub(crate) fn at(&self, path: &str) -> Result<&Value, Fault> {
        if let Some(found) = self.value.pointer(path) {
            return Ok(found);
        }
        if !path.starts_with('/') {
            return Err(Fault::invalid(format!(
                "\"{path}\" is no JSON pointer: it would begin with \"/\", as in \"/plan/2/title\""
            )));
        }
        let mut cuts = path.match_indices('/').map(|(at, _)| &path[..at]);
        let above = cuts.rfind(|above| self.value.pointer(above).is_some()).unwrap_or_default();
        let there = self.value.pointer(above).map(words).unwrap_or_default();
        Err(Fault::not_found(format!("there is nothing at \"{path}\": at \"{above}\" stands {there}")))
    }

    fn bytes_of(&self, value: &Value) -> u64 {
        if std::ptr::eq(value, &raw const self.value) {
            return self.bytes;
        }
        let known = self.large.get(&std::ptr::from_ref(value).addr()).copied();
        known.unwrap_or_else(|| measure(value, &mut HashMap::new()))
    }

    /// A part of the value.
    pub(crate) fn page(&self, query: &PayloadQuery) -> Result<PayloadPage, Fault> {
        let value = self.at(&query.path)?;
        let LargeValue { kind, bytes, count, .. } = large_value(value, self.bytes_of(value));
        let (unit, most) = match kind {
            ValueKind::Text => ("characters", MAX_CHARACTERS),
            _ => ("entries", MAX_ENTRIES),
        };
        if query.limit == 0 || query.limit > most {
            return Err(Fault::invalid(format!("a limit of {}: 1 to {most} {unit} can be read at once", query.limit)));
        }
        if query.offset > count {
            return Err(Fault::invalid(format!("an offset of {}: there are {count} {unit}", query.offset)));
        }
        let (skip, take) = (index(query.offset), index(query.limit));
        let mut room = Room::new();
        let mut entry = |key: Option<&String>, value: &Value| PayloadEntry {
            key: key.cloned(),
            value: {
                let bytes = self.bytes_of(value);
                if room.takes(bytes) {
                    Payload::Inline(Json(value.clone()))
                } else {
                    Payload::Large(large_value(value, bytes))
                }
            },
        };
        let mut page = PayloadPage { kind, bytes, count, offset: query.offset, entries: Vec::new(), text: None };
        match value {
            Value::Array(list) => {
                page.entries = list.iter().skip(skip).take(take).map(|one| entry(None, one)).collect()
            }
            Value::Object(fields) => {
                page.entries = fields.iter().skip(skip).take(take).map(|(key, one)| entry(Some(key), one)).collect();
            }
            Value::String(text) => page.text = Some(text.chars().skip(skip).take(take).collect()),
            _ => {}
        }
        Ok(page)
    }

    /// The JSON of a part, indented, for people.
    pub(crate) fn write(&self, path: &str, into: &mut impl Write) -> Result<(), Fault> {
        match self.at(path)? {
            Value::String(text) => into.write_all(text.as_bytes())?,
            other => serde_json::to_writer_pretty(&mut *into, other).map_err(Fault::internal)?,
        }
        Ok(())
    }

    /// A part whole, where it is not too long.
    pub(crate) fn whole(&self, path: &str, most: u64) -> Result<Value, Fault> {
        let value = self.at(path)?;
        let bytes = self.bytes_of(value);
        if bytes > most {
            return Err(Fault::refused(format!(
                "the value is {bytes} bytes long, more than the {most} that are read whole: look at it in parts, or \
                 save it to a file"
            )));
        }
        Ok(value.clone())
    }

    /// Takes the value out.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

struct Hashing(blake3::Hasher);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The length of a value as JSON. Notes the lengths of the parts that are large.
pub(crate) fn measure(value: &Value, large: &mut HashMap<usize, u64>) -> u64 {
    let list = |sum: u64, count: usize| 2 + sum + (count.max(1) - 1) as u64;
    let bytes = match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len() as u64,
        Value::String(text) => text_bytes(text),
        Value::Array(entries) => list(entries.iter().map(|one| measure(one, large)).sum(), entries.len()),
        Value::Object(fields) => {
            let sum = fields.iter().map(|(key, one)| text_bytes(key) + 1 + measure(one, large)).sum();
            list(sum, fields.len())
        }
    };
    if bytes > MAX_INLINE_BYTES {
        large.insert(std::ptr::from_ref(value).addr(), bytes);
    }
    bytes
}

fn text_bytes(text: &str) -> u64 {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<u64>()
}

fn large_value(value: &Value, bytes: u64) -> LargeValue {
    let (kind, count) = match value {
        Value::Object(fields) => (ValueKind::Object, fields.len() as u64),
        Value::Array(list) => (ValueKind::List, list.len() as u64),
        Value::String(text) => (ValueKind::Text, text.chars().count() as u64),
        _ => (ValueKind::Scalar, 0),
    };
    LargeValue { kind, bytes, count, head: head(value), reference: None }
}

fn words(value: &Value) -> String {
    let LargeValue { kind, count, head, .. } = large_value(value, 0);
    match kind {
        ValueKind::Object => format!("an object with {count} keys"),
        ValueKind::List => format!("a list of {count} entries"),
        ValueKind::Text => format!("a text of {count} characters"),
        ValueKind::Scalar => head,
    }
}

/// How a value begins, on one line.
fn head(value: &Value) -> String {
    let mut text = String::new();
    write_head(value, true, &mut text);
    match text.char_indices().nth(HEAD_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Writes until there is enough; goes down only as far as that needs.
fn write_head(value: &Value, is_whole: bool, into: &mut String) {
    let is_full = |into: &String| into.len() > 4 * HEAD_CHARACTERS;
    match value {
        Value::String(text) if is_whole => into.extend(text.chars().take(HEAD_CHARACTERS + 1)),
        Value::String(text) => {
            let cut: String = text.chars().take(HEAD_CHARACTERS).collect();
            into.push_str(&Value::String(cut).to_string());
        }
        Value::Array(list) => {
            into.push('[');
            for (at, one) in list.iter().enumerate().take_while(|(at, _)| *at < HEAD_CHARACTERS) {
                if is_full(into) {
                    return;
                }
                into.push_str(if at > 0 { ", " } else { "" });
                write_head(one, false, into);
            }
            into.push(']');
        }
        Value::Object(fields) => {
            into.push('{');
            for (at, (key, one)) in fields.iter().enumerate().take_while(|(at, _)| *at < HEAD_CHARACTERS) {
                if is_full(into) {
                    return;
                }
                into.push_str(if at > 0 { ", " } else { "" });
                into.extend(key.chars().take(HEAD_CHARACTERS));
                into.push_str(": ");
                write_head(one, false, into);
            }
            into.push('}');
        }
        other => into.push_str(&other.to_string()),
    }
}
