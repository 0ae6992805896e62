//! Redaction: secrets are removed from events before they are recorded, by the name of their field or by their value.
//!
//! A flow gets everything unredacted. Redaction is deterministic, so that a replay can compare a request with the
//! recorded one. Names are those of [the list](NAMES) and of the workspace's settings; values are those that the
//! settings pass to flows by `…Env`. Other secrets are not found.

mod names;
mod scan;
mod value;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::model::error::FlowError;

pub use names::NAMES;
pub use value::{Secrets, Stream};

/// The replacement of a secret.
pub const REDACTED: &str = "[redacted]";

/// The fields of an error that are compared.
const COMPARED: [&str; 4] = ["name", "ownName", "classes", "code"];
/// The shortest of them in which values are looked for.
const SHORTEST_COMPARED: usize = 8;
/// The fields of an error that name what is recorded elsewhere.
const PLACES: [&str; 2] = ["path", "location"];

/// What a workspace redacts.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// Normalized names besides those of the list.
    more: Vec<String>,
    secrets: Secrets,
    /// Whether names of the list are kept.
    keeps_listed: bool,
}

impl Redaction {
    /// Creates a redaction of the names of the list, of these names, and of these values.
    pub fn new<'n>(more: impl IntoIterator<Item = &'n str>, secrets: Secrets) -> Redaction {
        Redaction { more: more.into_iter().map(names::plain).collect(), secrets, keeps_listed: false }
    }

    /// The same without the list: for traces of other programs, which hold texts of people and of models.
    pub fn without_list(self) -> Redaction {
        Redaction { keeps_listed: true, ..self }
    }

    /// Returns whether the value of a field with this name is a secret.
    pub(crate) fn is_listed(&self, name: &str) -> bool {
        if self.keeps_listed && self.more.is_empty() {
            return false;
        }
        let plain = names::plain(name);
        !self.keeps_listed && NAMES.contains(&&*plain) || self.more.contains(&plain)
    }

    /// As [`is_listed`](Self::is_listed), for a header.
    fn is_header(&self, name: &str) -> bool {
        names::ends_like_a_secret(name) || self.is_listed(name)
    }

    /// Redacts a text: passwords in URLs, the values of listed query parameters, form fields and JSON fields, and known
    /// values.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let named = scan::hide(text, self);
        match self.secrets.hidden(&named) {
            Some(hidden) => Cow::Owned(hidden),
            None => named,
        }
    }

    /// Redacts all strings in a value, and whole fields with listed names. Returns whether it changed something.
    pub fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().filter_map(|item| self.value(item).then_some(())).count() > 0,
            Value::Object(fields) => self.fields(fields, |name| self.is_listed(name)),
            _ => false,
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>, is_secret: impl Fn(&str) -> bool) -> bool {
        let mut is_changed = false;
        for (name, field) in fields {
            let is_told = !matches!(field, Value::Null | Value::Bool(_));
            if is_told && is_secret(name) {
                is_changed |= *field != REDACTED;
                *field = REDACTED.into();
            } else {
                is_changed |= self.value(field);
            }
        }
        is_changed
    }

    /// Redacts the attributes of a span as [`value`](Self::value) does. Their names are paths: a listed name may be any
    /// part of one, and what follows `header` or `headers` is the name of a header.
    pub fn attributes(&self, attributes: &mut Map<String, Value>) -> bool {
        let header =
            |name: &str| [".header.", ".headers."].iter().find_map(|mark| Some(name.split_once(mark)?.1.to_owned()));
        let is_header = |name: &str| header(name).is_some_and(|header| self.is_header(&header));
        let is_part = |name: &str| name.split('.').any(|part| self.is_listed(part));
        self.fields(attributes, |name| self.is_listed(name) || is_part(name) || is_header(name))
    }

    /// Redacts known values in all strings of a value, and nothing by its name: what a model is told is text of people,
    /// in which a field that is called like a secret is none.
    pub fn known(&self, value: &mut Value) {
        if self.secrets.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Some(hidden) = self.secrets.hidden(text) {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.known(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.known(field));
                if fields.keys().any(|name| self.secrets.first_in(name).is_some()) {
                    let renamed = std::mem::take(fields).into_iter();
                    *fields = renamed.map(|(name, field)| (self.key(&name).into_owned(), field)).collect();
                }
            }
            _ => {}
        }
    }

    /// Whether there are no known values.
    pub(crate) fn has_no_values(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns a text without known values.
    pub fn without_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.hidden(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Redacts in a text for people what is left of known values where it was cut, which `…` marks; `is_cut` says
    /// whether it was cut at its end without a mark.
    pub fn cut_text(&self, text: &mut String, is_cut: bool) {
        if let Some(hidden) = self.secrets.hidden_at_cuts(text, is_cut) {
            *text = hidden;
        }
    }

    /// Redacts known values in a text.
    pub(crate) fn known_text(&self, text: &mut String) {
        if let Some(hidden) = self.secrets.hidden(text) {
            *text = hidden;
        }
    }

    /// Redacts known values in a key. Keys that differ in what is redacted stay different: the names of the values say
    /// which ones they are.
    pub(crate) fn key<'k>(&self, key: &'k str) -> Cow<'k, str> {
        self.secrets.hidden_by_name(key).map_or(Cow::Borrowed(key), Cow::Owned)
    }

    /// Returns the name of a known value in a value, if there is one.
    pub(crate) fn known_in(&self, value: &Value) -> Option<Arc<str>> {
        if self.secrets.is_empty() {
            return None;
        }
        match value {
            Value::String(text) => self.secrets.first_in(text),
            Value::Array(items) => items.iter().find_map(|item| self.known_in(item)),
            Value::Object(fields) => {
                fields.iter().find_map(|(name, field)| self.secrets.first_in(name).or_else(|| self.known_in(field)))
            }
            _ => None,
        }
    }

    /// Redacts known values in an error of an author's code. In its class names and its code, which are compared, they
    /// are replaced as in keys.
    pub(crate) fn thrown(&self, error: FlowError) -> FlowError {
        if self.secrets.is_empty() {
            return error;
        }
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&error) else { return error };
        if fields.values().all(|field| self.known_in(field).is_none()) {
            return error;
        }
        for (name, field) in &mut fields {
            if PLACES.contains(&name.as_str()) {
                continue;
            }
            if !COMPARED.contains(&name.as_str()) {
                self.known(field);
                continue;
            }
            match field {
                Value::String(text) => self.compared(text),
                Value::Array(classes) => classes.iter_mut().for_each(|class| {
                    if let Value::String(text) = class {
                        self.compared(text);
                    }
                }),
                _ => {}
            }
        }
        match crate::model::json::from_value::<FlowError>(Value::Object(fields)) {
            Ok(mut hidden) => {
                hidden.gathered = error.gathered.into_iter().map(|one| self.thrown(one)).collect();
                FlowError { handle: error.handle, status: error.status, ..hidden }
            }
            Err(_) => FlowError {
                message: REDACTED.to_owned(),
                stack: None,
                details: None,
                object: None,
                gathered: Vec::new(),
                ..error
            },
        }
    }

    /// Redacts known values in a text that is compared, as in a key. A short one, as `Error` is, is kept: a value would
    /// be in it by chance.
    fn compared(&self, text: &mut String) {
        if text.len() >= SHORTEST_COMPARED {
            *text = self.key(text).into_owned();
        }
    }

    /// Redacts an error. The flow gets the redacted one, too: the message may quote what was sent.
    pub fn error(&self, mut error: FlowError) -> FlowError {
        self.string(&mut error.message);
        if let Some(details) = &mut error.details {
            self.value(details);
        }
        error
    }

    /// Redacts a recorded HTTP request or reply: `url`, `headers` and `body`.
    pub(crate) fn exchange(&self, side: &mut Value) {
        if let Some(Value::String(url)) = side.get_mut("url") {
            self.string(url);
        }
        for header in side.get_mut("headers").and_then(Value::as_array_mut).into_iter().flatten() {
            let is_secret = header[0].as_str().is_some_and(|name| self.is_header(name));
            match &mut header[1] {
                held if is_secret => *held = REDACTED.into(),
                Value::String(held) => _ = self.string(held),
                _ => {}
            }
        }
        let is_base64 = side["base64"] == true;
        let Some(Value::String(body)) = side.get_mut("body") else { return };
        if !is_base64 {
            self.string(body);
            return;
        }
        // Bytes that are UTF-8 are redacted as text.
        let text = STANDARD.decode(&*body).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text
            && let Cow::Owned(hidden) = self.text(&text)
        {
            *body = STANDARD.encode(hidden);
        }
    }

    /// Redacts a text in place. Returns whether it changed.
    pub fn string(&self, text: &mut String) -> bool {
        let Cow::Owned(hidden) = self.text(text) else { return false };
        let is_changed = hidden != *text;
        *text = hidden;
        is_changed
    }
}

#[cfg(test)]
mod tests;
