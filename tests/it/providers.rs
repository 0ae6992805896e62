//! Real models, played by a server on this machine: what they are asked, what becomes of their
//! answers and failures, and where keys go.

use std::time::Duration;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::pattern::assert_matches;
use tests::server::{Reply, Server};

/// The key that must never be seen again.
const KEY: &str = "sk-very-secret-0123456789";

const FLOW: &str = r#"
const say = z.object({ say: z.string() });
const talk = { model: "tiny", prompt: "Be brief.", inputSchema: say, user: (input: { say: string }) => input.say, agentType: "primary" } as const;
const add = handler({ name: "add", description: "Adds.", inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }: { a: number; b: number }) => ({ sum: a + b }) });
const now = handler({ name: "now", execute: async () => "noon" });
const of = (model: string) => ({ block: generator({ ...talk, name: "chat", model }) });
export default defineFlow({
  kind: "main",
  actions: {
    chat: { block: generator({ ...talk, name: "chat" }) },
    tools: { block: generator({ ...talk, name: "adder", tools: [add, now] }) },
    shape: { block: generator({ ...talk, name: "shape it", outputSchema: z.object({ city: z.string(), size: z.number() }) }) },
    list: { block: generator({ ...talk, name: "list", outputSchema: z.array(z.string()) }) },
    nobody: of("nobody-knows-it"), purpose: of("preset/fast"), prefix: of("openai/gpt-x"), known: of("claude-next"),
    other: of("other"), local: of("local"), far: of("far"), claude: of("claude"),
  },
});
"#;

/// A workspace whose models are at these addresses.
fn place(address: &str) -> Place {
    let models = json!({
        "tiny": { "provider": "openai", "model": "tiny-1-max", "baseUrl": format!("{address}/v1"),
                  "apiKeyEnv": "TEST_KEY", "timeoutMs": 1000 },
        "local": { "model": "llama", "baseUrl": format!("{address}/v1/") },
        "claude": { "provider": "anthropic", "model": "claude-test", "baseUrl": format!("{address}/v1"), "apiKeyEnv": "TEST_KEY" },
        "other": { "provider": "nonsense" },
        "far": { "baseUrl": format!("{}/v1", address.replace("127.0.0.1", "0.0.0.0")), "apiKeyEnv": "TEST_KEY" },
    });
    let settings = json!({ "models": models }).to_string();
    Place::with_flow(FLOW).file("flowglass.json", &settings).variable("TEST_KEY", KEY)
}

fn run(place: &Place, action: &str) -> Answer {
    place.ask(&format!("run main {action} --user ada --session s --request r --input {{\"say\":\"hello\"}}"))
}

/// Nothing that the program wrote, on a terminal or on disk, holds the key.
#[track_caller]
fn check_secret(place: &Place, answer: &Answer) {
    let mut said = format!("{}{}", answer.stdout, answer.stderr);
    for line in ["events r", "items --request r", "show r", "requests"] {
        let answer = place.ask(line);
        said.push_str(&answer.stdout);
        said.push_str(&answer.stderr);
    }
    assert!(!said.contains(KEY), "the key is shown:\n{said}");
    assert!(place.stores("Be brief.") && !place.stores(KEY), "the key is in the database");
}

/// A run that the server's answer fails.
#[track_caller]
fn check_failure(reply: Reply, name: &str, code: &str, says: &[&str]) -> Value {
    let server = Server::start([reply]);
    let place = place(&server.address());
    let answer = run(&place, "chat");
    assert_eq!(answer.code, Some(3), "{answer}");
    let error = &answer.json()["error"];
    let expected = json!({ "name": name, "code": code, "message": "<text>", "…": 0 });
    assert_matches("the error", error, &expected);
    let message = error["message"].as_str().unwrap_or_default();
    for word in says.iter().copied().chain(["tiny", &server.host()]) {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
    assert!(message.len() < 700, "{message}");
    assert_eq!(server.asked().len(), 1, "also a server whose stream is none is asked once");
    check_secret(&place, &answer);
    let events = place.get("events r --kind effect_finished");
    events.as_array().and_then(|events| events.last()).cloned().unwrap_or_default()
}

#[test]
fn a_model_answers_and_is_recorded() {
    let server = Server::start([Reply::text("Hi there, Ada.")]);
    let place = place(&server.address());
    let answer = run(&place, "chat");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Hi there, Ada.")), "{answer}");
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let body = asked.json();
    assert_eq!(body["stream"], true);
    // The name is the provider's own, whole, although it ends like an effort.
    assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!("tiny-1-max"), &Value::Null), "{body}");
    let messages = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hello" }]);
    assert_eq!(body["messages"], messages);
    assert_eq!((&body["tools"], &body["response_format"]), (&Value::Null, &Value::Null));
    let effect = place.get("events r --kind effect_finished").to_string();
    for word in ["test-model-2026", "\"finishReason\":\"stop\"", "\"promptTokens\":11", "\"cacheReadInputTokens\":4"] {
        assert!(effect.contains(word), "{word} is not in {effect}");
    }
    check_secret(&place, &answer);
}

#[test]
fn another_provider_is_spoken_to_in_its_own_way() {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    let piece = |text: &str| {
        event(json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }))
    };
    let stream = [
        event(
            json!({ "type": "message_start", "message": { "id": "m", "model": "claude-test-7", "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
        ),
        event(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } })),
        piece("Bon"),
        piece("jour."),
        event(json!({ "type": "content_block_stop", "index": 0 })),
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 4 } }),
        ),
        event(json!({ "type": "message_stop" })),
    ];
    let server = Server::start([Reply::body("text/event-stream", stream.concat())]);
    let place = place(&server.address());
    let answer = run(&place, "claude");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Bonjour.")), "{answer}");
    let asked = &server.asked()[0];
    assert_eq!((asked.line.as_str(), asked.header("x-api-key")), ("POST /v1/messages", Some(KEY)));
    let body = asked.json();
    assert!(body["system"].to_string().contains("Be brief.") && body["max_tokens"].is_u64(), "{body}");
    let effect = place.get("events r --kind effect_finished").to_string();
    for word in ["claude-test-7", "\"finishReason\":\"stop\"", "\"completionTokens\":4"] {
        assert!(effect.contains(word), "{word} is not in {effect}");
    }
    check_secret(&place, &answer);
}

#[test]
fn tools_are_offered_called_and_answered() {
    let call = |id: &str, name: &str, args: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args } });
    let calls = json!([call("c1", "add", "{\"a\":2,\"b\":3}"), call("c2", "now", "{}")]);
    let server = Server::start([
        Reply::message(json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls"),
        Reply::text("Five."),
    ]);
    let place = place(&server.address());
    let answer = run(&place, "tools");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Five.")), "{answer}");
    let asked = server.asked();
    let tools = asked[0].json()["tools"].clone();
    assert_eq!((&tools[0]["function"]["name"], &tools[0]["function"]["description"]), (&json!("add"), &json!("Adds.")));
    assert_eq!(tools[0]["function"]["parameters"]["properties"]["a"]["type"], "number", "{tools}");
    assert_eq!(
        tools[1]["function"]["parameters"]["type"], "object",
        "a tool without input is still an object: {tools}"
    );
    let messages = asked[1].json()["messages"].clone();
    let turn: Vec<&Value> = messages.as_array().expect("a list").iter().skip(3).collect();
    assert_eq!(turn.len(), 3, "{messages}");
    assert_eq!(turn[0]["tool_calls"][0]["id"], "c1");
    assert_eq!(turn[0]["tool_calls"][0]["function"], json!({ "name": "add", "arguments": "{\"a\":2,\"b\":3}" }));
    assert_eq!(turn[1], &json!({ "role": "tool", "tool_call_id": "c1", "content": "{\"sum\":5}" }));
    assert_eq!(turn[2], &json!({ "role": "tool", "tool_call_id": "c2", "content": "noon" }));
}

/// A model's integer that JavaScript would round reaches no tool and no output.
#[test]
fn an_integer_that_is_no_double_is_refused() {
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "add", "arguments": "{\"a\":9007199254740993,\"b\":3}" } });
    let server = Server::start([
        Reply::message(json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls"),
        Reply::text("Sorry."),
    ]);
    let place = place(&server.address());
    let answer = run(&place, "tools");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Sorry.")), "{answer}");
    let told = server.asked()[1].json()["messages"].to_string();
    assert!(told.contains("at \\\"a\\\": the integer 9007199254740993 is no number of JavaScript"), "{told}");
    assert!(!told.contains("9007199254740995"), "the tool ran: {told}");

    let server = Server::start([Reply::text("{\"city\":\"Oslo\",\"size\":9007199254740993}")]);
    let answer = run(&self::place(&server.address()), "shape");
    let error = &answer.json()["error"];
    assert_eq!((answer.code, &error["name"]), (Some(3), &json!("OutputValidationError")), "{answer}");
    assert!(error["message"].to_string().contains("the integer 9007199254740993"), "{error}");
}

#[test]
fn a_structured_answer_is_asked_for_by_its_schema() {
    let server = Server::start([Reply::text("{\"city\":\"Oslo\",\"size\":7}")]);
    let answer = run(&place(&server.address()), "shape");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!({ "city": "Oslo", "size": 7 })), "{answer}");
    let format = server.asked()[0].json()["response_format"].clone();
    assert_eq!(
        (&format["type"], &format["json_schema"]["name"]),
        (&json!("json_schema"), &json!("shape_it")),
        "{format}"
    );
    assert_eq!(format["json_schema"]["schema"]["properties"]["city"]["type"], "string", "{format}");
}

#[test]
fn a_list_is_asked_for_inside_an_object() {
    let server = Server::start([Reply::text("{\"output\":[\"a\",\"b\"]}")]);
    let answer = run(&place(&server.address()), "list");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!(["a", "b"])), "{answer}");
    let schema = server.asked()[0].json()["response_format"]["json_schema"]["schema"].clone();
    assert_eq!((&schema["type"], &schema["properties"]["output"]["type"]), (&json!("object"), &json!("array")));
}

#[test]
fn a_refusal_is_classified_and_quoted() {
    let said = |message: &str| json!({ "error": { "message": message } }).to_string();
    let effect = check_failure(
        Reply::body("application/json", said("slow down")).status(429).header("retry-after", "2"),
        "RateLimitError",
        "rate_limit_error",
        &["429", "slow down"],
    );
    assert!(effect.to_string().contains("\"retryAfterMs\":2000"), "{effect}");
    let reply = Reply::body("application/json", said("on fire")).status(503);
    check_failure(reply, "ProviderUnavailableError", "provider_unavailable_error", &["503", "on fire"]);
    let reply = Reply::body("application/json", said(&format!("bad key {KEY}"))).status(401);
    check_failure(reply, "ModelError", "model_error", &["401", "bad key"]);
    let reply = Reply::body("application/json", said("maximum context length is 8 tokens")).status(400);
    check_failure(reply, "ContextLengthError", "context_length_error", &["400", "8 tokens"]);
    check_failure(
        Reply::body("text/html", "<h1>x</h1>".repeat(999)).status(404),
        "ModelError",
        "model_error",
        &["404"],
    );
    // A redirect is not followed: a key goes only where it was sent.
    let reply = Reply::body("text/plain", "").status(307).header("location", "http://127.0.0.1:1/");
    check_failure(reply, "ModelError", "model_error", &["307"]);
}

#[test]
fn a_broken_answer_is_classified() {
    check_failure(Reply::body("application/json", "{ \"choices\": ["), "ModelError", "model_error", &["invalid JSON"]);
    check_failure(Reply::body("text/html", "<p>Hello"), "ModelError", "model_error", &["text/html"]);
    let reply = Reply::json(&json!({ "error": { "message": "quota is used up", "code": 402 } }));
    check_failure(reply, "ModelError", "model_error", &["quota is used up"]);
    check_failure(Reply::body("application/json", "{ \"cho").cut(), "NetworkError", "network_error", &["broke off"]);
    check_failure(Reply::body("application/json", "{").hang(), "TimeoutError", "timeout_error", &["1000 ms"]);
}

#[test]
fn a_server_that_is_not_there_is_a_network_error() {
    let gone = Server::start([]).address();
    // The port is free again: nobody listens.
    std::thread::sleep(Duration::from_millis(50));
    let answer = run(&place(&gone), "chat");
    assert_eq!((answer.code, &answer.json()["error"]["name"]), (Some(3), &json!("NetworkError")), "{answer}");
    assert!(answer.stderr.contains("cannot be reached"), "{answer}");
}

#[test]
fn a_failed_run_goes_on_when_the_server_is_back() {
    let server = Server::start([Reply::json(&json!({})).status(500), Reply::text("Back.")]);
    let place = place(&server.address());
    assert_eq!(run(&place, "chat").code, Some(3));
    let answer = place.ask("resume r");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Back.")), "{answer}");
}

#[test]
fn nothing_configured_says_what_to_do() {
    for (action, says) in [
        ("nobody", ["nobody-knows-it", "flowglass.json", "apiKeyEnv", "--mock"]),
        ("purpose", ["preset/fast", "flowglass.json", "purpose", "--mock"]),
        ("prefix", ["openai/gpt-x", "OPENAI_API_KEY", "apiKeyEnv", "--mock"]),
        ("known", ["claude-next", "ANTHROPIC_API_KEY", "apiKeyEnv", "--mock"]),
        ("other", ["other", "nonsense", "openai", "anthropic"]),
    ] {
        let answer = run(&place("http://127.0.0.1:1"), action);
        assert_eq!(answer.code, Some(3), "{answer}");
        let error = answer.json()["error"].clone();
        assert_eq!(
            (&error["name"], &error["code"]),
            (&json!("ModelError"), &json!("model_not_configured")),
            "{answer}"
        );
        for word in says {
            assert!(error["message"].as_str().is_some_and(|text| text.contains(word)), "{word}: {error}");
        }
    }
    // The variable that the configuration names must be set, even where the provider has its own.
    let place = place("http://127.0.0.1:1").variable("TEST_KEY", "").variable("OPENAI_API_KEY", KEY);
    let answer = run(&place, "chat");
    assert!(answer.stderr.contains("TEST_KEY"), "{answer}");
    check_secret(&place, &answer);
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let server = Server::start([Reply::text("Moo.")]);
    let answer = run(&place(&server.address()), "local");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Moo.")), "{answer}");
    let asked = &server.asked()[0];
    assert_eq!((asked.header("authorization"), &asked.json()["model"]), (None, &json!("llama")), "{asked:?}");
}

#[test]
fn a_key_goes_to_a_strange_address_only_with_trust() {
    let server = Server::start([Reply::text("Thanks.")]);
    // This address leads to this machine, but does not say so.
    let place = place(&server.address());
    let answer = run(&place, "far");
    assert_eq!(answer.code, Some(3), "{answer}");
    for word in ["TEST_KEY", "0.0.0.0", "--trust"] {
        assert!(answer.stderr.contains(word), "{word}: {answer}");
    }
    assert_eq!(server.asked().len(), 0, "nothing was sent");
    let answer = place.ask("resume r --trust");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("Thanks.")), "{answer}");
    assert_eq!(server.asked()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    check_secret(&place, &answer);
}
