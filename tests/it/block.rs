//! `flowglass block` and `events --path`: one block, by its path.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// A block that fails once, and then asks a model, waits, does something once and writes; another one
/// whose only effect fails.
const FLOW: &str = r#"
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const tries = handler({
  name: "tries", retry: { maxAttempts: 2, delayMs: 1 },
  sessionStateSchema: z.object({ n: z.number().default(0) }),
  execute: async (_input, ctx) => {
    console.log("attempt", ctx.attempt);
    if (ctx.attempt === 0) throw Object.assign(new Error("not yet"), { retryable: true });
    await new Promise((done) => setTimeout(done, 5));
    const made = await ctx.runOnce("made", async () => ({ id: 7 }));
    await ctx.session.incState({ n: 2 });
    return made;
  },
});
const asks = generator({ name: "asks", model: "m", prompt: "Answer." , user: () => "What is it?" });
const fetches = handler({ name: "fetches", execute: async () => { await fetch("http://127.0.0.1:9/").catch(() => 0); return "went on"; } });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "go", inputSchema: z.any() }).step(tries).tap(asks).step(fetches) } } });
"#;

fn place() -> Place {
    let mock = json!({ "generators": { "asks": [{ "text": "an answer" }] } });
    let place = Place::new().file("flows/main.ts", FLOW).file("flows/main.mock.json", &mock.to_string());
    place.get("run main go --user ada --request r --mock --input 1");
    place
}

#[test]
fn a_block_tells_everything_that_it_did() {
    let place = place();
    let tries = place.get("block r root/step:tries");
    assert_matches(
        "the newest attempt",
        &tries,
        &json!({
            "block": { "path": "root/step:tries", "attempt": 1, "status": "completed", "…": 0 },
            "input": 1,
            "output": { "id": 7 },
            "changes": [{ "path": "n", "…": 0 }],
            "logs": [{ "level": "log", "text": "attempt 1", "…": 0 }],
            "effects": [
                { "effect": "sleep", "ordinal": 0, "durationMs": "<number>", "…": 0 },
                { "effect": "once", "ordinal": 0, "result": "<any>", "memoized": false, "…": 0 },
            ],
            "modelCalls": [],
            "…": 0,
        }),
    );
    assert_matches(
        "the first attempt",
        &place.get("block r root/step:tries --attempt 0"),
        &json!({
            "block": { "attempt": 0, "status": "abandoned", "…": 0 },
            "logs": [{ "text": "attempt 0", "…": 0 }],
            "changes": [],
            "effects": [],
            "…": 0,
        }),
    );
    assert_matches(
        "a model's call",
        &place.get("block r root/tap:asks"),
        &json!({
            "modelCalls": [{ "effect": "model", "request": { "model": "m", "…": 0 }, "result": "<any>", "…": 0 }],
            "…": 0,
        }),
    );
    assert_matches(
        "an effect that failed",
        &place.get("block r root/step:fetches"),
        &json!({ "output": "went on", "effects": [{ "effect": "fetch", "error": { "message": "<text>", "…": 0 }, "…": 0 }], "…": 0 }),
    );
    let text = place.run(&["block", "r", "root/step:tries"]).stdout;
    for word in [
        "root/step:tries · handler \"tries\" · attempt 1",
        "Effects",
        "once[0]",
        "State changes",
        "Console",
        "attempt 1",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert!(!text.contains("Model calls"), "{text}");
}

#[test]
fn a_block_that_is_not_there_is_named_beside_those_that_are() {
    let place = place();
    for (line, words) in [
        ("block r root/step:nobody", "has no block at \"root/step:nobody\"; its blocks: root, root/step:tries, "),
        ("block r root/step:tries --attempt 5", "has attempts 0 to 1, not 5"),
        ("block nobody root", "unknown request \"nobody\""),
        ("events r --path root/step:nobody", "has no block at \"root/step:nobody\""),
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(6), "flowglass {line}\n{answer}");
        assert!(answer.stderr.contains(words), "flowglass {line} does not say {words}\n{answer}");
    }
}

#[test]
fn the_events_of_a_path_are_those_of_its_attempts() {
    let place = place();
    let of = |line: &str| -> Vec<Value> { place.get(line).as_array().cloned().unwrap_or_default() };
    let path = "root/step:tries";
    let wanted: Vec<Value> = of("events r").into_iter().filter(|event| event["path"] == path).collect();
    assert!(wanted.len() > 5, "{wanted:?}");
    assert_eq!(of(&format!("events r --path {path}")), wanted);
    let started = of(&format!("events r --path {path} --kind block_started"));
    assert_eq!(started.len(), 2, "{started:?}");
}
