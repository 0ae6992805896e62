//! What an author's function can reach: `ctx`, for any language.
//!
//! A context belongs to one execution of one block. Reads are immediate; writes wait their turn;
//! emitted items and log lines are evidence and never wait for the disk. Every effect that goes
//! through here is recorded with the block it belongs to.

mod collections;
mod durable;
mod effects;
mod emit;
mod relatives;
mod resources;
mod session;
mod target;

pub use collections::Create;
pub use effects::Begun;
pub use emit::EmitOptions;
pub use resources::Entry;
pub use target::Target;

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use serde_json::{Map, Value};

use crate::execution::callback::CallbackCall;
use crate::execution::fifo::Fifo;
use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::execution::state::shared::{Container, Writer};
use crate::model::callable::{Arg, Fun, Invocation, Issue, SchemaRef};
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Seq};
use crate::model::operation::{Operation, equal};
use crate::model::scope::{ScopeKey, ScopeKind};
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
    fn reads_state(&self) -> bool {
        matches!(self, Change::Update { .. } | Change::Atomic { .. } | Change::Whole { .. })
    }
}

/// How the log line of a failure begins that nobody waits for.
pub const UNHANDLED: &str = "Unhandled promise rejection: ";

enum Place {
    Shared(Rc<Container>),
    Durable(ScopeKey),
}

/// `ctx`: the request and the block it belongs to.
#[derive(Clone)]
pub struct Context {
    /// The request.
    pub run: Rc<Run>,
    /// The block.
    pub frame: Rc<Frame>,
    /// The call of one of its functions that runs now, where those are counted one by one.
    pub(crate) call: Option<Rc<CallbackCall>>,
}

impl Context {
    /// A block's own.
    pub(crate) fn new(run: Rc<Run>, frame: Rc<Frame>) -> Self {
        Context { run, frame, call: None }
    }

    /// What a call of an author's function stands for.
    ///
    /// # Panics
    ///
    /// Never: every [`Invocation`] is made here.
    pub fn of(invocation: &Invocation) -> Context {
        let context = invocation.get::<Context>();
        context.cloned().expect("an invocation stands for a context")
    }

    /// The call of an author's function that this context is for.
    pub(crate) fn invocation(&self) -> Invocation {
        Invocation::new(self.clone())
    }

    /// The same, for one call of a function.
    pub(crate) fn within(&self, call: Rc<CallbackCall>) -> Self {
        Context { call: Some(call), ..self.clone() }
    }

    /// The state behind a handle and a stamp that changes with it; `None` where there is none.
    pub fn read(&self, target: &Target) -> Option<(u64, Arc<State>)> {
        match self.place(target)? {
            Place::Shared(container) => {
                if self.run.has_concurrent_blocks.get() {
                    self.look();
                }
                Some(container.read())
            }
            Place::Durable(key) => {
                self.look();
                self.transaction().note_read(&key);
                self.transaction().read(&key)
            }
        }
    }

    /// Notes that a function looked at what others may change.
    fn look(&self) {
        if let Some(call) = &self.call {
            call.look();
        }
    }

    /// Applies one state operation. Answers whether it changed anything.
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
        self.in_turn(queue, self.apply_in_turn(target, &place, change)).await
    }

    /// Waits for a turn and does one mutation, all within its budget.
    async fn in_turn<T>(
        &self,
        queue: &Fifo,
        mutation: impl Future<Output = Result<T, FlowError>>,
    ) -> Result<T, FlowError> {
        let work = Box::pin(async {
            let _turn = queue.turn().await;
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

    /// As [`Context::apply`], where it can be done without waiting for a turn and without asking a schema
    /// that is the author's code; `None` where it cannot, and then nothing has happened.
    pub fn apply_at_once(&self, target: &Target, operation: Operation) -> Option<bool> {
        let place = self.place(target)?;
        let queue = match &place {
            Place::Shared(container) => &container.queue,
            Place::Durable(_) => &self.transaction().queue,
        };
        if queue.is_held() || self.frame.is_finished() || matches!(operation, Operation::Set { .. }) {
            return None;
        }
        let before = self.state_of(&place);
        let mut next = (*before).clone();
        if !operation.apply(&mut next) {
            self.note_unchanged(&place, operation);
            return Some(false);
        }
        let (_, schemas) = self.schemas_of(&place);
        let passes = operation.touched(&before).into_iter().all(|field| {
            let Some(value) = next.get(field) else { return true };
            let is_declared = |schema: &SchemaRef| {
                schema.fields().is_some_and(|fields| fields.iter().any(|known| known.name == *field))
            };
            // What no schema declares may have to be told.
            (schemas.is_empty() || schemas.iter().any(is_declared))
                && schemas.iter().filter(|schema| is_declared(schema)).all(|schema| schema.lets_pass(field, value))
        });
        passes.then(|| self.take(&place, operation, next)).map(|()| true)
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

    async fn apply_in_turn(&self, target: &Target, place: &Place, change: Change) -> Result<bool, FlowError> {
        let before = self.state_of(place);
        if let Place::Durable(key) = place
            && change.reads_state()
        {
            self.transaction().note_read(key);
        }
        let operation = self.resolve(change, &before).await?;
        self.need_running()?;
        let mut next = (*before).clone();
        if !operation.apply(&mut next) {
            self.note_unchanged(place, operation);
            return Ok(false);
        }
        let (kind, schemas) = self.schemas_of(place);
        self.check(&format!("{} state", kind.as_str()), target, &schemas, &operation, &before, &next)?;
        self.take(place, operation, next);
        Ok(true)
    }

    /// Takes an operation and the state it makes.
    fn take(&self, place: &Place, operation: Operation, next: State) {
        match place {
            Place::Shared(container) => {
                let value = operation.sums(&next);
                let by = Writer::new(&self.frame, self.call.as_ref());
                let version = container.write(&operation, next, Some(by), self.run.next_stamp());
                self.frame.wrote(container);
                let scope = container.key.clone();
                let transient = container.transient();
                let recorded = match transient.is_empty() {
                    true => Some(operation),
                    false => operation.recorded_without(&transient),
                };
                if let Some(operation) = recorded {
                    let value = value.map(|mut value| {
                        if let Value::Object(fields) = &mut value {
                            transient.iter().for_each(|field| drop(fields.shift_remove(field)));
                        }
                        value
                    });
                    self.record(EventKind::StateChanged { scope, operation, value, version });
                }
            }
            Place::Durable(key) => self.write(key, operation, next),
        }
    }

    /// Refuses writes of a block that has ended: nothing would commit them.
    fn need_running(&self) -> Result<(), FlowError> {
        if !self.frame.is_finished() {
            return Ok(());
        }
        Err(FlowError::plain(format!(
            "block \"{}\" has ended; await its state operations before it returns",
            self.frame.block.name
        )))
    }

    async fn resolve(&self, change: Change, before: &State) -> Result<Operation, FlowError> {
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
                let Some(Value::Object(fields)) = next.as_value() else {
                    return Err(FlowError::validation("atomicState: the mutator must return an object", None));
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

    /// Checks the touched top-level fields against every declaration (SEMANTICS §4.6). `what` is how a
    /// message calls the state.
    fn check(
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
        let refuse = |issues: Vec<Issue>| {
            let first = &issues[0];
            let at = if first.path.is_empty() { String::new() } else { format!(" at \"{}\"", first.path) };
            Err(FlowError::validation(
                format!("Invalid write to {what}{at}: {}", first.message),
                Some(Issue::list(&issues)),
            ))
        };
        if let Operation::Set { state } = operation {
            for schema in schemas {
                if let Err(issues) = schema.parse(&Value::Object(state.clone()).into()) {
                    return refuse(issues);
                }
            }
        }
        for field in operation.touched(before) {
            let Some(value) = next.get(field) else { continue };
            let mut declared = false;
            let closed = schemas.iter().any(|schema| schema.fields().is_some())
                && !schemas.iter().any(|schema| schema.is_open());
            for schema in schemas {
                let Some(fields) = schema.fields() else { continue };
                if !fields.iter().any(|known| known.name == field) {
                    continue;
                }
                declared = true;
                if let Err(issues) = schema.check_field(field, value) {
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

    /// The nearest sequencer around that has a state, the block itself included.
    pub fn sequencer(&self) -> Option<Rc<Frame>> {
        let has_state = |frame: &Rc<Frame>| frame.own.as_ref().is_some_and(|own| own.key.kind == ScopeKind::Sequencer);
        self.frame.chain().find(has_state)
    }

    fn place(&self, target: &Target) -> Option<Place> {
        let durable = |kind: ScopeKind| self.run.durable_key(kind).map(Place::Durable);
        match target {
            Target::Request => Some(Place::Shared(self.run.state.clone())),
            Target::Session => durable(ScopeKind::Session),
            Target::User => durable(ScopeKind::User),
            Target::Project => durable(ScopeKind::Project),
            Target::Sequencer => self.sequencer()?.own.clone().map(Place::Shared),
            Target::Own => self.frame.own.clone().map(Place::Shared),
            Target::Parent => self.frame.parent.as_ref()?.own.clone().map(Place::Shared),
            Target::Instance(instance) => {
                let frames = self.frame.siblings().into_iter().chain(self.frame.chain());
                frames.into_iter().find(|frame| *frame.instance == **instance)?.own.clone().map(Place::Shared)
            }
            // Seen when it is looked at, which may fail: see `resources`.
            Target::Resource(..) => None,
        }
    }

    /// `console.*`.
    pub fn log(&self, level: &str, text: String) {
        self.record(EventKind::Logged { level: level.to_owned(), text });
    }

    /// A promise failed, and nobody waits for it.
    pub fn unhandled(&self, told: &str) {
        self.log("error", format!("{UNHANDLED}{told}"));
    }

    /// Records an event of this block.
    pub fn record(&self, kind: EventKind) -> Seq {
        let seq = self.run.record(&self.frame, kind);
        self.did(seq);
        seq
    }

    /// Notes that an event is evidence of the function that runs now.
    fn did(&self, seq: Seq) {
        if let Some(call) = &self.call {
            call.events.borrow_mut().push(seq);
        }
    }
}
