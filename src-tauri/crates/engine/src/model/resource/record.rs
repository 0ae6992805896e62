//! The records of resources: their ids, and what they hold besides the author's fields.
//!
//! An id is `<scope>/<owner>/<place>`; for a resource of one flow the flow's kind is added to the owner. Reserved
//! characters are percent-encoded:
//!
//! | what | id |
//! |---|---|
//! | a single resource, by its `ref` | `user/ada/snippets` |
//! | the same, of one flow | `user/ada:chat/snippets` |
//! | an instance of a collection | `user/ada/files/*#report` |
//! | the index of a collection: its keys, in the order of their creation | `user/ada/files/*` |
//!
//! Two reserved fields are stored with the author's, and changed by the same operations: `$exists` marks an instance
//! that was created and not deleted, `$content` is its text.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::operation::Operation;
use crate::model::resource::pattern::Pattern;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

/// The field that marks an existing record.
pub const EXISTS: &str = "$exists";
/// The field that holds the text.
pub const CONTENT: &str = "$content";
/// The field of an index that holds its keys.
pub const KEYS: &str = "keys";
/// The field of a limited collection's index that counts creations. Every creation updates it, so that concurrent ones
/// conflict and cannot both take the last free place.
pub const CREATIONS: &str = "made";

/// The id of a record, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Session, user or project.
    pub scope: ScopeKind,
    /// The id of the session, user or project.
    pub owner: String,
    /// The flow's kind, if the resource belongs to one flow.
    pub flow: Option<String>,
    /// Which of the owner's resources.
    pub place: Place,
}

/// Which of an owner's resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A single resource, by its `ref`.
    Single(String),
    /// A collection's own record, by its pattern.
    Index(String),
    /// An instance, by its collection's pattern and its key.
    Instance(String, String),
}

impl Address {
    /// Returns the record's key.
    pub fn key(&self) -> ScopeKey {
        let place = match &self.place {
            Place::Single(path) => escape(path, &['%', '#', '*', '[']),
            Place::Index(pattern) => escape(pattern, &['%', '#']),
            Place::Instance(pattern, key) => format!("{}#{key}", escape(pattern, &['%', '#'])),
        };
        ScopeKey::new(ScopeKind::Resource, format!("{}/{place}", owner(self.scope, &self.owner, self.flow.as_deref())))
    }

    /// Parses a key's id; `None` if it is not that of a resource.
    pub fn parse(id: &str) -> Option<Address> {
        let mut parts = id.splitn(3, '/');
        let (scope, owner, place) = (parts.next()?, parts.next()?, parts.next()?);
        let (owner, flow) = match owner.split_once(':') {
            Some((owner, flow)) => (owner, Some(unescape(flow))),
            None => (owner, None),
        };
        let place = match place.split_once('#') {
            Some((pattern, key)) => Place::Instance(unescape(pattern), key.to_owned()),
            None if place.contains(['*', '[']) => Place::Index(unescape(place)),
            None => Place::Single(unescape(place)),
        };
        Some(Address { scope: ScopeKind::parse(scope)?, owner: unescape(owner), flow, place })
    }

    /// Returns the path that authors see; `None` for an index, which they do not see.
    pub fn path(&self) -> Option<String> {
        match &self.place {
            Place::Single(path) => Some(path.clone()),
            Place::Index(_) => None,
            Place::Instance(pattern, key) => Pattern::parse(pattern).ok().map(|pattern| pattern.path_of(key)),
        }
    }

    /// Returns its name within a request, where the owner is not needed.
    pub fn shown(&self) -> Option<String> {
        let scope = self.scope.as_str();
        let path = self.path()?;
        Some(match &self.flow {
            Some(flow) => format!("{scope}:{flow}/{path}"),
            None => format!("{scope}/{path}"),
        })
    }
}

/// Returns the prefix of the ids of an owner's resources, before the `/` of the place or the `:` of a flow.
pub fn prefix(scope: &ScopeKey) -> String {
    owner(scope.kind, &scope.id, None)
}

fn owner(scope: ScopeKind, owner: &str, flow: Option<&str>) -> String {
    let reserved = ['%', '/', ':'];
    let flow = flow.map(|flow| format!(":{}", escape(flow, &reserved))).unwrap_or_default();
    format!("{}/{}{flow}", scope.as_str(), escape(owner, &reserved))
}

fn escape(text: &str, reserved: &[char]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if reserved.contains(&c) { escaped.push_str(&format!("%{:02X}", c as u32)) } else { escaped.push(c) }
    }
    escaped
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let code = after.get(..2).and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        plain.push(code.unwrap_or('%'));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    plain.push_str(rest);
    plain
}

/// Returns whether an instance exists.
pub fn exists(state: &State) -> bool {
    state.get(EXISTS).is_some()
}

/// Returns the text that was written, if any.
pub fn content(state: &State) -> Option<&str> {
    state.get(CONTENT).and_then(|text| text.as_str())
}

/// Returns the author's fields.
pub fn fields(state: &Arc<State>) -> Arc<State> {
    if state.get(EXISTS).is_none() && state.get(CONTENT).is_none() {
        return state.clone();
    }
    let mut fields = (**state).clone();
    fields.remove(EXISTS);
    fields.remove(CONTENT);
    Arc::new(fields)
}

/// Returns the record for developers, with the text under `$content`; `None` if it was never written or is deleted.
pub fn shown(state: &Arc<State>) -> Option<Value> {
    let mut shown = (**state).clone();
    shown.remove(EXISTS);
    (!state.is_empty()).then(|| shown.to_json())
}

/// Returns the operation that creates an instance. It is not repeatable, so that a rebase never applies it to an
/// instance that another block has created.
pub fn create(mut fields: Map<String, Value>) -> Operation {
    fields.insert(EXISTS.to_owned(), true.into());
    Operation::Atomic { fields }
}

/// Returns the operation that replaces the author's fields and keeps the text.
pub fn replace(mut fields: Map<String, Value>, before: &State) -> Operation {
    if let Some(text) = content(before) {
        fields.insert(CONTENT.to_owned(), text.into());
    }
    fields.insert(EXISTS.to_owned(), true.into());
    Operation::Set { state: fields }
}

/// Returns the operation that writes the text.
pub fn write(text: String) -> Operation {
    Operation::Patch { fields: Map::from_iter([(CONTENT.to_owned(), text.into())]) }
}

/// Returns the operation that deletes an instance.
pub fn delete() -> Operation {
    Operation::Set { state: Map::new() }
}

/// Returns the type of a change for `resource_change` items (SEMANTICS §4.9). The first write of a single resource
/// counts as its creation.
pub fn change_type(operation: &Operation, version: u64) -> &'static str {
    match operation {
        Operation::Set { state } if !state.contains_key(EXISTS) => "deleted",
        Operation::Atomic { fields } if fields.contains_key(EXISTS) => "created",
        _ if version == 1 => "created",
        _ => "updated",
    }
}

/// Returns the change as it was asked for: without `$exists`, and with the text as `content`.
pub fn delta(operation: &Operation) -> Value {
    let mut delta = operation.delta();
    if let Value::Object(fields) = &mut delta {
        fields.shift_remove(EXISTS);
        if let Some(text) = fields.shift_remove(CONTENT) {
            fields.insert("content".to_owned(), text);
        }
    }
    delta
}
