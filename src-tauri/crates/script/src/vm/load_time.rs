//! Clock and random values for a flow's file while it loads, and its environment. It has no other effects.
//!
//! There is no request yet, so new values are kept until there is one. A resumed or replayed request gets its recorded
//! values first, in their order. Must not read a clock: the caller passes the source of values.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use engine::effects::{EffectKind, SyncEffect};
use engine::request::Run;
use serde_json::Value;

use crate::vm::stop::Stop;
use crate::vm::time_zone::own_time_zone;

/// Values by kind and ordinal.
type Recorded = HashMap<(EffectKind, u32), Value>;

/// The source of clock and random values for a file while it loads.
pub struct LoadTime {
    outside: Box<dyn Fn(SyncEffect) -> Value>,
    recorded: Recorded,
    counts: RefCell<HashMap<EffectKind, u32>>,
    /// New values from before there was a request.
    drawn: RefCell<Vec<(EffectKind, u32, Value)>>,
    run: RefCell<Weak<Run>>,
    /// The first value that was requested and not recorded.
    missing: Cell<Option<(EffectKind, u32)>>,
    /// The value of `process.env`.
    env: Value,
    /// The names in `env` whose values are hidden from expressions of a question.
    secret_names: Vec<String>,
    /// The time zone of its local times: that of the request or, if nothing sets one, of this machine.
    zone: OnceCell<Arc<str>>,
    /// Stops the file, and the blocks that run after it.
    pub(crate) stop: Stop,
}

impl LoadTime {
    /// Creates the source for a new request: every value is new.
    pub fn new(outside: impl Fn(SyncEffect) -> Value + 'static) -> Self {
        LoadTime::after(Recorded::new(), outside)
    }

    /// Creates the source for a request that has a log. `recorded` is what
    /// [`load_effects`](engine::loading::load_effects) found in it; further values are new.
    pub fn after(recorded: Recorded, outside: impl Fn(SyncEffect) -> Value + 'static) -> Self {
        LoadTime {
            outside: Box::new(outside),
            recorded,
            counts: RefCell::default(),
            drawn: RefCell::default(),
            run: RefCell::default(),
            missing: Cell::default(),
            env: Value::Object(serde_json::Map::new()),
            secret_names: Vec::new(),
            zone: OnceCell::new(),
            stop: Stop::default(),
        }
    }

    /// Sets the environment that the file and its blocks see.
    pub fn with_env(self, env: Value) -> Self {
        LoadTime { env, ..self }
    }

    /// Sets the names in the environment whose values expressions of a question do not see.
    pub fn with_secret_names(self, secret_names: Vec<String>) -> Self {
        LoadTime { secret_names, ..self }
    }

    /// Sets the time zone of the file's local times, by its name.
    pub fn with_zone(self, zone: Option<Arc<str>>) -> Self {
        LoadTime { zone: zone.map_or_else(OnceCell::new, OnceCell::from), ..self }
    }

    /// Stops the file, and the blocks that run after it, as soon as `is_over` returns true, even in an endless loop.
    pub fn until(self, is_over: impl Fn() -> bool + 'static) -> Self {
        self.stop.when(is_over);
        self
    }

    /// Returns the name of the time zone of its local times.
    pub(crate) fn zone(&self) -> &str {
        self.zone.get_or_init(|| own_time_zone().into())
    }

    /// Returns the environment.
    pub(crate) fn env(&self) -> &Value {
        &self.env
    }

    /// Returns the names in the environment whose values expressions of a question do not see.
    pub(crate) fn secret_names(&self) -> &[String] {
        &self.secret_names
    }

    /// Returns the next value of a kind.
    pub(crate) fn draw(&self, effect: SyncEffect) -> Value {
        let kind = effect.kind();
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
        let value = (self.outside)(effect);
        match self.run.borrow().upgrade() {
            Some(run) => run.record_load_effect(kind, ordinal, value.clone()),
            None => self.drawn.borrow_mut().push((kind, ordinal, value.clone())),
        }
        value
    }

    /// Records the new values so far with a request, and later ones when they are drawn.
    pub(crate) fn attach(&self, run: &Rc<Run>) {
        for (kind, ordinal, value) in self.drawn.take() {
            run.record_load_effect(kind, ordinal, value);
        }
        *self.run.borrow_mut() = Rc::downgrade(run);
    }

    /// Returns the first value that was requested and not recorded, if any value was recorded.
    pub(crate) fn missing(&self) -> Option<(EffectKind, u32)> {
        self.missing.get().filter(|_| !self.recorded.is_empty())
    }
}
