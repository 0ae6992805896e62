//! Ends a running script from outside, even if it does not yield.

use std::cell::OnceCell;
use std::rc::Rc;

/// Whether a running script must end: the interpreter polls it. Clones share one condition.
#[derive(Clone, Default)]
pub(crate) struct Stop(Rc<OnceCell<Box<dyn Fn() -> bool>>>);

impl Stop {
    /// Sets the condition. Later calls are ignored.
    pub(crate) fn when(&self, is_over: impl Fn() -> bool + 'static) {
        let _ = self.0.set(Box::new(is_over));
    }

    /// Whether the script must end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some_and(|is_over| is_over())
    }
}
