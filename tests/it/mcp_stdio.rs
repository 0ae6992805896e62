//! `flowglass mcp` on standard input and output: what clients send that is no call, and folders without anything.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::agent::{Agent, Protocol};
use tests::bench::{Place, program};

use crate::debug::{line_of, recorded};

/// A flow whose action has a schema of its input.
const TYPED: &str = r#"
import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const total = handler({ name: "total", inputSchema: z.object({ items: z.array(z.number()) }), execute: ({ items }) => items.length });
export default defineFlow({ kind: "typed", actions: { pay: { block: total } } });
"#;

/// Sends a line, and returns the next message.
fn told(agent: &mut Agent, line: &str) -> Value {
    agent.send(line);
    agent.message()
}

#[test]
fn what_is_no_call_is_answered_with_what_is_wrong() {
    let place = recorded();
    let mut agent = Agent::start(place.dir(), &[]);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"ping","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let long = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"ping","params":"{}"}}"#, "a".repeat(20_000_000));
    let unreadable = ["this is no json", "{", long.as_str()];
    for line in unreadable {
        let answer = told(&mut agent, line);
        assert_eq!(answer["error"]["code"], -32_700, "{answer}");
        assert!(answer.to_string().len() < 400, "{answer}");
    }
    // What is JSON beyond a limit has an id to be answered with.
    let half = r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"\ud800"}}"#;
    for (line, words) in [(deep.as_str(), "at most 127 deep"), (half, "surrogates come in pairs")] {
        let answer = told(&mut agent, line);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32_602), &json!(9)), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{answer}");
    }
    let call = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 77, "method": method, "params": params }).to_string()
    };
    let cases = [
        (call("tools/call", json!(null)), -32_602, "argument `name` of tools/call is missing"),
        (call("tools/call", json!({ "name": "find", "arguments": "x" })), -32_602, "argument `arguments`"),
        (call("initialize", json!({})), -32_602, "argument `protocolVersion`"),
        (call("resources/read", json!({ "uri": 5 })), -32_602, "argument `uri`"),
        ("[]".to_owned(), -32_600, "a list of messages"),
        ("null".to_owned(), -32_600, "no message"),
    ];
    for (line, code, words) in cases {
        let answer = told(&mut agent, &line);
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{line}: {answer}");
        assert_eq!(answer["id"].as_u64().is_some(), code == -32_602, "{answer}");
    }
    agent.get("find", json!({}));
}

#[test]
fn a_client_of_a_protocol_with_batches_gets_one_list() {
    let place = recorded();
    let mut agent = Agent::with(place.dir(), &[], Protocol::Handshake, &[]);
    let hello =
        json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(agent.request("initialize", hello)["result"]["protocolVersion"], "2025-03-26");
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    let one = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let answers = told(&mut agent, &json!([one(90, "ping"), one(91, "tools/list"), 5]).to_string());
    let answers = answers.as_array().expect("a list");
    assert_eq!(answers.len(), 3, "{answers:?}");
    for id in [90, 91] {
        assert!(answers.iter().any(|one| one["id"] == id && one["result"].is_object()), "{answers:?}");
    }
    agent.get("find", json!({}));
}

/// Before the first request the library would end the server by what is no request.
#[test]
fn what_comes_before_the_first_request_is_ignored() {
    let place = recorded();
    let early = [
        r#"{"jsonrpc":"2.0","method":"notifications/xyz"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}"#,
    ];
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let mut agent = Agent::with(place.dir(), &[], Protocol::Handshake, &[]);
    early.iter().for_each(|line| agent.send(line));
    // A ping does not begin the exchange, nor does a call that is refused.
    assert!(agent.request("ping", json!({}))["result"].is_object());
    early.iter().for_each(|line| agent.send(line));
    assert!(agent.request("tools/list", json!({}))["error"].is_object());
    early.iter().for_each(|line| agent.send(line));
    assert_eq!(agent.request("initialize", hello)["result"]["serverInfo"]["name"], "flowglass");
    early.iter().for_each(|line| agent.send(line));
    agent.get("find", json!({}));

    let mut stateless = Agent::with(place.dir(), &[], Protocol::Stateless, &[]);
    early.iter().for_each(|line| stateless.send(line));
    stateless.get("find", json!({}));
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let place = recorded();
    let mut agent = Agent::start(place.dir(), &[]);
    let call = |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": 400, "method": "tools/call", "params": params }).to_string()
    };
    // An expression without an end is ended after a second: the first call is open when the second one comes.
    let line = line_of(&place, "sum += priceOf");
    let endless = json!({
        "at": format!("flows/main.ts:{line}"), "expressions": ["(() => { for (;;) {} })()"], "request": "bad", "limit": 1,
    });
    agent.send(&format!("{}\n{}", call("print", endless), call("look", json!({ "request": "good" }))));
    let (one, other) = (agent.message(), agent.message());
    let (refused, answered) = if one["error"].is_object() { (one, other) } else { (other, one) };
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(400), &json!(-32_600)), "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("id 400 is in use")), "{refused}");
    assert_eq!(answered["id"], 400, "{answered}");
    assert!(answered["result"].is_object(), "{answered}");
    // When it is answered, the id is free.
    agent.send(&call("find", json!({})));
    assert!(agent.message()["result"].is_object());
}

/// Writes to a server and closes its input; returns what it wrote.
fn piped(dir: &std::path::Path, input: &str) -> String {
    let mut child = Command::new(program())
        .arg("mcp")
        .current_dir(dir)
        .env("XDG_CONFIG_HOME", dir.join(".config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("the server reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let place = recorded();
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }).to_string();
    let answer = piped(place.dir(), &hello);
    assert!(answer.contains(r#""id":1"#) && answer.contains("protocolVersion"), "{answer}");
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let find = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find","arguments":{}}}"#;
    let answers = piped(place.dir(), &format!("{hello}\n{ready}\n{find}"));
    assert!(answers.contains(r#""id":2"#) && answers.contains("3 requests"), "{answers}");
}

/// A folder without flows is not made a workspace, and a client is told so.
#[test]
fn nothing_is_made_in_a_folder_without_flows() {
    let place = Place::new();
    let mut agent = Agent::start(place.dir(), &[]);
    let refused = agent.refused("find", json!({}));
    assert!(refused.contains("has no flows and no recorded runs"), "{refused}");
    assert!(!place.dir().join(".flowglass").exists());
}

/// What would be refused is not announced, and what is not counted is said.
#[test]
fn a_plan_says_what_would_not_be_done() {
    let place = recorded().file("flows/typed.ts", TYPED);
    let mut agent = Agent::start(place.dir(), &[]);
    let refused = agent.refused("run", json!({ "do": "abort", "request": "good" }));
    assert!(refused.contains("argument `request`: good is completed"), "{refused}");
    let misfit = json!({ "do": "run", "flow": "typed", "action": "pay", "user": "ada", "input": { "items": 5 } });
    let told = agent.get("run", misfit).text;
    assert!(told.contains("argument `input` does not fit its schema") && told.contains("/items"), "{told}");
    assert!(told.ends_with("Nothing has run."), "{told}");
    let nowhere = agent.refused("find", json!({ "flow": "nope" }));
    assert!(nowhere.contains("argument `flow`") && nowhere.contains("main"), "{nowhere}");
}
