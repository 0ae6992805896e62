//! Shared state in memory: that of the request, a sequencer or a block.
//!
//! A write is visible at once. When the attempt that made it is discarded (it suspends, or is retried), the write is
//! rolled back, so that memory equals what the log says (SEMANTICS §4.5). For that a [`SharedState`] keeps the
//! operations since the oldest one whose attempt has not ended. Must not decide which attempts count: that is
//! `views::attempts`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::execution::callback::CallbackCall;
use crate::execution::fifo::FifoMutex;
use crate::execution::frame::Frame;
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
    /// The state before the first operation of `open`.
    base: RefCell<Arc<State>>,
    /// The operations since the oldest one that may still be rolled back.
    open: RefCell<Vec<Write>>,
}

/// An operation, and the writer whose end decides whether it is kept; `None` once that is decided.
struct Write {
    operation: Operation,
    by: Option<Writer>,
}

/// Who made a write.
#[derive(Clone)]
pub(crate) struct Writer {
    /// The attempt: `path:attempt`.
    instance: Arc<str>,
    /// The callback call, if it was not the block itself.
    call: Option<Rc<CallbackCall>>,
}

impl SharedState {
    /// Creates a state at version 0.
    pub fn new(key: ScopeKey, schemas: Vec<SchemaRef>, state: State, stamp: u64) -> Self {
        let state = Arc::new(state);
        SharedState {
            key,
            schemas,
            queue: FifoMutex::default(),
            state: RefCell::new(state.clone()),
            version: Cell::new(0),
            stamp: Cell::new(stamp),
            resumes: Cell::new(0),
            base: RefCell::new(state),
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
        let mut base = (*self.base.take()).clone();
        transient.iter().for_each(|field| drop(base.remove(field)));
        base.fill_in(defaults);
        *self.base.borrow_mut() = Arc::new(base);
        if !transient.is_empty() {
            let open = self.open.take().into_iter();
            let kept = open.filter_map(|Write { operation, by }| {
                Some(Write { operation: operation.recorded_without(&transient)?, by })
            });
            *self.open.borrow_mut() = kept.collect();
        }
        self.rebuild(stamp);
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
        let mut state = (*self.read().1).clone();
        for field in self.transient() {
            state.remove(&field);
        }
        state.to_json()
    }

    /// Stores an operation and the state after it. Returns the new version.
    pub(crate) fn write(&self, operation: &Operation, next: State, by: Option<Writer>, stamp: u64) -> u64 {
        let next = Arc::new(next);
        if by.is_some() || !self.open.borrow().is_empty() {
            self.open.borrow_mut().push(Write { operation: operation.clone(), by });
        } else {
            *self.base.borrow_mut() = next.clone();
        }
        *self.state.borrow_mut() = next;
        self.stamp.set(stamp);
        self.version.set(self.version.get() + 1);
        self.version.get()
    }

    /// Makes the writes of these writers final.
    fn make_writes_final(&self, is_it: impl Fn(&Writer) -> bool) {
        let mut open = self.open.borrow_mut();
        for write in open.iter_mut().filter(|write| write.by.as_ref().is_some_and(&is_it)) {
            write.by = None;
        }
        let settled = open.iter().take_while(|write| write.by.is_none()).count();
        if settled == open.len() {
            open.clear();
            *self.base.borrow_mut() = self.state.borrow().clone();
        } else if settled > 0 {
            let mut base = self.base.borrow_mut();
            let state = Arc::make_mut(&mut base);
            for write in open.drain(..settled) {
                write.operation.apply(state);
            }
        }
    }

    /// Removes the writes of these writers and rebuilds the state.
    fn roll_back(&self, is_it: impl Fn(&Writer) -> bool, stamp: u64) {
        let before = self.open.borrow().len();
        self.open.borrow_mut().retain(|write| !write.by.as_ref().is_some_and(&is_it));
        if self.open.borrow().len() < before {
            self.rebuild(stamp);
            self.make_writes_final(|_| false);
        }
    }

    fn rebuild(&self, stamp: u64) {
        let mut state = (**self.base.borrow()).clone();
        for write in self.open.borrow().iter() {
            write.operation.apply(&mut state);
        }
        *self.state.borrow_mut() = Arc::new(state);
        self.stamp.set(stamp);
    }
}

impl Writer {
    pub(crate) fn new(frame: &Frame, call: Option<&Rc<CallbackCall>>) -> Self {
        Writer { instance: frame.instance.clone(), call: call.cloned() }
    }

    fn is_call(&self, call: &Rc<CallbackCall>) -> bool {
        self.call.as_ref().is_some_and(|own| Rc::ptr_eq(own, call))
    }
}

impl Frame {
    /// Notes that it wrote to a shared state.
    pub(crate) fn wrote(&self, container: &Rc<SharedState>) {
        let mut written = self.written.borrow_mut();
        if !written.iter().any(|known| Rc::ptr_eq(known, container)) {
            written.push(container.clone());
        }
    }

    /// Makes its writes to shared states final, when its attempt has ended.
    pub(crate) fn make_writes_final(&self) {
        for container in self.written.take() {
            container.make_writes_final(|by| by.instance == self.instance);
        }
    }

    /// Makes the writes of a callback call to shared states final, when it has returned.
    pub(crate) fn make_call_writes_final(&self, call: &Rc<CallbackCall>) {
        for container in self.written.borrow().iter() {
            container.make_writes_final(|by| by.is_call(call));
        }
    }

    /// Rolls back the writes of a callback call to shared states, because the callback is called again.
    pub(crate) fn roll_back_call(&self, call: &Rc<CallbackCall>, stamp: impl Fn() -> u64) {
        for container in self.written.borrow().iter() {
            container.roll_back(|by| by.is_call(call), stamp());
        }
    }

    /// Rolls back its writes to shared states, when its attempt is discarded.
    pub(crate) fn roll_back(&self, stamp: impl Fn() -> u64) {
        for container in self.written.take() {
            container.roll_back(|by| by.instance == self.instance, stamp());
        }
    }
}

#[cfg(test)]
mod tests {
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
}
