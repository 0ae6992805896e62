//! JSON text as values, exactly.
//!
//! `serde_json` knows objects of its own (`{"$serde_json::private::Number": …}`), which stand for numbers and
//! for text between its own parts, and a crate that this program needs makes it use them for every number.
//! An author's object of that shape would be taken for one, and a number outside 64 bits cannot pass through
//! a tagged enum. So everything that holds a value of an author is read by this module, and every field of
//! type [`Value`] of a type that is read has `deserialize_with = "crate::model::json::exact"`.
//!
//! A number has one form: the one JavaScript prints, where that is an integer of 64 bits; else a double.
//! Must not: change a value. What JSON cannot say, or a double cannot hold where the caller asks for that,
//! is an error with its place.

mod from_text;
mod from_value;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Number, Value};

use from_value::Whole;
use reader::Reader;

/// Integers up to here are the same as a double and as an integer.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// How deep what comes from outside may be nested, where nobody says otherwise: as deep as a value of a flow.
pub const DEPTH: usize = 1_000;

/// How deep what comes from outside may be nested, whatever anybody says. Reading, cloning, printing and dropping
/// a value take stack by its depth, and every thread that holds values has enough for this.
pub const MOST_DEPTH: usize = 4_000;

/// The longest path of a field that an error is worth beginning with, in bytes.
const MAX_FIELD_PATH: usize = 200;

/// How deep a value of the log may be. A flow's own value may be wrapped by its chains, so there is more room than
/// for what comes from outside; a log that somebody made by hand does not end the process.
const LOG_DEPTH: usize = 10_000;

/// Reads a value of the log, or of what crosses from a script.
pub fn parse(text: &str) -> Result<Value, Error> {
    parse_within(text, LOG_DEPTH)
}

/// Reads a value that comes from outside. One that is nested deeper is an error with its place.
pub fn parse_within(text: &str, depth: usize) -> Result<Value, Error> {
    read_value(Reader::new(text, false, depth))
}

/// The same for what a person wrote: an integer that a double cannot hold is refused, with its place.
pub fn parse_input(text: &str) -> Result<Value, Error> {
    read_value(Reader::new(text, true, DEPTH))
}

fn read_value(mut reader: Reader<'_>) -> Result<Value, Error> {
    let value = reader.value().map_err(|wrong| reader.error(wrong))?;
    reader.end()?;
    Ok(value)
}

/// Reads a type of the log, or of what crosses from a script. Its fields of type [`Value`] are read by [`exact`].
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_json_within(text, LOG_DEPTH)
}

/// The same for what comes from outside; see [`parse_within`].
pub fn from_json_within<T: DeserializeOwned>(text: &str, depth: usize) -> Result<T, Error> {
    read(Reader::new(text, false, depth))
}

/// The same for what a person wrote; see [`parse_input`]. An error names the field: `limits.depth: invalid type: …`.
pub fn from_input<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut reader = Reader::new(text, true, DEPTH);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let error = reader.with_place(error.into_inner());
        // A text that is no JSON is wrong at its line, and so is what lies too deep for its path to be read;
        // `?` is a place inside of something untagged.
        let is_known =
            error.is_data() && field.len() <= MAX_FIELD_PATH && field.contains(|c: char| c.is_alphanumeric());
        if is_known { Error::custom(format_args!("{field}: {error}")) } else { error }
    })?;
    reader.end()?;
    Ok(value)
}

fn read<T: DeserializeOwned>(mut reader: Reader<'_>) -> Result<T, Error> {
    // The values of `serde_json` read themselves, and not exactly.
    debug_assert!(!std::any::type_name::<T>().contains("serde_json::"), "read it with `parse`");
    let value = T::deserialize(&mut reader).map_err(|error| reader.with_place(error))?;
    reader.end()?;
    Ok(value)
}

/// Reads a type out of a value, as [`from_json`] does out of text.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    debug_assert!(!std::any::type_name::<T>().contains("serde_json::"), "it is one already");
    T::deserialize(Whole(value))
}

/// For `deserialize_with`: a field that holds values of an author, letter by letter.
pub fn exact<'de, T: Exact, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::exact(deserializer)
}

/// What [`exact`] reads.
pub trait Exact: Sized {
    /// Reads it.
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl Exact for Value {
    fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfValue)
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
        deserializer.deserialize_map(OfObject)
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A finite double as a JSON number, in its one form; `null` is for the others, as in JavaScript.
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

/// Whether JavaScript has this integer: a double is exactly it, or prints as it.
fn is_double(digits: &str, double: f64) -> bool {
    let shortest = format!("{double}");
    // All digits of a double are written where a precision is asked for.
    digits == shortest || digits == format!("{double:.0}") || (double == 0.0 && digits == "-0")
}

struct OfValue;

impl<'de> DeserializeSeed<'de> for OfValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OfValue {
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
        while let Some(item) = items.next_element_seed(OfValue)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        OfObject.visit_map(fields).map(Value::Object)
    }
}

struct OfObject;

impl<'de> Visitor<'de> for OfObject {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            object.insert(name, fields.next_value_seed(OfValue)?);
        }
        Ok(object)
    }
}
