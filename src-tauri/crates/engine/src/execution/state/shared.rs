//! Shared memory of one request: the state of the request, a sequencer or a block.
//!
//! A write is in force at once. When the attempt that made it comes to nothing (it waits, or it is tried
//! again), the state is made anew without it, so that memory is what the log says (SEMANTICS §4.5). For that a
//! container keeps the operations since the oldest one whose attempt has not ended, and no others. Must not
//! decide what an end means: that is `views::attempts`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::execution::callback::CallbackCall;
use crate::execution::fifo::Fifo;
use crate::execution::frame::Frame;
use crate::model::callable::SchemaRef;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;
use crate::model::state::State;

/// Shared memory of one request.
pub struct Container {
    /// Whose state.
    pub key: ScopeKey,
    /// Check writes.
    pub schemas: Vec<SchemaRef>,
    /// One mutation at a time.
    pub queue: Fifo,
    state: RefCell<Arc<State>>,
    version: Cell<u64>,
    stamp: Cell<u64>,
    life: Cell<u32>,
    /// The state before the first of `open`.
    base: RefCell<Arc<State>>,
    /// The operations since the oldest one that may still come to nothing.
    open: RefCell<Vec<Write>>,
}

/// An operation in force, and whose end decides whether it stays; nobody's where that is decided.
struct Write {
    operation: Operation,
    by: Option<Writer>,
}

/// Who made a write.
#[derive(Clone)]
pub(crate) struct Writer {
    /// The attempt: `path:attempt`.
    instance: Arc<str>,
    /// The call of one of its callbacks, where those are counted one by one.
    call: Option<Rc<CallbackCall>>,
}

impl Container {
    /// A container at version 0.
    pub fn new(key: ScopeKey, schemas: Vec<SchemaRef>, state: State, stamp: u64) -> Self {
        let state = Arc::new(state);
        Container {
            key,
            schemas,
            queue: Fifo::default(),
            state: RefCell::new(state.clone()),
            version: Cell::new(0),
            stamp: Cell::new(stamp),
            life: Cell::new(0),
            base: RefCell::new(state),
            open: RefCell::default(),
        }
    }

    /// What lives in memory only begins anew when another process takes the request up, or this one later.
    pub(crate) fn begin_life(&self, life: u32, defaults: &Map<String, Value>, stamp: u64) {
        if self.life.replace(life.max(self.life.get())) >= life {
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
        self.refold(stamp);
    }

    /// The state now, and a stamp that changes whenever it does.
    pub fn read(&self) -> (u64, Arc<State>) {
        (self.stamp.get(), self.state.borrow().clone())
    }

    /// Fields that live in memory only: never in an event, never in a checkpoint.
    pub fn transient(&self) -> Vec<String> {
        let fields = self.schemas.iter().flat_map(|schema| schema.fields().unwrap_or_default());
        fields.filter(|field| field.transient).map(|field| field.name.clone()).collect()
    }

    /// The state as events may hold it.
    pub fn recordable(&self) -> Value {
        let mut state = (*self.read().1).clone();
        for field in self.transient() {
            state.remove(&field);
        }
        state.to_json()
    }

    /// Takes a mutation that an attempt made, and the state after it. Returns the new version.
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

    /// Lets the writes of these stay.
    fn settle(&self, is_it: impl Fn(&Writer) -> bool) {
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

    /// Makes the state anew without the writes of these.
    fn roll_back(&self, is_it: impl Fn(&Writer) -> bool, stamp: u64) {
        let before = self.open.borrow().len();
        self.open.borrow_mut().retain(|write| !write.by.as_ref().is_some_and(&is_it));
        if self.open.borrow().len() < before {
            self.refold(stamp);
            self.settle(|_| false);
        }
    }

    fn refold(&self, stamp: u64) {
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
    /// Notes that it wrote to shared memory.
    pub(crate) fn wrote(&self, container: &Rc<Container>) {
        let mut written = self.written.borrow_mut();
        if !written.iter().any(|known| Rc::ptr_eq(known, container)) {
            written.push(container.clone());
        }
    }

    /// Its attempt has come to its end: what it wrote to shared memory stays.
    pub(crate) fn settle(&self) {
        for container in self.written.take() {
            container.settle(|by| by.instance == self.instance);
        }
    }

    /// A callback of it has returned: what that wrote to shared memory stays.
    pub(crate) fn settle_call(&self, call: &Rc<CallbackCall>) {
        for container in self.written.borrow().iter() {
            container.settle(|by| by.is_call(call));
        }
    }

    /// A call of a callback comes to nothing, because the callback is called again.
    pub(crate) fn roll_back_call(&self, call: &Rc<CallbackCall>, stamp: impl Fn() -> u64) {
        for container in self.written.borrow().iter() {
            container.roll_back(|by| by.is_call(call), stamp());
        }
    }

    /// Its attempt comes to nothing: shared memory is made anew without what it wrote.
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

    fn add(container: &Container, n: i64, by: Option<&str>) {
        let fields = json!({ "n": n }).as_object().cloned().unwrap_or_default();
        let operation = Operation::Increment { by: fields };
        let mut next = (*container.read().1).clone();
        operation.apply(&mut next);
        container.write(&operation, next, by.map(|by| Writer { instance: by.into(), call: None }), 0);
    }

    fn n(container: &Container) -> i64 {
        container.read().1.get("n").and_then(|n| n.as_i64()).unwrap_or_default()
    }

    #[test]
    fn what_comes_to_nothing_is_taken_out_of_the_midst() {
        let container = Container::new(ScopeKey::new(ScopeKind::Request, "r"), Vec::new(), State::default(), 0);
        let is = |name: &'static str| move |by: &Writer| &*by.instance == name;
        add(&container, 1, None);
        add(&container, 10, Some("asks:0"));
        add(&container, 100, Some("other:0"));
        add(&container, 1000, None);
        assert_eq!((n(&container), container.open.borrow().len()), (1111, 3));
        container.settle(is("other:0"));
        container.roll_back(is("asks:0"), 1);
        assert_eq!((n(&container), container.open.borrow().len()), (1101, 0));
        add(&container, 10, Some("asks:1"));
        container.settle(is("asks:1"));
        assert_eq!((n(&container), container.open.borrow().len()), (1111, 0));
    }
}
