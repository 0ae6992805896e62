//! What the model calls of all samples of an experiment share: a budget that is never exceeded knowingly, the answers
//! to identical calls, and the pauses that a provider asks for.
//!
//! Must not know what is tried: it sees calls and answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::core::prices::CallTokens;
use crate::core::sync::lock;

/// How often a call is sent again that a provider refused because there were too many.
const MAX_REFUSALS: u32 = 6;
/// The longest pause that a provider is granted.
const MAX_PAUSE: Duration = Duration::from_secs(120);

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

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    calls: u32,
    tokens: f64,
    usd: f64,
}

/// What a call is expected to take, by what was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExpectedCall {
    pub(crate) tokens: CallTokens,
}

/// The cost of tokens of a model in US dollars, where it has a price.
type CostOf = Box<dyn Fn(&str, CallTokens) -> Option<f64> + Send + Sync>;

/// Who asks what: the number of the sample, the call, and how often the sample has made that call before.
type AskedBy = (u32, blake3::Hash, u32);

/// Shared by the samples of an experiment.
pub(crate) struct CallMeter {
    budget: Option<Budget>,
    expected: ExpectedCall,
    cost: CostOf,
    spent: Mutex<Spent>,
    /// The answers.
    answers: Mutex<HashMap<AskedBy, Arc<OnceCell<ModelReply>>>>,
    /// Answers in the log to calls that were on their way where the forks begin, in their order.
    recorded: HashMap<blake3::Hash, Vec<ModelReply>>,
    /// Until when a model is not asked.
    paused: Mutex<HashMap<String, Instant>>,
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
    pub(crate) fn new(
        budget: Option<Budget>,
        expected: ExpectedCall,
        cost: CostOf,
        recorded: HashMap<blake3::Hash, Vec<ModelReply>>,
    ) -> Arc<CallMeter> {
        Arc::new(CallMeter {
            budget,
            expected,
            cost,
            recorded,
            spent: Mutex::default(),
            answers: Mutex::default(),
            paused: Mutex::default(),
            is_exhausted: AtomicBool::default(),
        })
    }

    /// Counts what was spent earlier.
    pub(crate) fn add_spent(&self, calls: u32, tokens: u64, usd: f64) {
        let mut spent = lock(&self.spent);
        spent.calls += calls;
        spent.tokens += tokens as f64;
        spent.usd += usd;
    }

    /// The calls of a sample with this number.
    pub(crate) fn sample(self: &Arc<CallMeter>, sample: u32) -> SampleCalls {
        SampleCalls { meter: self.clone(), sample, is_refused: Arc::default() }
    }

    /// Whether a call was refused because of the budget.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }

    /// Reserves what a call of a model is expected to take. `None` if that is more than the budget has left, or if
    /// nobody knows what the call costs.
    fn reserve(&self, model: &str) -> Option<Spent> {
        let tokens = self.expected.tokens;
        let usd = (self.cost)(model, tokens);
        let wanted = Spent { calls: 1, tokens: (tokens.input + tokens.output) as f64, usd: usd.unwrap_or_default() };
        let mut spent = lock(&self.spent);
        let has_room = match self.budget {
            None => true,
            Some(Budget::Calls(most)) => spent.calls < most,
            Some(Budget::Tokens(most)) => {
                spent.tokens < f64::from(most) && spent.tokens + wanted.tokens <= f64::from(most)
            }
            Some(Budget::Usd(most)) => usd.is_some() && spent.usd < most && spent.usd + wanted.usd <= most,
        };
        if !has_room {
            return None;
        }
        spent.calls += wanted.calls;
        spent.tokens += wanted.tokens;
        spent.usd += wanted.usd;
        Some(wanted)
    }

    /// Puts what a call took in place of what was reserved for it.
    fn settle(&self, model: &str, reserved: Spent, answer: &Result<ModelReply, FlowError>) {
        let used =
            answer.as_ref().ok().and_then(|reply| CallTokens::read(&serde_json::json!({ "usage": reply.usage })));
        let mut spent = lock(&self.spent);
        if let Some(used) = used {
            spent.tokens += (used.input + used.output) as f64 - reserved.tokens;
            spent.usd += (self.cost)(model, used).unwrap_or_default() - reserved.usd;
        } else if answer.is_err() {
            spent.tokens -= reserved.tokens;
            spent.usd -= reserved.usd;
        }
    }

    /// Waits until a model may be asked.
    async fn wait_for(&self, model: &str) {
        loop {
            let until = lock(&self.paused).get(model).copied();
            let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now())) else { return };
            tokio::time::sleep(left).await;
        }
    }

    /// Lets all samples wait before they ask a model again.
    fn pause(&self, model: &str, pause: Duration) {
        let until = Instant::now() + pause.min(MAX_PAUSE);
        let mut paused = lock(&self.paused);
        let known = paused.entry(model.to_owned()).or_insert(until);
        *known = until.max(*known);
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
    asked: RefCell<HashMap<blake3::Hash, u32>>,
}

impl MeteredCalls {
    pub(crate) fn new(of: SampleCalls, shares: bool) -> MeteredCalls {
        MeteredCalls { of, shares, asked: RefCell::default() }
    }

    /// Answers a call: from the log, as another sample of this number was answered, or by asking.
    pub(crate) async fn answer(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
        ask: impl AsyncFn(ModelCall, Option<Listener>) -> Result<ModelReply, FlowError>,
    ) -> Result<ModelReply, FlowError> {
        let meter = &self.of.meter;
        let hash = hash_of(&serde_json::to_value(&call).unwrap_or_default());
        let nth = {
            let mut asked = self.asked.borrow_mut();
            let nth = asked.entry(hash).or_insert(0);
            *nth += 1;
            *nth - 1
        };
        if let Some(reply) = meter.recorded.get(&hash).and_then(|replies| replies.get(nth as usize)) {
            tell(listener.as_ref(), reply);
            return Ok(reply.clone());
        }
        if !self.shares {
            return self.ask(call, listener, &ask).await;
        }
        let cell = lock(&meter.answers).entry((self.of.sample, hash, nth)).or_default().clone();
        let is_first = RefCell::new(false);
        let answer = cell
            .get_or_try_init(|| async {
                is_first.replace(true);
                self.ask(call, listener.clone(), &ask).await
            })
            .await;
        match answer {
            Ok(reply) => {
                if !is_first.take() {
                    tell(listener.as_ref(), reply);
                }
                Ok(reply.clone())
            }
            Err(error) => Err(error),
        }
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
            meter.wait_for(&call.model).await;
            let Some(reserved) = meter.reserve(&call.model) else {
                meter.is_exhausted.store(true, Ordering::Relaxed);
                self.of.is_refused.store(true, Ordering::Relaxed);
                return std::future::pending().await;
            };
            let answer = ask(call.clone(), listener.clone()).await;
            meter.settle(&call.model, reserved, &answer);
            match pause_of(&answer, refusals) {
                Some(pause) if refusals < MAX_REFUSALS => {
                    // A refused call has cost nothing.
                    lock(&meter.spent).calls -= 1;
                    meter.pause(&call.model, pause);
                    refusals += 1;
                }
                _ => return answer,
            }
        }
    }
}

/// How long to wait before the same call is sent again. `None` unless the provider refused it because there were too
/// many.
fn pause_of(answer: &Result<ModelReply, FlowError>, refusals: u32) -> Option<Duration> {
    let error = answer.as_ref().err().filter(|error| error.name == "RateLimitError")?;
    let asked = error.details.as_ref().and_then(|details| details["retryAfterMs"].as_u64());
    Some(Duration::from_millis(asked.unwrap_or(500 << refusals)))
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
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn call(text: &str) -> ModelCall {
        let messages = json!([{ "role": "user", "content": text }]);
        serde_json::from_value(json!({ "generator": "g", "model": "m", "messages": messages, "step": 0 })).unwrap()
    }

    fn meter(budget: Option<Budget>) -> Arc<CallMeter> {
        let tokens = CallTokens { input: 10, cached: 0, output: 10 };
        let cost = |_: &str, tokens: CallTokens| Some((tokens.input + tokens.output) as f64 / 100.0);
        CallMeter::new(budget, ExpectedCall { tokens }, Box::new(cost), HashMap::new())
    }

    fn reply(_: ModelCall, _: Option<Listener>) -> Result<ModelReply, FlowError> {
        let usage = Some(json!({ "promptTokens": 10, "completionTokens": 20 }));
        Ok(ModelReply { text: Some("yes".to_owned()), usage, ..ModelReply::default() })
    }

    #[test]
    fn nothing_is_asked_beyond_the_budget() {
        for (budget, expected) in [(Budget::Calls(3), 3), (Budget::Tokens(80), 3), (Budget::Usd(0.7), 2)] {
            let meter = meter(Some(budget));
            let asked = Cell::new(0);
            for sample in 0..10 {
                let calls = MeteredCalls::new(meter.sample(sample), true);
                let ask = async |call, listener| {
                    asked.set(asked.get() + 1);
                    reply(call, listener)
                };
                let answer = calls.answer(call("a"), None, ask).now_or_never();
                assert_eq!(answer.is_none(), calls.of.is_refused());
            }
            assert_eq!(asked.get(), expected, "{budget:?}");
            assert!(meter.is_exhausted());
        }
    }

    #[test]
    fn samples_with_one_number_share_identical_calls() {
        let meter = meter(None);
        let asked = Cell::new(0);
        let ask = async |call, listener| {
            asked.set(asked.get() + 1);
            reply(call, listener)
        };
        for (sample, texts) in [(1, ["a", "a", "b"]), (1, ["a", "a", "c"]), (2, ["a", "b", "b"])] {
            let calls = MeteredCalls::new(meter.sample(sample), true);
            for text in texts {
                calls.answer(call(text), None, &ask).now_or_never().unwrap().unwrap();
            }
        }
        // Of the first number "a", "a", "b", "c", of the second "a", "b", "b".
        assert_eq!(asked.get(), 7);
    }

    #[test]
    fn a_provider_that_refuses_is_asked_again_after_its_pause() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let meter = meter(Some(Budget::Calls(1)));
        let calls = MeteredCalls::new(meter.sample(1), true);
        let asked = Cell::new(0);
        let ask = async |call, listener| {
            asked.set(asked.get() + 1);
            if asked.get() < 3 {
                let details = Some(json!({ "status": 429, "retryAfterMs": 5 }));
                let error = FlowError { name: "RateLimitError".to_owned(), details, ..FlowError::plain("too many") };
                return Err(error);
            }
            reply(call, listener)
        };
        let answer = runtime.block_on(calls.answer(call("a"), None, ask));
        assert_eq!((answer.is_ok(), asked.get()), (true, 3));
    }
}
