//! The window's commands, called in a real window with whatever a page could send: each call is answered, and the
//! window goes on.
//!
//! An input is lines of JSON, each a command and its arguments.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use tests::bench::{Place, program};
use tests::calls::{ask, commands};
use tests::webdriver::Window;

use crate::drive::{Target, fuzz};
use crate::json_text::any_json;

const TARGET: Target = Target {
    name: "window_commands",
    test: "window_commands::any_call_is_answered",
    patience: Duration::from_secs(60),
};

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.any(), sessionStateSchema: z.object({ n: z.any() }), execute: async (input, ctx) => {
  ctx.emit.message("hello");
  await ctx.session.patchState({ n: input });
  return input;
} });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "root", inputSchema: z.any() }).step(say) } } });
"#;

/// Names of arguments and of their fields, and values that mean something.
const WORDS: [&str; 44] = [
    "options",
    "query",
    "dir",
    "file",
    "requestId",
    "instanceId",
    "afterSeq",
    "seq",
    "from",
    "to",
    "limit",
    "offset",
    "flow",
    "action",
    "userId",
    "sessionId",
    "projectId",
    "input",
    "mock",
    "user",
    "session",
    "request",
    "status",
    "search",
    "view",
    "main",
    "go",
    "ada",
    "r",
    "s",
    "r:root:0",
    "r:root/step:say:0",
    "flows/main.ts",
    "flows",
    "..",
    "completed",
    "interrupted",
    "in_progress",
    "all",
    "client",
    "history",
    "trace",
    "n",
    "say",
];

/// Arguments as the page sends them, with any of their values another.
fn sensible(name: &str) -> BoxedStrategy<String> {
    let or_any = |value: String| prop_oneof![3 => Just(value), 2 => any_json(&WORDS)].boxed();
    let object = |fields: &[(&'static str, &str)]| {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| (Just(*name), or_any((*value).to_owned()), 0..8_u8)).collect();
        fields
            .prop_map(|fields| {
                let kept = fields.iter().filter(|(.., chance)| *chance > 0);
                let fields: Vec<String> = kept.map(|(name, value, _)| format!("{name:?}:{value}")).collect();
                format!("{{{}}}", fields.join(","))
            })
            .boxed()
    };
    match name {
        "options" => object(&[
            ("flow", "\"main\""),
            ("action", "\"go\""),
            ("userId", "\"ada\""),
            ("sessionId", "\"s\""),
            ("projectId", "null"),
            ("input", "1"),
            ("mock", "false"),
        ]),
        "query" => object(&[
            ("user", "\"ada\""),
            ("flow", "\"main\""),
            ("session", "\"s\""),
            ("request", "\"r\""),
            ("status", "\"completed\""),
            ("search", "\"a\""),
            ("view", "\"all\""),
            ("limit", "10"),
            ("offset", "0"),
        ]),
        "requestId" => or_any("\"r\"".to_owned()),
        "instanceId" => or_any("\"r:root/step:say:0\"".to_owned()),
        "file" => or_any("\"flows/main.ts\"".to_owned()),
        _ => or_any("3".to_owned()),
    }
}

fn inputs() -> BoxedStrategy<Vec<u8>> {
    // Any folder can be chosen: this test stays in its own.
    let calls: Vec<BoxedStrategy<String>> = commands()
        .into_iter()
        .filter(|(name, _)| name != "choose_workspace")
        .map(|(command, names)| {
            let fields: Vec<_> = names.iter().map(|name| (Just(name.clone()), sensible(name))).collect();
            fields
                .prop_map(move |fields| {
                    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
                    format!("[{command:?},{{{}}}]", fields.join(","))
                })
                .boxed()
        })
        .collect();
    let call = proptest::strategy::Union::new(calls);
    proptest::collection::vec(call, 1..24).prop_map(|calls| calls.join("\n").into_bytes()).boxed()
}

fn attempt((place, window, tried): &mut (Place, Window, u32), input: &[u8]) -> Result<(), String> {
    // What is no JSON cannot be sent.
    let lines = input.split(|byte| *byte == b'\n');
    let calls: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for (call, told) in calls.iter().zip(ask(window, &calls)) {
        if told == "late" || told.contains("panicked") {
            return Err(format!("{}: {told}", call.to_string().chars().take(500).collect::<String>()));
        }
    }
    *tried += 1;
    if tried.is_multiple_of(50) && place.get("check --data")["ok"] != true {
        return Err("check --data finds something".to_owned());
    }
    Ok(())
}

#[test]
fn any_call_is_answered() {
    let begin = || {
        let place = Place::with_flow(FLOW);
        place.get("run main go --user ada --session s --request r --input 1");
        let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
        let window = Window::open(&program(), &["open", &dir, "--data", &data]);
        window.wait_for("[data-testid=\"action-main-go\"]");
        (place, window, 0)
    };
    fuzz(&TARGET, inputs, begin, attempt);
}
