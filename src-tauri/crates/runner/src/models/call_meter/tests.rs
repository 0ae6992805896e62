//! Tests: concurrent calls and a budget, shared answers, calls that a provider refuses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

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
    CallMeter::new((budget, Spent::default()), ExpectedCall { tokens }, Box::new(cost), None)
}

fn reply(_: ModelCall, _: Option<Listener>) -> Result<ModelReply, FlowError> {
    let usage = Some(json!({ "promptTokens": 10, "completionTokens": 20 }));
    Ok(ModelReply { text: Some("yes".to_owned()), usage, ..ModelReply::default() })
}

/// How many calls have ended.
fn settled(meter: &CallMeter) -> u32 {
    lock(&meter.ledger).settled.calls
}

/// Runs 20 concurrent samples with one call each, and returns how many calls were sent.
fn asked_at_once(budget: Budget, expected: u64, takes: u64) -> u32 {
    let tokens = CallTokens { input: expected, cached: 0, output: 0 };
    let cost = |_: &str, tokens: CallTokens| Some((tokens.input + tokens.output) as f64 / 100.0);
    let meter = CallMeter::new((Some(budget), Spent::default()), ExpectedCall { tokens }, Box::new(cost), None);
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
    assert_eq!((answer.is_ok(), asked.get(), settled(&meter)), (true, 3, 3));
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

/// Starts a sample. Returns false instead of waiting.
fn begins(calls: &SampleCalls) -> bool {
    let looks = Cell::new(0);
    calls.wait_for_room("m", &|| looks.replace(looks.get() + 1) > 0, &|| false)
}

fn asks(calls: &SampleCalls, text: &str) -> Option<u64> {
    let calls = MeteredCalls::new(calls.clone(), true, Arc::default());
    let ask = async |call, listener| reply(call, listener);
    calls.answer(call(text), None, ask).now_or_never().unwrap().unwrap().shared_ms
}

/// With two samples at once and room for one call, the other one left an aborted request.
#[test]
fn no_sample_begins_that_could_not_ask_anything() {
    let meter = meter(Some(Budget::Calls(2)));
    let [one, two, three, four] = [1, 2, 3, 4].map(|number| meter.sample(number));
    assert!(begins(&one) && begins(&two));
    // It would wait: perhaps one of them needs no call.
    assert!(!begins(&three) && !meter.is_exhausted());
    one.give_room_back();
    assert!(begins(&three));
    asks(&two, "a");
    asks(&three, "a");
    assert_eq!(settled(&meter), 2);
    assert!(!begins(&four) && meter.is_exhausted());
    assert!(!four.is_refused(), "it has asked nothing");
}

/// A budget that is spent held back a sample that needs nothing of it.
#[test]
fn a_sample_that_shares_its_answer_begins_with_a_spent_budget() {
    let meter = meter(Some(Budget::Calls(1)));
    let [asking, sharing, other] = [1, 1, 1].map(|number| meter.sample(number));
    assert!(begins(&asking) && asking.has_room());
    asks(&asking, "a");
    assert!(sharing.wait_for_room("m", &|| false, &|| true) && !sharing.has_room());
    assert!(asks(&sharing, "a").is_some() && settled(&meter) == 1 && !meter.is_exhausted());
    // What asks something else is refused when it asks.
    assert!(other.wait_for_room("m", &|| false, &|| true));
    let calls = MeteredCalls::new(other.clone(), true, Arc::default());
    let ask = async |call, listener| reply(call, listener);
    assert!(calls.answer(call("b"), None, ask).now_or_never().is_none());
    assert!(other.is_refused() && meter.is_exhausted() && settled(&meter) == 1);
}

/// What is known of a call is kept, too: tokens and US dollars as well as calls.
#[test]
fn room_is_kept_in_the_unit_of_the_budget() {
    for budget in [Budget::Tokens(50), Budget::Usd(0.5)] {
        let meter = meter(Some(budget));
        let [one, two, three] = [1, 2, 3].map(|number| meter.sample(number));
        assert!(begins(&one) && begins(&two));
        assert!(!begins(&three) && !meter.is_exhausted(), "{budget:?}");
        // A call takes 30 tokens: more than was expected.
        asks(&one, "a");
        two.give_room_back();
        assert!(!begins(&three) && meter.is_exhausted(), "{budget:?}");
    }
    assert!(begins(&meter(None).sample(1)));
}

/// The sample that asks would wait for the room of one that waits for its answer.
#[test]
fn a_sample_that_shares_an_answer_gives_its_room_back() {
    let meter = meter(Some(Budget::Calls(2)));
    let [asking, sharing, last] = [1, 1, 2].map(|number| meter.sample(number));
    assert!(begins(&asking) && begins(&sharing));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let slow = async |call, listener| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        reply(call, listener)
    };
    let answer = |calls: &SampleCalls| {
        let (calls, slow) = (MeteredCalls::new(calls.clone(), true, Arc::default()), &slow);
        async move { calls.answer(call("a"), None, slow).await.unwrap().shared_ms }
    };
    let (first, second) =
        runtime.block_on(async { futures_util::future::join(answer(&asking), answer(&sharing)).await });
    assert!(first.is_none() && second.is_some() && settled(&meter) == 1);
    assert!(begins(&last));
}

#[test]
fn an_answer_of_an_earlier_part_is_not_asked_for_again() {
    let meter = meter(None);
    let hash = MeteredCalls::new(meter.sample(1), true, Arc::default()).recorded_hash(&call("a"));
    let known = ModelReply { text: Some("before".to_owned()), ..ModelReply::default() };
    meter.keep_answer((1, hash, 0), Answered { reply: known, took: Duration::from_secs(7) });
    assert!(asks(&meter.sample(1), "a").is_some_and(|ms| ms > 6_000), "as if it had asked itself");
    assert_eq!(settled(&meter), 0);
    // The sample that was given this answer itself asks the same once more: that is another answer.
    let stopped = meter.sample(1);
    stopped.add_asked([hash]);
    assert_eq!(asks(&stopped, "a"), None);
    assert_eq!((asks(&meter.sample(2), "a"), settled(&meter)), (None, 2));
}

/// What a sample sends asks as a part of it: three draws of one sample were one.
#[test]
fn what_a_sample_sends_shares_no_answer_with_it() {
    let meter = meter(None);
    let sample = meter.sample(1);
    assert_eq!((asks(&sample, "a"), asks(&sample, "a"), settled(&meter)), (None, None, 2));
}

/// A process that was killed forgot the calls on their way, those of scores, and those that a provider had refused.
#[test]
fn what_is_spent_is_stored_before_a_call_is_sent_and_after_it_has_ended() {
    let stored = Arc::new(Mutex::new(Vec::new()));
    let writes = stored.clone();
    let save = move |before: Spent, now: Spent| {
        lock(&writes).push((before, now));
        if now.calls > 4 { Err("the disk is full".to_owned()) } else { Ok(now) }
    };
    let tokens = CallTokens { input: 10, cached: 0, output: 10 };
    let earlier = Spent { calls: 2, tokens: 50.0, usd: 0.5 };
    let budget = (Some(Budget::Calls(9)), earlier);
    let cost = |_: &str, tokens: CallTokens| Some((tokens.input + tokens.output) as f64 / 100.0);
    let meter = CallMeter::new(budget, ExpectedCall { tokens }, Box::new(cost), Some(Box::new(save)));
    let calls = MeteredCalls::new(meter.sample(1), true, Arc::default());
    let sent = Cell::new(0);
    let ask = async |call, listener| {
        let last = lock(&stored).last().map(|(_, now)| now.calls);
        sent.set(sent.get() + 1);
        assert_eq!(last, Some(2 + sent.get()), "it is stored before it is sent");
        reply(call, listener)
    };
    let answer = |text: &str| calls.answer(call(text), None, &ask).now_or_never().unwrap();
    assert!(answer("a").is_ok() && answer("b").is_ok());
    let told = |spent: Spent| (spent.calls, spent.tokens.round() as u32);
    let pairs = lock(&stored).iter().map(|(before, now)| (told(*before), told(*now))).collect::<Vec<_>>();
    // The second call is expected to take as much as the first one did, so its end changes nothing.
    assert_eq!(pairs, [((2, 50), (3, 70)), ((3, 70), (3, 80)), ((3, 80), (4, 110))]);
    let error = answer("c").unwrap_err();
    assert_eq!((sent.get(), settled(&meter)), (2, 4), "it is not sent");
    assert!(error.message.contains("cannot store what is spent: the disk is full"), "{error:?}");
}

/// Two processes that continued one experiment each had the whole budget.
#[test]
fn what_another_process_spends_counts() {
    let stored = Arc::new(Mutex::new(Spent::default()));
    let meter = || {
        let stored = stored.clone();
        let save = move |before: Spent, now: Spent| {
            let mut stored = lock(&stored);
            stored.calls = stored.calls + now.calls - before.calls;
            Ok(*stored)
        };
        let (budget, cost) = ((Some(Budget::Calls(3)), Spent::default()), |_: &str, _: CallTokens| None);
        CallMeter::new(budget, ExpectedCall { tokens: CallTokens::default() }, Box::new(cost), Some(Box::new(save)))
    };
    let (one, other) = (meter(), meter());
    let sent = Cell::new(0);
    let ask = async |call, listener| {
        sent.set(sent.get() + 1);
        reply(call, listener)
    };
    for (meter, text) in [(&one, "a"), (&other, "b"), (&one, "c"), (&other, "d"), (&one, "e")] {
        let calls = MeteredCalls::new(meter.sample(1), true, Arc::default());
        drop(calls.answer(call(text), None, &ask).now_or_never());
    }
    assert_eq!((sent.get(), lock(&stored).calls), (3, 3));
    assert!(one.is_exhausted() && other.is_exhausted());
}
