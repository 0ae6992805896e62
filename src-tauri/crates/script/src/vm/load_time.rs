//! What a flow's file gets from outside while it loads: clock and chance, and nothing else.
//!
//! There is no request yet, so what is drawn is kept until there is one. Values of an earlier life of the
//! request come first, in their order. It must not read a clock: the caller brings the outside.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use engine::effects::{EffectKind, Instant};
use engine::request::Run;
use serde_json::Value;

/// Values by kind and number.
type Recorded = HashMap<(EffectKind, u32), Value>;

/// Where the values come from that a file draws while it loads.
pub struct LoadTime {
    outside: Box<dyn Fn(Instant) -> Value>,
    recorded: Recorded,
    counts: RefCell<HashMap<EffectKind, u32>>,
    /// What was drawn before there was a request.
    drawn: RefCell<Vec<(EffectKind, u32, Value)>>,
    run: RefCell<Weak<Run>>,
    /// The first value that was asked for and is not among the recorded ones.
    missing: Cell<Option<(EffectKind, u32)>>,
}

impl LoadTime {
    /// For a request that begins: every value is new.
    pub fn new(outside: impl Fn(Instant) -> Value + 'static) -> Self {
        LoadTime::after(Recorded::new(), outside)
    }

    /// For a request that has a log, with what [`load_effects`](engine::loading::load_effects) found in it; what
    /// is not there comes from outside.
    pub fn after(recorded: Recorded, outside: impl Fn(Instant) -> Value + 'static) -> Self {
        LoadTime {
            outside: Box::new(outside),
            recorded,
            counts: RefCell::default(),
            drawn: RefCell::default(),
            run: RefCell::default(),
            missing: Cell::default(),
        }
    }

    /// The next value.
    pub(crate) fn draw(&self, instant: Instant) -> Value {
        let kind = instant.kind();
        let ordinal = {
            let mut counts = self.counts.borrow_mut();
            let count = counts.entry(kind).or_insert(0);
            *count += 1;
            *count - 1
        };
        if let Some(known) = self.recorded.get(&(kind, ordinal)) {
            return known.clone();
        }
        self.missing.set(self.missing.take().or(Some((kind, ordinal))));
        let value = (self.outside)(instant);
        match self.run.borrow().upgrade() {
            Some(run) => run.record_load_effect(kind, ordinal, value.clone()),
            None => self.drawn.borrow_mut().push((kind, ordinal, value.clone())),
        }
        value
    }

    /// Records with a request what was drawn so far, and what will be.
    pub(crate) fn attach(&self, run: &Rc<Run>) {
        for (kind, ordinal, value) in self.drawn.take() {
            run.record_load_effect(kind, ordinal, value);
        }
        *self.run.borrow_mut() = Rc::downgrade(run);
    }

    /// The first value that was asked for beyond the recorded ones, where there are any.
    pub(crate) fn missing(&self) -> Option<(EffectKind, u32)> {
        self.missing.get().filter(|_| !self.recorded.is_empty())
    }
}
