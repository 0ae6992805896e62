//! What the model calls of all samples of an experiment share: the budget, the answers to identical calls, and the
//! pauses that a provider asks for.
//!
//! Must not know what is tried: it sees calls and answers.

mod ledger;
mod shared;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use engine::effects::{Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::redaction::Redaction;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::core::prices::CallTokens;
use crate::core::sync::lock;
use ledger::{Admission, Keeping, KeptRoom, Ledger};
use shared::{SharedAnswers, send_whole};

pub(crate) use ledger::{SaveSpent, Spent};
pub(crate) use shared::{Answered, hash_of};

/// How often a call is sent again that a provider refused because there were too many.
const MAX_REFUSALS: u32 = 40;
/// How long a call or a sample waits before it looks again whether it may begin.
const LOOK: Duration = Duration::from_millis(50);
/// The longest pause that a provider is granted.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// What may be spent, all samples together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum Budget {
    /// So many model calls.
    Calls(u32),
    /// So many tokens.
    Tokens(u32),
    /// So many US dollars.
    Usd(f64),
}

impl Budget {
    /// No budget has more US dollars.
    pub const MAX_USD: f64 = 1e9;
}

/// What a call is expected to take, by what was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExpectedCall {
    pub(crate) tokens: CallTokens,
}

/// The cost of tokens of a model in US dollars, where it has a price.
type CostOf = Box<dyn Fn(&str, CallTokens) -> Option<f64> + Send + Sync>;

/// Shared by the samples of an experiment.
pub(crate) struct CallMeter {
    budget: Option<Budget>,
    cost: CostOf,
    ledger: Mutex<Ledger>,
    /// What was stored last of the ledger.
    saved: Mutex<Spent>,
    save: Option<SaveSpent>,
    /// Notified when a call ends or kept room is released.
    ended: Notify,
    answers: SharedAnswers,
    is_exhausted: AtomicBool,
}

/// The calls of one sample, and of the requests that it sends.
#[derive(Clone)]
pub(crate) struct SampleCalls {
    meter: Arc<CallMeter>,
    sample: u32,
    is_refused: Arc<AtomicBool>,
    /// The room kept for its first call.
    room: Arc<Mutex<Option<KeptRoom>>>,
    /// How often it has made a call.
    asked: Arc<Mutex<HashMap<blake3::Hash, u32>>>,
}

impl CallMeter {
    /// `spent` is what was spent earlier. `save` stores each change of it.
    pub(crate) fn new(
        (budget, spent): (Option<Budget>, Spent),
        expected: ExpectedCall,
        cost: CostOf,
        save: Option<SaveSpent>,
    ) -> Arc<CallMeter> {
        Arc::new(CallMeter {
            budget,
            cost,
            ledger: Mutex::new(Ledger::new(expected.tokens, spent)),
            saved: Mutex::new(spent),
            save,
            ended: Notify::new(),
            answers: SharedAnswers::default(),
            is_exhausted: AtomicBool::default(),
        })
    }

    /// The calls of a sample with this number.
    pub(crate) fn sample(self: &Arc<CallMeter>, sample: u32) -> SampleCalls {
        let (is_refused, room, asked) = (Arc::default(), Arc::default(), Arc::default());
        SampleCalls { meter: self.clone(), sample, is_refused, room, asked }
    }

    /// Keeps an answer that a sample with this number was given before: to its call with this hash that it had made
    /// `nth` times before.
    pub(crate) fn keep_answer(&self, (sample, call, nth): (u32, blake3::Hash, u32), answered: Answered) {
        self.answers.keep((sample, call, nth), answered);
    }

    /// Whether a call or a sample was refused because of the budget.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }

    /// What an answer took, as far as the provider tells.
    fn took(&self, model: &str, answer: &Result<ModelReply, FlowError>) -> (Spent, Option<CallTokens>) {
        let usage = |reply: &ModelReply| CallTokens::read(&serde_json::json!({ "usage": reply.usage }));
        let tokens = answer.as_ref().ok().and_then(usage);
        let used = tokens.unwrap_or_default();
        let usd = (self.cost)(model, used).unwrap_or_default();
        (Spent { calls: 1, tokens: used.sum() as f64, usd }, tokens)
    }
}

impl SampleCalls {
    /// Whether a call of this sample was refused because of the budget. The call never returns: the sample is to be
    /// aborted.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Whether spent and reserved calls use up the budget.
    pub(crate) fn is_budget_spent(&self) -> bool {
        self.meter.is_spent()
    }

    /// Waits until the budget has room for the first call of the sample, which asks this model, and keeps that room.
    /// With a spent budget the sample begins without room if it `may_share` the answers of another one. Returns false
    /// if it must not begin: the budget is spent, or the experiment was cancelled.
    pub(crate) fn wait_for_room(
        &self,
        model: &str,
        is_cancelled: &dyn Fn() -> bool,
        may_share: &dyn Fn() -> bool,
    ) -> bool {
        let meter = &self.meter;
        loop {
            match meter.keep(model) {
                _ if is_cancelled() => return false,
                Keeping::Begin(room) => {
                    *lock(&self.room) = Some(room);
                    return true;
                }
                Keeping::Wait => std::thread::sleep(LOOK),
                Keeping::Refuse if may_share() => return true,
                Keeping::Refuse => {
                    meter.is_exhausted.store(true, Ordering::Relaxed);
                    return false;
                }
            }
        }
    }

    /// Whether room is kept for the first call.
    pub(crate) fn has_room(&self) -> bool {
        lock(&self.room).is_some()
    }

    /// Releases the room kept for the first call, if that call was never made.
    pub(crate) fn give_room_back(&self) {
        drop(lock(&self.room).take());
    }

    /// Counts calls that were answered before the sample was stopped, so that the next one is not taken for the first.
    pub(crate) fn add_asked(&self, calls: impl IntoIterator<Item = blake3::Hash>) {
        let mut asked = lock(&self.asked);
        for call in calls {
            *asked.entry(call).or_insert(0) += 1;
        }
    }

    /// How often this call was made before.
    fn count(&self, call: blake3::Hash) -> u32 {
        let mut asked = lock(&self.asked);
        let count = asked.entry(call).or_insert(0);
        *count += 1;
        *count - 1
    }
}

/// The calls of one sample, while its request runs.
pub(crate) struct MeteredCalls {
    of: SampleCalls,
    /// Whether identical calls of the samples with one number share an answer.
    shares: bool,
    /// Takes out what is not recorded, so that a call is known again in the log.
    redaction: Arc<Redaction>,
}

impl MeteredCalls {
    pub(crate) fn new(of: SampleCalls, shares: bool, redaction: Arc<Redaction>) -> MeteredCalls {
        MeteredCalls { of, shares, redaction }
    }

    /// The hash of a call as the log has it.
    fn recorded_hash(&self, call: &ModelCall) -> blake3::Hash {
        let mut asked = serde_json::to_value(call).unwrap_or_default();
        self.redaction.known(&mut asked);
        if let Some(options) = asked.get_mut("providerOptions").filter(|options| !options.is_null()) {
            options.as_object_mut().and_then(|fields| fields.shift_remove("headers"));
            self.redaction.value(options);
        }
        hash_of(&asked)
    }

    /// Answers a call: from the log, as another sample of this number was answered, or by asking.
    pub(crate) async fn answer(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
        ask: impl AsyncFn(ModelCall, Option<Listener>) -> Result<ModelReply, FlowError>,
    ) -> Result<ModelReply, FlowError> {
        let meter = &self.of.meter;
        // A mock script answers for nothing, and goes on from its next reply.
        if !self.shares {
            return self.ask(call, listener, &ask).await;
        }
        let hash = self.recorded_hash(&call);
        let cell = meter.answers.of((self.of.sample, hash, self.of.count(hash)));
        let is_first = Cell::new(false);
        let waiting = Instant::now();
        let mut answering = Box::pin(cell.get_or_try_init(|| async {
            is_first.set(true);
            let asked = Instant::now();
            let reply = self.ask(call, listener.clone(), &ask).await?;
            Ok::<_, FlowError>(Answered { reply, took: asked.elapsed() })
        }));
        let polled = futures_util::poll!(&mut answering);
        // The sample that asks may wait for the room that is kept for this one.
        if !is_first.get() {
            self.of.give_room_back();
        }
        let Answered { reply, took } = match polled {
            Poll::Ready(answered) => answered,
            Poll::Pending => answering.await,
        }?;
        if is_first.get() {
            return Ok(reply.clone());
        }
        // Before the listener, which may be slow.
        let left = took.saturating_sub(waiting.elapsed());
        send_whole(listener.as_ref(), reply);
        Ok(ModelReply { shared_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)), ..reply.clone() })
    }

    /// Refuses a call because of the budget: its sample is stopped, so that no answer comes.
    async fn refuse<T>(&self) -> T {
        self.of.meter.is_exhausted.store(true, Ordering::Relaxed);
        self.of.is_refused.store(true, Ordering::Relaxed);
        std::future::pending().await
    }

    async fn ask(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
        ask: &impl AsyncFn(ModelCall, Option<Listener>) -> Result<ModelReply, FlowError>,
    ) -> Result<ModelReply, FlowError> {
        let meter = &self.of.meter;
        let mut room = lock(&self.of.room).take();
        let mut refusals = 0;
        loop {
            let ended = meter.ended.notified();
            let mut reserved = match meter.admit(&call.model, room.is_some()) {
                Admission::Begin(reserved) => {
                    drop(room.take());
                    reserved
                }
                Admission::Wait => {
                    // Not for ever: a call may have ended before this one listened.
                    let _ = tokio::time::timeout(LOOK, ended).await;
                    continue;
                }
                Admission::Pause(left) => {
                    tokio::time::sleep(left).await;
                    continue;
                }
                Admission::Refuse => {
                    drop(room);
                    return self.refuse().await;
                }
            };
            if let Err(error) = meter.save() {
                reserved.took = Some(Spent::default());
                return Err(error);
            }
            // Another process may have taken the room.
            if meter.is_exceeded() {
                reserved.took = Some(Spent::default());
                drop(reserved);
                meter.save()?;
                return self.refuse().await;
            }
            let answer = ask(call.clone(), listener.clone()).await;
            let (took, tokens) = meter.took(&call.model, &answer);
            let pause = pause_of(&answer, refusals).filter(|_| refusals < MAX_REFUSALS);
            {
                let mut ledger = lock(&meter.ledger);
                let tokens = tokens.unwrap_or_default();
                if tokens.sum() > ledger.largest.sum() {
                    ledger.largest = tokens;
                }
                let gate = ledger.gates.entry(call.model.clone()).or_default();
                match pause {
                    Some(pause) => {
                        let until = Instant::now() + pause.min(MAX_PAUSE);
                        gate.until = Some(gate.until.map_or(until, |known| known.max(until)));
                        // The provider got too many calls at once.
                        gate.most = (f64::from(gate.on_their_way) / 2.0).max(1.0).min(gate.most);
                    }
                    None => gate.most += 1.0 / gate.most,
                }
            }
            // Each request that is sent is a call. One that was refused took no tokens.
            reserved.took = Some(if pause.is_some() { Spent { calls: 1, ..Spent::default() } } else { took });
            drop(reserved);
            // If it fails, what was reserved is stored.
            let _ = meter.save();
            match pause {
                Some(_) => refusals += 1,
                None => return answer,
            }
        }
    }
}

/// How long to wait before the same call is sent again. `None` unless the provider refused it because there were too
/// many.
fn pause_of(answer: &Result<ModelReply, FlowError>, refusals: u32) -> Option<Duration> {
    let error = answer.as_ref().err().filter(|error| error.name == "RateLimitError")?;
    let asked = error.details.as_ref().and_then(|details| details["retryAfterMs"].as_u64());
    Some(Duration::from_millis(asked.unwrap_or(500 << refusals.min(5))))
}

#[cfg(test)]
mod tests;
