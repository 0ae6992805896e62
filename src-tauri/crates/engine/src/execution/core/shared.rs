//! Shared state in memory: that of the request, a sequencer or a block.
//!
//! A write is visible at once. When the attempt that made it is discarded (it suspends, or is retried), the write is
//! rolled back, so that memory equals what the log says (SEMANTICS §4.5). For that a [`SharedState`] keeps the
//! operations since the oldest one whose attempt has not ended, each with what undoes it. Must not decide which
//! attempts count: that is `views::attempts`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::execution::core::fifo::FifoMutex;
use crate::model::callable::SchemaRef;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;
use crate::model::state::State;

/// One shared state.
pub struct SharedState {
    /// The scope.
    pub key: ScopeKey,
    /// Check writes.
    pub schemas: Vec<SchemaRef>,
    /// One mutation at a time.
    pub queue: FifoMutex,
    state: RefCell<Arc<State>>,
    version: Cell<u64>,
    stamp: Cell<u64>,
    resumes: Cell<u32>,
    /// The operations since the oldest one that may still be rolled back.
    open: RefCell<Vec<Write>>,
}

/// An operation, and the writer whose end decides whether it is kept; `None` once that is decided.
struct Write {
    operation: Operation,
    undo: Undo,
    by: Option<Writer>,
}

/// What takes an operation back from the state that it made.
enum Undo {
    /// Sets these fields to what they were, or removes them.
    Fields(Vec<(String, Option<Arc<Value>>)>),
    /// Takes the last entry of a list off.
    Pop(String),
    /// Sets the whole state.
    Whole(State),
}

impl Undo {
    fn of(operation: &Operation, before: &State) -> Undo {
        match operation {
            Operation::Push { field, .. } if before.list_len(field).is_some() => Undo::Pop(field.clone()),
            Operation::Set { .. } => Undo::Whole(before.clone()),
            _ => {
                let fields = operation.touched(before).into_iter();
                Undo::Fields(fields.map(|field| (field.to_owned(), before.get(field).cloned())).collect())
            }
        }
    }

    fn apply(self, state: &mut State) {
        match self {
            Undo::Whole(before) => *state = before,
            Undo::Pop(field) => state.pop(&field),
            Undo::Fields(fields) => {
                for (field, before) in fields.into_iter().rev() {
                    match before {
                        Some(value) => state.set(&field, value),
                        None => state.remove(&field),
                    }
                }
            }
        }
    }
}

/// Who made a write.
#[derive(Clone)]
pub(crate) struct Writer {
    /// The attempt: `path:attempt`.
    instance: Arc<str>,
    /// The callback call, if it was not the block itself.
    call: Option<CallId>,
}

/// Names one call of a callback as long as something refers to it.
#[derive(Clone, Default)]
pub(crate) struct CallId(Rc<()>);

impl SharedState {
    /// Creates a state at version 0.
    pub fn new(key: ScopeKey, schemas: Vec<SchemaRef>, state: State, stamp: u64) -> Self {
        SharedState {
            key,
            schemas,
            queue: FifoMutex::default(),
            state: RefCell::new(Arc::new(state)),
            version: Cell::new(0),
            stamp: Cell::new(stamp),
            resumes: Cell::new(0),
            open: RefCell::default(),
        }
    }

    /// In a replay: resets transient fields to their defaults, if the request had been resumed more often than at the
    /// last call. The recorded run lost them with its process.
    pub(crate) fn reset_transient(&self, resumes: u32, defaults: &Map<String, Value>, stamp: u64) {
        if self.resumes.replace(resumes.max(self.resumes.get())) >= resumes {
            return;
        }
        let transient = self.transient();
        let undone = self.undo_from(0);
        let mut state = self.state.borrow_mut();
        let base = Arc::make_mut(&mut state);
        transient.iter().for_each(|field| base.remove(field));
        base.fill_in(defaults);
        drop(state);
        self.apply_again(
            undone.into_iter().filter_map(|(operation, by)| Some((operation.recorded_without(&transient)?, by))),
            stamp,
        );
    }

    /// Returns the state, and a stamp that changes whenever the state does.
    pub fn read(&self) -> (u64, Arc<State>) {
        (self.stamp.get(), self.state.borrow().clone())
    }

    /// Returns the names of fields that live in memory only: they are in no event and no checkpoint.
    pub fn transient(&self) -> Vec<String> {
        let fields = self.schemas.iter().flat_map(|schema| schema.fields().unwrap_or_default());
        fields.filter(|field| field.transient).map(|field| field.name.clone()).collect()
    }

    /// Returns the state without transient fields, as events hold it.
    pub fn recordable(&self) -> Value {
        self.recordable_of((*self.read().1).clone())
    }

    /// Returns one of its states without transient fields, as events hold it.
    pub(crate) fn recordable_of(&self, mut state: State) -> Value {
        for field in self.transient() {
            state.remove(&field);
        }
        state.to_json()
    }

    /// Stores an operation and the state after it. Returns the new version.
    pub(crate) fn write(&self, operation: &Operation, next: State, by: Option<Writer>, stamp: u64) -> u64 {
        if by.is_some() || !self.open.borrow().is_empty() {
            let undo = Undo::of(operation, &self.state.borrow());
            self.open.borrow_mut().push(Write { operation: operation.clone(), undo, by });
        }
        *self.state.borrow_mut() = Arc::new(next);
        self.stamp.set(stamp);
        self.version.set(self.version.get() + 1);
        self.version.get()
    }

    /// Applies a recorded operation again, whose event stays as it is. Its version is the recorded one.
    pub(crate) fn write_recorded(&self, operation: &Operation, next: State, version: u64, stamp: u64) {
        let before = self.version.get();
        self.write(operation, next, None, stamp);
        self.version.set(version.max(before));
    }

    /// Makes the writes of these writers final.
    pub(crate) fn make_writes_final(&self, is_it: impl Fn(&Writer) -> bool) {
        let mut open = self.open.borrow_mut();
        for write in open.iter_mut().filter(|write| write.by.as_ref().is_some_and(&is_it)) {
            write.by = None;
        }
        let settled = open.iter().take_while(|write| write.by.is_none()).count();
        open.drain(..settled);
    }

    /// Removes the writes of these writers and rebuilds the state.
    pub(crate) fn roll_back(&self, is_it: impl Fn(&Writer) -> bool, stamp: u64) {
        let is_its = |write: &Write| write.by.as_ref().is_some_and(&is_it);
        let Some(first) = self.open.borrow().iter().position(is_its) else { return };
        let undone = self.undo_from(first);
        self.apply_again(undone.into_iter().filter(|(_, by)| !by.as_ref().is_some_and(&is_it)), stamp);
        self.make_writes_final(|_| false);
    }

    /// Takes the open operations from `first` on back. Returns them in their order.
    fn undo_from(&self, first: usize) -> Vec<(Operation, Option<Writer>)> {
        let mut state = self.state.borrow_mut();
        let state = Arc::make_mut(&mut state);
        let mut open = self.open.borrow_mut();
        let mut undone = Vec::new();
        for Write { operation, undo, by } in open.drain(first..).rev() {
            undo.apply(state);
            undone.push((operation, by));
        }
        undone.reverse();
        undone
    }

    /// Applies operations that were taken back, with what undoes them now.
    fn apply_again(&self, operations: impl Iterator<Item = (Operation, Option<Writer>)>, stamp: u64) {
        let mut state = self.state.borrow_mut();
        let state = Arc::make_mut(&mut state);
        for (operation, by) in operations {
            let undo = Undo::of(&operation, state);
            operation.apply(state);
            self.open.borrow_mut().push(Write { operation, undo, by });
        }
        self.stamp.set(stamp);
    }
}

impl Writer {
    pub(crate) fn new(instance: Arc<str>, call: Option<CallId>) -> Self {
        Writer { instance, call }
    }

    /// Returns whether it is a block's attempt, or a callback call of it.
    pub(crate) fn is_attempt(&self, instance: &str) -> bool {
        *self.instance == *instance
    }

    pub(crate) fn is_call(&self, call: &CallId) -> bool {
        self.call.as_ref().is_some_and(|own| Rc::ptr_eq(&own.0, &call.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::scope::ScopeKind;

    fn add(container: &SharedState, n: i64, by: Option<&str>) {
        let fields = json!({ "n": n }).as_object().cloned().unwrap_or_default();
        let operation = Operation::Increment { by: fields };
        let mut next = (*container.read().1).clone();
        operation.apply(&mut next);
        container.write(&operation, next, by.map(|by| Writer { instance: by.into(), call: None }), 0);
    }

    fn n(container: &SharedState) -> i64 {
        container.read().1.get("n").and_then(|n| n.as_i64()).unwrap_or_default()
    }

    #[test]
    fn what_comes_to_nothing_is_taken_out_of_the_midst() {
        let container = SharedState::new(ScopeKey::new(ScopeKind::Request, "r"), Vec::new(), State::default(), 0);
        let is = |name: &'static str| move |by: &Writer| &*by.instance == name;
        add(&container, 1, None);
        add(&container, 10, Some("asks:0"));
        add(&container, 100, Some("other:0"));
        add(&container, 1000, None);
        assert_eq!((n(&container), container.open.borrow().len()), (1111, 3));
        container.make_writes_final(is("other:0"));
        container.roll_back(is("asks:0"), 1);
        assert_eq!((n(&container), container.open.borrow().len()), (1101, 0));
        add(&container, 10, Some("asks:1"));
        container.make_writes_final(is("asks:1"));
        assert_eq!((n(&container), container.open.borrow().len()), (1111, 0));
    }

    /// What one step of a random history does; `by` is one of three writers.
    #[derive(Clone, Debug)]
    enum Act {
        Write(Operation, u8),
        Final(u8),
        RollBack(u8),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let field = prop_oneof![Just("a"), Just("b"), Just("list")].prop_map(str::to_owned);
        (field, 0..5_i64, 0..5_u8).prop_map(|(field, n, kind)| {
            let fields = |value: Value| Map::from_iter([(field.clone(), value)]);
            match kind {
                0 => Operation::Push { field: field.clone(), value: n.into() },
                1 => Operation::Patch { fields: fields(json!([n])) },
                2 => Operation::Increment { by: fields(n.into()) },
                3 => Operation::SetRecord { field: field.clone(), key: n.to_string(), value: n.into() },
                _ => Operation::Set { state: fields(n.into()) },
            }
        })
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            6 => (operation(), 0..3_u8).prop_map(|(operation, by)| Act::Write(operation, by)),
            1 => (0..3_u8).prop_map(Act::Final),
            1 => (0..3_u8).prop_map(Act::RollBack),
        ]
    }

    proptest! {
        /// The state is always what the writes come to that were not rolled back, in their order.
        #[test]
        fn a_state_is_what_its_kept_writes_come_to(acts in proptest::collection::vec(act(), 0..60)) {
            let initial = State::from(Map::from_iter([("list".to_owned(), json!([0]))]));
            let container =
                SharedState::new(ScopeKey::new(ScopeKind::Request, "r"), Vec::new(), initial.clone(), 0);
            // Every write, with who may still roll it back.
            let mut kept: Vec<(Operation, Option<u8>)> = Vec::new();
            let mut held = Vec::new();
            for (stamp, act) in acts.into_iter().enumerate() {
                let is = |by: u8| move |writer: &Writer| *writer.instance == *by.to_string();
                match act {
                    Act::Write(operation, by) => {
                        let writer = Writer { instance: by.to_string().into(), call: None };
                        let mut next = (*container.read().1).clone();
                        if !operation.apply(&mut next) {
                            continue;
                        }
                        container.write(&operation, next, Some(writer), stamp as u64);
                        kept.push((operation, Some(by)));
                    }
                    Act::Final(by) => {
                        container.make_writes_final(is(by));
                        kept.iter_mut().filter(|(_, open)| *open == Some(by)).for_each(|(_, open)| *open = None);
                    }
                    Act::RollBack(by) => {
                        container.roll_back(is(by), stamp as u64);
                        kept.retain(|(_, open)| *open != Some(by));
                    }
                }
                let mut expected = initial.clone();
                for (operation, _) in &kept {
                    operation.apply(&mut expected);
                }
                let (_, state) = container.read();
                prop_assert_eq!(&state.to_json(), &expected.to_json());
                // Whoever holds a state sees no later write.
                held.push((state.clone(), expected.to_json()));
                for (state, then) in &held {
                    prop_assert_eq!(&state.to_json(), then);
                }
            }
        }
    }
}
