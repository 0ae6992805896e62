//! A mock script: the request ends as the script says, or with an error that names it.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{Mock, Workspace};
use tests::bench::Place;

use crate::drive::{Target, fuzz, seeds};
use crate::edits::{hostile_text, mutated};
use crate::json_text::{any_json, quoted};
use crate::workspaces::{action, finished, look_at, opened};

const TARGET: Target = Target {
    name: "mock_script",
    test: "mock_script::any_script_answers_or_is_refused",
    patience: Duration::from_secs(30),
};

const FLOW: &str = r#"
const add = handler({ name: "add", description: "Adds.", inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }) });
const talk = { model: "tiny", prompt: "p", user: "u", agentType: "primary" };
const chat = generator({ ...talk, name: "chat" });
const tools = generator({ ...talk, name: "tools", tools: [add], loop: { maxIterations: 4 } });
const shape = generator({ ...talk, name: "shape", outputSchema: z.object({ city: z.string() }), repair: { maxAttempts: 2 } });
const calm = (block) => sequencer({ name: `calm ${block.name}`, inputSchema: z.any() }).step(block).rescue([{ when: [Error], block: handler({ name: `not ${block.name}`, execute: () => "rescued" }) }]);
const all = sequencer({ name: "all", inputSchema: z.any() }).step(calm(chat)).step(calm(tools)).step(calm(shape)).step(chat);
export default defineFlow({ kind: "main", actions: { go: { block: all } } });
"#;

const WORDS: [&str; 44] = [
    "$schema",
    "generators",
    "models",
    "chat",
    "tools",
    "shape",
    "tiny",
    "intent/utility",
    "text",
    "reasoning",
    "toolCalls",
    "structuredOutput",
    "usage",
    "error",
    "chunkMs",
    "model",
    "finishReason",
    "sources",
    "id",
    "name",
    "args",
    "providerExecuted",
    "result",
    "message",
    "code",
    "retryable",
    "retryAfterMs",
    "add",
    "a",
    "b",
    "city",
    "promptTokens",
    "completionTokens",
    "stop",
    "tool_calls",
    "length",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1e999",
];

/// A script with replies of known fields and any values.
fn scripts() -> BoxedStrategy<Vec<u8>> {
    let field = |from, to| (proptest::sample::select(&WORDS[from..to]), any_json(&WORDS));
    let object = |fields: Vec<(&str, String)>| {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        format!("{{{}}}", fields.join(","))
    };
    let call = proptest::collection::vec(field(18, 23), 0..3).prop_map(move |fields| {
        let rest = object(fields);
        format!("{{\"name\":\"add\",\"args\":{{\"a\":1,\"b\":2}}{}{}", if rest == "{}" { "" } else { "," }, &rest[1..])
    });
    let reply = prop_oneof![
        2 => proptest::collection::vec(field(8, 18), 0..3).prop_map(object),
        1 => call.prop_map(|call| format!("{{\"toolCalls\":[{call}]}}")),
        1 => any_json(&WORDS).prop_map(|value| format!("{{\"structuredOutput\":{value}}}")),
        1 => hostile_text().prop_map(|text| format!("{{\"text\":{0},\"reasoning\":{0}}}", quoted(&text))),
    ];
    let list = (proptest::sample::select(&WORDS[3..8]), proptest::collection::vec(reply, 0..5))
        .prop_map(|(name, replies)| format!("{name:?}:[{}]", replies.join(",")));
    let lists = move || proptest::collection::vec(list.clone(), 0..4);
    (lists(), lists())
        .prop_map(|(generators, models)| {
            format!("{{\"generators\":{{{}}},\"models\":{{{}}}}}", generators.join(","), models.join(",")).into_bytes()
        })
        .boxed()
}

#[test]
fn any_script_answers_or_is_refused() {
    let inputs = || {
        let good = seeds(&["flows", "tests/flows", "tests/fuzz/corpus/mock_script"], ".json");
        prop_oneof![5 => scripts(), 2 => mutated(good, &WORDS, 5), 1 => any_json(&WORDS).prop_map(String::into_bytes)]
            .boxed()
    };
    let begin = || {
        let place = Place::with_flow(FLOW);
        let workspace = opened(&place);
        workspace.flows().expect("the flow loads");
        (place, workspace)
    };
    fuzz(&TARGET, inputs, begin, |(place, workspace): &mut (Place, Arc<Workspace>), input| {
        place.write("flows/main.mock.json", input);
        let Ok(running) = workspace.run(runner::RunOptions { mock: Mock::Beside, ..action("main", "go") }) else {
            return Ok(());
        };
        let (request, session) = (running.request_id.clone(), running.session_id.clone());
        finished(workspace, running)?;
        look_at(workspace, &request)?;
        workspace.delete_session(&session).map(drop).map_err(|fault| fault.to_string())
    });
}
