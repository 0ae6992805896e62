//! What the model calls of all samples of an experiment share: the budget, the answers to identical calls, and the
//! pauses that a provider asks for.
//!
//! Must not know what is tried: it sees calls and answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use engine::redaction::Redaction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Notify, OnceCell};

use crate::core::prices::CallTokens;
use crate::core::sync::lock;

/// How often a call is sent again that a provider refused because there were too many.
const MAX_REFUSALS: u32 = 40;
/// How long a call waits before it looks again whether it may begin.
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

/// Calls, and what they took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    calls: u32,
    tokens: f64,
    usd: f64,
}

impl Spent {
    fn add(&mut self, other: Spent, sign: f64) {
        self.tokens += sign * other.tokens;
        self.usd += sign * other.usd;
    }
}

/// What a call is expected to take, by what was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExpectedCall {
    pub(crate) tokens: CallTokens,
}

/// What is known of the calls so far.
#[derive(Debug, Default)]
struct Ledger {
    /// What calls took that have been answered.
    settled: Spent,
    /// What those are expected to take that are on their way, and how many there are.
    reserved: Spent,
    on_their_way: u32,
    /// The most that a call has taken.
    largest: CallTokens,
    gates: HashMap<String, Gate>,
}

/// How many calls of a model may be on their way: fewer after its provider has refused one because there were too many.
#[derive(Debug)]
struct Gate {
    on_their_way: u32,
    most: f64,
    /// Until when it is not asked.
    until: Option<Instant>,
}

impl Default for Gate {
    fn default() -> Self {
        Gate { on_their_way: 0, most: f64::from(u16::MAX), until: None }
    }
}

/// Whether a call may begin.
enum Admission {
    Begin(Reserved),
    /// Once a call that is on its way has ended.
    Wait,
    /// After so long.
    Pause(Duration),
    /// Never: the budget has no room for it.
    Refuse,
}

/// The cost of tokens of a model in US dollars, where it has a price.
type CostOf = Box<dyn Fn(&str, CallTokens) -> Option<f64> + Send + Sync>;

/// Who asks what: the number of the sample, the call, and how often the sample has made that call before.
type AskedBy = (u32, blake3::Hash, u32);

/// An answer that identical calls share.
struct Answered {
    reply: ModelReply,
    /// How long it took from the first call to the answer.
    took: Duration,
}

/// Shared by the samples of an experiment.
pub(crate) struct CallMeter {
    budget: Option<Budget>,
    cost: CostOf,
    ledger: Mutex<Ledger>,
    /// Told whenever a call has ended.
    ended: Notify,
    /// The answers.
    answers: Mutex<HashMap<AskedBy, Arc<OnceCell<Answered>>>>,
    is_exhausted: AtomicBool,
}

/// The calls of one sample.
#[derive(Clone)]
pub(crate) struct SampleCalls {
    meter: Arc<CallMeter>,
    sample: u32,
    is_refused: Arc<AtomicBool>,
}

impl CallMeter {
    pub(crate) fn new(budget: Option<Budget>, expected: ExpectedCall, cost: CostOf) -> Arc<CallMeter> {
        Arc::new(CallMeter {
            budget,
            cost,
            ledger: Mutex::new(Ledger { largest: expected.tokens, ..Ledger::default() }),
            ended: Notify::new(),
            answers: Mutex::default(),
            is_exhausted: AtomicBool::default(),
        })
    }

    /// Counts what was spent earlier.
    pub(crate) fn add_spent(&self, calls: u32, tokens: f64, usd: f64) {
        let settled = &mut lock(&self.ledger).settled;
        settled.calls += calls;
        settled.add(Spent { calls, tokens, usd }, 1.0);
    }

    /// The calls of a sample with this number.
    pub(crate) fn sample(self: &Arc<CallMeter>, sample: u32) -> SampleCalls {
        SampleCalls { meter: self.clone(), sample, is_refused: Arc::default() }
    }

    /// Whether a call was refused because of the budget.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }

    /// What has been spent: calls, tokens and US dollars.
    pub(crate) fn settled(&self) -> (u32, f64, f64) {
        let Spent { calls, tokens, usd } = lock(&self.ledger).settled;
        (calls, tokens, usd)
    }

    /// Decides whether a call of a model may begin now.
    fn admit(self: &Arc<CallMeter>, model: &str) -> Admission {
        let mut ledger = lock(&self.ledger);
        let tokens = ledger.largest;
        let usd = (self.cost)(model, tokens);
        let wanted = Spent { calls: 1, tokens: tokens.sum() as f64, usd: usd.unwrap_or_default() };
        let Ledger { settled, reserved, on_their_way, .. } = &*ledger;
        // Without any figure calls are made one after another, so that the next one is known.
        let is_alone = *on_their_way == 0;
        let fits = |settled: f64, reserved: f64, wanted: f64, most: f64| {
            let has_room = settled < most && settled + reserved + wanted <= most;
            has_room && (wanted > 0.0 || is_alone)
        };
        let has_room = match self.budget {
            None => true,
            Some(Budget::Calls(most)) => settled.calls + on_their_way < most,
            Some(Budget::Tokens(most)) => fits(settled.tokens, reserved.tokens, wanted.tokens, most.into()),
            Some(Budget::Usd(most)) => usd.is_some() && fits(settled.usd, reserved.usd, wanted.usd, most),
        };
        if !has_room {
            let has_price = usd.is_some() || !matches!(self.budget, Some(Budget::Usd(_)));
            let may_fit = !is_alone && has_price;
            return if may_fit { Admission::Wait } else { Admission::Refuse };
        }
        let gate = ledger.gates.entry(model.to_owned()).or_default();
        if let Some(left) = gate.until.and_then(|until| until.checked_duration_since(Instant::now())) {
            return Admission::Pause(left);
        }
        if f64::from(gate.on_their_way) >= gate.most.max(1.0) {
            return Admission::Wait;
        }
        gate.on_their_way += 1;
        ledger.on_their_way += 1;
        ledger.reserved.add(wanted, 1.0);
        Admission::Begin(Reserved { meter: self.clone(), model: model.to_owned(), wanted, took: None })
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

/// The room that a call has in the budget. Dropped with its end: a call that was cut off counts as it was reserved.
struct Reserved {
    meter: Arc<CallMeter>,
    model: String,
    wanted: Spent,
    /// What it took, once it is known.
    took: Option<Spent>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let took = self.took.unwrap_or(self.wanted);
        let mut ledger = lock(&self.meter.ledger);
        ledger.on_their_way -= 1;
        ledger.reserved.add(self.wanted, -1.0);
        ledger.settled.calls += took.calls;
        ledger.settled.add(took, 1.0);
        if let Some(gate) = ledger.gates.get_mut(&self.model) {
            gate.on_their_way -= 1;
        }
        drop(ledger);
        self.meter.ended.notify_waiters();
    }
}

impl SampleCalls {
    /// Whether a call of this sample was refused because of the budget. The call never returns: the sample is to be
    /// aborted.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }
}

/// The calls of one sample, while its request runs.
pub(crate) struct MeteredCalls {
    of: SampleCalls,
    /// Whether identical calls of the samples with one number share an answer.
    shares: bool,
    /// Takes out what is not recorded, so that a call is known again in the log.
    redaction: Arc<Redaction>,
    asked: RefCell<HashMap<blake3::Hash, u32>>,
}

impl MeteredCalls {
    pub(crate) fn new(of: SampleCalls, shares: bool, redaction: Arc<Redaction>) -> MeteredCalls {
        MeteredCalls { of, shares, redaction, asked: RefCell::default() }
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
        let hash = self.recorded_hash(&call);
        let nth = {
            let mut asked = self.asked.borrow_mut();
            let nth = asked.entry(hash).or_insert(0);
            *nth += 1;
            *nth - 1
        };
        // A mock script answers for nothing, and goes on from its next reply.
        if !self.shares {
            return self.ask(call, listener, &ask).await;
        }
        let cell = lock(&meter.answers).entry((self.of.sample, hash, nth)).or_default().clone();
        let is_first = RefCell::new(false);
        let waiting = Instant::now();
        let Answered { reply, took } = cell
            .get_or_try_init(|| async {
                is_first.replace(true);
                let asked = Instant::now();
                let reply = self.ask(call, listener.clone(), &ask).await?;
                Ok::<_, FlowError>(Answered { reply, took: asked.elapsed() })
            })
            .await?;
        if is_first.take() {
            return Ok(reply.clone());
        }
        // Before the listener, which may be slow.
        let left = took.saturating_sub(waiting.elapsed());
        tell(listener.as_ref(), reply);
        Ok(ModelReply { shared_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)), ..reply.clone() })
    }

    async fn ask(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
        ask: &impl AsyncFn(ModelCall, Option<Listener>) -> Result<ModelReply, FlowError>,
    ) -> Result<ModelReply, FlowError> {
        let meter = &self.of.meter;
        let mut refusals = 0;
        loop {
            let ended = meter.ended.notified();
            let mut reserved = match meter.admit(&call.model) {
                Admission::Begin(reserved) => reserved,
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
                    meter.is_exhausted.store(true, Ordering::Relaxed);
                    self.of.is_refused.store(true, Ordering::Relaxed);
                    return std::future::pending().await;
                }
            };
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

/// Passes an answer on that did not come in pieces.
fn tell(listener: Option<&Listener>, reply: &ModelReply) {
    let Some(listener) = listener else { return };
    reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
    reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
}

/// The hash of what a model is asked.
pub(crate) fn hash_of(call: &Value) -> blake3::Hash {
    blake3::hash(call.to_string().as_bytes())
}

#[cfg(test)]
mod tests;
