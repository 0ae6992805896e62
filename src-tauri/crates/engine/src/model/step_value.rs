//! The value that flows from step to step, and the event that already holds it.

use std::fmt::{Debug, Formatter};
use std::rc::Rc;

use serde_json::Value;

use crate::model::callable::{Arg, SchemaRef};
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
    /// The input schemas that it comes from.
    pub(crate) parsed_by: ParsedBy,
}

/// The input schemas that have parsed a value on its way into a block (SEMANTICS §2.3). None of them parses it again.
#[derive(Clone, Default)]
pub(crate) struct ParsedBy(Vec<SchemaRef>);

impl ParsedBy {
    /// Returns whether a schema has parsed the value.
    pub(crate) fn has(&self, schema: &SchemaRef) -> bool {
        self.0.iter().any(|parsed| parsed.is(schema))
    }

    /// Adds a schema.
    pub(crate) fn add(&mut self, schema: &SchemaRef) {
        self.0.push(schema.clone());
    }
}

impl Debug for ParsedBy {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} schemas", self.0.len())
    }
}

impl StepValue {
    /// Wraps a value that no event holds yet.
    pub fn new(data: Data) -> Self {
        StepValue { data, ..StepValue::default() }
    }

    /// Wraps a value that an event holds.
    pub(crate) fn held(data: Data, origin: Option<Seq>) -> Self {
        StepValue { data, origin, ..StepValue::default() }
    }

    /// Wraps an error for a rescue block or a hook: functions get the thrown object, the log its name, message and
    /// code.
    pub(crate) fn thrown(error: &FlowError) -> Self {
        let words = serde_json::json!({ "name": error.name, "message": error.message, "code": error.code });
        StepValue { data: words.into(), thrown: Some(Rc::new(error.clone())), ..StepValue::default() }
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
