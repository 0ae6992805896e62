//! A value that flows between blocks: JSON, or nothing at all.
//!
//! JavaScript and zod schemas distinguish `undefined` and `null`, so the engine does, too.
//! Values are shared, not copied: a fan-out hands one allocation to all its branches.

use std::sync::Arc;

use serde_json::Value;

pub use crate::model::json::{from_json, parse};

/// A JSON value or `undefined`, cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data(Option<Arc<Value>>);

impl Data {
    /// JavaScript's `undefined`.
    pub const UNDEFINED: Data = Data(None);

    /// The value, or `None` for `undefined`.
    pub fn as_value(&self) -> Option<&Value> {
        self.0.as_deref()
    }

    /// A JSON value for places that know no `undefined`: it becomes `null` there.
    pub fn to_json(&self) -> Value {
        self.0.as_deref().cloned().unwrap_or(Value::Null)
    }

    /// The value as an optional field of a record: absent when `undefined`.
    pub fn to_option(&self) -> Option<Value> {
        self.0.as_deref().cloned()
    }

    /// The truth value JavaScript would give this value in a condition.
    pub fn is_truthy(&self) -> bool {
        match self.as_value() {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_f64().is_some_and(|n| n != 0.0),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(_) | Value::Object(_)) => true,
        }
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Data(Some(Arc::new(value)))
    }
}

impl From<Option<Value>> for Data {
    fn from(value: Option<Value>) -> Self {
        Data(value.map(Arc::new))
    }
}
