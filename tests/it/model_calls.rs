//! What a block asked a model, as `block`, `show` and `requests` say it: where each message came from, what came of the
//! tools, how the answer came, what it took and what it cost.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// An assistant that knows the session, has a tool, and falls back to another model.
pub(crate) const FLOW: &str = r#"
const add = handler({
  name: "add",
  description: "Adds",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }, ctx) => { await ctx.session.incState({ sums: 1 }); return { sum: a + b }; },
});
const helper = generator({
  name: "helper",
  model: ["busy", "gpt-5-mini"],
  agentType: "primary",
  prompt: "You help. <b>Not bold.</b>",
  context: ["Ada is here."],
  history: (_input, ctx) => ctx.session.items.llm(),
  user: (input) => input.question,
  tools: [add],
  maxTokens: 300,
});
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ sums: z.number().default(0) }) },
  actions: {
    ask: {
      userMessage: (input) => input.question,
      block: sequencer({ name: "all", inputSchema: z.object({ question: z.string() }) })
        .step(helper)
        .step(handler({
          name: "keep",
          inputSchema: z.any(),
          execute: async (said, ctx) => { await ctx.session.incState({ sums: 10 }); return said; },
        })),
    },
  },
});
"#;
const USAGE: &str =
    r#""usage": { "promptTokens": 1000, "completionTokens": 100, "totalTokens": 1100, "cacheReadInputTokens": 600 }"#;

pub(crate) fn mock() -> String {
    let busy = r#"{ "error": { "name": "ModelError", "message": "too many requests", "retryable": false } }"#;
    let tool =
        format!(r#"{{ "toolCalls": [{{ "id": "c1", "name": "add", "args": {{ "a": 1, "b": 2 }} }}], {USAGE} }}"#);
    let reply = format!(
        r#"{{ "reasoning": "One and two.", "text": "It is three, of course.", "chunkMs": 30,
              "finishReason": "stop", "model": "gpt-5-mini-2025-08-07", {USAGE} }}"#
    );
    format!(r#"{{ "generators": {{ "helper": [{busy}, {tool}, {busy}, {reply}] }} }}"#)
}
pub(crate) const PRICES: &str =
    r#"{ "prices": { "gpt-5-mini": { "input": 0.25, "cachedInput": 0.025, "output": 2 } } }"#;
/// Of one call: 400 fresh and 600 cached tokens in, 100 out.
const COST: f64 = (400.0 * 0.25 + 600.0 * 0.025 + 100.0 * 2.0) / 1e6;

pub(crate) fn place() -> Place {
    Place::with_flow(FLOW).file("flowglass.json", PRICES).file("mock.json", &mock())
}

pub(crate) fn ask(place: &Place, request: &str, question: &str) {
    let input = json!({ "question": question }).to_string();
    let words = ["run", "main", "ask", "--user", "ada", "--session", "s", "--request", request];
    let answer = place.run(&[&words[..], &["--input", &input, "--mock=mock.json", "--json"]].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
}

fn froms(call: &Value) -> Vec<&str> {
    call["sources"].as_array().into_iter().flatten().filter_map(|source| source["from"].as_str()).collect()
}

#[test]
fn a_call_says_where_each_part_of_its_prompt_came_from() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    ask(&place, "r2", "And once more?");
    let calls = place.get("block r2 root/step:helper")["modelCalls"].clone();
    let calls = calls.as_array().expect("a list");
    assert_eq!(calls.len(), 4, "{calls:#?}");
    // The first answer of the fallback group asked for a tool, the second one made its reply of that.
    let (tool, reply) = (&calls[1], &calls[3]);
    assert_eq!(froms(tool)[..2], ["system", "context"]);
    assert!(froms(tool).contains(&"history"), "{tool:#}");
    let earlier = tool["sources"].as_array().expect("a list").iter().find(|source| source["from"] == "history");
    assert_eq!(earlier.expect("one")["requestId"], "r1");
    let end: Vec<&str> = froms(reply).into_iter().rev().take(2).collect();
    assert_eq!(end, ["tool", "answer"], "{reply:#}");
    let messages = reply["request"]["messages"].as_array().expect("a list").len();
    assert_eq!(froms(reply).len(), messages, "every message has an origin");
    assert_eq!(reply["sources"][messages - 1], json!({ "from": "tool", "seq": tool["seq"], "id": "c1" }));
}

#[test]
fn a_call_says_what_it_took_and_what_came_of_it() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    let calls = place.get("block r1 root/step:helper")["modelCalls"].clone();
    assert_matches(
        "a call for a tool",
        &calls[1],
        &json!({
            "model": "gpt-5-mini",
            "parameters": { "step": 0, "maxTokens": 300 },
            "tokens": { "input": 1000, "output": 100, "cached": 600 },
            "tools": [{ "id": "c1", "name": "add", "args": { "a": 1, "b": 2 }, "result": { "sum": 3 },
                        "path": "root/step:helper/tool:add[0.0]" }],
            "retries": [{ "model": "busy", "error": { "message": "too many requests", "…": 0 }, "…": 0 }],
            "…": 0,
        }),
    );
    let reply = &calls[3];
    assert_matches(
        "a reply",
        reply,
        &json!({
            "model": "gpt-5-mini", "answeredBy": "gpt-5-mini-2025-08-07", "finishReason": "stop", "tools": [],
            "result": { "text": "It is three, of course.", "reasoning": "One and two.", "…": 0 },
            "firstTokenMs": "<number>", "durationMs": "<number>", "…": 0,
        }),
    );
    let cost = reply["cost"].as_f64().expect("it has a price");
    assert!((cost - COST).abs() < 1e-12, "{cost}");
    let pieces = reply["streamed"].as_array().expect("a list");
    let text = |reasoning: bool| {
        let of = pieces.iter().filter(|piece| piece["reasoning"] == reasoning);
        of.filter_map(|piece| piece["text"].as_str()).collect::<String>()
    };
    assert_eq!((text(false).trim(), text(true).trim()), ("It is three, of course.", "One and two."));
    assert!(pieces.len() > 4, "it came in pieces: {pieces:#?}");
    assert!(pieces.windows(2).all(|two| two[0]["ms"].as_i64() <= two[1]["ms"].as_i64()), "{pieces:#?}");
    let text = place.run(&["block", "r1", "root/step:helper"]).stdout;
    for part in [
        "gpt-5-mini (answered by gpt-5-mini-2025-08-07)",
        "1.0k tokens in (600 cached) · 100 out · $0.00032",
        "You help. <b>Not bold.</b>  [prompt]",
        "failed before: ",
        "reply     It is three, of course.",
        "add({\"a\":1,\"b\":2}) → {\"sum\":3}",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_request_sums_up_what_it_came_to() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    let shown = place.get("show r1");
    assert_matches(
        "totals",
        &shown["request"]["totals"],
        &json!({ "blocks": 4, "failed": 0, "modelCalls": 4, "promptTokens": 2000, "completionTokens": 200, "changes": 2,
                 "cost": "<number>", "unpriced": 2 }),
    );
    let cost = shown["request"]["totals"]["cost"].as_f64().expect("a number");
    assert!((cost - 2.0 * COST).abs() < 1e-12, "{cost}");
    assert_eq!(place.get("requests")[0]["totals"], shown["request"]["totals"]);
    let line = "4 blocks · 4 model calls · 2.0k tokens in · 200 out · $0.00063 · 2 writes";
    for command in [["show", "r1"].as_slice(), ["requests"].as_slice()] {
        let text = place.run(command).stdout;
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    // The rows of the tree, each with all below it.
    let rows = place.get("show r1 --tree")["rows"].clone();
    let of = |path: &str| {
        rows.as_array().expect("rows").iter().find(|row| row["path"] == path).expect("it is there").clone()
    };
    assert_eq!((&of("root")["sums"]["promptTokens"], &of("root")["sums"]["changes"]), (&json!(2000), &json!(2)));
    assert_eq!((&of("root")["promptTokens"], &of("root")["changes"]), (&json!(0), &json!(0)));
    assert_eq!(of("root/step:helper")["sums"]["changes"], json!(1));
    assert_eq!(of("root/step:keep")["sums"]["promptTokens"], json!(0));
}

#[test]
fn prices_are_checked() {
    for (prices, said) in [
        (r#"{ "m": { "input": 1 } }"#, "prices.m: missing field `output`"),
        (r#"{ "m": { "input": "1", "output": 2 } }"#, "prices.m.input"),
        (r#"{ "m": { "input": 1, "output": 2, "cached": 1 } }"#, "unknown field `cached`"),
        (r#"{ "m": { "input": -1, "output": 2 } }"#, "prices.m.input must be a number of at least 0, not -1"),
    ] {
        let place = Place::with_flow(FLOW).file("flowglass.json", &format!("{{ \"prices\": {prices} }}"));
        let answer = place.ask("flows");
        assert_eq!(answer.code, Some(2), "{answer}");
        assert!(answer.stderr.contains(said), "{said:?} is not said\n{answer}");
    }
    // Without prices nothing is said of costs.
    let place = place();
    place.write("flowglass.json", "{}");
    ask(&place, "r1", "What is 1 + 2?");
    let totals = place.get("show r1")["request"]["totals"].clone();
    assert_eq!((totals.get("cost"), &totals["unpriced"]), (None, &json!(0)));
    assert_eq!(place.get("block r1 root/step:helper")["modelCalls"][1].get("cost"), None);
}

/// Each call that the script had no reply for counted as one that had taken a reply: after the script was mended the
/// next resume looked for the reply after the new one, and failed again.
#[test]
fn a_request_goes_on_once_its_mock_script_has_the_reply() {
    let place = place().file("mock.json", r#"{ "generators": { "helper": [] } }"#);
    let input = json!({ "question": "What is 1 + 2?" }).to_string();
    let words =
        ["run", "main", "ask", "--user", "ada", "--request", "r", "--input", &input, "--mock=mock.json", "--json"];
    let answer = place.run(&words);
    assert_eq!(answer.code, Some(3), "{answer}");
    let error = &answer.json()["error"];
    assert_eq!(error["message"], "the mock script \"generators.helper\" is used up: it has no reply", "{answer}");
    assert!(error["details"]["mockScript"].as_str().is_some_and(|file| file.ends_with("mock.json")), "{answer}");
    for _ in 0..2 {
        assert_eq!(place.ask("resume r").code, Some(3), "it is still used up");
    }
    let place = place.file("mock.json", r#"{ "generators": { "helper": [{ "text": "Three." }] } }"#);
    let answer = place.ask("resume r");
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(answer.json()["output"], "Three.");
}

/// They were the beginning of their JSON.
#[test]
fn a_person_reads_what_messages_and_tools_said() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    let items = place.run(&["items", "--request", "r1"]).stdout;
    for words in
        ["add({\"a\":1,\"b\":2}) → {\"sum\":3}\n", "  user: What is 1 + 2?\n", "  assistant: It is three, of course.\n"]
    {
        assert!(items.contains(words), "{words:?} is not in\n{items}");
    }
    let block = place.run(&["block", "r1", "root/step:helper"]).stdout;
    for words in
        ["\n  assistant add({\"a\":1,\"b\":2})  [its answer to #", "\n  tool      add → {\"sum\":3}  [tool c1 of #"]
    {
        assert!(block.contains(words), "{words:?} is not in\n{block}");
    }
}

const CACHED: &str = r#"
import { createToolCacheCapability } from "@flow-state-dev/core";
const counted = handler({ name: "counted", cacheable: true, inputSchema: z.object({ words: z.string() }), execute: ({ words }) => words });
const bot = generator({ name: "bot", model: "m", prompt: "Count.", tools: [counted], uses: [createToolCacheCapability()] });
export default defineFlow({ kind: "main", actions: { go: { block: bot } } });
"#;

#[test]
fn a_call_that_a_cache_answered_is_marked_and_a_long_one_is_cut_by_its_columns() {
    let long = "日本語".repeat(40);
    let call = json!({ "toolCalls": [{ "name": "counted", "args": { "words": long } }] });
    let mock = json!({ "generators": { "bot": [call, call, { "text": "done" }] } });
    let place = Place::with_flow(CACHED).file("mock.json", &mock.to_string());
    let ran = place.ask("run main go --user ada --request r --mock=mock.json");
    assert_eq!(ran.code, Some(0), "{ran}");
    let items = place.run(&["items", "--request", "r", "--type", "block_tool_output"]).stdout;
    let lines: Vec<&str> = items.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{items}");
    // 49 letters of two columns, and a mark of one; 120 letters of three bytes.
    let result = format!(" → {}… (360 bytes)", long.chars().take(49).collect::<String>());
    assert!(lines[0].ends_with(&result), "{items}");
    assert!(lines[1].ends_with(&format!("{result} [cached]")), "{items}");
}
