//! `ctx.resources`: what a block can do with single resources and collections (SEMANTICS §4.9).
//!
//! A resource is read from the log on first use; from then on it is a record of the block's transaction like any other.
//! All rules about existence, limits and writability are enforced here.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Change, Context, Target};
use crate::execution::core::schema_check::first_issue;
use crate::execution::run::defaults;
use crate::model::callable::{Arg, Fun};
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::item::{ItemStatus, NewItem};
use crate::model::operation::{Operation, UnfitField};
use crate::model::resource::due::DueReaction;
use crate::model::resource::reaction::{ChangeKind, Reaction};
use crate::model::resource::record::{self, Address, Place};
use crate::model::resource::{Resource, Shape};
use crate::model::scope::ScopeKey;
use crate::model::state::State;

/// How many collection callbacks may be nested in one block: more means that they trigger each other.
const MAX_CALLBACKS: u32 = 1_000;

/// An instance of a collection, as its handle names it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Within the collection.
    pub key: String,
    /// Within the scope.
    pub path: String,
}

/// One record of a resource.
pub(super) struct Instance {
    pub(super) resource: Rc<Resource>,
    pub(super) entry: Option<Entry>,
    pub(super) record: ScopeKey,
}

/// A change of an instance, as a collection's callback gets it.
pub(super) enum InstanceChange {
    Created(Arc<State>),
    /// Of the fields, or only of the text.
    Updated {
        state: Arc<State>,
        previous: Arc<State>,
        is_content: bool,
    },
    Deleted {
        previous: Arc<State>,
        evicted: bool,
    },
}

impl Context {
    /// Returns the resources that this block can reach. Those of a project are left out if the request has none.
    pub fn resources(&self) -> Vec<Rc<Resource>> {
        let around: Vec<_> = self.frame.chain().collect();
        let late = around.iter().flat_map(|frame| &frame.block.resources);
        let all = self.run.flow.resources.with(late);
        all.into_iter().filter(|resource| self.run.durable_key(resource.scope).is_some()).cloned().collect()
    }

    /// Returns the fields of a resource, and a stamp that changes with them. A deleted resource has no fields.
    pub fn read_resource(&self, id: u32, key: Option<&str>) -> Result<(u64, Arc<State>), FlowError> {
        let at = self.instance(id, key)?;
        let (stamp, state) = self.see(&at)?;
        self.transaction().note_read(&at.record);
        Ok((stamp, record::fields(&state)))
    }

    /// `readContentRaw`, and `readContent` before it is rendered or filled.
    pub fn resource_text(&self, id: u32, key: Option<&str>) -> Result<Option<String>, FlowError> {
        let at = self.instance(id, key)?;
        let state = self.see(&at)?.1;
        self.transaction().note_read(&at.record);
        let is_there = at.entry.is_none() || record::exists(&state);
        Ok(at.resource.text(&state).filter(|_| is_there))
    }

    /// Applies one state operation, or a new text, to a resource. Returns whether it changed anything.
    pub(super) async fn apply_to_resource(
        &self,
        id: u32,
        key: Option<&str>,
        change: Change,
    ) -> Result<bool, FlowError> {
        let at = self.instance(id, key)?;
        let queue = &self.transaction().queue;
        match self.with_lock(queue, self.change_locked(&at, change)).await? {
            Some(happened) => self.tell_of(&at, happened).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn change_locked(&self, at: &Instance, change: Change) -> Result<Option<InstanceChange>, FlowError> {
        self.need_writable(&at.resource)?;
        let before = self.see(at)?.1;
        if at.entry.is_some() && !record::exists(&before) {
            return Err(refusal_of("ResourceDeletedError", "resource_deleted", at, "was deleted"));
        }
        let is_content = matches!(change, Change::Content(_));
        if change.reads_state() {
            self.transaction().note_read(&at.record);
        }
        let mut operation = self.resolve(change, &record::fields(&before)).await?;
        self.need_running()?;
        if is_content {
            return self.put(at, operation, &before);
        }
        if let Operation::Set { state } = &mut operation {
            self.stamp_org(&at.resource, state, &before);
        }
        self.check_fields(at, &operation, &before)?;
        let operation = match operation {
            Operation::Set { state } => record::replace(state, &before),
            other => other,
        };
        self.put(at, operation, &before)
    }

    /// Writes an operation, unless it changes neither the fields nor the text.
    pub(super) fn put(
        &self,
        at: &Instance,
        operation: Operation,
        before: &Arc<State>,
    ) -> Result<Option<InstanceChange>, FlowError> {
        let mut next = (**before).clone();
        if !operation.apply(&mut next) {
            self.transaction().push_unchanged(&at.record, operation);
            return Ok(None);
        }
        let next = Arc::new(next);
        let (state, previous) = (record::fields(&next), record::fields(before));
        let is_content = state == previous;
        if is_content && record::content(&next) == record::content(before) {
            return Ok(None);
        }
        self.need_no_earlier_write(&at.record, &operation)?;
        self.write(&at.record, operation, (*next).clone());
        self.use_instance(at)?;
        Ok(Some(InstanceChange::Updated { state, previous, is_content }))
    }

    /// Refuses writes of reserved fields, operations that do not fit a field's type, and what the schema refuses.
    pub(super) fn check_fields(
        &self,
        at: &Instance,
        operation: &Operation,
        before: &Arc<State>,
    ) -> Result<(), FlowError> {
        let before = record::fields(before);
        operation.touched(&before).into_iter().try_for_each(need_free)?;
        let refuse = |field: &str, problem: String| {
            let message = format!("\"{field}\" of resource \"{}\" {problem}", at.title());
            Err(refusal("FlowError", "resource_delta_refused", message))
        };
        if let Some(UnfitField { field, needed, .. }) = operation.unfit_field(&before) {
            let now = before.get(field).map_or(&Value::Null, |value| &**value);
            return refuse(field, format!("is {now}, not {needed}"));
        }
        if let Some(field) = operation.overflowing_field(&before) {
            return refuse(field, "would not be a finite number".to_owned());
        }
        let mut next = (*before).clone();
        operation.apply(&mut next);
        let schemas: Vec<_> = at.resource.schema.iter().cloned().collect();
        let target = Target::Resource(at.resource.id, None);
        self.check(&format!("resource \"{}\"", at.title()), &target, &schemas, operation, &before, &next)
    }

    /// Calls the collection's callback for a change, within the block that made it, and notes the reactions to it.
    pub(super) async fn tell_of(&self, at: &Instance, happened: InstanceChange) -> Result<(), FlowError> {
        self.call_callback(at, &happened).await?;
        self.note_reactions(at, &happened).await
    }

    /// Notes the blocks that have to run because of a change, once it is committed. `when` decides now.
    async fn note_reactions(&self, at: &Instance, happened: &InstanceChange) -> Result<(), FlowError> {
        let title = at.resource.title();
        let path = at.entry.as_ref().map_or_else(
            || title.split_once('/').map_or(title.as_str(), |(_, path)| path),
            |entry| entry.path.as_str(),
        );
        let key = at.entry.as_ref().map_or(path, |entry| entry.key.as_str());
        let on = happened.kind();
        for reaction in at.resource.reactions.iter().filter(|reaction| reaction.on == on) {
            let mut change = serde_json::json!({ "key": key, "ref": path, "kind": reaction.kind });
            if on != ChangeKind::Content {
                let json = |state: Option<&Arc<State>>| state.map_or(Value::Null, |state| state.to_json());
                let (state, previous, evicted) = happened.states();
                change["state"] = json(state);
                change["prevState"] = json(previous);
                change["evicted"] = evicted.into();
            }
            if let Some(when) = &reaction.when {
                let answer = when.call(vec![Arg::Data(change.clone().into())], self.invocation()).await?;
                if !answer.into_data()?.is_truthy() {
                    continue;
                }
            }
            if let Some(unfit) = unfit_change(reaction, &change) {
                self.record(unfit);
                continue;
            }
            self.transaction().push_due(DueReaction {
                scope: at.resource.scope,
                accessor: at.resource.accessor.to_string(),
                block: reaction.block.name.to_string(),
                change,
            });
        }
        Ok(())
    }

    async fn call_callback(&self, at: &Instance, happened: &InstanceChange) -> Result<(), FlowError> {
        let Shape::Collection(collection) = &at.resource.shape else { return Ok(()) };
        let data = |state: &Arc<State>| Arg::Data(state.to_json().into());
        let path = at.entry.as_ref().map_or("", |entry| entry.path.as_str());
        let key = Arg::Data(Value::String(path.to_owned()).into());
        let (callback, args): (&Option<Fun>, Vec<Arg>) = match happened {
            InstanceChange::Created(state) => (&collection.on_created, vec![key, data(state)]),
            InstanceChange::Updated { state, previous, .. } => {
                (&collection.on_updated, vec![key, data(state), data(previous)])
            }
            InstanceChange::Deleted { .. } => (&collection.on_deleted, vec![key]),
        };
        let Some(callback) = callback else { return Ok(()) };
        let running = &self.frame.callbacks;
        if running.get() >= MAX_CALLBACKS {
            let title = at.resource.title();
            return Err(FlowError::plain(format!("the callbacks of \"{title}\" keep causing each other")));
        }
        running.set(running.get() + 1);
        let answer = callback.call(args, self.invocation()).await;
        running.set(running.get() - 1);
        answer.map(drop)
    }

    pub(super) fn resource(&self, id: u32) -> Result<Rc<Resource>, FlowError> {
        let own = self.run.flow.resources.get(id).cloned();
        let late =
            || self.frame.chain().find_map(|frame| frame.block.resources.iter().find(|late| late.id == id).cloned());
        own.or_else(late).ok_or_else(|| FlowError::plain(format!("Resource \"{id}\" is not registered")))
    }

    fn instance(&self, id: u32, key: Option<&str>) -> Result<Instance, FlowError> {
        let resource = self.resource(id)?;
        match (&resource.shape, key) {
            (Shape::Single(path), None) => {
                let record = self.address(&resource, Place::Single(path.clone()))?;
                Ok(Instance { resource, entry: None, record })
            }
            (Shape::Collection(_), Some(key)) => self.entry(id, &Value::String(key.to_owned())),
            _ => Err(FlowError::plain(format!("Resource \"{}\" is not reached this way", resource.accessor))),
        }
    }

    pub(super) fn entry(&self, id: u32, key: &Value) -> Result<Instance, FlowError> {
        let resource = self.resource(id)?;
        let pattern = &resource.collection()?.pattern;
        let key = pattern.key(key)?;
        let path = pattern.path_of(&key);
        let record = self.address(&resource, Place::Instance(pattern.text().to_owned(), key.clone()))?;
        Ok(Instance { resource, entry: Some(Entry { key, path }), record })
    }

    pub(super) fn index(&self, resource: &Rc<Resource>) -> Result<Instance, FlowError> {
        let record = self.address(resource, Place::Index(resource.collection()?.pattern.text().to_owned()))?;
        Ok(Instance { resource: resource.clone(), entry: None, record })
    }

    fn address(&self, resource: &Resource, place: Place) -> Result<ScopeKey, FlowError> {
        let owner = self.run.start.owner_key(resource.scope).ok_or_else(|| {
            let scope = resource.scope.as_str();
            FlowError::plain(format!("Resource \"{}\" belongs to a {scope}, and there is none", resource.accessor))
        })?;
        let flow = resource.isolated.then(|| self.run.flow.kind.to_string());
        Ok(Address { scope: owner.kind, owner: owner.id.to_string(), flow, place }.key())
    }

    /// Returns the record as this block sees it. The first call reads it from the log.
    pub(super) fn see(&self, at: &Instance) -> Result<(u64, Arc<State>), FlowError> {
        self.note_shared_read();
        if let Some(seen) = self.transaction().read(&at.record) {
            return Ok(seen);
        }
        let missing = |found: &crate::model::log::Record| {
            let is_single = matches!(at.resource.shape, Shape::Single(_));
            let mut missing = match found.version {
                0 if is_single => at.resource.initial.clone(),
                _ if is_single || record::exists(&found.state) => defaults(at.resource.schema.as_slice()),
                _ => Map::new(),
            };
            missing.retain(|field, _| !found.state.has(field));
            missing
        };
        let news = self.run.see_record(&self.frame, self.transaction(), at.record.clone(), missing)?;
        if let Some((key, version)) = news.filter(|(_, version)| *version > 0) {
            self.record(EventKind::RecordsSeen { versions: vec![(key, version)] });
        }
        self.transaction().read(&at.record).ok_or_else(|| FlowError::plain("a record that was seen is known"))
    }

    pub(super) fn need_writable(&self, resource: &Resource) -> Result<(), FlowError> {
        if resource.writable {
            return Ok(());
        }
        let message = format!("Resource \"{}\" is read-only (writable: false)", resource.title());
        Err(refusal("FlowError", "resource_read_only", message))
    }
}

impl InstanceChange {
    fn kind(&self) -> ChangeKind {
        match self {
            InstanceChange::Created(_) => ChangeKind::Created,
            InstanceChange::Updated { is_content: true, .. } => ChangeKind::Content,
            InstanceChange::Updated { .. } => ChangeKind::State,
            InstanceChange::Deleted { .. } => ChangeKind::Deleted,
        }
    }

    /// Returns the fields after it and before it, and whether a full collection caused it.
    fn states(&self) -> (Option<&Arc<State>>, Option<&Arc<State>>, bool) {
        match self {
            InstanceChange::Created(state) => (Some(state), None, false),
            InstanceChange::Updated { state, previous, .. } => (Some(state), Some(previous), false),
            InstanceChange::Deleted { previous, evicted } => (None, Some(previous), *evicted),
        }
    }
}

impl Instance {
    pub(super) fn key(&self) -> &str {
        self.entry.as_ref().map_or("", |entry| &entry.key)
    }

    pub(super) fn title(&self) -> String {
        match &self.entry {
            Some(entry) => format!("{}/{}", self.resource.scope.as_str(), entry.path),
            None => self.resource.title(),
        }
    }
}

/// Refuses the names of the two reserved fields.
pub(super) fn need_free(field: &str) -> Result<(), FlowError> {
    if field != record::EXISTS && field != record::CONTENT {
        return Ok(());
    }
    Err(FlowError::validation(format!("\"{field}\" is reserved in resources; use another name, or writeContent"), None))
}

/// Returns an error about one resource, with `resourceKey` among the details.
pub(super) fn refusal_of(name: &str, code: &str, at: &Instance, what: &str) -> FlowError {
    let mut error = refusal(name, code, format!("Resource \"{}\" {what}", at.title()));
    error.details = Some(serde_json::json!({ "resourceKey": at.title() }));
    error
}

pub(super) fn refusal(name: &str, code: &str, message: String) -> FlowError {
    let mut error = FlowError::new(name, message);
    error.code = Some(code.to_owned());
    error.classes = vec![name.to_owned(), "FlowError".to_owned(), "Error".to_owned()];
    error.classes.dedup();
    error
}

/// Returns the item that says why a reaction does not run, if its block's `inputSchema` refuses the change. A block
/// with `connectInput` makes its input of the change first.
fn unfit_change(reaction: &Reaction, change: &Value) -> Option<EventKind> {
    let block = &reaction.block;
    let schema = block.input_schema.as_ref().filter(|_| block.connect_input.is_none())?;
    let issues = schema.parse(&change.clone().into()).err()?;
    let message = format!(
        "Reaction \"{}\" to resource \"{}\" did not run: its inputSchema refuses the change{}",
        block.name,
        change["ref"].as_str().unwrap_or_default(),
        first_issue(&issues)
    );
    let code = Value::from("reactive_input_invalid");
    let payload = Map::from_iter([("message".to_owned(), Value::from(message)), ("code".to_owned(), code)]);
    Some(EventKind::ItemAdded { item: NewItem::plain("error", ItemStatus::Failed, payload) })
}
