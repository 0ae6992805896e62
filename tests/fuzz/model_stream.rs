//! What a model's server sends: the request ends with a reply or with an error of the provider, and in time.
//!
//! The first line of an input says who is asked and how the connection ends, the rest is what the server sends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use runner::{OpenOptions, Workspace};
use serde_json::json;
use tests::bench::Place;

use crate::drive::{Target, fuzz, seeds};
use crate::edits::{Edit, edit, edited};
use crate::json_text::{any_json, quoted};
use crate::workspaces::{action, finished, look_at, options};

const TARGET: Target = Target {
    name: "model_stream",
    test: "model_stream::any_stream_is_a_reply_or_an_error",
    patience: Duration::from_secs(30),
};

const FLOW: &str = r#"
const add = handler({ name: "add", description: "Adds.", inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }) });
const of = (name, more = {}) => ({ [name]: { block: generator({ name, model: name, prompt: "p", user: "u", tools: [add],
  agentType: "primary", loop: { maxIterations: 2 }, ...more }) } });
export default defineFlow({ kind: "main", actions: { ...of("openai"), ...of("anthropic"), ...of("gemini"), ...of("ollama"),
  ...of("plain", { tools: [], outputSchema: z.object({ city: z.string() }) }) } });
"#;

const WHO: [&str; 5] = ["openai", "anthropic", "gemini", "ollama", "plain"];
const ENDS: [&str; 3] = ["close", "hang", "endless"];

const WORDS: [&str; 62] = [
    "data: ",
    "data:",
    "event: ",
    "id: ",
    "retry: 0",
    ": ",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    "[DONE]",
    "data: [DONE]\n\n",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "\"choices\"",
    "\"delta\"",
    "\"content\"",
    "\"tool_calls\"",
    "\"index\"",
    "\"function\"",
    "\"arguments\"",
    "\"name\"",
    "\"finish_reason\"",
    "\"usage\"",
    "\"error\"",
    "\"message\"",
    "\"stop\"",
    "\"reasoning_content\"",
    "\"prompt_tokens\"",
    "\"type\"",
    "\"content_block_delta\"",
    "\"message_start\"",
    "\"candidates\"",
    "\"parts\"",
    "\"functionCall\"",
    "\\u0000",
    "\\ud800",
    "0",
    "-1",
    "18446744073709551616",
    "1e999",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 302 Found\r\nlocation: /\r\n",
    "HTTP/1.1 500 No\r\n",
    "HTTP/1.1 429 No\r\nretry-after: 99999999999\r\n",
    "HTTP/9.9 999 x\r\n",
    "content-type: application/json\r\n",
    "content-type: text/event-stream\r\n",
    "content-type: \u{ff}\r\n",
    "content-length: 99999999999999999999\r\n",
    "content-length: 5\r\n",
    "transfer-encoding: chunked\r\n",
    "content-encoding: gzip\r\n",
    "connection: keep-alive\r\n",
    "ffffffffffffffff\r\n",
];

/// Answers as they should be: streamed by each provider, whole, with calls, refused.
fn good() -> Vec<Vec<u8>> {
    let frame = |value: serde_json::Value| format!("data: {value}\n\n");
    let delta = |delta: serde_json::Value| {
        frame(json!({ "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
    };
    let last = frame(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }))
        + &frame(json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 } }))
        + "data: [DONE]\n\n";
    let function = json!({ "name": "add", "arguments": "{\"a\":1," });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] });
    let rest = json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"b\":2}" } }] });
    let named = |event: &str, value: serde_json::Value| format!("event: {event}\n{}", frame(value));
    let anthropic = named(
        "message_start",
        json!({ "type": "message_start", "message": { "id": "m", "model": "m", "content": [],
                "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
    ) + &named(
        "content_block_start",
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ) + &named(
        "content_block_delta",
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "hi" } }),
    ) + &named("content_block_stop", json!({ "type": "content_block_stop", "index": 0 }))
        + &named(
            "message_delta",
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        )
        + &named("message_stop", json!({ "type": "message_stop" }));
    let gemini = frame(
        json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "hi" }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3 },
        "modelVersion": "m" }),
    );
    let ollama = format!(
        "{}\n{}\n",
        json!({ "model": "m", "message": { "role": "assistant", "content": "hi" }, "done": false }),
        json!({ "model": "m", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
                "eval_count": 2, "prompt_eval_count": 1 })
    );
    let message = json!({ "role": "assistant", "content": "{\"city\":\"Oslo\"}" });
    let whole = json!({ "id": "c", "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 } })
    .to_string();
    let answer = |who: &str, end: &str, status: &str, kind: &str, body: &str| {
        format!("{who} {end}\nHTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
            .into_bytes()
    };
    let sse = "text/event-stream";
    vec![
        answer(
            "openai",
            "close",
            "200 OK",
            sse,
            &format!("{}{}{last}", delta(json!({ "content": "hi" })), delta(json!({ "reasoning_content": "hm" }))),
        ),
        answer("openai", "close", "200 OK", sse, &format!("{}{}{last}", delta(call), delta(rest))),
        answer("anthropic", "close", "200 OK", sse, &anthropic),
        answer("gemini", "close", "200 OK", sse, &gemini),
        answer("ollama", "close", "200 OK", "application/x-ndjson", &ollama),
        answer("plain", "close", "200 OK", "application/json", &whole),
        answer(
            "openai",
            "close",
            "429 No",
            "application/json",
            &json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } }).to_string(),
        ),
        answer("openai", "endless", "200 OK", sse, &delta(json!({ "content": "hi" }))),
        answer("openai", "hang", "200 OK", sse, &delta(json!({ "content": "hi" }))),
    ]
}

/// Frames of known fields and any values.
fn frames() -> BoxedStrategy<Vec<u8>> {
    const NAMES: [&str; 22] = [
        "choices",
        "delta",
        "content",
        "tool_calls",
        "index",
        "function",
        "arguments",
        "name",
        "id",
        "finish_reason",
        "usage",
        "error",
        "message",
        "type",
        "role",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "candidates",
        "parts",
        "text",
        "model",
    ];
    let choice = any_json(&NAMES).prop_map(|value| format!("{{\"choices\":[{{\"index\":0,\"delta\":{value}}}]}}"));
    let content = crate::edits::hostile_text()
        .prop_map(|text| format!("{{\"choices\":[{{\"delta\":{{\"content\":{}}}}}]}}", quoted(&text)));
    let call = (any_json(&NAMES), any_json(&NAMES)).prop_map(|(index, arguments)| {
        let function = format!("{{\"name\":\"add\",\"arguments\":{}}}", quoted(&arguments));
        let call = format!("{{\"index\":{index},\"id\":\"c\",\"function\":{function}}}");
        format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}")
    });
    let usage = any_json(&NAMES).prop_map(|value| format!("{{\"choices\":[],\"usage\":{value}}}"));
    let frame = prop_oneof![3 => choice, 2 => content, 2 => call, 1 => usage, 1 => any_json(&NAMES)];
    let who =
        (proptest::sample::select(&WHO[..]), prop_oneof![8 => Just("close"), 1 => Just("hang"), 1 => Just("endless")]);
    (who, proptest::collection::vec(frame, 0..6), any::<bool>())
        .prop_map(|((who, end), frames, is_stream)| {
            let body: String = if is_stream {
                frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
            } else {
                frames.join("\n")
            };
            let kind = if is_stream { "text/event-stream" } else { "application/json" };
            format!("{who} {end}\nHTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
                .into_bytes()
        })
        .boxed()
}

/// What the server sends, and how it ends.
type Sent = Arc<Mutex<(Vec<u8>, String)>>;

/// A server that says the same to everybody.
fn serve(sent: Sent) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (bytes, end) = sent.lock().expect("nobody panicked").clone();
            // A client that went away is what some inputs are about.
            std::thread::spawn(move || drop(answer(stream, &bytes, &end)));
        }
    });
    port
}

fn answer(mut stream: TcpStream, bytes: &[u8], end: &str) -> std::io::Result<()> {
    /// More than any limit lets in.
    const ENDLESS: usize = 4 << 20;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    // The whole question fits one segment of the loopback.
    let _ = stream.read(&mut vec![0; 64 << 10])?;
    stream.write_all(bytes)?;
    match end {
        "endless" => {
            let tail = bytes.rsplitn(4, |byte| *byte == b'\n').nth(2).unwrap_or(b"x").to_vec();
            for _ in 0..ENDLESS / (tail.len() + 2) {
                stream.write_all(&tail)?;
                stream.write_all(b"\n\n")?;
            }
        }
        // Until the client has had enough.
        "hang" => drop(stream.read(&mut [0])?),
        _ => {}
    }
    stream.shutdown(Shutdown::Both)
}

#[test]
fn any_stream_is_a_reply_or_an_error() {
    let inputs = || {
        let mut all = good();
        all.extend(seeds(&["tests/fuzz/corpus/model_stream"], ""));
        let who = (proptest::sample::select(&WHO[..]), proptest::sample::select(&ENDS[..]), 0..16_u8);
        let changed = (proptest::sample::select(all), proptest::collection::vec(edit(&WORDS), 1..6), who).prop_map(
            |(seed, edits, (who, end, chance)): (Vec<u8>, Vec<Edit>, _)| {
                let at = seed.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let head = match chance {
                    0 => format!("{who} {end}\n").into_bytes(),
                    _ => seed[..at].to_vec(),
                };
                [head, edited(&seed[at..], &edits)].concat()
            },
        );
        prop_oneof![5 => changed, 4 => frames()].boxed()
    };
    let begin = || {
        let sent = Sent::default();
        let base = format!("http://127.0.0.1:{}/v1/", serve(sent.clone()));
        let model = |provider: &str| json!({ "provider": provider, "model": "m", "baseUrl": base, "timeoutMs": 250 });
        let settings = json!({
            "models": { "openai": model("openai"), "anthropic": model("anthropic"), "gemini": model("gemini"),
                        "ollama": model("ollama"), "plain": model("openai") },
            "limits": { "replyBytes": 300_000, "lineBytes": 100_000, "errorBytes": 2_000 },
        });
        let place = Place::with_flow(FLOW).file("flowglass.json", &settings.to_string());
        let opened = Workspace::open(OpenOptions { trust: true, ..options(place.dir()) }).expect("the workspace opens");
        let rows = opened.flows().expect("the flow loads");
        assert_eq!(rows[0].error, None);
        (place, opened, sent)
    };
    fuzz(&TARGET, inputs, begin, |(_, workspace, sent): &mut (Place, Arc<Workspace>, Sent), input| {
        let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let head = String::from_utf8_lossy(&input[..end]).into_owned();
        let (who, end_as) = head.split_once(' ').unwrap_or((&head, "close"));
        *sent.lock().expect("nobody panicked") = (input[(end + 1).min(input.len())..].to_vec(), end_as.to_owned());
        let who = WHO.into_iter().find(|known| *known == who).unwrap_or("openai");
        let running = workspace.run(action("main", who)).map_err(|fault| fault.to_string())?;
        let (request, session) = (running.request_id.clone(), running.session_id.clone());
        finished(workspace, running)?;
        look_at(workspace, &request)?;
        workspace.delete_session(&session).map(drop).map_err(|fault| fault.to_string())
    });
}
