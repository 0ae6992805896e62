//! Tests: concurrent calls and a budget, shared answers, calls that a provider refuses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

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
    CallMeter::new(budget, ExpectedCall { tokens }, Box::new(cost))
}

fn reply(_: ModelCall, _: Option<Listener>) -> Result<ModelReply, FlowError> {
    let usage = Some(json!({ "promptTokens": 10, "completionTokens": 20 }));
    Ok(ModelReply { text: Some("yes".to_owned()), usage, ..ModelReply::default() })
}

/// Runs 20 concurrent samples with one call each, and returns how many calls were sent.
fn asked_at_once(budget: Budget, expected: u64, takes: u64) -> u32 {
    let tokens = CallTokens { input: expected, cached: 0, output: 0 };
    let cost = |_: &str, tokens: CallTokens| Some((tokens.input + tokens.output) as f64 / 100.0);
    let meter = CallMeter::new(Some(budget), ExpectedCall { tokens }, Box::new(cost));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let asked = Cell::new(0);
    runtime.block_on(async {
        let samples = (0..20).map(|sample| {
            let (calls, asked) = (MeteredCalls::new(meter.sample(sample), true, Arc::default()), &asked);
            async move {
                let ask = async |_: ModelCall, _: Option<Listener>| {
                    asked.set(asked.get() + 1);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    let usage = Some(json!({ "promptTokens": takes, "completionTokens": 0 }));
                    Ok(ModelReply { usage, ..ModelReply::default() })
                };
                let answer = calls.answer(call("a"), None, ask);
                let refused = async {
                    while !calls.of.is_refused() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                };
                futures_util::future::select(Box::pin(answer), Box::pin(refused)).await;
            }
        });
        futures_util::future::join_all(samples).await;
    });
    assert_eq!(meter.is_exhausted(), asked.get() < 20);
    asked.get()
}

#[test]
fn nothing_is_asked_beyond_the_budget_whatever_was_recorded() {
    assert_eq!(asked_at_once(Budget::Calls(3), 10, 10), 3);
    assert_eq!(asked_at_once(Budget::Tokens(85), 10, 10), 8);
    assert_eq!(asked_at_once(Budget::Usd(0.55), 10, 10), 5);
    // Nothing was recorded: they are asked one after another until one is known.
    assert_eq!(asked_at_once(Budget::Tokens(85), 0, 10), 8);
    // Much was recorded, and little is taken: what is on its way is waited for.
    assert_eq!(asked_at_once(Budget::Tokens(100), 40, 10), 7);
    assert_eq!(asked_at_once(Budget::Tokens(1_000), 40, 10), 20);
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
        let calls = MeteredCalls::new(meter.sample(sample), true, Arc::default());
        for text in texts {
            calls.answer(call(text), None, &ask).now_or_never().unwrap().unwrap();
        }
    }
    // Of the first number "a", "a", "b", "c", of the second "a", "b", "b".
    assert_eq!(asked.get(), 7);
}

/// An arm that shared an answer looked faster than the one that had asked for it.
#[test]
fn a_shared_answer_says_how_much_longer_it_took() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let meter = meter(None);
    let ask = async |call, listener| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        reply(call, listener)
    };
    let answer = |sample| {
        let calls = MeteredCalls::new(meter.sample(sample), true, Arc::default());
        let ask = &ask;
        async move { calls.answer(call("a"), None, ask).await.unwrap().shared_ms }
    };
    let (first, late) = runtime.block_on(async { (answer(1).await, answer(1).await) });
    assert_eq!(first, None);
    assert!(late.is_some_and(|ms| ms > 0), "{late:?}");
    // Who waits beside the one that asks has waited as long.
    let (first, beside) = runtime.block_on(async { futures_util::future::join(answer(2), answer(2)).await });
    assert_eq!(first, None);
    assert!(beside.is_some_and(|ms| ms < 100), "{beside:?}");
}

#[test]
fn a_provider_that_refuses_is_asked_again_after_its_pause() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let meter = meter(Some(Budget::Calls(4)));
    let calls = MeteredCalls::new(meter.sample(1), true, Arc::default());
    let asked = Cell::new(0);
    let ask = async |call, listener| {
        asked.set(asked.get() + 1);
        if asked.get() != 3 {
            let details = Some(json!({ "status": 429, "retryAfterMs": 5 }));
            let error = FlowError { name: "RateLimitError".to_owned(), details, ..FlowError::plain("too many") };
            return Err(error);
        }
        reply(call, listener)
    };
    let answer = runtime.block_on(calls.answer(call("a"), None, &ask));
    assert_eq!((answer.is_ok(), asked.get(), meter.settled().0), (true, 3, 3));
    // Each request was a call: one is left, which is refused, too, and then none.
    runtime.block_on(async {
        let answer = calls.answer(call("b"), None, &ask);
        let stopped = async {
            while !calls.of.is_refused() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        futures_util::future::select(Box::pin(answer), Box::pin(stopped)).await;
    });
    assert_eq!((asked.get(), meter.is_exhausted()), (4, true));
}
