//! `flowglass.json`: the folder opens and its flow runs, or it is refused in words.

use std::time::Duration;

use proptest::prelude::*;
use runner::{Mock, Workspace};
use tests::bench::Place;

use crate::drive::{Target, fuzz, seeds};
use crate::edits::mutated;
use crate::json_text::any_json;
use crate::workspaces::{action, finished, look_at, options};

const TARGET: Target =
    Target { name: "config", test: "config::any_settings_open_or_are_refused", patience: Duration::from_secs(20) };

const FLOW: &str = r#"
const chat = generator({ name: "chat", model: "tiny", prompt: "p", user: "u" });
export default defineFlow({ kind: "main", actions: { go: { block: chat } } });
"#;

const MOCK: &str = r#"{"generators":{"chat":[{"text":"hello sk-123 \u00e9"}]}}"#;

/// Names and values of the settings.
const WORDS: [&str; 40] = [
    "$schema",
    "flows",
    "models",
    "fetch",
    "limits",
    "durability",
    "redact",
    "provider",
    "model",
    "baseUrl",
    "apiKeyEnv",
    "timeoutMs",
    "allow",
    "memoryMb",
    "yieldMs",
    "replyBytes",
    "lineBytes",
    "errorBytes",
    "importBytes",
    "depth",
    "process",
    "power",
    "openai",
    "anthropic",
    "gemini",
    "ollama",
    "tiny",
    "preset/fast",
    "http://127.0.0.1:9/v1",
    "https://name:pw@[::1]:65536/",
    "localhost:8080",
    "*.example.org",
    "*",
    "..",
    "/",
    "flows/main.ts",
    "HOME",
    "PATH",
    "text",
    "a=b",
];

#[test]
fn any_settings_open_or_are_refused() {
    let known = || {
        let words = proptest::sample::select(&WORDS[..20]);
        proptest::collection::vec((words, any_json(&WORDS)), 0..5).prop_map(|fields| {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
            format!("{{{}}}", fields.join(",")).into_bytes()
        })
    };
    let inputs = || {
        let good = seeds(&["flows", "tests/fuzz/corpus/config"], ".json");
        prop_oneof![
            4 => known(),
            4 => mutated(good, &WORDS, 4),
            1 => any_json(&WORDS).prop_map(String::into_bytes),
        ]
        .boxed()
    };
    let begin = || {
        let place = Place::with_flow(FLOW).file("flows/main.mock.json", MOCK);
        // Bundled once; every folder that opens finds the bundle.
        crate::workspaces::opened(&place).flows().expect("the flow loads");
        place
    };
    fuzz(&TARGET, inputs, begin, |place, input| {
        place.write("flowglass.json", input);
        let Ok(workspace) = Workspace::open(options(place.dir())) else { return Ok(()) };
        // What the file names as flows may be nowhere.
        let Ok(_) = workspace.flows() else { return Ok(()) };
        let Ok(running) = workspace.run(runner::RunOptions { mock: Mock::Beside, ..action("main", "go") }) else {
            return Ok(());
        };
        let (request, session) = (running.request_id.clone(), running.session_id.clone());
        finished(&workspace, running)?;
        look_at(&workspace, &request)?;
        workspace.delete_session(&session).map(drop).map_err(|fault| fault.to_string())
    });
}
