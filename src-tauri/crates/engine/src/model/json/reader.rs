//! A parser of JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::de::Error as _;
use serde_json::{Error, Map, Value};

use super::{is_double, number, number_of};

/// How many fields and indexes the pointer in an error has, from the outermost one.
const MAX_POINTER_PARTS: usize = 20;

/// An error at a byte of the text, with the enclosing fields and indexes, innermost first.
pub(super) struct SyntaxError {
    pub(super) at: usize,
    message: Cow<'static, str>,
    around: Vec<String>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// A parser at a byte of a JSON text.
pub(super) struct Reader<'de> {
    text: &'de str,
    pub(super) at: usize,
    /// Whether an integer that a double cannot hold is an error.
    is_input: bool,
    /// How many levels may be nested, and how many are open.
    max_depth: usize,
    depth: usize,
}

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str, is_input: bool, max_depth: usize) -> Self {
        // Editors put a byte-order mark before what a person wrote.
        let at = if is_input && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Reader { text, at, is_input, max_depth, depth: 0 }
    }

    /// Enters the list or object that begins here. The caller must call [`leave`](Self::leave) at its end.
    pub(super) fn enter(&mut self) -> Result<(), SyntaxError> {
        if self.depth >= self.max_depth {
            return self.wrong(format!("nested deeper than {} levels", self.max_depth));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn wrong<T>(&self, message: impl Into<Cow<'static, str>>) -> Result<T, SyntaxError> {
        self.wrong_at(self.at, message)
    }

    fn wrong_at<T>(&self, at: usize, message: impl Into<Cow<'static, str>>) -> Result<T, SyntaxError> {
        Err(SyntaxError { at, message: message.into(), around: Vec::new() })
    }

    /// Skips white space and returns the next byte, without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    pub(super) fn end(&mut self) -> Result<(), Error> {
        if self.peek().is_some() {
            return Err(self.error(SyntaxError {
                at: self.at,
                message: "trailing characters".into(),
                around: Vec::new(),
            }));
        }
        Ok(())
    }

    /// Consumes a literal: `null`, `true` or `false`.
    pub(super) fn word(&mut self, word: &'static str) -> Result<(), SyntaxError> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.unexpected();
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn unexpected<T>(&self) -> Result<T, SyntaxError> {
        if self.at >= self.text.len() {
            return self.wrong("EOF while parsing a value");
        }
        self.wrong("expected value")
    }

    /// Consumes the separator before an entry, or the closing bracket. Returns whether there is an entry. `is_first` is
    /// true before the first one.
    pub(super) fn has_next_entry(&mut self, close: u8, is_first: bool) -> Result<bool, SyntaxError> {
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

    /// Consumes the name of a field, with the colon after it.
    pub(super) fn name(&mut self) -> Result<Cow<'de, str>, SyntaxError> {
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

    /// Consumes a string; `at` is its opening quote.
    pub(super) fn string(&mut self) -> Result<Cow<'de, str>, SyntaxError> {
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

    /// Appends the character of the escape at `at`, and returns where the escape ends.
    fn escape(&self, at: usize, text: &mut String) -> Result<usize, SyntaxError> {
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

    fn hex(&self, at: usize) -> Result<u32, SyntaxError> {
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

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        if !bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            return self.wrong("invalid number");
        }
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn number(&mut self) -> Result<ParsedNumber, SyntaxError> {
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
                return Ok(ParsedNumber::Unsigned(whole));
            }
            if let Ok(whole) = token.parse::<i64>() {
                return Ok(ParsedNumber::Signed(whole));
            }
        }
        let double = token.parse::<f64>().ok().filter(|double| double.is_finite());
        let Some(double) = double else {
            return self.wrong_at(start, format!("the number {} is out of range", shortened(token)));
        };
        if self.is_input && is_integer && !is_double(token, double) {
            return self.wrong_at(start, no_number(token, double));
        }
        Ok(match number_of(double) {
            Some(whole) if whole.is_u64() => ParsedNumber::Unsigned(whole.as_u64().unwrap_or_default()),
            Some(whole) if whole.is_i64() => ParsedNumber::Signed(whole.as_i64().unwrap_or_default()),
            _ => ParsedNumber::Double(double),
        })
    }

    /// Consumes a value. Faster than with visitors.
    pub(super) fn value(&mut self) -> Result<Value, SyntaxError> {
        match self.peek() {
            Some(b'"') => Ok(Value::String(self.string()?.into_owned())),
            Some(b'-' | b'0'..=b'9') => Ok(match self.number()? {
                ParsedNumber::Unsigned(whole) => Value::Number(whole.into()),
                ParsedNumber::Signed(whole) => Value::Number(whole.into()),
                ParsedNumber::Double(double) => number(double),
            }),
            Some(b'{') => {
                self.enter()?;
                let mut fields = Map::new();
                while self.has_next_entry(b'}', fields.is_empty())? {
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
                self.leave();
                Ok(Value::Object(fields))
            }
            Some(b'[') => {
                self.enter()?;
                let mut items = Vec::new();
                while self.has_next_entry(b']', items.is_empty())? {
                    let value = match self.value() {
                        Ok(value) => value,
                        Err(mut wrong) => {
                            wrong.around.push(items.len().to_string());
                            return Err(wrong);
                        }
                    };
                    items.push(value);
                }
                self.leave();
                Ok(Value::Array(items))
            }
            Some(b'n') => self.word("null").map(|()| Value::Null),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            _ => self.unexpected(),
        }
    }

    /// Converts an error: adds line and column, and the JSON pointer if there is one.
    pub(super) fn error(&self, wrong: SyntaxError) -> Error {
        let outer = wrong.around.iter().rev().take(MAX_POINTER_PARTS);
        let mut pointer: String = outer.map(|part| format!("/{}", pointer_part(part))).collect();
        if wrong.around.len() > MAX_POINTER_PARTS {
            pointer.push_str("/…");
        }
        let at = if pointer.is_empty() { String::new() } else { format!(", at {pointer}") };
        self.placed(wrong.at, format!("{}{at}", wrong.message))
    }

    pub(super) fn placed(&self, at: usize, message: impl fmt::Display) -> Error {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Error::custom(format_args!("{message} at line {line} column {column}"))
    }

    /// Adds the current place to an error of a visitor, which has none.
    pub(super) fn with_place(&self, error: Error) -> Error {
        if error.line() > 0 {
            return error;
        }
        self.placed(self.at, error)
    }
}

/// A parsed number.
pub(super) enum ParsedNumber {
    Unsigned(u64),
    Signed(i64),
    Double(f64),
}

/// The message for an integer that no double can hold.
pub(super) fn no_number(token: &str, double: f64) -> String {
    let token = shortened(token);
    format!("the integer {token} is no number of JavaScript, the nearest is {double}: write it as a text (\"{token}\")")
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
