//! What the engine asks of an author's code: functions and schemas, in whatever language.
//!
//! The engine never names JavaScript. A flow written in Rust implements these with closures.

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

/// One call of an author's function: what its `ctx` stands for.
///
/// A language keeps it for as long as the call lasts, and makes an `engine::context::Context` of it where the function
/// asks for something. Only the execution that made it knows what is inside.
#[derive(Clone)]
pub struct Invocation(Rc<dyn Any>);

impl Invocation {
    /// A call that stands for this.
    pub(crate) fn new(of: impl Any) -> Self {
        Invocation(Rc::new(of))
    }

    /// What it stands for, where that is a `T`.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// What an author's function gave back.
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
    /// The value; a block where only a value makes sense is an author's mistake.
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
    /// Calls it; the answer comes when its promise settles.
    fn call(&self, args: Vec<Arg>, invocation: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>>;

    /// What it is known by wherever it stands: 16 hexadecimal digits that are the same for the same source.
    /// Nothing where its source is not known; a resume goes by its place then.
    fn fingerprint(&self) -> Option<Arc<str>> {
        None
    }
}

/// One thing a schema found wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// Dotted path inside the value, empty for the value itself.
    pub path: String,
    /// The schema's words.
    pub message: String,
}

impl Issue {
    /// All issues as JSON, for `details` of an error.
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
    /// What it starts as, where the schema says.
    pub default: Option<Value>,
    /// Marked by `transientSlot`: in memory only.
    pub transient: bool,
}

/// A schema of an author.
pub trait Schema {
    /// The parsed value (defaults and transforms applied), or what is wrong.
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>>;

    /// As `parse`, for a schema whose refinements may wait: they are called as part of a call.
    fn parse_async(&self, data: &Data, _invocation: Invocation) -> LocalBoxFuture<'static, Result<Data, Vec<Issue>>> {
        std::future::ready(self.parse(data)).boxed_local()
    }

    /// Checks one top-level field's value, without transforming it. Unknown fields pass.
    fn check_field(&self, field: &str, value: &Value) -> Result<(), Vec<Issue>>;

    /// Whether a field's value is known to pass without a look at the author's code; if not, it still may.
    fn lets_pass(&self, _field: &str, _value: &Value) -> bool {
        false
    }

    /// The top-level fields, or `None` when the schema is not an object's.
    fn fields(&self) -> Option<&[Field]>;

    /// Whether it lets other fields through on purpose, so that nobody need be told of them.
    fn is_open(&self) -> bool {
        false
    }

    /// JSON Schema (draft 7) for forms and models.
    fn describe(&self) -> Value;

    /// The same, never stricter than the schema: what it makes of other values counts as let through.
    fn accepted(&self) -> Value {
        self.describe()
    }
}

/// An author's function, shared.
pub type Fun = Rc<dyn Callable>;
/// An author's schema, shared.
pub type SchemaRef = Rc<dyn Schema>;
