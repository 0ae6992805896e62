//! The value that flows from step to step, and the event that already holds it.

use std::rc::Rc;

use serde_json::Value;

use crate::model::callable::Arg;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{Recorded, Seq};

/// A value between steps, and the event that already holds it.
#[derive(Clone, Debug, Default)]
pub struct StepValue {
    /// The value.
    pub data: Data,
    /// The event whose recorded output (or input, for the first event) is this very value.
    pub origin: Option<Seq>,
    /// The error object this value stands for, when a rescue block gets it.
    pub thrown: Option<Rc<FlowError>>,
}

impl StepValue {
    /// Wraps a value that no event holds yet.
    pub fn new(data: Data) -> Self {
        StepValue { data, origin: None, thrown: None }
    }

    /// Wraps an error for a rescue block or a hook: functions get the thrown object, the log its name, message and
    /// code.
    pub(crate) fn thrown(error: &FlowError) -> Self {
        let words = serde_json::json!({ "name": error.name, "message": error.message, "code": error.code });
        StepValue { data: words.into(), origin: None, thrown: Some(Rc::new(error.clone())) }
    }

    /// Returns the argument for an author's function.
    pub(crate) fn argument(&self) -> Arg {
        match &self.thrown {
            Some(error) => Arg::Error((**error).clone()),
            None => Arg::Data(self.data.clone()),
        }
    }

    /// Returns the form for an event: by reference if another event holds the value, unless it is short.
    pub fn recorded(&self) -> Recorded {
        match self.origin {
            // A short value is cheaper to write out than to look up.
            Some(seq) if !is_short(&self.data) => Recorded::Of(seq),
            _ => Recorded::inline(&self.data),
        }
    }
}

fn is_short(data: &Data) -> bool {
    match data.as_value() {
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_)) => true,
        Some(Value::String(text)) => text.len() < 16,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
    }
}
