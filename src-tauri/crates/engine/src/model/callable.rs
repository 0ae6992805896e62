//! The traits of an author's code: functions and schemas, in whatever language.
//!
//! The engine knows nothing of JavaScript. A flow written in Rust implements these traits with closures.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};

use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::{Block, ModelInstance};

/// An argument of an author's function.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value.
    Data(Data),
    /// The error object a rescue or an `onErrored` gets.
    Error(FlowError),
}

/// An opaque handle of one call of an author's function.
///
/// The language host keeps it for as long as the call lasts, and turns it into an `engine::context::Context` to serve
/// the function's `ctx`. Only `execution` knows what is inside.
#[derive(Clone)]
pub struct Invocation(Rc<dyn Any>);

impl Invocation {
    /// Wraps a value.
    pub(crate) fn new(of: impl Any) -> Self {
        Invocation(Rc::new(of))
    }

    /// Returns the wrapped value, if it is a `T`.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// What an author's function returned.
#[derive(Clone)]
pub enum Returned {
    /// A value, already in JSON normal form (ARCHITECTURE §3.10).
    Data(Data),
    /// A block: a router's choice, or one made by a factory.
    Block(Rc<Block>),
    /// Several blocks: a generator's tools.
    Blocks(Vec<Rc<Block>>),
    /// An author's own model: a generator's choice.
    Model(Rc<ModelInstance>),
}

impl Returned {
    /// Returns the value. Anything else is a `ValidationError`.
    pub fn into_data(self) -> Result<Data, FlowError> {
        match self {
            Returned::Data(data) => Ok(data),
            Returned::Block(block) => Err(FlowError::validation(
                format!("a block (\"{}\") was returned where a value is expected", block.name),
                None,
            )),
            Returned::Model(model) => Err(FlowError::validation(
                format!("a model (\"{}\") was returned where a value is expected", model.id),
                None,
            )),
            Returned::Blocks(_) => Err(FlowError::validation("blocks were returned where a value is expected", None)),
        }
    }
}

/// An author's function.
pub trait Callable {
    /// Calls the function. The future completes when the function's promise settles.
    fn call(&self, args: Vec<Arg>, invocation: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>>;

    /// Returns the fingerprint of its source: 16 hexadecimal digits, equal for equal sources. `None` if the source is
    /// not known; a resume then identifies the function by its place alone.
    fn fingerprint(&self) -> Option<Arc<str>> {
        None
    }
}

/// The signals that the branches of races run under, by the paths of the branches.
pub trait RaceSignals {
    /// Gives branches new signals: they run again in another attempt of their chain.
    fn begin(&self, branches: &[String]);

    /// Fires the signals of branches: another one has won.
    fn stop(&self, branches: &[String]);
}

/// One thing a schema found wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// Dotted path inside the value, empty for the value itself.
    pub path: String,
    /// The schema's message.
    pub message: String,
}

impl Issue {
    /// Returns all issues as JSON, for `details` of an error.
    pub fn list(issues: &[Issue]) -> Value {
        issues
            .iter()
            .map(|issue| {
                let mut map = Map::new();
                map.insert("path".to_owned(), issue.path.clone().into());
                map.insert("message".to_owned(), issue.message.clone().into());
                Value::Object(map)
            })
            .collect()
    }
}

/// A top-level field of an object schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its default, if the schema has one.
    pub default: Option<Value>,
    /// Marked by `transientSlot`: in memory only.
    pub transient: bool,
}

/// A schema of an author.
pub trait Schema {
    /// Returns the parsed value (defaults and transforms applied), or what is wrong.
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>>;

    /// As `parse`, for a schema with asynchronous refinements: they run as part of the call `_invocation`.
    fn parse_async(&self, data: &Data, _invocation: Invocation) -> LocalBoxFuture<'static, Result<Data, Vec<Issue>>> {
        std::future::ready(self.parse(data)).boxed_local()
    }

    /// Checks one top-level field's value, without transforming it. Unknown fields pass.
    fn check_field(&self, field: &str, value: &Value) -> Result<(), Vec<Issue>>;

    /// Returns true if a field's value is certain to pass without running the author's code. With false it may pass or
    /// not: [`check_field`](Self::check_field) decides.
    fn is_known_valid(&self, _field: &str, _value: &Value) -> bool {
        false
    }

    /// As [`is_known_valid`](Self::is_known_valid), of a new entry of a list whose other entries are valid.
    fn is_entry_known_valid(&self, _field: &str, _entry: &Value) -> bool {
        false
    }

    /// As [`check_field`](Self::check_field), of a list whose first `at` entries are valid and that has one more;
    /// `None` if the whole list must be checked.
    fn check_entry(&self, _field: &str, _at: usize, _entry: &Value) -> Option<Result<(), Vec<Issue>>> {
        None
    }

    /// Returns the top-level fields, or `None` if the schema is not that of an object.
    fn fields(&self) -> Option<&[Field]>;

    /// Returns whether it explicitly accepts undeclared fields, so that a write to one is not noted.
    fn is_open(&self) -> bool {
        false
    }

    /// Returns the number of the author's schema in its flow. Two objects with one number are the same schema.
    fn number(&self) -> Option<u32> {
        None
    }

    /// Returns whether it may change, or refuse, a value that it has made: a transform does.
    fn converts(&self) -> bool {
        false
    }

    /// Returns the JSON Schema (draft 7) for forms and models.
    fn describe(&self) -> Value;

    /// As [`describe`](Self::describe), but never stricter than the schema: any input that a transform or a coercion
    /// may accept is accepted.
    fn describe_accepted(&self) -> Value {
        self.describe()
    }
}

impl dyn Schema {
    /// Returns whether both are the same schema of the author.
    pub fn is(self: &Rc<Self>, other: &Rc<Self>) -> bool {
        Rc::ptr_eq(self, other) || self.number().is_some_and(|number| other.number() == Some(number))
    }
}

/// An author's function, shared.
pub type Fun = Rc<dyn Callable>;
/// An author's schema, shared.
pub type SchemaRef = Rc<dyn Schema>;
