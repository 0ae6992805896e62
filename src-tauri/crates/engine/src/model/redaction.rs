//! What is taken out of a record before it is kept: secrets, known by the name they stand under or by their value.
//!
//! A flow gets everything as it came; only what is recorded of it is redacted, in the same way each time, so that
//! a replay can compare what it asks with what was asked. Must not: find a secret that neither a name nor a value
//! tells. A value goes to flows by `…Env` of the settings, a name is on [the list](NAMES) or on the workspace's.

mod names;
mod scan;
mod value;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::model::error::FlowError;

pub use names::NAMES;
pub use value::{Secrets, Stream};

/// What stands in a record for a secret.
pub const REDACTED: &str = "[redacted]";

/// What a workspace redacts.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// Names besides those of the list, plain.
    more: Vec<String>,
    secrets: Secrets,
}

impl Redaction {
    /// The names of the list and these; and these values, wherever they stand.
    pub fn new<'n>(more: impl IntoIterator<Item = &'n str>, secrets: Secrets) -> Redaction {
        Redaction { more: more.into_iter().map(names::plain).collect(), secrets }
    }

    /// Whether what stands under this name is a secret.
    pub(crate) fn is_listed(&self, name: &str) -> bool {
        let plain = names::plain(name);
        NAMES.contains(&&*plain) || self.more.contains(&plain)
    }

    /// The same for the name of a header.
    fn is_header(&self, name: &str) -> bool {
        names::ends_like_a_secret(name) || self.is_listed(name)
    }

    /// A text without passwords in addresses, without the values of listed query parameters, form fields and fields
    /// of JSON, and without known values.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let named = scan::hide(text, self);
        match self.secrets.hidden(&named) {
            Some(hidden) => Cow::Owned(hidden),
            None => named,
        }
    }

    /// Every text in a value, and whole fields by their names.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    let is_told = !matches!(field, Value::Null | Value::Bool(_));
                    if is_told && self.is_listed(name) {
                        *field = REDACTED.into();
                    } else {
                        self.value(field);
                    }
                }
            }
            _ => {}
        }
    }

    /// An error, of which a flow sees no more than its record holds: its words may quote what was sent.
    pub fn error(&self, mut error: FlowError) -> FlowError {
        self.string(&mut error.message);
        if let Some(details) = &mut error.details {
            self.value(details);
        }
        error
    }

    /// One side of an HTTP exchange as the log has it: `url`, `headers` and `body`.
    pub(crate) fn exchange(&self, side: &mut Value) {
        if let Some(Value::String(url)) = side.get_mut("url") {
            self.string(url);
        }
        for header in side.get_mut("headers").and_then(Value::as_array_mut).into_iter().flatten() {
            let is_secret = header[0].as_str().is_some_and(|name| self.is_header(name));
            match &mut header[1] {
                held if is_secret => *held = REDACTED.into(),
                Value::String(held) => self.string(held),
                _ => {}
            }
        }
        let is_base64 = side["base64"] == true;
        let Some(Value::String(body)) = side.get_mut("body") else { return };
        if !is_base64 {
            return self.string(body);
        }
        // Bytes that are text hold secrets as text does.
        let text = STANDARD.decode(&*body).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text
            && let Cow::Owned(hidden) = self.text(&text)
        {
            *body = STANDARD.encode(hidden);
        }
    }

    fn string(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.text(text) {
            *text = hidden;
        }
    }
}

#[cfg(test)]
mod tests;
