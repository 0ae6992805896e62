//! A schema of the bundle, as the engine calls it. Must not decide what a refusal means: the engine does.

use std::collections::HashMap;
use std::rc::Rc;

use engine::callable::{Field, Invocation, Issue, Schema, SchemaRef};
use engine::context::Context;
use engine::data::{Data, from_json, parse};
use engine::error::FlowError;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use rquickjs::Function;
use serde::Deserialize;
use serde_json::Value;

use crate::describe::plain::Plain;
use crate::vm::calls::{call_and_wait, thrown};
use crate::vm::{CallResult, Vm};

/// A schema of the bundle.
pub(crate) struct ScriptSchema {
    pub(crate) vm: Rc<Vm>,
    pub(crate) id: u32,
    pub(crate) fields: Option<Vec<Field>>,
    /// The simple schemas of fields that have one.
    pub(crate) plain: HashMap<String, Plain>,
    /// Whether an object may have other fields.
    pub(crate) open: bool,
}

#[derive(Deserialize)]
struct WireIssue {
    path: String,
    message: String,
}

fn issues(wire: Vec<WireIssue>) -> Vec<Issue> {
    wire.into_iter().map(|issue| Issue { path: issue.path, message: issue.message }).collect()
}

/// What a schema threw, with its place in the author's file.
fn failed(error: FlowError) -> Vec<Issue> {
    let place = error.location.map(|at| format!(" (at {}:{}:{})", at.file, at.line, at.column));
    vec![Issue { path: String::new(), message: error.message + &place.unwrap_or_default() }]
}

/// Reads the result of a parse: data (absent for `undefined`), or what is wrong.
pub(crate) fn parsed(answer: &str) -> Result<Data, Vec<Issue>> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default, deserialize_with = "engine::json::given")]
        data: Option<Value>,
        issues: Option<Vec<WireIssue>>,
    }
    let wire: Wire = from_json(answer).map_err(|error| failed(FlowError::plain(error.to_string())))?;
    match wire.issues {
        Some(found) => Err(issues(found)),
        None => Ok(wire.data.into()),
    }
}

/// Reads the result of a check: empty, or what is wrong.
fn checked(answer: &str) -> Result<(), Vec<Issue>> {
    if answer.is_empty() {
        return Ok(());
    }
    let found = from_json::<Vec<WireIssue>>(answer).map(issues);
    Err(found.unwrap_or_else(|error| failed(FlowError::plain(error.to_string()))))
}

impl Schema for ScriptSchema {
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>> {
        let json = data.as_value().map(Value::to_string);
        let id = self.id;
        self.vm
            .enter(|_, host| host.get::<_, Function>("parse")?.call::<_, String>((id, json)))
            .map_err(failed)
            .and_then(|answer| parsed(&answer))
    }

    fn parse_async(&self, data: &Data, invocation: Invocation) -> LocalBoxFuture<'static, Result<Data, Vec<Issue>>> {
        let cx = Context::of(&invocation);
        let json = data.as_value().map(Value::to_string);
        let (vm, id) = (self.vm.clone(), self.id);
        async move {
            let answer = call_and_wait(&vm, cx, |host, call, token| {
                host.get::<_, Function>("parseAsync")?.call::<_, ()>((call, id, token, json))
            });
            match answer.await.map_err(failed)? {
                CallResult::Value(json) => parsed(&json),
                CallResult::Error(json) => Err(failed(thrown(&vm, &json))),
                _ => Err(failed(FlowError::plain("the schema gave no answer"))),
            }
        }
        .boxed_local()
    }

    fn is_known_valid(&self, field: &str, value: &Value) -> bool {
        self.plain.get(field).is_some_and(|plain| plain.fits(value))
    }

    fn is_entry_known_valid(&self, field: &str, entry: &Value) -> bool {
        self.plain.get(field).is_some_and(|plain| plain.fits_entry(entry))
    }

    fn check_field(&self, field: &str, value: &Value) -> Result<(), Vec<Issue>> {
        if self.is_known_valid(field, value) {
            return Ok(());
        }
        let (id, json) = (self.id, value.to_string());
        let answer = self
            .vm
            .enter(|_, host| host.get::<_, Function>("checkField")?.call::<_, String>((id, field, json)))
            .map_err(failed)?;
        checked(&answer)
    }

    fn check_entry(&self, field: &str, at: usize, entry: &Value) -> Option<Result<(), Vec<Issue>>> {
        if self.is_entry_known_valid(field, entry) {
            return Some(Ok(()));
        }
        let (id, json) = (self.id, entry.to_string());
        let answer = self.vm.enter(|_, host| {
            host.get::<_, Function>("checkEntry")?.call::<_, Option<String>>((id, field, at as u32, json))
        });
        answer.map(|answer| answer.map(|answer| checked(&answer))).unwrap_or_else(|error| Some(Err(failed(error))))
    }

    fn fields(&self) -> Option<&[Field]> {
        self.fields.as_deref()
    }

    fn is_open(&self) -> bool {
        self.open
    }

    fn number(&self) -> Option<u32> {
        Some(self.id)
    }

    fn converts(&self) -> bool {
        let id = self.id;
        // What throws here may convert.
        self.vm.enter(|_, host| host.get::<_, Function>("converts")?.call::<_, bool>((id,))).unwrap_or(true)
    }

    fn describe(&self) -> Value {
        self.json_schema(false)
    }

    fn describe_accepted(&self) -> Value {
        self.json_schema(true)
    }
}

impl ScriptSchema {
    fn json_schema(&self, accepted: bool) -> Value {
        let id = self.id;
        self.vm
            .enter(|_, host| host.get::<_, Function>("describeSchema")?.call::<_, String>((id, accepted)))
            .ok()
            .and_then(|json| parse(&json).ok())
            .unwrap_or(Value::Null)
    }
}

/// Returns a schema of a whole value.
pub(crate) fn schema(vm: &Rc<Vm>, id: u32) -> SchemaRef {
    Rc::new(ScriptSchema { vm: vm.clone(), id, fields: None, plain: HashMap::new(), open: false })
}
