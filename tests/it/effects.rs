//! Effects have a beginning and an end: what is recorded before a page, a model or an author's own effect is asked,
//! what a resume takes from the log, and what it says may have happened.

use std::time::Duration;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

/// A flow with its server, which it may fetch from, and a model that lives there.
fn place(server: &Server, source: &str) -> Place {
    let config = json!({
        "fetch": { "allow": [server.host()] },
        "models": { "tiny": { "provider": "openai", "model": "tiny", "baseUrl": format!("{}/v1", server.address()) } },
    });
    let source = source.replace("SERVER", &server.address());
    Place::with_flow(&source).file("flowglass.json", &config.to_string())
}

fn ok() -> Reply {
    Reply::body("text/plain", "ok")
}

/// The payloads of a request's effects that began or ended, in order.
fn effects(place: &Place, request: &str, what: &str) -> Vec<Value> {
    let events = place.get(&format!("events {request} --kind effect_{what} --limit 100000"));
    events.as_array().expect("a list").iter().map(|event| event["payload"].clone()).collect()
}

/// How often the server was asked for a path.
fn asked(server: &Server, path: &str) -> usize {
    server.asked().iter().filter(|asked| asked.line.ends_with(path)).count()
}

#[track_caller]
fn identical(place: &Place, request: &str) {
    let answer = place.ask(&format!("replay {request}"));
    assert_eq!(answer.code, Some(0), "the replay of {request}\n{answer}");
}

#[track_caller]
fn says(answer: &Answer, line: &str) {
    assert!(answer.stderr.lines().any(|said| said == line), "{line:?} is not said\n{answer}");
}

/// Starts an action, waits until its server was asked, and kills the process.
fn kill_when_asked(place: &Place, server: &Server, action: &str) {
    place.get("check");
    let going = place.start(&format!("run main {action} --user ada --session {action} --request {action}"));
    let before = server.asked().len();
    place.until("the server is asked", |_| (server.asked().len() > before).then_some(()));
    going.kill();
}

const CALLS: &str = r#"
const inSequence = (block) => sequencer({ name: "chain", inputSchema: z.any() }).step(block);
const pay = handler({ name: "pay", execute: async () => { await fetch("SERVER/pay", { method: "POST" }); return "paid"; } });
const bot = generator({ name: "bot", model: "tiny", prompt: "Say it." });
const mail = handler({ name: "mail", execute: (_input, ctx) => ctx.runOnce("mail", async () => { await fetch("SERVER/mail", { method: "POST" }); return "sent"; }) });
const failing = handler({ name: "failing", execute: async (_input, ctx) => {
  await ctx.runOnce("no", async () => { throw new TypeError("not now"); }).catch(() => 0);
  return ctx.runOnce("yes", () => "yes");
} });
export default defineFlow({ kind: "main", actions: {
  pay: { block: inSequence(pay) }, bot: { block: inSequence(bot) }, mail: { block: inSequence(mail) }, failing: { block: failing },
} });
"#;

#[test]
fn what_may_have_happened_is_in_the_log_before_it_can() {
    let server = Server::start([ok().hang(), ok(), Reply::text("hi").hang(), Reply::text("hi"), ok().hang(), ok()]);
    let place = place(&server, CALLS);
    for (action, lines, output) in [
        ("pay", vec!["may have happened: fetch #0 of root/step:pay, it will be made again"], "paid"),
        ("bot", vec!["may have happened: model #0 of root/step:bot, it will be made again"], "hi"),
        (
            "mail",
            vec![
                "may have happened: once #0 of root/step:mail, it will be made again",
                "may have happened: fetch #0 of root/step:mail, it will be made again",
            ],
            "sent",
        ),
    ] {
        kill_when_asked(&place, &server, action);
        assert_eq!(effects(&place, action, "started").len(), lines.len(), "{action}: its beginning is committed");
        assert_eq!(effects(&place, action, "finished"), [] as [Value; 0], "{action}");
        let resumed = place.ask(&format!("resume {action}"));
        assert_eq!(resumed.json()["output"], output, "{resumed}");
        lines.iter().for_each(|line| says(&resumed, line));
        assert_eq!(resumed.stderr.matches("may have happened").count(), lines.len(), "{resumed}");
        identical(&place, action);
    }
    assert_eq!(server.asked().len(), 6);
    place.get("check --data");
}

#[test]
fn a_failed_run_once_has_an_end_and_no_answer() {
    let server = Server::start([]);
    let place = place(&server, CALLS);
    let ran = place.get("run main failing --user ada --request r");
    assert_eq!(ran["output"], "yes");
    let started: Vec<Value> = effects(&place, "r", "started").iter().map(|effect| effect["request"].clone()).collect();
    assert_eq!(started, [json!("no"), json!("yes")]);
    let finished = effects(&place, "r", "finished");
    assert_eq!(finished[0]["error"]["message"], "not now", "{finished:?}");
    assert_eq!((&finished[1]["result"], finished[1].get("error")), (&json!(["yes"]), None), "{finished:?}");
    identical(&place, "r");
}

#[test]
fn a_pause_keeps_its_end_and_a_guard_begins_anew() {
    let server = Server::start([ok().hang(), ok().hang(), ok(), ok()]);
    // Whichever process asks for the page waits for four seconds more, which is less than a pause that begins anew.
    let source = r#"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const rests = handler({ name: "rests", execute: async () => { await pause(6000); return "rested"; } });
const other = handler({ name: "other", execute: async () => { await fetch("SERVER/page"); await pause(4000); return "began anew"; } });
const slow = sequencer({ name: "slow", inputSchema: z.any() }).race([rests, other]);
const guarded = handler({ name: "guarded", execute: async () => {
  const page = fetch("SERVER/page").then((answer) => answer.text());
  return Promise.race([page, pause(1500).then(() => "too late")]);
} });
export default defineFlow({ kind: "main", actions: { slow: { block: slow }, guarded: { block: guarded } } });
"#;
    let place = place(&server, source);
    kill_when_asked(&place, &server, "guarded");
    kill_when_asked(&place, &server, "slow");
    std::thread::sleep(Duration::from_millis(3500));
    assert_eq!(place.get("resume slow")["output"], "rested");
    let events = place.get("events slow");
    let of = |kind: &str| -> Vec<Value> {
        events.as_array().expect("a list").iter().filter(|event| event["kind"] == kind).cloned().collect()
    };
    let mut started = of("effect_started");
    started.retain(|effect| effect["payload"]["request"] == 6000);
    assert_eq!(started.len(), 1, "it began once: {events:#}");
    let mut finished = of("effect_finished");
    finished.retain(|effect| effect["payload"]["started"] == started[0]["seq"]);
    assert_eq!(finished.len(), 1, "it ended once: {events:#}");
    let lasted = finished[0]["at"].as_i64().unwrap_or_default() - started[0]["at"].as_i64().unwrap_or_default();
    assert!(lasted >= 6000, "it lasted {lasted} ms");
    // The time of the guard is long over; the page is asked for again, and has its time again.
    assert_eq!(place.get("resume guarded")["output"], "ok");
    for request in ["slow", "guarded"] {
        identical(&place, request);
    }
}

#[test]
fn a_recalled_model_call_has_only_an_end() {
    let place = Place::with_flow(
        r#"
const ask = handler({ name: "ask", execute: (_input, ctx) => ctx.suspend({ reason: "ask", message: "may I" }) });
const bot = generator({ name: "bot", model: "tiny", prompt: "Ask.", tools: [ask] });
export default defineFlow({ kind: "main", actions: { bot: { block: bot } } });
"#,
    )
    .file(
        "flows/main.mock.json",
        &json!({ "generators": { "bot": [{ "toolCalls": [{ "name": "ask", "args": {} }], "usage": { "promptTokens": 2, "completionTokens": 1 } }, { "text": "done" }] } }).to_string(),
    );
    assert_eq!(place.ask("run main bot --user ada --request r --mock").code, Some(4));
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"], "done");
    let events = place.get("events r");
    let of = |kind: &str| -> Vec<&Value> {
        events.as_array().expect("a list").iter().filter(|event| event["kind"] == kind).collect()
    };
    let (started, finished) = (of("effect_started"), of("effect_finished"));
    assert_eq!((started.len(), finished.len()), (2, 3), "{events:#}");
    assert_eq!(finished[1]["payload"]["memoized"], true);
    assert_eq!(finished[1]["payload"]["started"], started[0]["seq"], "it is the call that was made");
    assert_eq!(finished[1]["payload"]["result"]["usage"]["promptTokens"], 2);
    identical(&place, "r");
    place.get("check --data");
}

/// A loop of so many tool calls, each with a result of its own.
fn looping(steps: usize) -> Place {
    let mut replies: Vec<Value> = (0..steps)
        .map(|n| json!({ "toolCalls": [{ "id": format!("c{n}"), "name": "look", "args": { "n": n } }] }))
        .collect();
    replies.push(json!({ "text": "seen" }));
    let place = Place::with_flow(&format!(
        r#"
const look = handler({{ name: "look", inputSchema: z.object({{ n: z.number() }}), execute: ({{ n }}) => `page ${{n}} `.repeat(100) }});
const bot = generator({{ name: "bot", model: "tiny", maxIterations: 100, prompt: "Look.", user: () => ({{ role: "user", content: {{ of: 1, at: 0 }} }}), tools: [look] }});
export default defineFlow({{ kind: "main", actions: {{ bot: {{ block: bot }} }} }});
// {steps} steps
"#
    ))
    .file("flows/main.mock.json", &json!({ "generators": { "bot": replies } }).to_string());
    let ran = place.get("run main bot --user ada --request r --mock");
    assert_eq!(ran["output"], "seen");
    place
}

#[test]
fn a_conversation_is_stored_once() {
    let sizes = [25, 50].map(|steps| {
        let place = looping(steps);
        let calls = effects(&place, "r", "started");
        assert_eq!(calls.len(), steps + 1);
        for (n, call) in calls.iter().enumerate() {
            let messages = call["request"]["messages"].as_array().expect("a list");
            assert_eq!(messages.len(), 2 + 2 * n, "call {n} is shown whole");
            assert!(messages.iter().all(|message| message["role"].is_string()), "{call}");
            assert_eq!(messages[1]["content"], json!({ "of": 1, "at": 0 }), "what only looks like a reference stays");
        }
        // So do a part of the log, and a request that is followed.
        let part = place.get("events r --kind effect_started --limit 1 --offset 20");
        assert_eq!(part[0]["payload"], calls[20]);
        let found = place.run(&["search", "page 7 page", "--json"]).json().to_string();
        assert!(found.contains("page 7 page") && !found.contains("\\\"count\\\""), "{found}");
        identical(&place, "r");
        place.get("check --data");
        place.get("stats")["payloadBytes"].as_f64().expect("a number")
    });
    assert!(sizes[1] < 2.3 * sizes[0], "twice the steps take twice the place: {sizes:?}");
}

#[test]
fn a_followed_request_shows_whole_messages() {
    let place = looping(3);
    let followed = place.run(&["run", "main", "bot", "--user", "ada", "--request", "s", "--mock", "--events"]);
    let lines: Vec<Value> = followed.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let calls: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "effect_started").collect();
    assert_eq!(calls.len(), 4, "{followed}");
    assert_eq!(calls[3]["payload"]["request"]["messages"].as_array().map(Vec::len), Some(8), "{followed}");
    assert!(!calls[3].to_string().contains("\"count\""), "{followed}");
}

/// A model that is the author's own code: it fetches, waits and logs. Its first answer calls a tool, its second one that
/// asks somebody.
const OWN: &str = r#"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const search = handler({ name: "search", execute: async () => { await fetch("SERVER/search"); return "found"; } });
const pay = handler({ name: "pay", execute: async (_input, ctx) => {
  await ctx.suspend({ reason: "pay", message: "may I" });
  await fetch("SERVER/pay", { method: "POST" });
  return "paid";
} });
const model = { modelId: "own", generateStep: async ({ stepNumber }) => {
  console.log(`step ${stepNumber}`);
  await fetch(`SERVER/model${stepNumber}`);
  await pause(1);
  if (stepNumber < 2) return { toolCalls: [{ toolCallId: `c${stepNumber}`, toolName: ["search", "pay"][stepNumber], args: {} }] };
  return { text: "all paid" };
} };
const bot = generator({ name: "bot", prompt: "Pay.", model, tools: [search, pay] });
export default defineFlow({ kind: "main", actions: { bot: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(bot) } } });
"#;

#[test]
fn an_own_model_is_not_asked_twice_after_an_answer() {
    let server = Server::start((0..20).map(|_| ok()));
    let place = place(&server, OWN);
    assert_eq!(place.ask("run main bot --user ada --request r").code, Some(4));
    let resumed = place.ask("resume r --approve");
    assert_eq!(resumed.json()["output"], "all paid", "{resumed}");
    for path in ["/search", "/pay", "/model0", "/model1", "/model2"] {
        assert_eq!(asked(&server, path), 1, "{path}");
    }
    identical(&place, "r");
}

#[test]
fn an_own_model_is_not_asked_twice_in_a_fork() {
    let server = Server::start((0..20).map(|_| ok()));
    let place = place(&server, OWN);
    let waits = place.ask("run main bot --user ada --session s --request r");
    assert_eq!(waits.code, Some(4), "{waits}");
    let last = place.get("events r").as_array().and_then(|all| all.last().cloned()).expect("events")["seq"].clone();
    let forked = place.ask(&format!("fork r --at {last}"));
    let fork = forked.json()["requestId"].as_str().expect("an id").to_owned();
    assert_eq!(forked.code, Some(4), "{forked}");
    let resumed = place.ask(&format!("resume {fork} --approve"));
    assert_eq!(resumed.json()["output"], "all paid", "{resumed}");
    // It leaves the request where the last block had ended: what came after is the fork's own.
    for (path, times) in [("/search", 1), ("/pay", 1), ("/model0", 1), ("/model1", 2), ("/model2", 1)] {
        assert_eq!(asked(&server, path), times, "{path}");
    }
    identical(&place, &fork);
}

#[test]
fn an_own_model_is_not_asked_twice_after_a_kill() {
    // The third call of the model hangs, and the process dies there.
    let answers = [ok(), ok(), ok(), ok(), ok().hang()];
    let server = Server::start(answers.into_iter().chain((0..10).map(|_| ok())));
    let place = place(&server, &OWN.replace("await ctx.suspend({ reason: \"pay\", message: \"may I\" });", ""));
    place.get("check");
    let going = place.start("run main bot --user ada --request r");
    place.until("the third call is made", |_| (asked(&server, "/model2") == 1).then_some(()));
    going.kill();
    let resumed = place.ask("resume r");
    assert_eq!(resumed.json()["output"], "all paid", "{resumed}");
    says(&resumed, "may have happened: fetch #2 of root/step:bot, it will be made again");
    for (path, times) in [("/search", 1), ("/pay", 1), ("/model0", 1), ("/model1", 1), ("/model2", 2)] {
        assert_eq!(asked(&server, path), times, "{path}");
    }
    identical(&place, "r");
}

/// A tool that takes too long the first time, and goes on beside its second try.
const LATE: &str = r#"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let tries = 0;
const model = { modelId: "own", generate: async () => {
  const own = ++tries;
  await pause(own === 1 ? 900 : 1);
  return { text: own === 1 ? "one" : "two" };
} };
const inner = generator({ name: "inner", prompt: "Answer.", model });
const gate = handler({ name: "gate", execute: async (said, ctx) => {
  if (ASKS && said === "two") await ctx.suspend({ reason: "gate", message: "may I" });
  return said;
} });
const look = sequencer({ name: "look", inputSchema: z.any() }).step(inner).step(gate);
const bot = generator({ name: "bot", model: "tiny", prompt: "Look.", tools: [look] });
export default defineFlow({ kind: "main", actions: { bot: { block: bot } },
  tools: { defaults: { timeoutMs: 400, retry: { maxAttempts: 2, baseDelayMs: 1 } } } });
"#;

fn late(asks: bool) -> Place {
    let replies =
        json!({ "generators": { "bot": [{ "toolCalls": [{ "name": "look", "args": {} }] }, { "text": "done" }] } });
    Place::with_flow(&LATE.replace("ASKS", &asks.to_string())).file("flows/main.mock.json", &replies.to_string())
}

/// What the model was told of the tool.
fn told(place: &Place) -> Value {
    let calls = effects(place, "r", "started");
    let last = calls.iter().rfind(|call| call["request"]["generator"] == "bot").expect("a call");
    last["request"]["messages"].as_array().and_then(|all| all.last()).expect("a message")["content"][0]["output"]
        .clone()
}

#[test]
fn a_tool_that_goes_on_beside_its_retry_replays() {
    let place = late(false);
    let ran = place.get("run main bot --user ada --request r --mock");
    assert_eq!(ran["output"], "done");
    assert_eq!(told(&place), json!({ "type": "text", "value": "two" }));
    identical(&place, "r");
}

#[test]
fn a_resume_takes_nothing_of_the_try_that_took_too_long() {
    let place = late(true);
    let waits = place.ask("run main bot --user ada --request r --mock");
    assert_eq!(waits.code, Some(4), "{waits}");
    let resumed = place.ask("resume r --approve");
    assert_eq!(resumed.json()["output"], "done", "{resumed}");
    assert_eq!(told(&place), json!({ "type": "text", "value": "two" }));
    identical(&place, "r");
}

#[test]
fn what_a_provider_ran_itself_is_shown_and_not_run() {
    let server = Server::start((0..9).map(|_| ok()));
    let place = place(
        &server,
        r#"
const look = handler({ name: "look", execute: async () => { await fetch("SERVER/look"); return "ours"; } });
const ran = { toolCallId: "p", toolName: "look", args: { q: 1 }, providerExecuted: true, result: { pages: 3 } };
const alone = generator({ name: "alone", model: "tiny", prompt: "Look.", tools: [look] });
const own = generator({ name: "own", prompt: "Look.", tools: [look],
  model: { modelId: "own", generateStep: async ({ stepNumber, messages }) => stepNumber === 0
    ? { text: "so", toolCalls: [ran, { toolCallId: "o", toolName: "look", args: {} }] }
    : { text: JSON.stringify(messages.at(-2).content) } } });
export default defineFlow({ kind: "main", actions: { alone: { block: alone }, own: { block: own } } });
"#,
    );
    let replies = json!({ "generators": { "alone": [{ "text": "found", "toolCalls": [
        { "id": "p", "name": "look", "args": { "q": 1 }, "providerExecuted": true, "result": { "pages": 3 } }
    ] }] } });
    place.write("mock.json", replies.to_string());
    // It does not keep the loop going.
    let alone = place.get("run main alone --user ada --request alone --mock=mock.json");
    assert_eq!(alone["output"], "found");
    assert_eq!(asked(&server, "/look"), 0);
    let items = place.get("items --request alone --view all --type block_tool_output");
    let of = |field: &str| items[0][field].clone();
    assert_eq!(items.as_array().map(Vec::len), Some(1), "{items:#}");
    assert_eq!(
        (of("output"), of("providerExecuted"), of("status")),
        (json!({ "pages": 3 }), json!(true), json!("completed"))
    );
    let own = place.get("run main own --user ada --request own");
    let said: Value =
        serde_json::from_str(own["output"].as_str().and_then(|text| text.strip_prefix("so\n\n")).unwrap_or_default())
            .expect("JSON");
    assert_eq!(
        said[1],
        json!({ "type": "tool-call", "toolCallId": "p", "toolName": "look", "input": { "q": 1 }, "providerExecuted": true })
    );
    assert_eq!(said[2]["output"], json!({ "type": "json", "value": { "pages": 3 } }), "{said}");
    assert_eq!(asked(&server, "/look"), 1, "the other call ran");
    for request in ["alone", "own"] {
        identical(&place, request);
    }
}
