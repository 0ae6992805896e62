//! What one call of a callback has done so far (ARCHITECTURE §3.5): its events, writes and effects.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::execution::core::nested::NestedResults;
use crate::execution::core::shared::CallId;
use crate::execution::core::transaction::Transaction;
use crate::execution::record::prior_attempt::{AttemptEffects, CallOrdinals};
use crate::model::effects::EffectKind;
use crate::model::event::Seq;

/// What one call of a callback has done so far.
pub struct CallbackCall {
    /// Names it in its writes to shared state.
    pub(crate) id: CallId,
    /// Its name in the log: which function, and which call of it (`map.#0`).
    pub(crate) name: String,
    /// Its events.
    pub(crate) events: RefCell<Vec<Seq>>,
    /// The answers of its `ctx.runOnce`, which a call that repeats it does not ask for again.
    pub(crate) answers: RefCell<Vec<Seq>>,
    /// Its writes to durable records: functions of one block may run at the same time.
    pub(crate) transaction: Transaction,
    /// Its effects and their results.
    pub(crate) effects: Rc<AttemptEffects>,
    /// The ordinals of its effects.
    pub(crate) ordinals: CallOrdinals,
    /// The results of the blocks that it ran.
    pub(crate) nested_results: NestedResults,
    /// Whether it holds the right to commit while it is called again after a conflict.
    pub(crate) holds_permit: Cell<bool>,
    /// Whether it read something that other blocks or requests may change.
    pub(crate) has_read_shared: Cell<bool>,
    /// How many callbacks it was called within.
    pub(crate) depth: u32,
    pub(crate) suspensions: Cell<u32>,
    pub(crate) sends: Cell<u32>,
    pub(crate) effect_counts: RefCell<HashMap<EffectKind, u32>>,
}

impl CallbackCall {
    pub(crate) fn new(name: &str, depth: u32) -> Self {
        CallbackCall {
            id: CallId::default(),
            name: name.to_owned(),
            depth,
            events: RefCell::default(),
            answers: RefCell::default(),
            transaction: Transaction::default(),
            effects: Rc::default(),
            ordinals: CallOrdinals::default(),
            nested_results: NestedResults::default(),
            holds_permit: Cell::new(false),
            has_read_shared: Cell::default(),
            suspensions: Cell::default(),
            sends: Cell::default(),
            effect_counts: RefCell::default(),
        }
    }

    /// Returns the call that repeats this one after a conflict.
    pub(crate) fn repeat(&self) -> Self {
        CallbackCall {
            effects: AttemptEffects::after(self.effects.clone()),
            answers: RefCell::new(self.answers.take()),
            ordinals: CallOrdinals::after(&self.ordinals),
            nested_results: self.nested_results.hand_on(),
            holds_permit: Cell::new(true),
            ..CallbackCall::new(&self.name, self.depth)
        }
    }

    /// Notes that it read something that others may change: called again later, it might return something else.
    pub(crate) fn note_shared_read(&self) {
        self.has_read_shared.set(true);
    }

    /// Notes the event of an answer of its `ctx.runOnce`.
    pub(crate) fn note_answer(&self, seq: Seq) {
        self.answers.borrow_mut().push(seq);
    }

    /// Returns the number of its next clock or random value, counted by kind from 0.
    pub(crate) fn next_effect_ordinal(&self, kind: EffectKind) -> u32 {
        let mut effect_counts = self.effect_counts.borrow_mut();
        let count = effect_counts.entry(kind).or_insert(0);
        *count += 1;
        *count - 1
    }

    /// Returns the number of its next suspension, from 0.
    pub(crate) fn next_suspension_ordinal(&self) -> u32 {
        self.suspensions.replace(self.suspensions.get() + 1)
    }

    /// Returns the number of the next request that it sends, from 0.
    pub(crate) fn next_send_ordinal(&self) -> u32 {
        self.sends.replace(self.sends.get() + 1)
    }
}
