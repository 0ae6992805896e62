//! The shared states that a block has written to: its writes become final, or are rolled back, when it ends.

use std::rc::Rc;

use crate::execution::core::shared::{CallId, SharedState};
use crate::execution::run::frame::Frame;

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
            container.make_writes_final(|by| by.is_attempt(&self.instance));
        }
    }

    /// Makes the writes of a callback call to shared states final, when it has returned.
    pub(crate) fn make_call_writes_final(&self, call: &CallId) {
        for container in self.written.borrow().iter() {
            container.make_writes_final(|by| by.is_call(call));
        }
    }

    /// Rolls back the writes of a callback call to shared states, because the callback is called again.
    pub(crate) fn roll_back_call(&self, call: &CallId, stamp: impl Fn() -> u64) {
        for container in self.written.borrow().iter() {
            container.roll_back(|by| by.is_call(call), stamp());
        }
    }

    /// Rolls back its writes to shared states, when its attempt is discarded.
    pub(crate) fn roll_back(&self, stamp: impl Fn() -> u64) {
        for container in self.written.take() {
            container.roll_back(|by| by.is_attempt(&self.instance), stamp());
        }
    }
}
