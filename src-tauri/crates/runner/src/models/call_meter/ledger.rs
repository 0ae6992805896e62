//! The ledger of a budget: spent calls, room reserved for running calls, and room kept for samples that have started
//! without a call yet.
//!
//! Must not ask a model.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::error::FlowError;
use serde::{Deserialize, Serialize};

use super::{Budget, CallMeter};
use crate::core::prices::CallTokens;
use crate::core::sync::lock;

/// Calls, and what they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spent {
    pub(crate) calls: u32,
    pub(crate) tokens: f64,
    pub(crate) usd: f64,
}

/// Stores a change of the spending, from the first total to the second. Returns the stored total, to which another
/// process that runs the experiment may have added. An error says why it cannot be stored.
pub(crate) type SaveSpent = Box<dyn Fn(Spent, Spent) -> Result<Spent, String> + Send + Sync>;

impl Spent {
    pub(crate) fn add(&mut self, other: Spent) {
        self.calls += other.calls;
        self.tokens += other.tokens;
        self.usd += other.usd;
    }

    /// Returns by how much it exceeds another sum; 0 where it does not.
    fn more_than(self, other: Spent) -> Spent {
        Spent {
            calls: self.calls.saturating_sub(other.calls),
            tokens: (self.tokens - other.tokens).max(0.0),
            usd: (self.usd - other.usd).max(0.0),
        }
    }

    fn take_off(&mut self, other: Spent) {
        self.calls -= other.calls;
        self.tokens -= other.tokens;
        self.usd -= other.usd;
    }
}

/// What is known of the calls so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What calls took that have been answered.
    pub(super) settled: Spent,
    /// What the calls on their way are expected to take.
    reserved: Spent,
    /// What is kept for the first calls of samples that have begun.
    kept: Spent,
    /// The most that a call has taken.
    pub(super) largest: CallTokens,
    pub(super) gates: HashMap<String, Gate>,
}

/// How many calls of a model may be on their way: fewer after its provider has refused one because there were too many.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) on_their_way: u32,
    pub(super) most: f64,
    /// Until when it is not asked.
    pub(super) until: Option<Instant>,
}

impl Default for Gate {
    fn default() -> Self {
        Gate { on_their_way: 0, most: f64::from(u16::MAX), until: None }
    }
}

/// Whether the budget has room for one more call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Now,
    /// Perhaps once a call has ended, or a sample needs no call.
    Later,
    Never,
}

impl Ledger {
    /// What calls took, and may take that are on their way.
    fn spent(&self) -> Spent {
        let mut spent = self.settled;
        spent.add(self.reserved);
        spent
    }

    /// Each call is expected to take as much as `largest`; `settled` was spent earlier.
    pub(super) fn new(largest: CallTokens, settled: Spent) -> Ledger {
        Ledger { largest, settled, ..Ledger::default() }
    }

    /// Whether a budget has room for a call. `kept` is what is kept for others; `has_price` says whether the call has
    /// one.
    fn room(&self, budget: Option<Budget>, wanted: Spent, has_price: bool, kept: Spent) -> Room {
        let Ledger { settled, reserved, .. } = self;
        // Without any figure calls are made one after another, so that the next one is known.
        let is_alone = reserved.calls + kept.calls == 0;
        let fits = |settled: f64, taken: f64, wanted: f64, most: f64| {
            let has_room = settled < most && settled + taken + wanted <= most;
            has_room && (wanted > 0.0 || is_alone)
        };
        let (has_room, may_fit) = match budget {
            None => (true, true),
            Some(Budget::Calls(most)) => (settled.calls + reserved.calls + kept.calls < most, true),
            Some(Budget::Tokens(most)) => {
                (fits(settled.tokens, reserved.tokens + kept.tokens, wanted.tokens, most.into()), true)
            }
            Some(Budget::Usd(most)) => {
                (has_price && fits(settled.usd, reserved.usd + kept.usd, wanted.usd, most), has_price)
            }
        };
        if has_room {
            Room::Now
        } else if may_fit && !is_alone {
            Room::Later
        } else {
            Room::Never
        }
    }
}

/// Whether a call may begin.
pub(super) enum Admission {
    Begin(Reserved),
    /// Once a call that is on its way has ended.
    Wait,
    /// After so long.
    Pause(Duration),
    /// Never: the budget has no room for it.
    Refuse,
}

/// Whether a sample may begin.
pub(super) enum Keeping {
    Begin(KeptRoom),
    /// Once a call has ended, or another sample turns out to need none.
    Wait,
    /// Never: the budget has no room for one call.
    Refuse,
}

impl CallMeter {
    /// What one more call of a model may take by what is known, and whether it has a price.
    fn wanted(&self, ledger: &Ledger, model: &str) -> (Spent, bool) {
        let tokens = ledger.largest;
        let usd = (self.cost)(model, tokens);
        (Spent { calls: 1, tokens: tokens.sum() as f64, usd: usd.unwrap_or_default() }, usd.is_some())
    }

    /// Decides whether a call of a model may begin now. The first call of a sample `has_kept` room: it waits for no
    /// sample that has begun, so that no two wait for each other.
    pub(super) fn admit(self: &Arc<CallMeter>, model: &str, has_kept: bool) -> Admission {
        let mut ledger = lock(&self.ledger);
        let (wanted, has_price) = self.wanted(&ledger, model);
        let kept = if has_kept { Spent::default() } else { ledger.kept };
        match ledger.room(self.budget, wanted, has_price, kept) {
            Room::Now => {}
            Room::Later => return Admission::Wait,
            Room::Never => return Admission::Refuse,
        }
        let gate = ledger.gates.entry(model.to_owned()).or_default();
        if let Some(left) = gate.until.and_then(|until| until.checked_duration_since(Instant::now())) {
            return Admission::Pause(left);
        }
        if f64::from(gate.on_their_way) >= gate.most.max(1.0) {
            return Admission::Wait;
        }
        gate.on_their_way += 1;
        ledger.reserved.add(wanted);
        Admission::Begin(Reserved { meter: self.clone(), model: model.to_owned(), wanted, took: None })
    }

    /// Stores what is spent, before a call is sent and after it has ended: a process that is killed forgets no call.
    /// Calls that wait here at the same time share a write.
    pub(super) fn save(&self) -> Result<(), FlowError> {
        let Some(save) = &self.save else { return Ok(()) };
        let mut saved = lock(&self.saved);
        let spent = lock(&self.ledger).spent();
        if spent != *saved {
            let stored = save(*saved, spent)
                .map_err(|error| FlowError::plain(format!("cannot store what is spent: {error}")))?;
            // The spending of other processes counts, too.
            let others = stored.more_than(spent);
            lock(&self.ledger).settled.add(others);
            *saved = spent;
            saved.add(others);
        }
        Ok(())
    }

    /// What calls took, with those on their way.
    pub(crate) fn spent(&self) -> Spent {
        lock(&self.ledger).spent()
    }

    /// Whether spent and reserved calls exceed the budget.
    pub(super) fn is_exceeded(&self) -> bool {
        let spent = lock(&self.ledger).spent();
        match self.budget {
            None => false,
            Some(Budget::Calls(most)) => spent.calls > most,
            Some(Budget::Tokens(most)) => spent.tokens > f64::from(most),
            Some(Budget::Usd(most)) => spent.usd > most,
        }
    }

    /// Whether spent and reserved calls use up the budget.
    pub(super) fn is_spent(&self) -> bool {
        let spent = lock(&self.ledger).spent();
        match self.budget {
            None => false,
            Some(Budget::Calls(most)) => spent.calls >= most,
            Some(Budget::Tokens(most)) => spent.tokens >= f64::from(most),
            Some(Budget::Usd(most)) => spent.usd >= most,
        }
    }

    /// Decides whether a sample may begin whose first call is one of this model.
    pub(super) fn keep(self: &Arc<CallMeter>, model: &str) -> Keeping {
        let mut ledger = lock(&self.ledger);
        let (wanted, has_price) = self.wanted(&ledger, model);
        match ledger.room(self.budget, wanted, has_price, ledger.kept) {
            Room::Now => {
                ledger.kept.add(wanted);
                Keeping::Begin(KeptRoom { meter: self.clone(), wanted })
            }
            Room::Later => Keeping::Wait,
            Room::Never => Keeping::Refuse,
        }
    }
}

/// The room that a call has in the budget. Dropped with its end: a call that was cut off counts as it was reserved.
pub(super) struct Reserved {
    meter: Arc<CallMeter>,
    model: String,
    wanted: Spent,
    /// What it took, once it is known.
    pub(super) took: Option<Spent>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut ledger = lock(&self.meter.ledger);
        ledger.reserved.take_off(self.wanted);
        ledger.settled.add(self.took.unwrap_or(self.wanted));
        if let Some(gate) = ledger.gates.get_mut(&self.model) {
            gate.on_their_way -= 1;
        }
        drop(ledger);
        self.meter.ended.notify_waiters();
    }
}

/// The room that is kept for the first call of a sample, so that none begins that could not ask anything. Must not be
/// dropped under the lock of the ledger.
pub(super) struct KeptRoom {
    meter: Arc<CallMeter>,
    wanted: Spent,
}

impl Drop for KeptRoom {
    fn drop(&mut self) {
        lock(&self.meter.ledger).kept.take_off(self.wanted);
        self.meter.ended.notify_waiters();
    }
}
