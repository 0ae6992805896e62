//! State operations: one write of an author, from the call to the recorded event (SEMANTICS §4.2).
//!
//! A write takes the mutex of its state, is checked against every declaration of its scope, and is then applied as a
//! whole or not at all.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use serde_json::{Map, Value};

use super::{Context, Place, Target};
use crate::execution::core::fifo::FifoMutex;
use crate::execution::core::schema_check::first_issue;
use crate::execution::core::shared::{SharedState, Writer};
use crate::model::callable::{Arg, Fun, Issue, SchemaRef};
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::operation::{Operation, UnfitField, equal};
use crate::model::scope::ScopeKind;
use crate::model::state::State;

/// A state operation as the author asks for it.
#[derive(Clone)]
pub enum Change {
    /// Plain values.
    Ready(Operation),
    /// `patchState(key, updater)`.
    Update { field: String, updater: Fun },
    /// `atomicState(mutator)`.
    Atomic { mutator: Fun },
    /// `updateState(updater)` of a resource: the answer is the whole next state.
    Whole { updater: Fun },
    /// `writeContent(text)` of a resource.
    Content(String),
}

impl Change {
    /// Whether the author's function is given the state.
    pub(super) fn reads_state(&self) -> bool {
        matches!(self, Change::Update { .. } | Change::Atomic { .. } | Change::Whole { .. })
    }
}

impl Context {
    /// Applies one state operation. Returns whether it changed anything.
    ///
    /// Fails with `ValidationError` when a declared schema refuses the result; nothing changes then.
    pub async fn apply(&self, target: &Target, change: Change) -> Result<bool, FlowError> {
        if let Target::Resource(id, key) = target {
            return self.apply_to_resource(*id, key.as_deref(), change).await;
        }
        let place = self.place(target).ok_or_else(|| {
            FlowError::plain(format!("Target \"{}\" does not expose instance state operations.", target.name()))
        })?;
        let queue = match &place {
            Place::Shared(container) => &container.queue,
            Place::Durable(_) => &self.transaction().queue,
        };
        self.with_lock(queue, self.apply_locked(target, &place, change)).await
    }

    /// Takes a mutex and does one mutation. Both together must finish within `mutationTimeoutMs`.
    pub(super) async fn with_lock<T>(
        &self,
        queue: &FifoMutex,
        mutation: impl Future<Output = Result<T, FlowError>>,
    ) -> Result<T, FlowError> {
        let work = Box::pin(async {
            let _guard = queue.lock().await;
            mutation.await
        });
        let Some(ms) = self.run.flow.settings.mutation_timeout_ms else { return work.await };
        match select(work, self.run.effects.sleep(ms)).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => Err(FlowError {
                code: Some("SCOPE_MUTATION_TIMEOUT".to_owned()),
                details: Some(serde_json::json!({ "timeoutMs": ms })),
                ..FlowError::new(
                    "ScopeMutationTimeoutError",
                    format!("a state mutation of block \"{}\" did not finish within {ms} ms", self.frame.block.name),
                )
            }),
        }
    }

    /// As [`Context::apply`], but synchronous. Returns `None`, and does nothing, if the mutex is taken or a schema's
    /// own code would have to run.
    pub fn apply_at_once(&self, target: &Target, operation: Operation) -> Option<bool> {
        let place = self.place(target)?;
        let queue = match &place {
            Place::Shared(container) => &container.queue,
            Place::Durable(_) => &self.transaction().queue,
        };
        if queue.is_held() || self.frame.is_finished() || matches!(operation, Operation::Set { .. }) {
            return None;
        }
        if let Place::Durable(key) = &place
            && self.need_no_earlier_write(key, &operation).is_err()
        {
            // Told by `apply`.
            return None;
        }
        let (_, schemas) = self.schemas_of(&place);
        let passes = |field: &str, is_valid: &dyn Fn(&SchemaRef) -> bool| {
            let is_declared = |schema: &SchemaRef| {
                schema.fields().is_some_and(|fields| fields.iter().any(|known| known.name == *field))
            };
            // An undeclared field may have to be noted, which `apply` does.
            (schemas.is_empty() || schemas.iter().any(is_declared))
                && schemas.iter().filter(|schema| is_declared(schema)).all(is_valid)
        };
        let before = self.state_of(&place);
        if unfit(&operation, &before).is_some() {
            // `apply` refuses it and says why.
            return None;
        }
        let mut next = (*before).clone();
        if !operation.apply(&mut next) {
            self.note_unchanged(&place, operation);
            return Some(false);
        }
        let is_valid = match &operation {
            // A list is not checked again for one more entry.
            Operation::Push { field, value } => passes(field, &|schema| schema.is_entry_known_valid(field, value)),
            _ => operation.touched(&before).into_iter().all(|field| {
                let Some(value) = next.get(field) else { return true };
                passes(field, &|schema| schema.is_known_valid(field, value))
            }),
        };
        is_valid.then(|| self.take(&place, operation, next)).map(|()| true)
    }

    fn state_of(&self, place: &Place) -> Arc<State> {
        match place {
            Place::Shared(container) => container.read().1,
            Place::Durable(key) => self.transaction().read(key).map(|(_, state)| state).unwrap_or_default(),
        }
    }

    fn schemas_of(&self, place: &Place) -> (ScopeKind, Vec<SchemaRef>) {
        match place {
            Place::Shared(container) if container.key.kind != ScopeKind::Request => {
                (container.key.kind, container.schemas.clone())
            }
            Place::Shared(container) => (container.key.kind, self.run.schemas(container.key.kind)),
            Place::Durable(key) => (key.kind, self.run.schemas(key.kind)),
        }
    }

    async fn apply_locked(&self, target: &Target, place: &Place, change: Change) -> Result<bool, FlowError> {
        let before = self.state_of(place);
        if let Place::Durable(key) = place
            && change.reads_state()
        {
            self.transaction().note_read(key);
        }
        let operation = self.resolve(change, &before).await?;
        self.need_running()?;
        if let Place::Durable(key) = place {
            self.need_no_earlier_write(key, &operation)?;
        }
        let (kind, schemas) = self.schemas_of(place);
        let what = format!("{} state", kind.as_str());
        if let Some(problem) = unfit(&operation, &before) {
            return Err(refused_write(&what, &[problem]));
        }
        let mut next = (*before).clone();
        if !operation.apply(&mut next) {
            self.note_unchanged(place, operation);
            return Ok(false);
        }
        self.check(&what, target, &schemas, &operation, &before, &next)?;
        self.take(place, operation, next);
        Ok(true)
    }

    /// Records an operation and stores the state it makes.
    fn take(&self, place: &Place, operation: Operation, next: State) {
        match place {
            Place::Shared(container) => {
                let value = operation.sums(&next);
                let by = Writer::new(self.frame.instance.clone(), self.call.as_ref().map(|call| call.id.clone()));
                let version = container.write(&operation, next, Some(by), self.run.next_stamp());
                self.record_change(container, operation, value, version);
            }
            Place::Durable(key) => self.write(key, operation, next),
        }
    }

    /// Records a change of shared state. `value` is what an increment came to.
    fn record_change(&self, container: &Rc<SharedState>, operation: Operation, value: Option<Value>, version: u64) {
        self.frame.wrote(container);
        let scope = container.key.clone();
        let transient = container.transient();
        let recorded = if transient.is_empty() { Some(operation) } else { operation.recorded_without(&transient) };
        let Some(operation) = recorded else { return };
        let value = value.map(|mut value| {
            if let Value::Object(fields) = &mut value {
                transient.iter().for_each(|field| drop(fields.shift_remove(field)));
            }
            value
        });
        self.record(EventKind::StateChanged { scope, operation, value, version });
    }

    /// Refuses writes of a block that has ended, because nothing would commit them.
    pub(super) fn need_running(&self) -> Result<(), FlowError> {
        if !self.frame.is_finished() {
            return Ok(());
        }
        Err(FlowError::plain(format!(
            "block \"{}\" has ended; await its state operations before it returns",
            self.frame.block.name
        )))
    }

    pub(super) async fn resolve(&self, change: Change, before: &State) -> Result<Operation, FlowError> {
        match change {
            Change::Ready(operation) => Ok(operation),
            Change::Update { field, updater } => {
                let current = before.get(&field).map(|value| (**value).clone());
                let next = updater.call(vec![Arg::Data(current.into())], self.invocation()).await?.into_data()?;
                Ok(match next.to_option() {
                    Some(value) => Operation::Update { field, value },
                    None => Operation::Patch { fields: Map::new() },
                })
            }
            Change::Atomic { mutator } => {
                let state = before.to_json();
                let next = mutator.call(vec![Arg::Data(state.into())], self.invocation()).await?.into_data()?;
                let none = Map::new();
                let fields = match next.as_value() {
                    Some(Value::Object(fields)) => fields,
                    Some(Value::Null) | None => &none,
                    Some(_) => {
                        return Err(FlowError::validation("atomicState: the mutator must return an object", None));
                    }
                };
                let changed = fields
                    .iter()
                    .filter(|(field, value)| !before.get(field).is_some_and(|old| equal(old, value)))
                    .map(|(field, value)| (field.clone(), value.clone()))
                    .collect();
                Ok(Operation::Atomic { fields: changed })
            }
            Change::Whole { updater } => {
                let state = before.to_json();
                let next = updater.call(vec![Arg::Data(state.into())], self.invocation()).await?.into_data()?;
                match next.to_option() {
                    Some(Value::Object(state)) => Ok(Operation::Set { state }),
                    _ => Err(FlowError::validation("updateState: the updater must return the whole next state", None)),
                }
            }
            Change::Content(text) => Ok(crate::model::resource::record::write(text)),
        }
    }

    /// Checks the touched top-level fields against every declaration (SEMANTICS §4.6). `what` names the state in an
    /// error message.
    pub(super) fn check(
        &self,
        what: &str,
        target: &Target,
        schemas: &[SchemaRef],
        operation: &Operation,
        before: &State,
        next: &State,
    ) -> Result<(), FlowError> {
        if schemas.is_empty() {
            return Ok(());
        }
        let refuse = |issues: Vec<Issue>| Err(refused_write(what, &issues));
        if let Operation::Set { state } = operation {
            for schema in schemas {
                if let Err(issues) = schema.parse(&Value::Object(state.clone()).into()) {
                    return refuse(issues);
                }
            }
        }
        for field in operation.touched(before) {
            if !next.has(field) {
                continue;
            }
            let mut declared = false;
            let closed = schemas.iter().any(|schema| schema.fields().is_some())
                && !schemas.iter().any(|schema| schema.is_open());
            for schema in schemas {
                let Some(fields) = schema.fields() else { continue };
                if !fields.iter().any(|known| known.name == field) {
                    continue;
                }
                declared = true;
                // A list is not checked again for one more entry, if the schema has nothing to say about the whole.
                let of_entry = match operation {
                    Operation::Push { value, .. } => {
                        before.list_len(field).and_then(|at| schema.check_entry(field, at, value))
                    }
                    _ => None,
                };
                let checked = of_entry.unwrap_or_else(|| match next.get(field) {
                    Some(value) => schema.check_field(field, value),
                    None => Ok(()),
                });
                if let Err(issues) = checked {
                    return refuse(issues);
                }
            }
            if closed && !declared && self.run.note_once(format!("{target:?}.{field}")) {
                let text = format!("\"{field}\" is not declared in the {what} schema; it is kept");
                self.record(EventKind::Noted { text });
            }
        }
        Ok(())
    }
}

fn refused_write(what: &str, issues: &[Issue]) -> FlowError {
    FlowError::validation(format!("Invalid write to {what}{}", first_issue(issues)), Some(Issue::list(issues)))
}

/// Returns why an operation cannot be applied: an increment of what is no number or a push to what is no list would
/// drop what is stored there, and JSON cannot hold a sum that is not finite.
fn unfit(operation: &Operation, before: &State) -> Option<Issue> {
    if let Some(UnfitField { method, field, needed }) = operation.unfit_field(before) {
        let now = before.get(field).map_or("nothing", |value| kind_of(value));
        let message = format!("{method} target \"{field}\" is not {needed} (got {now})");
        return Some(Issue { path: field.to_owned(), message });
    }
    let field = operation.overflowing_field(before)?;
    Some(Issue { path: field.to_owned(), message: format!("incState target \"{field}\" would not be a finite number") })
}

/// Names the kind of a value as JavaScript does, a list as an array.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
