//! The records of resources: where they lie, and what they hold besides the author's fields.
//!
//! An id is `<scope>/<owner>/<place>`; a flow that keeps its resources to itself adds its kind to the
//! owner. Whatever could be read two ways is percent-encoded:
//!
//! | what | id |
//! |---|---|
//! | a single resource, by its `ref` | `user/ada/snippets` |
//! | the same, of one flow | `user/ada:chat/snippets` |
//! | an instance of a collection | `user/ada/files/*#report` |
//! | the index of a collection: its keys, in the order of their creation | `user/ada/files/*` |
//!
//! Two reserved fields lie beside the author's, where operations reach them like any other:
//! `$exists` marks an instance that was created and not deleted, `$content` is its text.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::operation::Operation;
use crate::model::resource::pattern::Pattern;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

/// Marks a record that is there.
pub const EXISTS: &str = "$exists";
/// The text of a record.
pub const CONTENT: &str = "$content";
/// The field of an index that holds its keys.
pub const KEYS: &str = "keys";
/// The field of a limited collection's index that counts creations: each changes it, so that two at
/// once cannot both find room.
pub const MADE: &str = "made";

/// Where a record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Session, user or project.
    pub scope: ScopeKind,
    /// Whose.
    pub owner: String,
    /// The flow that has it to itself.
    pub flow: Option<String>,
    /// Where among the owner's.
    pub place: Place,
}

/// Where among an owner's resources.
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
    /// The record's key.
    pub fn key(&self) -> ScopeKey {
        let place = match &self.place {
            Place::Single(path) => escape(path, &['%', '#', '*', '[']),
            Place::Index(pattern) => escape(pattern, &['%', '#']),
            Place::Instance(pattern, key) => format!("{}#{key}", escape(pattern, &['%', '#'])),
        };
        ScopeKey::new(ScopeKind::Resource, format!("{}/{place}", owner(self.scope, &self.owner, self.flow.as_deref())))
    }

    /// Reads a key's id; `None` for what is no resource's.
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

    /// The path that authors see; `None` for an index, which they do not.
    pub fn path(&self) -> Option<String> {
        match &self.place {
            Place::Single(path) => Some(path.clone()),
            Place::Index(_) => None,
            Place::Instance(pattern, key) => Pattern::parse(pattern).ok().map(|pattern| pattern.path_of(key)),
        }
    }

    /// How it is shown within a request, which has one session, one user and one project.
    pub fn shown(&self) -> Option<String> {
        let scope = self.scope.as_str();
        let path = self.path()?;
        Some(match &self.flow {
            Some(flow) => format!("{scope}:{flow}/{path}"),
            None => format!("{scope}/{path}"),
        })
    }
}

/// What the ids of an owner's resources begin with, before the `/` of the path or the `:` of a flow.
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

/// Whether an instance is there.
pub fn exists(state: &State) -> bool {
    state.get(EXISTS).is_some()
}

/// The text that was written.
pub fn content(state: &State) -> Option<&str> {
    state.get(CONTENT).and_then(|text| text.as_str())
}

/// The author's fields.
pub fn fields(state: &Arc<State>) -> Arc<State> {
    if state.get(EXISTS).is_none() && state.get(CONTENT).is_none() {
        return state.clone();
    }
    let mut fields = (**state).clone();
    fields.remove(EXISTS);
    fields.remove(CONTENT);
    Arc::new(fields)
}

/// What a developer sees of a record, the text under `$content`; `None` for what was never written
/// or is deleted.
pub fn shown(state: &Arc<State>) -> Option<Value> {
    let mut shown = (**state).clone();
    shown.remove(EXISTS);
    (!state.is_empty()).then(|| shown.to_json())
}

/// Brings an instance into being: a merge into nothing, so that a deleted one may come back, and
/// never repeated on top of another creation.
pub fn create(mut fields: Map<String, Value>) -> Operation {
    fields.insert(EXISTS.to_owned(), true.into());
    Operation::Atomic { fields }
}

/// Replaces the author's fields and keeps the text.
pub fn replace(mut fields: Map<String, Value>, before: &State) -> Operation {
    if let Some(text) = content(before) {
        fields.insert(CONTENT.to_owned(), text.into());
    }
    fields.insert(EXISTS.to_owned(), true.into());
    Operation::Set { state: fields }
}

/// Writes the text.
pub fn write(text: String) -> Operation {
    Operation::Patch { fields: Map::from_iter([(CONTENT.to_owned(), text.into())]) }
}

/// Leaves nothing.
pub fn delete() -> Operation {
    Operation::Set { state: Map::new() }
}

/// What an operation did to a resource, as `resource_change` items say it (SEMANTICS §4.9).
/// A single resource is created by its first write.
pub fn change_type(operation: &Operation, version: u64) -> &'static str {
    match operation {
        Operation::Set { state } if !state.contains_key(EXISTS) => "deleted",
        Operation::Atomic { fields } if fields.contains_key(EXISTS) => "created",
        _ if version == 1 => "created",
        _ => "updated",
    }
}

/// The change as it was asked for: without the mark, and the text as `content`.
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
