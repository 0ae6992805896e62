//! `why`: where a value or a text of a recorded run comes from, over real flows.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::pattern::assert_matches;

const FLOW: &str = r#"
const rename = handler({ name: "rename", execute: (input: any) => ({ subject: input.topic, count: input.n, serial: input.serial }) });
const note = handler({ name: "note", execute: async (input: any, ctx: any) => {
  await ctx.session.patchState({ topic: input.subject });
  await ctx.session.pushState("seen", { title: input.subject });
  await ctx.session.incState({ runs: 1 });
  return input;
} });
const look = handler({ name: "look", description: "Looks", inputSchema: z.object({ q: z.string() }),
  execute: ({ q }) => ({ found: `The register of ${q} has forty entries.` }) });
const draft = generator({
  name: "draft", model: "tiny", tools: [look], agentType: "primary",
  prompt: (input: any, ctx: any) => `Write about ${ctx.session.state.topic} for ${input.reader}.
Use short sentences and no headings.`,
  user: (input: any) => JSON.stringify({ ask: { serial: input.serial, subject: input.subject } }),
});
const sum = handler({ name: "sum", execute: (text: string) => `${text.length} letters in all` });
const first = handler({ name: "first", execute: async (_input, ctx: any) => {
  const old = ctx.session.state.list;
  await new Promise((done) => setTimeout(done, 5));
  await ctx.request.patchState({ owner: "the first of two writers", list: [...old, "first"] });
} });
const second = handler({ name: "second", execute: async (_input, ctx: any) => {
  const old = ctx.session.state.list;
  await new Promise((done) => setTimeout(done, 60));
  await ctx.request.patchState({ owner: "the second of two writers", list: [...old, "second"] });
} });
const flaky = handler({ name: "flaky", retry: { maxAttempts: 2 }, execute: async (input: any, ctx: any) => {
  await ctx.request.patchState({ draft: `a draft of attempt number ${ctx.attempt}` });
  if (ctx.attempt === 0) throw new Error("once more");
  return { same: "a draft of attempt number 0" };
} });
const turn = handler({ name: "turn", execute: (input: any) => ({ n: input.n + 1, text: input.text }) });
const asks = handler({ name: "asks", execute: async (input: any, ctx: any) => {
  const answer = await ctx.suspend({ reason: "human_input" });
  return { answer: answer.words, at: Math.random() };
} });
const remembers = generator({ name: "remembers", model: "tiny", agentType: "primary",
  prompt: (_input, ctx: any) => `The last subject was ${ctx.session.state.topic}.`, history: (_input, ctx: any) => ctx.session.items.llm(),
  user: (input: any) => input.question });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "why",
  session: { stateSchema: z.object({ topic: z.string().default("nothing at all"), seen: z.array(z.any()).default([]), runs: z.number().default(0), list: z.array(z.string()).default([]) }) },
  request: { stateSchema: z.object({ owner: z.string().default(""), list: z.array(z.string()).default([]), draft: z.string().default("") }) },
  actions: {
    write: { block: chain("pipe").step(rename).step(note).map((input: any) => ({ ...input, reader: "the harbour master" })).step(draft).step(sum) },
    race: { block: chain("race").parallel({ first, second }) },
    retry: { block: chain("retries").step(flaky).step(handler({ name: "last", execute: (input: any) => input.same })) },
    loop: { block: chain("loop").doUntil((value: any) => value.n >= 3, turn) },
    short: { block: chain("short").step(handler({ name: "same", execute: (n: number) => n })).step(handler({ name: "next", execute: (n: number) => n + 1 })) },
    ask: { block: chain("wait").step(asks).step(handler({ name: "after", execute: (input: any) => input })) },
    remember: { userMessage: (input: any) => input.question, block: remembers },
  },
});
"#;
const MOCK: &str = r#"{ "generators": {
  "draft": [{ "toolCalls": [{ "id": "c1", "name": "look", "args": { "q": "the old harbour" } }] }, { "text": "Forty entries, all of them short." }],
  "remembers": [{ "text": "It was about octopuses and squid." }, { "text": "As I said before." }]
} }"#;

fn place() -> Place {
    Place::with_flow(FLOW).file("flows/main.mock.json", MOCK)
}

fn run(place: &Place, action: &str, request: &str, input: &Value) -> Answer {
    let words = ["run", "why", action, "--user", "ada", "--session", "s", "--request", request, "--mock", "--json"];
    place.run(&[&words[..], &["--input", &input.to_string()]].concat())
}

fn written(place: &Place) {
    let input = json!({ "topic": "octopuses and squid", "n": 3, "serial": 12_345_678 });
    let answer = run(place, "write", "r1", &input);
    assert_eq!(answer.code, Some(0), "{answer}");
}

#[track_caller]
fn why(place: &Place, request: &str, at: &str, value: &str) -> Value {
    let answer = place.run(&["why", request, "--at", at, "--value", value, "--json"]);
    assert_eq!(answer.code, Some(0), "{at} {value}\n{answer}");
    answer.json()
}

fn why_text(place: &Place, request: &str, at: &str, text: &str) -> Value {
    let answer = place.run(&["why", request, "--at", at, "--text", text, "--json"]);
    assert_eq!(answer.code, Some(0), "{at} {text}\n{answer}");
    answer.json()
}

/// Each edge as `kind depth place->place`, where a place is what, whose and which part.
fn edges(view: &Value) -> Vec<String> {
    let place = |spot: &Value| {
        let word = |name: &str| spot[name].as_str().unwrap_or_default();
        let request = if spot["requestId"] == view["requestId"] { "" } else { word("requestId") };
        format!("{request}{} {}{}{}", word("where"), word("path"), word("scope"), word("pointer"))
    };
    let line = |edge: &Value| {
        let of = edge.get("of").map(|of| format!(" <- {}", place(of))).unwrap_or_default();
        let kind = edge["kind"].as_str().unwrap_or_default();
        let sure = if edge["proven"] == false && kind == "copied" { "?" } else { "" };
        format!("{} {kind}{sure} {}{of}", edge["depth"], place(&edge["in"]))
    };
    view["edges"].as_array().into_iter().flatten().map(line).collect()
}

#[test]
fn a_value_is_followed_through_steps_that_rename_it() {
    let place = place();
    written(&place);
    let view = why(&place, "r1", "root/step:note", "/subject");
    assert_eq!(
        edges(&view),
        [
            "0 copied input root/step:note/subject <- output root/step:rename/subject",
            "1 copied? output root/step:rename/subject <- input root/step:rename/topic",
            "2 copied input root/step:rename/topic <- request_input /topic",
            "3 recorded request_input /topic",
        ],
        "{view:#}"
    );
    assert_eq!(view["value"], "octopuses and squid");
    assert_eq!((&view["at"], &view["truncated"]), (&json!("root/step:note#0"), &json!(false)));
    let answer = view["answer"].as_str().expect("a sentence");
    assert!(answer.starts_with("It is the output of root/step:rename (/subject, event "), "{answer}");
    assert!(answer.ends_with("It entered the log as the input of the request (/topic, event 1)."), "{answer}");
    // A long number is known by its digits.
    let number = why(&place, "r1", "root/step:note", "/serial");
    assert_eq!(edges(&number).last().map(String::as_str), Some("3 recorded request_input /serial"), "{number:#}");
    // A short one is not.
    let short = why(&place, "r1", "root/step:note", "/count");
    assert_eq!(edges(&short)[1], "1 computed output root/step:rename/count", "{short:#}");
    assert!(short["answer"].as_str().is_some_and(|answer| answer.contains("It is short")), "{short:#}");
}

#[test]
fn a_prompt_is_state_input_and_text_of_the_code() {
    let place = place();
    written(&place);
    let view = why(&place, "r1", "root/step:draft", "prompt#1:/messages/0/content");
    let text = view["value"].as_str().expect("the prompt");
    let spans: Vec<&Value> = view["edges"].as_array().into_iter().flatten().filter(|edge| edge["depth"] == 0).collect();
    let shown: Vec<&str> = spans
        .iter()
        .map(|edge| {
            let at = |name: &str| edge["in"][name].as_u64().map_or(0, |at| usize::try_from(at).unwrap_or(0));
            &text[at("from")..at("to")]
        })
        .collect();
    assert_eq!(
        shown,
        [
            "octopuses and squid",
            "the harbour master",
            "Write about ",
            " for ",
            ".\nUse short sentences and no headings."
        ],
        "{view:#}"
    );
    assert_matches(
        "state",
        spans[0],
        &json!({ "kind": "copied", "depth": 0, "proven": false, "text": "octopuses and squid", "others": "<number>", "ties": "<any>",
            "in": { "where": "prompt", "from": 12, "to": 31, "pointer": "/messages/0/content", "…": 0 },
            "of": { "where": "input", "path": "root/step:draft", "pointer": "/subject", "from": 0, "to": 19, "…": 0 } }),
    );
    assert_matches("input", &spans[1]["of"], &json!({ "where": "input", "pointer": "/reader", "…": 0 }));
    let code = spans[4];
    assert_eq!((&code["kind"], &code["operation"]), (&json!("computed"), &json!("text_of_code")), "{code:#}");
    let line = FLOW.lines().position(|line| line.starts_with("Use short")).map(|at| at + 3);
    assert_eq!((&code["by"]["file"], &code["by"]["line"]), (&json!("flows/main.ts"), &json!(line)));
    // A selected span has the same cause as the whole.
    let part = why_text(&place, "r1", "root/step:draft", "squid for");
    let shown: Vec<&Value> = part["edges"].as_array().into_iter().flatten().map(|edge| &edge["text"]).collect();
    assert!(shown.contains(&&json!("squid")) && part["asked"]["in"] == "prompt", "{part:#}");
    // A value that was put into a prompt as JSON.
    let user = why_text(&place, "r1", "root/step:draft", "12345678");
    assert!(edges(&user).iter().any(|edge| edge.starts_with("0 copied?")), "{user:#}");
}

#[test]
fn what_a_tool_and_a_model_gave_is_told() {
    let place = place();
    written(&place);
    let tool = why_text(&place, "r1", "root/step:draft", "register of the old harbour has");
    assert_eq!(
        edges(&tool)[0],
        "0 copied? prompt root/step:draft/messages/4/content/0/output/value/found <- output root/step:draft/tool:look[0.0]/found",
        "{tool:#}"
    );
    let output = why(&place, "r1", "root/step:draft", "output:");
    assert_eq!(
        edges(&output),
        [
            "0 copied? output root/step:draft <- model_answer root/step:draft/text",
            "1 recorded model_answer root/step:draft/text"
        ],
        "{output:#}"
    );
    let answer = why(&place, "r1", "root/step:draft", "prompt#2:/messages/3/content");
    assert_eq!(edges(&answer)[0], "0 copied prompt root/step:draft/messages/3/content <- model_answer root/step:draft");
    let computed = why(&place, "r1", "root/step:sum", "output:");
    assert_eq!(edges(&computed), ["0 computed output root/step:sum"]);
    let edge = &computed["edges"][0];
    let line = FLOW.lines().position(|line| line.starts_with("const sum")).map(|at| at + 3);
    assert_eq!(edge["by"], json!({ "path": "root/step:sum", "file": "flows/main.ts", "line": line }));
    assert_eq!(edge["inputs"][0]["where"], "input");
}

#[test]
fn state_has_its_writer_in_this_request_or_an_earlier_one() {
    let place = place();
    written(&place);
    let here = why(&place, "r1", "root/step:draft", "session.topic");
    assert_eq!(
        edges(&here)[..2],
        [
            "0 written state session/topic <- state root/step:notesession/topic",
            "1 copied? state root/step:notesession/topic <- input root/step:note/subject",
        ],
        "{here:#}"
    );
    assert_matches(
        "write",
        &here["edges"][0],
        &json!({ "operation": "patch", "old": "nothing at all", "new": "octopuses and squid", "by": { "path": "root/step:note", "…": 0 }, "…": 0 }),
    );
    assert!(here["answer"].as_str().is_some_and(|answer| answer.starts_with("root/step:note (flows/main.ts:")));
    for place_of in ["state:session/seen/0/title", "session.seen[0].title"] {
        let pushed = why(&place, "r1", "root/step:draft", place_of);
        assert_eq!(pushed["edges"][0]["operation"], "push", "{pushed:#}");
        assert_eq!(edges(&pushed).last().map(String::as_str), Some("5 recorded request_input /topic"), "{pushed:#}");
    }
    let asked = run(&place, "remember", "r2", &json!({ "question": "What was it about, please?" }));
    assert_eq!(asked.code, Some(0), "{asked}");
    let earlier = why_text(&place, "r2", "root", "octopuses and squid");
    assert_eq!(
        edges(&earlier)[..2],
        [
            "0 copied? prompt root/messages/0/content <- state session/topic",
            "1 written state session/topic <- r1state root/step:notesession/topic",
        ],
        "{earlier:#}"
    );
    assert_eq!(edges(&earlier).last().map(String::as_str), Some("6 recorded r1request_input /topic"), "{earlier:#}");
    let state = why(&place, "r2", "root", "session.topic");
    assert_eq!(edges(&state)[0], "0 written state session/topic <- r1state root/step:notesession/topic");
    // What was said in an earlier request is known by the log.
    assert_eq!(run(&place, "remember", "r3", &json!({ "question": "And what did I ask?" })).code, Some(0));
    let said = why_text(&place, "r3", "root", "What was it about, please?");
    assert_eq!(edges(&said)[0].split(" <- ").nth(1), Some("r2item root/content/0/text"), "{said:#}");
    assert_eq!(said["edges"][0]["proven"], true);
    // The default of a field that nobody wrote.
    let unwritten = why(&place, "r1", "root", "session.list");
    assert_eq!(unwritten["edges"][0]["kind"], "written", "{unwritten:#}");
}

#[test]
fn of_parallel_writers_the_last_one_is_the_cause_and_the_others_are_counted() {
    let place = place();
    assert_eq!(run(&place, "race", "p", &json!(null)).code, Some(0));
    let view = why(&place, "p", "root", "request.owner");
    let edge = &view["edges"][0];
    assert_eq!(edge["by"]["path"], "root/parallel/second", "{view:#}");
    assert_eq!((&edge["others"], &edge["old"]), (&json!(1), &json!("the first of two writers")), "{view:#}");
    let lost = why(&place, "p", "root", "request.list");
    assert_eq!((&lost["value"], &lost["edges"][0]["old"]), (&json!(["second"]), &json!(["first"])), "{lost:#}");
}

#[test]
fn an_attempt_that_was_given_up_is_no_cause_unless_it_is_asked_for() {
    let place = place();
    assert_eq!(run(&place, "retry", "t", &json!(null)).code, Some(0));
    let view = why(&place, "t", "root/step:flaky", "output:/same");
    // The first attempt had the same text.
    let spots = view["edges"].as_array().into_iter().flatten().flat_map(|edge| [&edge["in"], &edge["of"]]);
    assert!(spots.filter(|spot| spot["path"] == "root/step:flaky").all(|spot| spot["attempt"] == 1), "{view:#}");
    let newest = why(&place, "t", "root", "request.draft");
    assert_eq!(newest["value"], "a draft of attempt number 1");
    assert_eq!(
        edges(&newest),
        [
            "0 written state request/draft <- state root/step:flakyrequest/draft",
            "1 computed state root/step:flakyrequest/draft"
        ],
        "{newest:#}"
    );
    let writes = place.get("events t --kind state_changed");
    let first = writes[0]["seq"].as_u64().expect("a number").to_string();
    let given_up = why(&place, "t", &first, "/draft");
    assert_eq!(
        (&given_up["at"], &given_up["value"]),
        (&json!("root/step:flaky#0"), &json!("a draft of attempt number 0"))
    );
    assert_eq!(given_up["edges"][0]["operation"], "patch");
}

#[test]
fn loops_short_values_answers_and_forks() {
    let place = place();
    assert_eq!(run(&place, "loop", "l", &json!({ "n": 0, "text": "the same words in every turn" })).code, Some(0));
    let turns = why(&place, "l", "root", "output:/text");
    let kinds = edges(&turns);
    assert_eq!(kinds.last().map(String::as_str), Some("7 recorded request_input /text"), "{kinds:#?}");
    let cut = place.get("why l --at root --value output:/text --limit 3");
    assert_eq!((cut["edges"].as_array().map(Vec::len), &cut["truncated"]), (Some(3), &json!(true)));

    assert_eq!(run(&place, "short", "n", &json!(3)).code, Some(0));
    let short = why(&place, "n", "root/step:next", "");
    assert_eq!(edges(&short)[0], "0 copied? input root/step:next <- output root/step:same", "{short:#}");
    assert_eq!(short["edges"][0]["operation"], "step_before");

    assert_eq!(run(&place, "ask", "q", &json!(null)).code, Some(4));
    let running = place.run(&["why", "q", "--at", "root/step:asks", "--value", "output:", "--json"]);
    assert_eq!(running.code, Some(2), "{running}");
    assert!(running.stderr.contains("has no output yet"), "{running}");
    let submitted = place.run(&["resume", "q", "--submit", r#"{"words":"words of a person"}"#, "--json"]);
    assert_eq!(submitted.code, Some(0), "{submitted}");
    let person = why(&place, "q", "root/step:after", "/answer");
    assert_eq!(edges(&person).last().map(String::as_str), Some("2 recorded person root/step:asks/words"), "{person:#}");
    let chance = why(&place, "q", "root/step:after", "/at");
    assert!(edges(&chance).last().is_some_and(|edge| edge.contains("recorded reply")), "{chance:#}");

    written(&place);
    let fork = place.get("fork r1 --at root/step:note --mock");
    let fork = fork["requestId"].as_str().expect("an id");
    let shared = why(&place, fork, "root/step:note", "/subject");
    assert_eq!(edges(&shared).last().map(String::as_str), Some("3 recorded request_input /topic"), "{shared:#}");
    let text = place.run(&["why", fork, "--at", "root/step:draft", "--text", "octopuses and squid"]);
    assert!(text.stdout.contains("go on: flowglass "), "{text}");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let place = place();
    written(&place);
    let at = |at: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [&["why", "r1", "--at", at][..], more].concat()
    };
    let cases: Vec<(Vec<&str>, i32, &str)> = vec![
        (vec!["why", "nobody", "--at", "root", "--value", ""], 6, "unknown request"),
        (at("root/step:nots", &["--value", ""]), 6, "root/step:note"),
        (at("root#7", &["--value", ""]), 6, "attempts 0 to 0"),
        (at("9999", &["--value", ""]), 6, "has the events 1 to"),
        (at("", &["--value", ""]), 2, "PATH#ATTEMPT"),
        (at("root#0+3", &["--value", ""]), 2, "PATH#ATTEMPT"),
        (at("root/step:note", &["--value", "/subject/deep"]), 2, "/subject is a text of 19 bytes"),
        (at("root/step:note", &["--value", "/nothing"]), 2, "an object with subject, count, serial"),
        (at("root/step:note", &["--value", "subject"]), 2, "JSON pointer"),
        (at("root/step:note", &["--value", "input:subject"]), 2, "JSON pointer"),
        (at("root/step:note", &["--value", "prompt:"]), 2, "asked no model"),
        (at("root/step:draft", &["--value", "prompt#3:"]), 2, "calls 1 to 2"),
        (at("root/step:draft", &["--value", "prompt#0:"]), 2, "counted from 1"),
        (at("root", &["--value", "session.nothing"]), 2, "is not there"),
        (at("root", &["--value", "session.seen[9]"]), 2, "/seen is a list of 1 entry"),
        (at("root", &["--value", "block[root/step:note].x"]), 2, "has no such state"),
        (at("root/step:note", &[]), 2, "--value"),
        (at("root/step:note", &["--value", "", "--text", "x"]), 2, "cannot be used"),
        (at("root/step:note", &["--text", ""]), 2, "is empty"),
        (at("root/step:note", &["--text", "nowhere to be found"]), 6, "looked in: input, output"),
        (at("root/step:note", &["--value", "", "--limit", "0"]), 2, "limit of 0"),
    ];
    for (words, code, told) in cases {
        let answer = place.run(&[&words[..], &["--json"]].concat());
        assert_eq!(answer.code, Some(code), "{words:?}\n{answer}");
        assert!(answer.stderr.contains(told), "{words:?}\n{answer}");
        assert!(answer.json()["error"]["message"].is_string(), "{words:?}");
    }
    let huge = "x".repeat(100_000);
    let answer = place.run(&["why", "r1", "--at", "root", "--text", &huge]);
    assert_eq!(answer.code, Some(6));
    assert!(answer.stderr.len() < 500, "{}", answer.stderr.len());
}

/// What is redacted in the log is redacted here.
#[test]
fn secrets_stay_redacted() {
    let place = Place::with_flow(
        r#"export default defineFlow({ kind: "main", actions: { go: { block: generator({ name: "says", model: "tiny",
             prompt: () => `Use ${process.env.TOKEN} for it.` }) } } });"#,
    )
    .file("flows/main.mock.json", r#"{ "generators": { "says": [{ "text": "I used it." }] } }"#)
    .file("flowglass.json", r#"{ "env": { "TOKEN": { "valueEnv": "WHY_TOKEN" } } }"#)
    .variable("WHY_TOKEN", "a-secret-of-the-environment");
    place.get("run main go --user ada --request r --mock");
    let view = place.run(&["why", "r", "--at", "root", "--value", "prompt:/messages/0/content", "--json"]);
    assert_eq!(view.json()["value"], "Use [redacted] for it.", "{view}");
    assert!(!view.stdout.contains("a-secret-of-the-environment"), "{view}");
    let secret = place.run(&["why", "r", "--at", "root", "--text", "a-secret-of-the-environment"]);
    assert_eq!(secret.code, Some(6), "{secret}");
}
