//! JSON text as values, exactly.
//!
//! `serde_json` knows objects of its own (`{"$serde_json::private::Number": …}`), which stand for numbers and
//! for text between its own parts, and a crate that this program needs makes it use them for every number.
//! An author's object of that shape would be taken for one, and a number outside 64 bits cannot pass through
//! a tagged enum. So everything that holds a value of an author is read by this module, and every field of
//! type [`Value`] of a type that is read has `deserialize_with = "crate::json::exact"`.
//!
//! A number has one form: the one JavaScript prints, where that is an integer of 64 bits; else a double.
//! Must not: change a value. What JSON cannot say, or a double cannot hold where the caller asks for that,
//! is an error with its place.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Number, Value};

/// Integers up to here are the same as a double and as an integer.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Reads a value of JSON text, of any depth: threads that read values of flows have the stack for it.
pub fn parse(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text, false);
    let value = reader.value().map_err(|wrong| reader.error(wrong))?;
    reader.end()?;
    Ok(value)
}

/// The same for what a person wrote: an integer that a double cannot hold is refused, with its place.
pub fn parse_input(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text, true);
    let value = reader.value().map_err(|wrong| reader.error(wrong))?;
    reader.end()?;
    Ok(value)
}

/// Reads a type of the log, or of what crosses from a script. Its fields of type [`Value`] are read by [`exact`].
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read(Reader::new(text, false))
}

/// The same for what a person wrote; see [`parse_input`].
pub fn from_input<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read(Reader::new(text, true))
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

/// A value as something that other types are read from.
struct Whole(Value);

impl<'de> IntoDeserializer<'de, Error> for Whole {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Tells a number in the narrowest of the three types that every visitor knows.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    if let Some(whole) = number.as_u64() {
        return visitor.visit_u64(whole);
    }
    if let Some(whole) = number.as_i64() {
        return visitor.visit_i64(whole);
    }
    match number.as_f64() {
        Some(double) => visitor.visit_f64(double),
        None => Err(Error::custom(format_args!("the number {number} is out of range"))),
    }
}

impl<'de> Deserializer<'de> for Whole {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let mut items = serde::de::value::SeqDeserializer::new(items.into_iter().map(Whole));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, Whole(value)));
                let mut fields = serde::de::value::MapDeserializer::new(fields);
                let value = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut fields = match self.0 {
            Value::String(name) => return visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(name)),
            Value::Object(fields) => fields.into_iter(),
            other => return Err(Error::custom(format_args!("expected a name, found {}", type_of(&other)))),
        };
        match (fields.next(), fields.next()) {
            (Some((name, value)), None) => visitor.visit_enum(WholeVariant { name, value }),
            _ => Err(Error::custom("expected an object with one field")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct WholeVariant {
    name: String,
    value: Value,
}

impl<'de> EnumAccess<'de> for WholeVariant {
    type Error = Error;
    type Variant = Whole;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Whole), Error> {
        let name = seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.name))?;
        Ok((name, Whole(self.value)))
    }
}

impl<'de> VariantAccess<'de> for Whole {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.0.is_null() {
            return Ok(());
        }
        Err(Error::custom(format_args!("expected null, found {}", type_of(&self.0))))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}

/// What is wrong with a text, and the fields and indexes around it, innermost first.
struct Wrong {
    at: usize,
    message: Cow<'static, str>,
    around: Vec<String>,
}

/// A place in a JSON text.
struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// Whether integers must be doubles.
    is_input: bool,
}

impl<'de> Reader<'de> {
    fn new(text: &'de str, is_input: bool) -> Self {
        Reader { text, at: 0, is_input }
    }

    fn wrong<T>(&self, message: impl Into<Cow<'static, str>>) -> Result<T, Wrong> {
        self.wrong_at(self.at, message)
    }

    fn wrong_at<T>(&self, at: usize, message: impl Into<Cow<'static, str>>) -> Result<T, Wrong> {
        Err(Wrong { at, message: message.into(), around: Vec::new() })
    }

    /// The next byte that is no white space, which is not passed over.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn end(&mut self) -> Result<(), Error> {
        if self.peek().is_some() {
            return Err(self.error(Wrong { at: self.at, message: "trailing characters".into(), around: Vec::new() }));
        }
        Ok(())
    }

    /// A literal of the language.
    fn word(&mut self, word: &'static str) -> Result<(), Wrong> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.unexpected();
        }
        self.at += word.len();
        Ok(())
    }

    fn unexpected<T>(&self) -> Result<T, Wrong> {
        if self.at >= self.text.len() {
            return self.wrong("EOF while parsing a value");
        }
        self.wrong("expected value")
    }

    /// Whether a list or an object goes on after an entry; `is_first` before the first one.
    fn goes_on(&mut self, close: u8, is_first: bool) -> Result<bool, Wrong> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !is_first => {
                self.at += 1;
                if self.peek() == Some(close) {
                    return self.wrong("trailing comma");
                }
            }
            Some(_) if is_first => {}
            Some(_) if close == b']' => return self.wrong("expected `,` or `]`"),
            Some(_) => return self.wrong("expected `,` or `}`"),
            None if close == b']' => return self.wrong("EOF while parsing a list"),
            None => return self.wrong("EOF while parsing an object"),
        }
        Ok(true)
    }

    /// The name of a field, with the colon after it.
    fn name(&mut self) -> Result<Cow<'de, str>, Wrong> {
        if self.peek() != Some(b'"') {
            return self.wrong("key must be a string");
        }
        let name = self.string()?;
        if self.peek() != Some(b':') {
            return self.wrong("expected `:`");
        }
        self.at += 1;
        Ok(name)
    }

    /// A text, of which `at` is the first quote.
    fn string(&mut self) -> Result<Cow<'de, str>, Wrong> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(Cow::Borrowed(&self.text[start..at]));
                }
                Some(b'\\') => break,
                Some(0..0x20) => {
                    return self.wrong_at(at, "control character (\\u0000-\\u001F) found while parsing a string");
                }
                Some(_) => at += 1,
                None => return self.wrong_at(at, "EOF while parsing a string"),
            }
        }
        let mut text = self.text[start..at].to_owned();
        loop {
            let plain = at;
            while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)) {
                at += 1;
            }
            text.push_str(&self.text[plain..at]);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => at = self.escape(at, &mut text)?,
                Some(_) => {
                    return self.wrong_at(at, "control character (\\u0000-\\u001F) found while parsing a string");
                }
                None => return self.wrong_at(at, "EOF while parsing a string"),
            }
        }
    }

    /// Reads an escape at `at`, and answers where it ends.
    fn escape(&self, at: usize, text: &mut String) -> Result<usize, Wrong> {
        let read = match self.text.as_bytes().get(at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let high = self.hex(at + 2)?;
                if !(0xd800..0xdc00).contains(&high) {
                    let Some(read) = char::from_u32(high) else {
                        return self.wrong_at(at, "lone trailing surrogate in hex escape");
                    };
                    text.push(read);
                    return Ok(at + 6);
                }
                let is_pair = self.text.as_bytes()[at + 6..].starts_with(b"\\u");
                let low = if is_pair { self.hex(at + 8)? } else { 0 };
                if !(0xdc00..0xe000).contains(&low) {
                    return self.wrong_at(at, "lone leading surrogate in hex escape");
                }
                text.extend(char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
                return Ok(at + 12);
            }
            Some(_) => return self.wrong_at(at, "invalid escape"),
            None => return self.wrong_at(at, "EOF while parsing a string"),
        };
        text.push(read);
        Ok(at + 2)
    }

    fn hex(&self, at: usize) -> Result<u32, Wrong> {
        let digits = self.text.as_bytes().get(at..at + 4).unwrap_or_default();
        let mut value = 0;
        for digit in digits {
            let Some(digit) = char::from(*digit).to_digit(16) else { return self.wrong_at(at, "invalid escape") };
            value = value * 16 + digit;
        }
        if digits.len() < 4 {
            return self.wrong_at(at, "EOF while parsing a string");
        }
        Ok(value)
    }

    fn digits(&mut self) -> Result<(), Wrong> {
        let bytes = self.text.as_bytes();
        if !bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            return self.wrong("invalid number");
        }
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Read, Wrong> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes[start] == b'-' {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if bytes[first] == b'0' && self.at > first + 1 {
            return self.wrong_at(first, "invalid number");
        }
        let mut is_integer = true;
        if bytes.get(self.at) == Some(&b'.') {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let token = &self.text[start..self.at];
        if is_integer && !self.is_input && token != "-0" {
            if let Ok(whole) = token.parse::<u64>() {
                return Ok(Read::Unsigned(whole));
            }
            if let Ok(whole) = token.parse::<i64>() {
                return Ok(Read::Signed(whole));
            }
        }
        let double = token.parse::<f64>().ok().filter(|double| double.is_finite());
        let Some(double) = double else {
            return self.wrong_at(start, format!("the number {} is out of range", shortened(token)));
        };
        if self.is_input && is_integer && !is_double(token, double) {
            let token = shortened(token);
            return self.wrong_at(
                start,
                format!(
                    "the integer {token} is no number of JavaScript, the nearest is {double}: write it as a text \
                     (\"{token}\")"
                ),
            );
        }
        Ok(match number_of(double) {
            Some(whole) if whole.is_u64() => Read::Unsigned(whole.as_u64().unwrap_or_default()),
            Some(whole) if whole.is_i64() => Read::Signed(whole.as_i64().unwrap_or_default()),
            _ => Read::Double(double),
        })
    }

    /// A value, without the detour over visitors.
    fn value(&mut self) -> Result<Value, Wrong> {
        match self.peek() {
            Some(b'"') => Ok(Value::String(self.string()?.into_owned())),
            Some(b'-' | b'0'..=b'9') => Ok(match self.number()? {
                Read::Unsigned(whole) => Value::Number(whole.into()),
                Read::Signed(whole) => Value::Number(whole.into()),
                Read::Double(double) => number(double),
            }),
            Some(b'{') => {
                self.at += 1;
                let mut fields = Map::new();
                while self.goes_on(b'}', fields.is_empty())? {
                    let name = self.name()?;
                    let value = match self.value() {
                        Ok(value) => value,
                        Err(mut wrong) => {
                            wrong.around.push(name.into_owned());
                            return Err(wrong);
                        }
                    };
                    fields.insert(name.into_owned(), value);
                }
                Ok(Value::Object(fields))
            }
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                while self.goes_on(b']', items.is_empty())? {
                    let value = match self.value() {
                        Ok(value) => value,
                        Err(mut wrong) => {
                            wrong.around.push(items.len().to_string());
                            return Err(wrong);
                        }
                    };
                    items.push(value);
                }
                Ok(Value::Array(items))
            }
            Some(b'n') => self.word("null").map(|()| Value::Null),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            _ => self.unexpected(),
        }
    }

    /// The error of a place: its line and column, and its JSON pointer where there is one.
    fn error(&self, wrong: Wrong) -> Error {
        let pointer: String = wrong.around.iter().rev().map(|part| format!("/{}", pointer_part(part))).collect();
        let at = if pointer.is_empty() { String::new() } else { format!(", at {pointer}") };
        self.placed(wrong.at, format!("{}{at}", wrong.message))
    }

    fn placed(&self, at: usize, message: impl fmt::Display) -> Error {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Error::custom(format_args!("{message} at line {line} column {column}"))
    }

    /// An error of a type that is read, which knows no place.
    fn with_place(&self, error: Error) -> Error {
        if error.line() > 0 {
            return error;
        }
        self.placed(self.at, error)
    }
}

/// A number that was read.
enum Read {
    Unsigned(u64),
    Signed(i64),
    Double(f64),
}

fn shortened(token: &str) -> Cow<'_, str> {
    if token.len() <= 40 {
        return Cow::Borrowed(token);
    }
    Cow::Owned(format!("{}…", &token[..40]))
}

/// A field's name in a JSON pointer.
fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => match self.string().map_err(|wrong| self.error(wrong))? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b'-' | b'0'..=b'9') => match self.number().map_err(|wrong| self.error(wrong))? {
                Read::Unsigned(whole) => visitor.visit_u64(whole),
                Read::Signed(whole) => visitor.visit_i64(whole),
                Read::Double(double) => visitor.visit_f64(double),
            },
            Some(b'{') => {
                self.at += 1;
                let mut entries = Entries { reader: self, is_first: true, is_over: false };
                let value = visitor.visit_map(&mut entries)?;
                entries.close(b'}')?;
                Ok(value)
            }
            Some(b'[') => {
                self.at += 1;
                let mut entries = Entries { reader: self, is_first: true, is_over: false };
                let value = visitor.visit_seq(&mut entries)?;
                entries.close(b']')?;
                Ok(value)
            }
            Some(b'n') => {
                self.word("null").map_err(|wrong| self.error(wrong))?;
                visitor.visit_unit()
            }
            Some(b't') => {
                self.word("true").map_err(|wrong| self.error(wrong))?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.word("false").map_err(|wrong| self.error(wrong))?;
                visitor.visit_bool(false)
            }
            _ => {
                let unexpected: Result<(), Wrong> = self.unexpected();
                Err(unexpected.err().map_or_else(|| Error::custom("expected value"), |wrong| self.error(wrong)))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.word("null").map_err(|wrong| self.error(wrong))?;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => {
                let name = self.string().map_err(|wrong| self.error(wrong))?;
                visitor.visit_enum(StrDeserializer::<Error>::new(&name))
            }
            Some(b'{') => {
                self.at += 1;
                let value = visitor.visit_enum(&mut *self)?;
                if self.peek() != Some(b'}') {
                    return Err(self.placed(self.at, "expected `}`"));
                }
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.placed(self.at, "expected a name or an object")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The entries of a list or an object.
struct Entries<'a, 'de> {
    reader: &'a mut Reader<'de>,
    is_first: bool,
    is_over: bool,
}

impl Entries<'_, '_> {
    fn next(&mut self, close: u8) -> Result<bool, Error> {
        if self.is_over {
            return Ok(false);
        }
        let goes_on = self.reader.goes_on(close, self.is_first).map_err(|wrong| self.reader.error(wrong))?;
        self.is_first = false;
        self.is_over = !goes_on;
        Ok(goes_on)
    }

    /// A visitor that read less than there is was wrong about it.
    fn close(&mut self, close: u8) -> Result<(), Error> {
        if self.next(close)? {
            return Err(self.reader.placed(self.reader.at, "more entries than expected"));
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next(b'}')? {
            return Ok(None);
        }
        let name = self.reader.name().map_err(|wrong| self.reader.error(wrong))?;
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// The name of a field.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Maps by numbers have them as texts.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse() {
            Ok(whole) => visitor.visit_u64(whole),
            Err(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(StrDeserializer::<Error>::new(&self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = self.name().map_err(|wrong| self.error(wrong))?;
        Ok((seed.deserialize(Name(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.peek();
        self.word("null").map_err(|wrong| self.error(wrong))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::event::{Event, EventKind, Recorded};

    /// Doubles that have gone wrong somewhere.
    const HARD: [f64; 14] = [
        -0.0,
        1e20,
        1e21,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_616.0,
        -9_223_372_036_854_775_808.0,
        -9_223_372_036_854_777_856.0,
        0.1,
        1e-7,
    ];

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Of {
            #[serde(deserialize_with = "exact")]
            value: Value,
        },
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let double = prop_oneof![
            any::<f64>().prop_filter("finite", |double| double.is_finite()),
            prop::sample::select(HARD.to_vec()),
        ];
        let name = prop_oneof![
            ".{0,6}",
            Just("$serde_json::private::Number".to_owned()),
            Just("$serde_json::private::RawValue".to_owned()),
            Just("$payload".to_owned()),
            Just("$value".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            double.prop_map(number),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::vec((name.clone(), inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(parse(&text).expect(&text), value.clone());
            let tagged = Tagged::Of { value: value.clone() };
            let text = serde_json::to_string(&tagged).expect("text");
            prop_assert_eq!(&from_json::<Tagged>(&text).expect(&text), &tagged);
            let whole = serde_json::to_value(&tagged).expect("a value");
            prop_assert_eq!(from_value::<Tagged>(whole).expect("a type"), tagged);
            let event = Event {
                seq: 1,
                at: 2,
                path: None,
                attempt: 0,
                kind: EventKind::InputEdited { input: Recorded::Value(value) },
            };
            let text = serde_json::to_string(&event).expect("text");
            prop_assert_eq!(from_json::<Event>(&text).expect(&text), event);
        }

        #[test]
        fn a_double_is_read_as_itself(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
            for text in [number(double).to_string(), format!("{double}"), format!("{double:e}")] {
                let read = parse(&text).expect(&text).as_f64().expect(&text);
                prop_assert_eq!(read.to_bits(), double.to_bits(), "{}", text);
            }
            let input = parse_input(&number(double).to_string()).expect("a double is an input");
            prop_assert_eq!(input, number(double));
        }

        #[test]
        fn it_takes_what_serde_json_takes(text in "[-0-9.eE\\[\\]{},:\" \\\\u0Dtrfalsn]{0,24}") {
            let theirs = serde_json::from_str::<Value>(&text);
            match parse(&text) {
                Ok(value) => prop_assert!(crate::operation::equal(&value, &theirs.expect(&text))),
                // They keep what is out of range as digits.
                Err(error) => prop_assert!(theirs.is_err() || error.to_string().contains("out of range"), "{}", text),
            }
        }
    }

    #[test]
    fn hard_numbers_have_one_form() {
        for double in HARD {
            let value = number(double);
            assert_eq!(parse(&value.to_string()).expect("a number"), value);
            assert_eq!(value.as_f64().map(f64::to_bits), Some(double.to_bits()));
        }
        assert_eq!(number(1e18).to_string(), "1000000000000000000");
        assert_eq!(number(2.0), Value::from(2));
        assert_eq!(parse("1.0").expect("a number"), Value::from(1));
        assert_eq!(parse("1e3").expect("a number"), Value::from(1000));
    }

    #[test]
    fn integers_that_are_no_doubles_are_refused_with_their_place() {
        for text in ["9007199254740993", "12345678901234567890", "-9223372036854775809", "18446744073709551617"] {
            let error = parse_input(&format!("{{\n  \"a/b\": [1, {text}] }}")).expect_err(text).to_string();
            assert!(error.contains(text) && error.contains("at /a~1b/1 at line 2 column 14"), "{error}");
        }
        for text in ["9007199254740992", "9223372036854775808", "9223372036854776000", "100000000000000000000", "-0"] {
            parse_input(text).expect(text);
        }
        assert!(parse("1e400").expect_err("infinite").to_string().contains("out of range"));
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, told) in [
            ("{\"a\": }", "expected value, at /a at line 1 column 7"),
            ("[1,\n2,]", "trailing comma at line 2 column 3"),
            ("\"\\ud800\"", "lone leading surrogate in hex escape at line 1 column 2"),
            ("1 2", "trailing characters at line 1 column 3"),
            ("", "EOF while parsing a value at line 1 column 1"),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), told);
        }
    }
}
