//! The state of one scope: top-level fields, each shared until it changes.
//!
//! All operations are shallow (SEMANTICS §4.2), so cloning a state copies a pointer or a few for each field, and large
//! unchanged values are shared. A list that is pushed to shares its older entries.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

mod list;
use list::List;

/// Named fields in the order they were first written.
#[derive(Clone, Debug, Default)]
pub struct State {
    fields: IndexMap<Arc<str>, Field>,
}

/// A long list in chunks, for somebody who keeps the entries of a chunk and does not ask for them again.
pub struct LongList<'a> {
    /// The name of the field.
    pub field: &'a str,
    /// The ids of its full chunks, in order. A chunk never changes, and no other one has its id.
    pub chunks: Vec<u64>,
    /// The entries after them.
    pub rest: &'a [Arc<Value>],
}

#[derive(Clone, Debug)]
enum Field {
    Value(Arc<Value>),
    /// A list that was pushed to.
    List(List),
}

impl Field {
    fn value(&self) -> &Arc<Value> {
        match self {
            Field::Value(value) => value,
            Field::List(list) => list.whole(),
        }
    }
}

impl State {
    /// The value of a field. Of a list that was pushed to since it was last asked for, this costs a copy.
    pub fn get(&self, field: &str) -> Option<&Arc<Value>> {
        self.fields.get(field).map(Field::value)
    }

    /// Whether it has a field.
    pub fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// How many entries a field has, if it is a list.
    pub fn list_len(&self, field: &str) -> Option<usize> {
        match self.fields.get(field)? {
            Field::Value(value) => value.as_array().map(Vec::len),
            Field::List(list) => Some(list.len()),
        }
    }

    /// The long lists that were pushed to.
    pub fn long_lists(&self) -> impl Iterator<Item = LongList<'_>> {
        self.fields.iter().filter_map(|(field, value)| match value {
            Field::List(list) if !list.full_chunks().is_empty() => Some(LongList {
                field,
                chunks: list.full_chunks().iter().map(|chunk| chunk.id).collect(),
                rest: list.rest(),
            }),
            _ => None,
        })
    }

    /// The entries of one chunk of a long list.
    pub fn chunk(&self, field: &str, id: u64) -> Option<&[Arc<Value>]> {
        let Field::List(list) = self.fields.get(field)? else { return None };
        list.full_chunks().iter().find(|chunk| chunk.id == id).map(|chunk| &*chunk.entries)
    }

    /// The value of a field that is an object, to be changed. It is copied where somebody else still has it.
    pub fn record_mut(&mut self, field: &str) -> Option<&mut Map<String, Value>> {
        match self.fields.get_mut(field)? {
            Field::Value(value) if value.is_object() => Arc::make_mut(value).as_object_mut(),
            _ => None,
        }
    }

    /// Puts a field, keeping its place if it exists.
    pub fn set(&mut self, field: &str, value: Arc<Value>) {
        match self.fields.get_mut(field) {
            Some(slot) => *slot = Field::Value(value),
            None => {
                self.fields.insert(field.into(), Field::Value(value));
            }
        }
    }

    /// Sets the fields that it does not have, from declared defaults.
    pub fn fill_in(&mut self, defaults: &Map<String, Value>) {
        for (field, value) in defaults {
            if !self.has(field) {
                self.set(field, Arc::new(value.clone()));
            }
        }
    }

    /// The state that an event holds; empty if that is no object.
    pub fn recorded(state: &Value) -> State {
        state.as_object().cloned().map(State::from).unwrap_or_default()
    }

    /// Appends to a list; a field that is none becomes one.
    pub fn push(&mut self, field: &str, entry: Value) {
        match self.list_mut(field) {
            Some(list) => list.push(entry),
            None => self.set(field, Arc::new(Value::Array(vec![entry]))),
        }
    }

    /// Takes the last entry of a list off.
    pub(crate) fn pop(&mut self, field: &str) {
        if let Some(list) = self.list_mut(field) {
            list.pop();
        }
    }

    fn list_mut(&mut self, field: &str) -> Option<&mut List> {
        let slot = self.fields.get_mut(field)?;
        if let Field::Value(value) = slot
            && value.is_array()
            && let Value::Array(entries) = Arc::unwrap_or_clone(std::mem::take(value))
        {
            *slot = Field::List(List::new(entries));
        }
        match slot {
            Field::List(list) => Some(list),
            Field::Value(_) => None,
        }
    }

    /// Takes a field out, keeping the order of the others.
    pub fn remove(&mut self, field: &str) {
        self.fields.shift_remove(field);
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        self.fields.iter().map(|(name, field)| (&**name, field.value()))
    }

    /// The names of all fields in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(|name| &**name)
    }

    /// True when no field was ever written.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns a JSON object of all fields. Only values that are shared with another state are copied.
    pub fn into_json(self) -> Value {
        let into_json = |field| match field {
            Field::Value(value) => Arc::unwrap_or_clone(value),
            Field::List(list) => list.to_json(),
        };
        Value::Object(self.fields.into_iter().map(|(name, field)| (name.to_string(), into_json(field))).collect())
    }

    /// A JSON object with copies of all fields.
    pub fn to_json(&self) -> Value {
        let to_json = |field: &Field| match field {
            Field::Value(value) => (**value).clone(),
            Field::List(list) => list.to_json(),
        };
        Value::Object(self.fields.iter().map(|(name, field)| (name.to_string(), to_json(field))).collect())
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let same = |(name, field): (&Arc<str>, &Field)| {
            other.fields.get(name).is_some_and(|other| field.value() == other.value())
        };
        self.fields.len() == other.fields.len() && self.fields.iter().all(same)
    }
}

impl From<Map<String, Value>> for State {
    fn from(map: Map<String, Value>) -> Self {
        State { fields: map.into_iter().map(|(k, v)| (Arc::from(k), Field::Value(Arc::new(v)))).collect() }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().map(|(name, field)| (&**name, field)))
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Value(value) => value.serialize(serializer),
            Field::List(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::<String, Value>::deserialize(deserializer).map(State::from)
    }
}
