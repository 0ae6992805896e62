//! What an author's function can reach: `ctx` of the seeds, for any language.
//!
//! A context belongs to one execution of one block. Reads are immediate; writes wait their turn;
//! emitted items and log lines are evidence and never wait for the disk. Every effect that goes
//! through here is recorded with the block it belongs to.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use serde_json::{Map, Value};

use crate::callable::{Arg, Fun, Issue};
use crate::data::Data;
use crate::error::FlowError;
use crate::event::{EventKind, Seq};
use crate::log::RequestEvents;
use crate::flow::Block;
use crate::item::{AgentType, ItemStatus, NewItem, Visibility, canonical_item_type};
use crate::operation::{Operation, equal};
use crate::request::Run;
use crate::scope::{ScopeKey, ScopeKind};
use crate::state::State;
use crate::transaction::{Container, Transaction};
use crate::views::items::{Audience, Item, items};
use crate::views::{Events, history};

/// How long a mutation may wait for its turn and run (core-semantics §4.4).
const MUTATION_BUDGET_MS: u64 = 30_000;

/// One execution of one block.
pub struct Frame {
    /// What runs.
    pub block: Rc<Block>,
    /// Its logical path.
    pub path: Arc<str>,
    /// Which execution of the path.
    pub attempt: u32,
    /// Which try by `retry`, as `ctx.attempt` shows it.
    pub tries: u32,
    /// `path:attempt`.
    pub instance: Arc<str>,
    /// The block around it.
    pub parent: Option<Rc<Frame>>,
    /// What it was called with.
    pub input: RefCell<Data>,
    /// Its own state, where it declares one.
    pub own: Option<Rc<Container>>,
    /// Its writes to durable records.
    pub transaction: Transaction,
    /// Background work its chain started and has not waited for.
    pub(crate) tasks: RefCell<Vec<crate::background::Task>>,
    /// The blocks it dispatched, in order; a block finds its elder siblings here.
    children: RefCell<Vec<Rc<Frame>>>,
    /// Its own place among its parent's children.
    index: usize,
    outcome: RefCell<Option<Result<Data, FlowError>>>,
    rescued: Cell<bool>,
    ordinals: RefCell<HashMap<String, u32>>,
    finished: Cell<bool>,
}

impl Frame {
    /// A frame that has not begun.
    pub fn new(
        block: Rc<Block>,
        path: Arc<str>,
        attempt: u32,
        tries: u32,
        parent: Option<Rc<Frame>>,
        input: Data,
        own: Option<Rc<Container>>,
    ) -> Self {
        let instance = crate::path::instance(&path, attempt).into();
        let index = parent.as_ref().map_or(0, |parent| parent.children.borrow().len());
        Frame {
            block,
            path,
            attempt,
            tries,
            instance,
            parent,
            input: RefCell::new(input),
            own,
            transaction: Transaction::default(),
            tasks: RefCell::default(),
            children: RefCell::default(),
            index,
            outcome: RefCell::default(),
            rescued: Cell::new(false),
            ordinals: RefCell::default(),
            finished: Cell::new(false),
        }
    }

    /// Makes it known to its younger siblings.
    pub(crate) fn register(self: &Rc<Self>) {
        if let Some(parent) = &self.parent {
            parent.children.borrow_mut().push(self.clone());
        }
    }

    /// Keeps how it ended, for siblings that ask.
    pub(crate) fn end(&self, result: &Result<crate::block::Flowing, FlowError>) {
        *self.outcome.borrow_mut() = Some(match result {
            Ok(flowing) => Ok(flowing.data.clone()),
            Err(error) => Err(error.clone()),
        });
    }

    pub(crate) fn mark_rescued(&self) {
        self.rescued.set(true);
    }

    /// Elder siblings and itself, newest first.
    fn siblings(self: &Rc<Self>) -> Vec<Rc<Frame>> {
        match &self.parent {
            Some(parent) => parent.children.borrow().iter().take(self.index + 1).rev().cloned().collect(),
            None => vec![self.clone()],
        }
    }

    /// Refuses writes from now on.
    pub fn finish(&self) {
        self.finished.set(true);
    }

    /// This frame and all around it, nearest first.
    pub fn chain(self: &Rc<Self>) -> impl Iterator<Item = Rc<Frame>> {
        std::iter::successors(Some(self.clone()), |frame| frame.parent.clone())
    }
}

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

/// Options of the emit functions.
#[derive(Clone, Debug, Default)]
pub struct EmitOptions {
    /// `agentType`
    pub agent_type: Option<AgentType>,
    /// `itemVisibility`
    pub item_visibility: Option<Visibility>,
    /// `agentName`
    pub agent_name: Option<String>,
    /// `transient`, where given.
    pub transient: Option<bool>,
    /// `key` of a component.
    pub key: Option<String>,
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
        if self.frame.finished.get() {
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
                    let seq = self.record(EventKind::StateInitialized { scope: key.clone(), state });
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

    /// `ctx.getTarget`: elder siblings first, newest dispatch wins; then the blocks around, where one
    /// name must be unique (core-semantics §5).
    pub fn target(&self, name: &str) -> Result<Option<Rc<Frame>>, FlowError> {
        if let Some(sibling) = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name) {
            return Ok(Some(sibling));
        }
        let mut around = self.frame.chain().filter(|frame| &*frame.block.name == name);
        let (first, second) = (around.next(), around.next());
        if let (Some(first), Some(second)) = (&first, &second) {
            let id = |frame: &Frame| format!("{}:{}", self.run.request, frame.instance);
            let all: Vec<String> = [first, second].into_iter().map(|frame| id(frame)).chain(around.map(|frame| id(&frame))).collect();
            let mut error = FlowError::new(
                "AmbiguousBlockNameError",
                format!(
                    "getTarget(\"{name}\") is ambiguous from block instance \"{}\". Matching instances: {}",
                    id(&self.frame),
                    all.join(", ")
                ),
            );
            error.code = Some("ambiguous_block_name".to_owned());
            error.classes.insert(1, "FlowError".to_owned());
            return Err(error);
        }
        Ok(first)
    }

    /// `ctx.getBlockResult`: the newest elder sibling of that name, as JSON.
    pub fn block_result(&self, name: &str) -> Value {
        let found = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name && !Rc::ptr_eq(frame, &self.frame));
        let Some(frame) = found else { return serde_json::json!({ "status": "not_started" }) };
        match &*frame.outcome.borrow() {
            None => serde_json::json!({ "status": "running" }),
            Some(Ok(output)) => serde_json::json!({ "status": "completed", "output": output.to_json() }),
            Some(Err(error)) => serde_json::json!({
                "status": "failed",
                "error": { "name": error.name, "message": error.message, "code": error.code },
            }),
        }
    }

    /// `ctx.getBlockOutput`: the output of the newest elder sibling of that name that completed.
    pub fn block_output(&self, name: &str) -> Data {
        let completed = self.frame.siblings().into_iter().filter(|frame| &*frame.block.name == name).find_map(|frame| {
            match &*frame.outcome.borrow() {
                Some(Ok(output)) => Some(output.clone()),
                _ => None,
            }
        });
        completed.unwrap_or_default()
    }

    /// `ctx.wasRescued`.
    pub fn was_rescued(&self, name: &str) -> bool {
        let found = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name);
        found.is_some_and(|frame| frame.rescued.get())
    }

    /// `ctx.emit.message`. `content` is a text or a list of parts.
    pub fn emit_message(&self, role: &str, content: Value, options: EmitOptions) {
        let content = match content {
            Value::String(text) => serde_json::json!([{ "type": "output_text", "text": text }]),
            other => other,
        };
        let payload = serde_json::json!({ "role": role, "content": content });
        self.emit("message", payload, false, options);
    }

    /// `ctx.emit.component`.
    pub fn emit_component(&self, name: &str, data: Value, options: EmitOptions) {
        self.emit("component", serde_json::json!({ "component": name, "data": data }), false, options);
    }

    /// `ctx.emit.status`: one slot per request; the same text again is not news (core-semantics §7.7).
    pub fn emit_status(&self, message: Option<String>, signals: Map<String, Value>, options: EmitOptions) {
        {
            let mut slot = self.run.status_line.borrow_mut();
            match message {
                Some(message) if slot.as_deref() == Some(&*message) => return,
                Some(message) => *slot = Some(message),
                None => {}
            }
        }
        let mut payload = Map::new();
        payload.insert("message".to_owned(), self.run.status_line.borrow().clone().into());
        payload.extend(signals);
        self.emit("status", Value::Object(payload), true, options);
    }

    /// Any item, whole and done.
    pub fn emit(&self, item_type: &str, payload: Value, transient: bool, options: EmitOptions) {
        let payload = match payload {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let item = NewItem {
            item_type: item_type.to_owned(),
            status: ItemStatus::Completed,
            key: options.key,
            transient: options.transient.unwrap_or(transient),
            agent_type: options.agent_type,
            agent_name: options.agent_name,
            item_visibility: options.item_visibility,
            payload,
        };
        self.record(EventKind::ItemAdded { item });
    }

    /// `console.*`.
    pub fn log(&self, level: &str, text: String) {
        self.record(EventKind::Logged { level: level.to_owned(), text });
    }

    /// `ctx.session.appendJournal`.
    pub fn append_journal(&self, entry: Map<String, Value>) -> Value {
        let now = self.run.effects.now_ms();
        let mut whole = Map::new();
        let ordinal = self.ordinal("journal");
        let tail = blake3::hash(format!("{}{}{ordinal}", self.run.request, self.frame.instance).as_bytes());
        whole.insert("id".to_owned(), format!("journal_{now}_{}", &tail.to_hex()[..6]).into());
        whole.insert("ts".to_owned(), now.into());
        whole.extend(entry);
        let entry = Value::Object(whole);
        self.run.journal.borrow_mut().push(entry.clone());
        self.record(EventKind::JournalAppended { entry: entry.clone() });
        entry
    }

    /// `ctx.session.getJournal`: the newest `limit` entries, oldest first among them; `offset`
    /// counts back from the newest (authoring, difference 7).
    pub fn journal(&self, limit: Option<usize>, offset: usize) -> Result<Vec<Value>, FlowError> {
        let earlier = self.earlier()?;
        let mut entries: Vec<Value> = earlier
            .iter()
            .flat_map(|(_, events)| events)
            .filter_map(|event| match &event.kind {
                EventKind::JournalAppended { entry } => Some(entry.clone()),
                _ => None,
            })
            .collect();
        entries.extend(self.run.journal.borrow().iter().cloned());
        let end = entries.len().saturating_sub(offset);
        let start = end.saturating_sub(limit.unwrap_or(usize::MAX));
        Ok(entries[start..end].to_vec())
    }

    /// `ctx.session.items.*`: the items of completed earlier requests, then of this one so far.
    pub fn session_items(&self, audience: Audience, query: &Value) -> Result<Value, FlowError> {
        let mut all: Vec<Item> = Vec::new();
        for (request, events) in self.earlier()? {
            all.extend(items(&request, Events::new(&events)));
        }
        let own = self.run.recorder.items();
        all.extend(items(&self.run.request, Events::new(&own)));
        let with_transient = query["includeTransient"].as_bool().unwrap_or(false);
        let types: Option<Vec<&str>> = query["itemTypes"]
            .as_array()
            .map(|types| types.iter().filter_map(Value::as_str).map(canonical_item_type).collect());
        all.retain(|item| {
            (with_transient || !item.transient)
                && audience.sees(item)
                && types.as_ref().is_none_or(|types| types.contains(&item.item_type.as_str()))
        });
        if let Some(limit) = query["limit"].as_u64() {
            all.drain(..all.len().saturating_sub(limit as usize));
        }
        if audience == Audience::History {
            let messages: Vec<_> = all.iter().filter_map(history::message).collect();
            return serde_json::to_value(messages).map_err(|error| FlowError::plain(error.to_string()));
        }
        serde_json::to_value(all).map_err(|error| FlowError::plain(error.to_string()))
    }

    /// The committed events of the session's completed earlier requests, oldest first.
    pub(crate) fn earlier(&self) -> Result<Vec<RequestEvents>, FlowError> {
        self.run
            .log
            .session_events(&self.run.asked.session, &self.run.request)
            .map_err(|error| FlowError::storage(error.to_string()))
    }

    /// `ctx.session.setMetadata`.
    pub fn set_metadata(&self, metadata: Value) {
        self.record(EventKind::MetadataSet { metadata });
    }

    /// The clock, as an effect.
    pub fn now(&self) -> i64 {
        let now = self.run.effects.now_ms();
        self.effect("now", None, now.into());
        now
    }

    /// A random number, as an effect.
    pub fn random(&self) -> f64 {
        let number = self.run.effects.random();
        self.effect("random", None, number.into());
        number
    }

    /// A UUID, as an effect.
    pub fn uuid(&self) -> String {
        let id = self.run.effects.uuid();
        self.effect("uuid", None, id.clone().into());
        id
    }

    /// A pause, as an effect.
    pub async fn sleep(&self, ms: u64) {
        let ordinal = self.ordinal("sleep");
        self.run.effects.sleep(ms).await;
        let kind = EventKind::EffectRecorded {
            effect: "sleep".to_owned(),
            ordinal,
            request: Some(ms.into()),
            result: Value::Null,
            error: None,
        };
        self.record(kind);
    }

    fn effect(&self, effect: &str, request: Option<Value>, result: Value) {
        let ordinal = self.ordinal(effect);
        self.record(EventKind::EffectRecorded { effect: effect.to_owned(), ordinal, request, result, error: None });
    }

    /// Counts this block's effects of one kind, from 0.
    pub fn ordinal(&self, effect: &str) -> u32 {
        let mut ordinals = self.frame.ordinals.borrow_mut();
        let count = ordinals.entry(effect.to_owned()).or_insert(0);
        *count += 1;
        *count - 1
    }

    /// Records an event of this block.
    pub fn record(&self, kind: EventKind) -> Seq {
        self.run.record(&self.frame, kind)
    }
}
