//! The seven state operations as data, and what each does to a state.
//!
//! The log stores operations, not their results, and a rebase after a conflict applies them again (ARCHITECTURE §3.2).
//! An updater or a mutator is a function of the author, so the fields it changed are stored, and it is not repeatable.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::json::number;
use crate::model::state::State;

/// A field whose value an operation cannot be applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfitField<'a> {
    /// The method that the author called.
    pub method: &'static str,
    /// The field's name.
    pub field: &'a str,
    /// The kind of value that the method needs there.
    pub needed: &'static str,
}

/// One state operation, resolved to plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// `patchState({…})`: a shallow merge.
    Patch {
        #[serde(deserialize_with = "crate::model::json::exact")]
        fields: Map<String, Value>,
    },
    /// `patchState(key, updater)`: the updater's answer for one field.
    Update {
        field: String,
        #[serde(deserialize_with = "crate::model::json::exact")]
        value: Value,
    },
    /// `setState(next)`: exactly this, nothing kept.
    Set {
        #[serde(deserialize_with = "crate::model::json::exact")]
        state: Map<String, Value>,
    },
    /// `incState({…})`: each field plus a number, absent counts as 0.
    Increment {
        #[serde(deserialize_with = "crate::model::json::exact")]
        by: Map<String, Value>,
    },
    /// `pushState(field, value)`: one value at the end of a list, absent counts as empty.
    Push {
        field: String,
        #[serde(deserialize_with = "crate::model::json::exact")]
        value: Value,
    },
    /// `setStateRecord(field, key, value)`.
    SetRecord {
        field: String,
        key: String,
        #[serde(deserialize_with = "crate::model::json::exact")]
        value: Value,
    },
    /// `deleteStateRecord(field, key)`.
    DeleteRecord { field: String, key: String },
    /// `atomicState(mutator)`: the top-level fields the mutator's answer changed.
    Atomic {
        #[serde(deserialize_with = "crate::model::json::exact")]
        fields: Map<String, Value>,
    },
}

impl Operation {
    /// The operation's name in items and history (SEMANTICS §4.2).
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Patch { .. } | Operation::Update { .. } | Operation::SetRecord { .. } => "patch",
            Operation::Set { .. } => "set",
            Operation::Increment { .. } => "increment",
            Operation::Push { .. } => "push",
            Operation::DeleteRecord { .. } => "delete_key",
            Operation::Atomic { .. } => "atomic",
        }
    }

    /// The path the item names, where the operation has one: `field` or `field.key`.
    pub fn path(&self) -> Option<String> {
        match self {
            Operation::Update { field, .. } | Operation::Push { field, .. } => Some(field.clone()),
            Operation::SetRecord { field, key, .. } | Operation::DeleteRecord { field, key } => {
                Some(format!("{field}.{key}"))
            }
            _ => None,
        }
    }

    /// The change as it was asked for, as `state_change` items carry it (SEMANTICS §4.2).
    pub fn delta(&self) -> Value {
        match self {
            Operation::Patch { fields } | Operation::Atomic { fields } => Value::Object(fields.clone()),
            Operation::Update { field, value } => object(field, value.clone()),
            Operation::Set { state } => Value::Object(state.clone()),
            Operation::Increment { by } => Value::Object(by.clone()),
            Operation::Push { value, .. } => value.clone(),
            Operation::SetRecord { field, key, value } => object(field, object(key, value.clone())),
            Operation::DeleteRecord { field, key } => object(field, Value::String(key.clone())),
        }
    }

    /// Returns the sums after an increment, for its event; `None` for other operations.
    pub fn sums(&self, after: &State) -> Option<Value> {
        let Operation::Increment { by } = self else { return None };
        let made = by.keys().filter_map(|field| Some((field.clone(), (**after.get(field)?).clone())));
        Some(Value::Object(made.collect()))
    }

    /// Returns the first field whose value the operation cannot be applied to: an increment of what is no number, a
    /// push to what is no list. A field that is absent or null is empty and fits.
    pub fn unfit_field<'a>(&'a self, before: &State) -> Option<UnfitField<'a>> {
        let holds_other = |field: &str, fits: fn(&Value) -> bool| {
            before.get(field).is_some_and(|value| !value.is_null() && !fits(value))
        };
        match self {
            Operation::Increment { by } => by
                .keys()
                .find(|field| holds_other(field, Value::is_number))
                .map(|field| UnfitField { method: "incState", field, needed: "a number" }),
            // The length alone, because a long list is not put together for this.
            Operation::Push { field, .. } => (before.list_len(field).is_none() && holds_other(field, Value::is_array))
                .then_some(UnfitField { method: "pushState", field, needed: "a list" }),
            _ => None,
        }
    }

    /// Returns the first field of an increment whose sum is no finite number, which JSON could not hold.
    pub fn overflowing_field(&self, before: &State) -> Option<&str> {
        let Operation::Increment { by } = self else { return None };
        let sum = |(field, amount): &(&String, &Value)| {
            before.get(field).and_then(|value| value.as_f64()).unwrap_or(0.0) + amount.as_f64().unwrap_or(0.0)
        };
        by.iter().find(|change| !sum(change).is_finite()).map(|(field, _)| field.as_str())
    }

    /// Returns the top-level fields it writes. `Set` also touches every other field of `before`, because it removes
    /// them.
    pub fn touched<'a>(&'a self, before: &'a State) -> Vec<&'a str> {
        match self {
            Operation::Patch { fields } | Operation::Atomic { fields } => fields.keys().map(String::as_str).collect(),
            Operation::Increment { by } => by.keys().map(String::as_str).collect(),
            Operation::Update { field, .. }
            | Operation::Push { field, .. }
            | Operation::SetRecord { field, .. }
            | Operation::DeleteRecord { field, .. } => vec![field],
            Operation::Set { state } => {
                let mut names: Vec<&str> = state.keys().map(String::as_str).collect();
                names.extend(before.names().filter(|name| !state.contains_key(*name)));
                names
            }
        }
    }

    /// Returns the operation without transient fields (SEMANTICS §4.7), which are not recorded; `None` if nothing is
    /// left.
    pub fn recorded_without(&self, transient: &[String]) -> Option<Operation> {
        let kept = |fields: &Map<String, Value>| -> Option<Map<String, Value>> {
            let kept: Map<_, _> = fields
                .iter()
                .filter(|(field, _)| !transient.contains(field))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            (!kept.is_empty() || fields.is_empty()).then_some(kept)
        };
        Some(match self {
            Operation::Patch { fields } => Operation::Patch { fields: kept(fields)? },
            Operation::Atomic { fields } => Operation::Atomic { fields: kept(fields)? },
            Operation::Increment { by } => Operation::Increment { by: kept(by)? },
            Operation::Set { state } => {
                let state = state.iter().filter(|(field, _)| !transient.contains(field));
                Operation::Set { state: state.map(|(k, v)| (k.clone(), v.clone())).collect() }
            }
            Operation::Update { field, .. }
            | Operation::Push { field, .. }
            | Operation::SetRecord { field, .. }
            | Operation::DeleteRecord { field, .. }
                if transient.contains(field) =>
            {
                return None;
            }
            other => other.clone(),
        })
    }

    /// Returns whether a rebase may apply it to a newer record without running the author's code (SEMANTICS §4.2): an
    /// increment of one field and a push always; a write of a record's key and a patch of one field unless the author's
    /// code had read the record before (`after_read`).
    pub fn is_repeatable(&self, after_read: bool) -> bool {
        match self {
            Operation::Patch { fields } => fields.len() == 1 && !after_read,
            Operation::Increment { by } => by.len() == 1,
            Operation::Push { .. } => true,
            Operation::SetRecord { .. } | Operation::DeleteRecord { .. } => !after_read,
            Operation::Update { .. } | Operation::Set { .. } | Operation::Atomic { .. } => false,
        }
    }

    /// Applies it to a state. Returns whether anything changed.
    pub fn apply(&self, state: &mut State) -> bool {
        match self {
            Operation::Patch { fields } | Operation::Atomic { fields } => {
                let mut changed = false;
                for (field, value) in fields {
                    changed |= put(state, field, value.clone());
                }
                changed
            }
            Operation::Update { field, value } => put(state, field, value.clone()),
            Operation::Set { state: next } => {
                let next = State::from(next.clone());
                let same = next.names().count() == state.names().count()
                    && next.iter().all(|(name, value)| state.get(name).is_some_and(|old| equal(old, value)));
                if !same {
                    *state = next;
                }
                !same
            }
            Operation::Increment { by } => {
                let mut changed = false;
                for (field, amount) in by {
                    changed |= put(state, field, add(state.get(field).map(|v| &**v), amount));
                }
                changed
            }
            Operation::Push { field, value } => {
                state.push(field, value.clone());
                true
            }
            Operation::SetRecord { field, key, value } => {
                let record = state.get(field).and_then(|v| v.as_object());
                if record.and_then(|r| r.get(key)).is_some_and(|old| equal(old, value)) {
                    return false;
                }
                match state.record_mut(field) {
                    Some(record) => {
                        record.insert(key.clone(), value.clone());
                    }
                    None => state.set(field, Arc::new(object(key, value.clone()))),
                }
                true
            }
            Operation::DeleteRecord { field, key } => {
                let Some(current) = state.get(field) else {
                    state.set(field, Arc::new(Value::Object(Map::new())));
                    return true;
                };
                if !current.as_object().is_some_and(|record| record.contains_key(key)) {
                    return false;
                }
                state.record_mut(field).is_some_and(|record| record.shift_remove(key).is_some())
            }
        }
    }
}

/// Structural equality as JavaScript sees it: `1` and `1.0` are one number, and the order of an
/// object's keys does not matter.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn put(state: &mut State, field: &str, value: Value) -> bool {
    if state.get(field).is_some_and(|old| equal(old, &value)) {
        return false;
    }
    state.set(field, Arc::new(value));
    true
}

fn object(key: &str, value: Value) -> Value {
    let mut map = Map::new();
    map.insert(key.to_owned(), value);
    Value::Object(map)
}

/// Adds numbers as JavaScript does.
fn add(current: Option<&Value>, amount: &Value) -> Value {
    let sum = current.and_then(Value::as_f64).unwrap_or(0.0) + amount.as_f64().unwrap_or(0.0);
    number(sum)
}
