//! What an author's function can reach: `ctx` of the seeds, for any language.
//!
//! A context belongs to one execution of one block. Reads are immediate; writes wait their turn;
//! emitted items and log lines are evidence and never wait for the disk. Every effect that goes
//! through here is recorded with the block it belongs to.

mod effects;
mod emit;
mod relatives;
mod session;

pub use emit::EmitOptions;

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use serde_json::{Map, Value};

use crate::callable::{Arg, Fun, Issue};
use crate::error::FlowError;
use crate::event::{EventKind, Seq};
use crate::frame::Frame;
use crate::operation::{Operation, equal};
use crate::request::Run;
use crate::scope::{ScopeKey, ScopeKind};
use crate::state::State;
use crate::transaction::Container;

/// How long a mutation may wait for its turn and run (core-semantics §4.4).
const MUTATION_BUDGET_MS: u64 = 30_000;

/// Which state a handle of `ctx` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `ctx.request`
    Request,
    /// `ctx.session`
    Session,
    /// `ctx.user`
    User,
    /// `ctx.project` and `ctx.org`
    Project,
    /// `ctx.sequencer`: the nearest enclosing sequencer with a `stateSchema`.
    Sequencer,
    /// `ctx.self`
    Own,
    /// `ctx.parent`
    Parent,
    /// What `ctx.getTarget` found, by instance.
    Instance(String),
}

impl Target {
    /// The target a handle's name means.
    pub fn parse(name: &str) -> Option<Target> {
        Some(match name {
            "request" => Target::Request,
            "session" => Target::Session,
            "user" => Target::User,
            "project" | "org" => Target::Project,
            "sequencer" => Target::Sequencer,
            "self" => Target::Own,
            "parent" => Target::Parent,
            other => Target::Instance(other.strip_prefix("target:")?.to_owned()),
        })
    }
}

/// A state operation as the author asks for it.
#[derive(Clone)]
pub enum Change {
    /// Plain values.
    Ready(Operation),
    /// `patchState(key, updater)`.
    Update { field: String, updater: Fun },
    /// `atomicState(mutator)`.
    Atomic { mutator: Fun },
}

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
}

impl Context {
    /// The state behind a handle and a stamp that changes with it; `None` where there is none.
    pub fn read(&self, target: &Target) -> Option<(u64, Arc<State>)> {
        match self.place(target)? {
            Place::Shared(container) => Some(container.read()),
            Place::Durable(key) => self.frame.transaction.read(&key),
        }
    }

    /// Applies one state operation. Answers whether it changed anything.
    ///
    /// Fails with `ValidationError` when a declared schema refuses the result; nothing changes then.
    pub async fn apply(&self, target: &Target, change: Change) -> Result<bool, FlowError> {
        let place = self.place(target).ok_or_else(|| {
            FlowError::plain(format!("Target \"{target:?}\" does not expose instance state operations."))
        })?;
        let queue = match &place {
            Place::Shared(container) => &container.queue,
            Place::Durable(_) => &self.frame.transaction.queue,
        };
        let work = Box::pin(async {
            let _turn = queue.turn().await;
            self.apply_in_turn(target, &place, change).await
        });
        let budget = self.run.effects.sleep(MUTATION_BUDGET_MS);
        match select(work, budget).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => Err(FlowError {
                code: Some("SCOPE_MUTATION_TIMEOUT".to_owned()),
                ..FlowError::new(
                    "ScopeMutationTimeoutError",
                    format!("a state mutation did not finish within {MUTATION_BUDGET_MS} ms"),
                )
            }),
        }
    }

    async fn apply_in_turn(&self, target: &Target, place: &Place, change: Change) -> Result<bool, FlowError> {
        let before = match place {
            Place::Shared(container) => container.read().1,
            Place::Durable(key) => self.frame.transaction.read(key).map(|(_, state)| state).unwrap_or_default(),
        };
        let operation = self.resolve(change, &before).await?;
        if self.frame.is_finished() {
            return Err(FlowError::plain(format!(
                "block \"{}\" has ended; await its state operations before it returns",
                self.frame.block.name
            )));
        }
        let mut next = (*before).clone();
        if !operation.apply(&mut next) {
            return Ok(false);
        }
        self.check(target, place, &operation, &before, &next)?;
        let value = match &operation {
            Operation::Increment { by } => Some(Value::Object(
                by.keys().filter_map(|field| Some((field.clone(), (**next.get(field)?).clone()))).collect(),
            )),
            _ => None,
        };
        let stamp = self.run.next_stamp();
        match place {
            Place::Shared(container) => {
                let version = container.replace(next, stamp);
                let scope = container.key.clone();
                if let Some(operation) = operation.recorded_without(&container.transient()) {
                    let value = value.map(|mut value| {
                        if let Value::Object(fields) = &mut value {
                            container.transient().iter().for_each(|field| drop(fields.shift_remove(field)));
                        }
                        value
                    });
                    self.record(EventKind::StateChanged { scope, operation, value, version });
                }
            }
            Place::Durable(key) => {
                let transaction = &self.frame.transaction;
                if let Some(fields) = transaction.unwritten_defaults(key) {
                    let state = Value::Object(fields.clone());
                    let seq = self.record(EventKind::StateInitialized { scope: key.clone(), state, durable: true });
                    transaction.push_defaults(key, seq, fields);
                }
                let version = transaction.next_version(key);
                let event =
                    EventKind::StateChanged { scope: key.clone(), operation: operation.clone(), value, version };
                let seq = self.record(event);
                transaction.push(key, seq, operation, next, stamp);
            }
        }
        Ok(true)
    }

    async fn resolve(&self, change: Change, before: &State) -> Result<Operation, FlowError> {
        match change {
            Change::Ready(operation) => Ok(operation),
            Change::Update { field, updater } => {
                let current = before.get(&field).map(|value| (**value).clone());
                let next = updater.call(vec![Arg::Data(current.into())], self.clone()).await?.into_data()?;
                Ok(match next.to_option() {
                    Some(value) => Operation::Update { field, value },
                    None => Operation::Patch { fields: Map::new() },
                })
            }
            Change::Atomic { mutator } => {
                let state = before.to_json();
                let next = mutator.call(vec![Arg::Data(state.into())], self.clone()).await?.into_data()?;
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
        }
    }

    /// Checks the touched top-level fields against every declaration (decision 10).
    fn check(
        &self,
        target: &Target,
        place: &Place,
        operation: &Operation,
        before: &State,
        next: &State,
    ) -> Result<(), FlowError> {
        let (kind, schemas) = match place {
            Place::Shared(container) if container.key.kind != ScopeKind::Request => {
                (container.key.kind, container.schema.iter().cloned().collect::<Vec<_>>())
            }
            Place::Shared(container) => (container.key.kind, self.run.schemas(container.key.kind)),
            Place::Durable(key) => (key.kind, self.run.schemas(key.kind)),
        };
        if schemas.is_empty() {
            return Ok(());
        }
        let refuse = |issues: Vec<Issue>| {
            let first = &issues[0];
            let at = if first.path.is_empty() { String::new() } else { format!(" at \"{}\"", first.path) };
            Err(FlowError::validation(
                format!("Invalid write to {} state{at}: {}", kind.as_str(), first.message),
                Some(Issue::list(&issues)),
            ))
        };
        if let Operation::Set { state } = operation {
            for schema in &schemas {
                if let Err(issues) = schema.parse(&Value::Object(state.clone()).into()) {
                    return refuse(issues);
                }
            }
        }
        for field in operation.touched(before) {
            let Some(value) = next.get(field) else { continue };
            let mut declared = false;
            let mut closed = false;
            for schema in &schemas {
                let Some(fields) = schema.fields() else { continue };
                closed = true;
                if !fields.iter().any(|known| known.name == field) {
                    continue;
                }
                declared = true;
                if let Err(issues) = schema.check_field(field, value) {
                    return refuse(issues);
                }
            }
            if closed && !declared && self.run.note_once(format!("{target:?}.{field}")) {
                let text = format!("\"{field}\" is not declared in the {} state schema; it is kept", kind.as_str());
                self.record(EventKind::Noted { text });
            }
        }
        Ok(())
    }

    fn place(&self, target: &Target) -> Option<Place> {
        let durable = |kind: ScopeKind| self.run.durable_key(kind).map(Place::Durable);
        match target {
            Target::Request => Some(Place::Shared(self.run.state.clone())),
            Target::Session => durable(ScopeKind::Session),
            Target::User => durable(ScopeKind::User),
            Target::Project => durable(ScopeKind::Project),
            Target::Sequencer => self
                .frame
                .chain()
                .filter_map(|frame| frame.own.clone())
                .find(|own| own.key.kind == ScopeKind::Sequencer)
                .map(Place::Shared),
            Target::Own => self.frame.own.clone().map(Place::Shared),
            Target::Parent => self.frame.parent.as_ref()?.own.clone().map(Place::Shared),
            Target::Instance(instance) => {
                let frames = self.frame.siblings().into_iter().chain(self.frame.chain());
                frames.into_iter().find(|frame| *frame.instance == **instance)?.own.clone().map(Place::Shared)
            }
        }
    }

    /// `console.*`.
    pub fn log(&self, level: &str, text: String) {
        self.record(EventKind::Logged { level: level.to_owned(), text });
    }

    /// Records an event of this block.
    pub fn record(&self, kind: EventKind) -> Seq {
        self.run.record(&self.frame, kind)
    }
}
