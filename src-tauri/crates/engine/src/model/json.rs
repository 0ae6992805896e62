//! Parsing of JSON without loss.
//!
//! `serde_json` passes numbers and raw text between its own parts as magic objects
//! (`{"$serde_json::private::Number": …}`); a dependency of this program turns on the feature that does so for every
//! number. An author's object of that shape would be mistaken for one, and a number outside 64 bits cannot pass
//! through a tagged enum. So everything that holds a value of an author is parsed by this module, and every
//! field of type [`Value`] in a type that is parsed has `deserialize_with = "crate::model::json::exact"`.
//!
//! A number has one form: a 64-bit integer where JavaScript prints it as one, else a double. Must not change a value:
//! text that is not JSON, or that a double cannot hold where the caller asks for that, is an error with its place.

mod from_text;
mod from_value;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Number, Value};

use from_value::ValueDeserializer;
use reader::Reader;

/// Integers up to here are the same as a double and as an integer.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// How many levels JSON from outside may nest by default: as many as a value of a flow.
pub const DEFAULT_MAX_DEPTH: usize = 1_000;

/// The largest depth that a setting may allow. Parsing, cloning, printing and dropping a value take stack in proportion
/// to its depth, and every thread that holds values has enough for this.
pub const MAX_DEPTH: usize = 4_000;

/// The longest path of a field that an error is worth beginning with, in bytes.
const MAX_FIELD_PATH: usize = 200;

/// How deep a value in a log may nest: deeper than one from outside, because chains wrap values. The limit keeps a
/// manipulated log from overflowing the stack.
const MAX_LOG_DEPTH: usize = 10_000;

/// Parses a value of the log, or one from a script.
pub fn parse(text: &str) -> Result<Value, Error> {
    parse_within(text, MAX_LOG_DEPTH)
}

/// Parses a value from outside. One that nests deeper than `depth` levels is an error with its place.
pub fn parse_within(text: &str, depth: usize) -> Result<Value, Error> {
    read_value(Reader::new(text, false, depth))
}

/// Parses a value that a person wrote: an integer that a double cannot hold is an error with its place.
pub fn parse_input(text: &str) -> Result<Value, Error> {
    read_value(Reader::new(text, true, DEFAULT_MAX_DEPTH))
}

fn read_value(mut reader: Reader<'_>) -> Result<Value, Error> {
    let value = reader.value().map_err(|wrong| reader.error(wrong))?;
    reader.end()?;
    Ok(value)
}

/// Parses a type of the log, or one from a script. Its fields of type [`Value`] must use [`exact`].
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_json_within(text, MAX_LOG_DEPTH)
}

/// As [`from_json`], for text from outside; see [`parse_within`].
pub fn from_json_within<T: DeserializeOwned>(text: &str, depth: usize) -> Result<T, Error> {
    read(Reader::new(text, false, depth))
}

/// As [`from_json`], for text that a person wrote; see [`parse_input`]. An error names the field:
/// `limits.depth: invalid type: …`.
pub fn from_input<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut reader = Reader::new(text, true, DEFAULT_MAX_DEPTH);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let error = reader.with_place(error.into_inner());
        // Only the line is named for text that is not JSON, and where the path is very long; `?` is the path inside an
        // untagged enum.
        let is_known =
            error.is_data() && field.len() <= MAX_FIELD_PATH && field.contains(|c: char| c.is_alphanumeric());
        if is_known { Error::custom(format_args!("{field}: {error}")) } else { error }
    })?;
    reader.end()?;
    Ok(value)
}

fn read<T: DeserializeOwned>(mut reader: Reader<'_>) -> Result<T, Error> {
    // `serde_json::Value` deserializes itself, with the magic objects.
    debug_assert!(!std::any::type_name::<T>().contains("serde_json::"), "read it with `parse`");
    let value = T::deserialize(&mut reader).map_err(|error| reader.with_place(error))?;
    reader.end()?;
    Ok(value)
}

/// Converts a value into a type, as [`from_json`] does with text.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    debug_assert!(!std::any::type_name::<T>().contains("serde_json::"), "it is one already");
    T::deserialize(ValueDeserializer(value))
}

/// For `deserialize_with` of a field that holds values of an author: takes them unchanged.
pub fn exact<'de, T: Exact, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::exact(deserializer)
}

/// As [`exact`], for a field in which null is a value like any other: only what is not there is `None`.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::exact(deserializer).map(Some)
}

/// The types that [`exact`] can deserialize.
pub trait Exact: Sized {
    /// Deserializes a value unchanged.
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl Exact for Value {
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl Exact for Option<Value> {
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Some(Value::exact(deserializer)?).filter(|value| !value.is_null()))
    }
}

impl Exact for Vec<Value> {
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::exact(deserializer)? {
            Value::Array(items) => Ok(items),
            other => Err(D::Error::custom(format_args!("expected a list, found {}", type_of(&other)))),
        }
    }
}

impl Exact for Map<String, Value> {
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// The type of a value, for people: `a list`.
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Finds an integer that no double can hold, which JavaScript would round: its path (`order.wei.1`), and the message.
pub fn inexact(value: &Value) -> Option<(String, String)> {
    let within = |key: String, value: &Value| {
        let (path, message) = inexact(value)?;
        Some((if path.is_empty() { key } else { format!("{key}.{path}") }, message))
    };
    match value {
        Value::Number(number) => {
            let token = number.to_string();
            let is_integer = token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            let double = token.parse::<f64>().ok().filter(|_| is_integer)?;
            (!is_double(&token, double)).then(|| (String::new(), reader::no_number(&token, double)))
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(n, item)| within(n.to_string(), item)),
        Value::Object(fields) => fields.iter().find_map(|(name, field)| within(name.clone(), field)),
        _ => None,
    }
}

/// Returns a double as a JSON number in its one form; `null` if it is not finite, as in JavaScript.
pub fn number(value: f64) -> Value {
    number_of(value).map_or(Value::Null, Value::Number)
}

fn number_of(value: f64) -> Option<Number> {
    if value.fract() != 0.0 || (value == 0.0 && value.is_sign_negative()) {
        return Number::from_f64(value);
    }
    if value.abs() <= MAX_SAFE_INTEGER {
        return Some((value as i64).into());
    }
    // The shortest digits that mean this double, then zeros, as in JavaScript.
    let digits = format!("{value}");
    if let Ok(whole) = digits.parse::<i64>() {
        return Some(whole.into());
    }
    match digits.parse::<u64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => Number::from_f64(value),
    }
}

/// Returns whether a double equals this integer, or JavaScript prints it as these digits.
fn is_double(digits: &str, double: f64) -> bool {
    let shortest = format!("{double}");
    // All digits of a double are written where a precision is asked for.
    digits == shortest || digits == format!("{double:.0}") || (double == 0.0 && digits == "-0")
}

struct ValueVisitor;

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(ValueVisitor)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        ObjectVisitor.visit_map(fields).map(Value::Object)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            object.insert(name, fields.next_value_seed(ValueVisitor)?);
        }
        Ok(object)
    }
}
