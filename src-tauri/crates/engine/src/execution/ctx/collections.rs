//! Collections of `ctx.resources`: creating, listing, evicting and deleting instances (SEMANTICS §4.9).
//!
//! An instance exists when its own record says so. The collection's index only lists and orders the keys. Creating in
//! a collection with `maxInstances` also updates a counter in the index, which makes concurrent creations conflict:
//! otherwise two blocks could both take the last free place.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Context;
use super::resources::{Entry, Instance, InstanceChange, need_free, refusal, refusal_of};
use crate::model::callable::Issue;
use crate::model::error::FlowError;
use crate::model::operation::Operation;
use crate::model::resource::{Eviction, ORG_FIELD, Resource, Shape, record};
use crate::model::state::State;

/// What `create_instance` does when an instance with the key exists; without one it always creates it.
pub enum Create {
    /// `create`: a taken key is an error.
    New,
    /// `create` with `replace`: the existing one is replaced.
    Replace,
    /// `getOrCreate`: the existing one is returned.
    OrGet,
    /// `upsert`: the existing one is patched. The fields here are added for a new one only.
    OrPatch(Map<String, Value>),
}

impl Context {
    /// `get` of a collection: fails with `resource_not_found` if there is no such instance.
    pub async fn get_instance(&self, id: u32, key: &Value) -> Result<Entry, FlowError> {
        self.resource(id)?.collection()?.pattern.key(key)?;
        if let Some(entry) = self.find_instance(id, key).await? {
            return Ok(entry);
        }
        let message = format!("Resource \"{}\" does not exist", self.entry(id, key)?.title());
        Err(refusal("FlowError", "resource_not_found", message))
    }

    /// `getOptional` of a collection. No instance has a key that does not match the pattern.
    pub async fn find_instance(&self, id: u32, key: &Value) -> Result<Option<Entry>, FlowError> {
        if self.resource(id)?.collection()?.pattern.key_if_matching(key)?.is_none() {
            return Ok(None);
        }
        let at = self.entry(id, key)?;
        let mutation = async {
            let found = record::exists(&self.see(&at)?.1);
            self.transaction().note_read(&at.record);
            if found && at.resource.writable {
                self.use_instance(&at)?;
            }
            Ok(found)
        };
        let found = self.with_lock(&self.transaction().queue, mutation).await?;
        Ok(at.entry.filter(|_| found))
    }

    /// `list`: the instances whose keys begin with `prefix`, in the order of their creation.
    pub fn list_instances(&self, id: u32, prefix: &str) -> Result<Vec<Entry>, FlowError> {
        let resource = self.resource(id)?;
        let pattern = &resource.collection()?.pattern;
        let keys = self.keys(&resource)?;
        self.transaction().note_read(&self.index(&resource)?.record);
        let listed = keys.into_iter().map(|(key, _)| key).filter(|key| key.starts_with(prefix));
        Ok(listed.map(|key| Entry { path: pattern.path_of(&key), key }).collect())
    }

    /// `create`, `getOrCreate` and `upsert`.
    pub async fn create_instance(
        &self,
        id: u32,
        key: &Value,
        fields: Map<String, Value>,
        how: Create,
    ) -> Result<Entry, FlowError> {
        let at = self.entry(id, key)?;
        let mutation = async { self.create_locked(&at, fields, how) };
        for (instance, happened) in self.with_lock(&self.transaction().queue, mutation).await? {
            self.tell_of(instance.as_ref().unwrap_or(&at), happened).await?;
        }
        at.entry.ok_or_else(|| FlowError::plain("an instance has a key"))
    }

    /// `delete`. Returns whether the instance existed.
    pub async fn delete_instance(&self, id: u32, key: &Value) -> Result<bool, FlowError> {
        let at = self.entry(id, key)?;
        let mutation = async {
            self.need_running()?;
            self.delete_locked(&at)
        };
        let deleted = self.with_lock(&self.transaction().queue, mutation).await?;
        let Some(previous) = deleted else { return Ok(false) };
        self.tell_of(&at, InstanceChange::Deleted { previous, evicted: false }).await?;
        Ok(true)
    }

    /// Creates, replaces or patches. Returns the changes: of the instance itself (`None`) and of those evicted for it.
    fn create_locked(
        &self,
        at: &Instance,
        fields: Map<String, Value>,
        how: Create,
    ) -> Result<Vec<(Option<Instance>, InstanceChange)>, FlowError> {
        let before = self.see(at)?.1;
        // The result depends on whether it exists, so this counts as a read.
        self.transaction().note_read(&at.record);
        let is_taken = record::exists(&before);
        if is_taken && matches!(how, Create::OrGet) {
            self.use_instance(at)?;
            return Ok(Vec::new());
        }
        // `writable: false` keeps instances as they were made. They come and go all the same.
        if is_taken && matches!(how, Create::Replace | Create::OrPatch(_)) {
            self.need_writable(&at.resource)?;
        }
        self.need_running()?;
        if is_taken {
            let operation = match how {
                Create::Replace => {
                    let mut state = self.beginning(at, fields, &before)?;
                    state.insert(record::EXISTS.to_owned(), true.into());
                    Operation::Set { state }
                }
                Create::OrPatch(_) => {
                    let operation = Operation::Patch { fields };
                    self.check_fields(at, &operation, &before)?;
                    operation
                }
                Create::New | Create::OrGet => {
                    let (name, code) = ("ResourceAlreadyExistsError", "resource_already_exists");
                    return Err(refusal_of(name, code, at, "already exists"));
                }
            };
            let happened = self.put(at, operation, &before)?;
            return Ok(happened.map(|happened| (None, happened)).into_iter().collect());
        }
        let fields = match how {
            Create::OrPatch(mut only) => {
                only.extend(fields);
                only
            }
            _ => fields,
        };
        let fields = self.beginning(at, fields, &before)?;
        let mut happened = self.make_room(at)?;
        let operation = record::create(fields);
        self.need_no_earlier_write(&at.record, &operation)?;
        let mut next = State::default();
        operation.apply(&mut next);
        let state = record::fields(&Arc::new(next.clone()));
        self.write(&at.record, operation, next);
        self.add_key(at)?;
        happened.push((None, InstanceChange::Created(state)));
        Ok(happened)
    }

    /// Returns the fields of a new instance: the given ones over the declared initial ones. The schema adds its
    /// defaults and must accept the result.
    fn beginning(
        &self,
        at: &Instance,
        given: Map<String, Value>,
        before: &State,
    ) -> Result<Map<String, Value>, FlowError> {
        given.keys().try_for_each(|field| need_free(field))?;
        let mut fields = at.resource.initial.clone();
        fields.extend(given);
        self.stamp_org(&at.resource, &mut fields, before);
        let Some(schema) = &at.resource.schema else { return Ok(fields) };
        match schema.parse(&Value::Object(fields.clone()).into()) {
            Ok(parsed) => {
                if let Some(Value::Object(parsed)) = parsed.to_option() {
                    for (field, value) in parsed {
                        fields.entry(field).or_insert(value);
                    }
                }
                Ok(fields)
            }
            Err(issues) => {
                let first = issues.first().map(|issue| format!(" at \"{}\": {}", issue.path, issue.message));
                let message = format!("Invalid state for resource \"{}\"{}", at.title(), first.unwrap_or_default());
                Err(FlowError::validation(message, Some(Issue::list(&issues))))
            }
        }
    }

    /// Adds the organization to fields that name none, if the collection stamps it: the one that the instance has, else
    /// that of the request.
    pub(super) fn stamp_org(&self, resource: &Resource, fields: &mut Map<String, Value>, before: &State) {
        let Shape::Collection(collection) = &resource.shape else { return };
        if !collection.stamps_org || fields.get(ORG_FIELD).is_some_and(|org| !org.is_null()) {
            return;
        }
        let kept = before.get(ORG_FIELD).filter(|org| !org.is_null()).map(|org| (**org).clone());
        let org = kept.or_else(|| self.run.start.project.as_deref().map(Value::from));
        fields.extend(org.map(|org| (ORG_FIELD.to_owned(), org)));
    }

    /// Deletes the instances that a full collection evicts for one more.
    fn make_room(&self, at: &Instance) -> Result<Vec<(Option<Instance>, InstanceChange)>, FlowError> {
        let collection = at.resource.collection()?;
        let Some(max) = collection.max else { return Ok(Vec::new()) };
        let mut keys = self.keys(&at.resource)?;
        let mut evicted = Vec::new();
        while keys.len() >= max {
            let victim = match collection.eviction {
                Eviction::None => {
                    let message = format!("Collection \"{}\" is full: maxInstances is {max}", at.resource.title());
                    return Err(refusal("FlowError", "resource_limit_reached", message));
                }
                Eviction::Oldest => 0,
                Eviction::Lru => keys.iter().enumerate().min_by_key(|(_, (_, used))| *used).map_or(0, |(n, _)| n),
            };
            let key = Value::String(keys.remove(victim).0);
            let instance = self.entry(at.resource.id, &key)?;
            let previous = self.delete_locked(&instance)?.unwrap_or_default();
            evicted.push((Some(instance), InstanceChange::Deleted { previous, evicted: true }));
        }
        Ok(evicted)
    }

    /// Deletes an instance. Returns the fields it had, if it existed.
    fn delete_locked(&self, at: &Instance) -> Result<Option<Arc<State>>, FlowError> {
        let before = self.see(at)?.1;
        if !record::exists(&before) {
            return Ok(None);
        }
        self.need_no_earlier_write(&at.record, &record::delete())?;
        self.write(&at.record, record::delete(), State::default());
        let key = at.key().to_owned();
        self.change_index(at, Operation::DeleteRecord { field: record::KEYS.to_owned(), key })?;
        Ok(Some(record::fields(&before)))
    }

    /// Returns the keys of a collection in the order of creation, each with the number of its last use.
    fn keys(&self, resource: &Rc<Resource>) -> Result<Vec<(String, u64)>, FlowError> {
        self.note_shared_read();
        let state = self.see(&self.index(resource)?)?.1;
        let keys = state.get(record::KEYS).and_then(|keys| keys.as_object());
        Ok(keys.into_iter().flatten().map(|(key, used)| (key.clone(), used.as_u64().unwrap_or(0))).collect())
    }

    fn add_key(&self, at: &Instance) -> Result<(), FlowError> {
        let (field, key) = (record::KEYS.to_owned(), at.key().to_owned());
        let value = self.next_use(at)?.into();
        self.change_index(at, Operation::SetRecord { field, key, value })?;
        if at.resource.collection()?.max.is_none() {
            return Ok(());
        }
        let state = self.see(&self.index(&at.resource)?)?.1;
        let made = state.get(record::CREATIONS).and_then(|made| made.as_u64()).unwrap_or(0);
        self.change_index(at, Operation::Update { field: record::CREATIONS.to_owned(), value: (made + 1).into() })
    }

    /// Notes that an instance was used, in a collection that evicts the least recently used one.
    pub(super) fn use_instance(&self, at: &Instance) -> Result<(), FlowError> {
        let Shape::Collection(collection) = &at.resource.shape else { return Ok(()) };
        if collection.eviction != Eviction::Lru || at.entry.is_none() {
            return Ok(());
        }
        let keys = self.keys(&at.resource)?;
        let newest = keys.iter().max_by_key(|(_, used)| *used);
        if newest.is_none_or(|(key, _)| key == at.key()) {
            return Ok(());
        }
        let (field, key) = (record::KEYS.to_owned(), at.key().to_owned());
        let value = self.next_use(at)?.into();
        self.change_index(at, Operation::SetRecord { field, key, value })
    }

    fn next_use(&self, at: &Instance) -> Result<u64, FlowError> {
        if at.resource.collection()?.eviction != Eviction::Lru {
            return Ok(0);
        }
        Ok(self.keys(&at.resource)?.iter().map(|(_, used)| used + 1).max().unwrap_or(1))
    }

    fn change_index(&self, at: &Instance, operation: Operation) -> Result<(), FlowError> {
        let index = self.index(&at.resource)?;
        let mut next = (*self.see(&index)?.1).clone();
        if operation.apply(&mut next) {
            self.write(&index.record, operation, next);
        }
        Ok(())
    }
}
