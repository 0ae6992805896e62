//! Streamed answers: the pieces that a listener gets, and the whole reply.
//!
//! The visible behaviour is tested through the program. These tests cover what only a listener gets.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use serde_json::{Value, json};

use super::Models;
use crate::core::config::Limits;

// A server for these tests, because this crate must not depend on the crate `tests`.
#[expect(dead_code, unreachable_pub, reason = "it is a public module of the tests")]
#[path = "../../../../../tests/src/server.rs"]
mod server;

use server::{Reply, Server};

fn models(server: &Server) -> Models {
    let settings = json!({ "m": { "baseUrl": server.address(), "timeoutMs": 400 } });
    Models::new(serde_json::from_value(settings).expect("settings"), false, Limits::default())
}

fn call(messages: Value, options: Value) -> ModelCall {
    let call = json!({
        "generator": "g", "model": "m", "messages": messages, "step": 0, "maxTokens": 9, "providerOptions": options,
    });
    serde_json::from_value(call).expect("a call")
}

fn hello() -> ModelCall {
    call(json!([{ "role": "user", "content": "hi" }]), Value::Null)
}

/// The result of a call, and the pieces that its listener got.
type Heard = (Result<ModelReply, FlowError>, Vec<ModelDelta>);

/// Makes calls one after another, as one request does.
fn stream(server: &Server, calls: impl IntoIterator<Item = ModelCall>) -> Vec<Heard> {
    let models = models(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut all = Vec::new();
        for call in calls {
            let heard = Rc::new(RefCell::new(Vec::new()));
            let ear = heard.clone();
            let listener: Listener = Rc::new(move |delta| ear.borrow_mut().push(delta));
            let result = models.answer(call, Some(listener)).await;
            all.push((result, heard.take()));
        }
        all
    })
}

#[track_caller]
fn one(reply: Reply) -> Heard {
    stream(&Server::start([reply]), [hello()]).pop().expect("one answer")
}

fn text(piece: &str) -> ModelDelta {
    ModelDelta::Text(piece.to_owned())
}

fn thought(piece: &str) -> ModelDelta {
    ModelDelta::Reasoning(piece.to_owned())
}

#[track_caller]
fn check_failure(reply: Reply, name: &str, says: &str, heard: &[ModelDelta]) -> FlowError {
    let (result, deltas) = one(reply);
    let error = result.expect_err("it fails");
    assert_eq!((error.name.as_str(), error.classes[1].as_str()), (name, "FlowError"), "{error}");
    assert!(error.message.contains(says), "{error}");
    assert_eq!(deltas, heard);
    error
}

#[test]
fn text_and_reasoning_are_passed_on_as_they_arrive() {
    let deltas = [
        json!({ "role": "assistant", "reasoning_content": "Let " }),
        json!({ "reasoning_content": "me." }),
        json!({ "content": "Grü" }),
        json!({ "content": "ße, " }),
        json!({ "content": "Ada." }),
    ];
    let server = Server::start([Reply::stream(&deltas, "stop")]);
    let options = json!({ "temperature": 0.5, "topP": 0.9, "stop": ["END"], "reasoningEffort": "low", "openai": { "logit_bias": { "1": 2 } }, "anthropic": { "x": 1 }, "user": "u" });
    let calls = [call(json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]), options)];
    let (reply, heard) = stream(&server, calls).pop().expect("one answer");
    assert_eq!(heard, [thought("Let "), thought("me."), text("Grü"), text("ße, "), text("Ada.")]);
    let reply = reply.expect("it answers");
    assert_eq!((reply.text.as_deref(), reply.reasoning.as_deref()), (Some("Grüße, Ada."), Some("Let me.")));
    assert_eq!((reply.model.as_deref(), reply.finish_reason.as_deref()), (Some("test-model-2026"), Some("stop")));
    assert_eq!(
        reply.usage,
        Some(json!({ "promptTokens": 11, "completionTokens": 7, "totalTokens": 18, "cacheReadInputTokens": 4 }))
    );
    let body = server.asked()[0].json();
    assert_eq!((&body["stream"], &body["max_tokens"]), (&json!(true), &json!(9)));
    assert_eq!((&body["temperature"], &body["top_p"], &body["stop"]), (&json!(0.5), &json!(0.9), &json!(["END"])));
    assert_eq!((&body["reasoning_effort"], &body["user"]), (&json!("low"), &json!("u")));
    assert_eq!((&body["logit_bias"], &body["x"], &body["anthropic"]), (&json!({ "1": 2 }), &Value::Null, &Value::Null));
}

#[test]
fn fragments_of_tool_calls_are_joined_and_sent_back_whole() {
    let part = |index: u32, id: Value, name: Value, args: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": args } }] });
    let deltas = [
        json!({ "content": "Looking." }),
        part(0, json!("a1"), json!("find"), ""),
        part(0, Value::Null, Value::Null, "{\"q\":"),
        part(0, Value::Null, Value::Null, "\"x\"}"),
        part(1, json!("a2"), json!("now"), ""),
    ];
    let server =
        Server::start([Reply::stream(&deltas, "tool_calls"), Reply::stream(&[json!({ "content": "Done." })], "stop")]);
    let back = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": [
            { "type": "text", "text": "Looking." },
            { "type": "tool-call", "toolCallId": "a1", "toolName": "find", "args": { "q": "x" } },
            { "type": "tool-call", "toolCallId": "a2", "toolName": "now", "args": {} },
        ] },
        { "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "a1", "toolName": "find", "output": { "type": "error-text", "value": "none" } }] },
        { "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "a2", "toolName": "now", "output": { "type": "json", "value": { "h": 12 } } }] },
    ]);
    let all = stream(&server, [hello(), call(back, Value::Null)]);
    let (first, second) = (all[0].0.as_ref().expect("it calls"), all[1].0.as_ref().expect("it answers"));
    let calls: Vec<_> =
        first.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.args.clone())).collect();
    assert_eq!(calls, [("a1", "find", json!({ "q": "x" })), ("a2", "now", json!({}))]);
    assert_eq!(first.finish_reason.as_deref(), Some("tool-calls"));
    assert_eq!(second.text.as_deref(), Some("Done."));
    let messages = server.asked()[1].json()["messages"].clone();
    assert_eq!(messages[1]["content"], "Looking.", "{messages}");
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], "{\"q\":\"x\"}", "{messages}");
    assert_eq!(messages[2], json!({ "role": "tool", "tool_call_id": "a1", "content": "none" }));
    assert_eq!(messages[3], json!({ "role": "tool", "tool_call_id": "a2", "content": "{\"h\":12}" }));
}

#[test]
fn a_broken_stream_fails_the_call_after_the_pieces_that_arrived() {
    let begun = || Reply::deltas(&[json!({ "content": "Once " })]);
    check_failure(begun().cut(), "NetworkError", "broke off", &[text("Once ")]);
    // The connection closes normally, but the stream has no end marker.
    check_failure(begun(), "NetworkError", "broke off", &[text("Once ")]);
    check_failure(begun().hang(), "TimeoutError", "400 ms", &[text("Once ")]);
    check_failure(Reply::body("text/event-stream", "").hang(), "TimeoutError", "400 ms", &[]);
    check_failure(Reply::body("text/event-stream", "data: {\"cho\n\n"), "ModelError", "invalid JSON", &[]);
    let reply =
        Reply::body("text/event-stream", "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n");
    check_failure(reply, "ProviderUnavailableError", "busy", &[]);
    let reply = Reply::json(&json!({ "error": { "message": "wait" } })).status(429).header("retry-after-ms", "70");
    let error = check_failure(reply, "RateLimitError", "wait", &[]);
    assert_eq!(error.details.expect("details")["retryAfterMs"], 70);
}

/// The call must not be repeated without streaming, because only one call is counted.
#[test]
fn a_server_that_does_not_stream_gets_one_request() {
    let whole = || Reply::whole(json!({ "role": "assistant", "content": "All at once.", "reasoning": "Hm." }), "stop");
    let server = Server::start([whole(), whole()]);
    for (result, heard) in stream(&server, [hello(), hello()]) {
        let reply = result.expect("it answers");
        assert_eq!(reply.text.as_deref(), Some("All at once."));
        let usage = reply.usage.expect("it is told");
        assert_eq!((&usage["promptTokens"], &usage["completionTokens"]), (&json!(11), &json!(7)));
        assert_eq!(heard, [thought("Hm."), text("All at once.")]);
    }
    let streams: Vec<bool> = server.asked().iter().map(|asked| asked.json()["stream"] == true).collect();
    assert_eq!(streams, [true, true]);
    // An error and an empty answer take one request, too.
    for reply in [Reply::json(&json!({ "error": { "message": "no" } })), Reply::body("text/event-stream", "")] {
        let server = Server::start([reply]);
        assert!(stream(&server, [hello()]).pop().expect("one answer").0.is_err());
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_cancelled_call_closes_its_connection() {
    let server = Server::start([Reply::deltas(&[json!({ "content": "Once " })]).hang()]);
    let models = models(&server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let answer = models.answer(hello(), Some(Rc::new(|_| {})));
        assert!(tokio::time::timeout(Duration::from_millis(100), answer).await.is_err(), "it is cancelled");
        // The request goes on for a while.
        tokio::time::sleep(Duration::from_millis(100)).await;
    });
    assert!(server.wait_for_close(Duration::from_secs(2)), "the connection is closed");
}
