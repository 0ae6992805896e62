//! The state of one scope: top-level fields, each shared until it changes.
//!
//! All operations are shallow (SEMANTICS §4.2), so cloning a state copies one pointer for each field, and large
//! unchanged values are shared.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Named fields in the order they were first written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    fields: IndexMap<Arc<str>, Arc<Value>>,
}

impl State {
    /// The value of a field.
    pub fn get(&self, field: &str) -> Option<&Arc<Value>> {
        self.fields.get(field)
    }

    /// Puts a field, keeping its place if it exists.
    pub fn set(&mut self, field: &str, value: Arc<Value>) {
        match self.fields.get_mut(field) {
            Some(slot) => *slot = value,
            None => {
                self.fields.insert(field.into(), value);
            }
        }
    }

    /// Sets the fields that it does not have, from declared defaults.
    pub fn fill_in(&mut self, defaults: &Map<String, Value>) {
        for (field, value) in defaults {
            if self.get(field).is_none() {
                self.set(field, Arc::new(value.clone()));
            }
        }
    }

    /// Appends to a list; a field that is none becomes one. A list that somebody else holds is copied first.
    pub fn push(&mut self, field: &str, value: Value) {
        match self.fields.get_mut(field) {
            Some(slot) if slot.is_array() => {
                if let Value::Array(items) = Arc::make_mut(slot) {
                    items.push(value);
                }
            }
            _ => self.set(field, Arc::new(Value::Array(vec![value]))),
        }
    }

    /// Takes the last entry of a list off.
    pub(crate) fn pop(&mut self, field: &str) {
        if let Some(Value::Array(items)) = self.fields.get_mut(field).map(Arc::make_mut) {
            items.pop();
        }
    }

    /// Takes a field out, keeping the order of the others.
    pub fn remove(&mut self, field: &str) -> Option<Arc<Value>> {
        self.fields.shift_remove(field)
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
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
        Value::Object(self.fields.into_iter().map(|(k, v)| (k.to_string(), Arc::unwrap_or_clone(v))).collect())
    }

    /// A JSON object with copies of all fields.
    pub fn to_json(&self) -> Value {
        Value::Object(self.fields.iter().map(|(k, v)| (k.to_string(), (**v).clone())).collect())
    }
}

impl From<Map<String, Value>> for State {
    fn from(map: Map<String, Value>) -> Self {
        State { fields: map.into_iter().map(|(k, v)| (Arc::from(k), Arc::new(v))).collect() }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().map(|(k, v)| (&**k, &**v)))
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::<String, Value>::deserialize(deserializer).map(State::from)
    }
}
