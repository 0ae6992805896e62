//! Everything a person can get wrong: the answer says what, where and what would be right.
//!
//! Bad input never panics, has its own exit code, is a document on standard output with `--json`,
//! and leaves the database as it was.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::pattern::assert_matches;

/// A flow that works.
const GOOD: &str = r#"
export default defineFlow({
  kind: "good",
  actions: {
    go: {
      inputSchema: z.object({ by: z.number().min(1), inner: z.object({ name: z.string() }).optional() }),
      block: handler({ name: "go", execute: async (input: { by: number }) => input.by }),
    },
  },
});
"#;

/// One action for each way in which a handler can misbehave.
const BAD_HANDLERS: &str = r#"
const action = (name, execute) => ({ [name]: { block: handler({ name, execute }) } });
const steps = { block: sequencer({ name: "steps" }).step(handler({ name: "first", execute: async () => 1 })).step(
  handler({ name: "endless", execute: async () => { for (;;) {} } })) };
export default defineFlow({
  kind: "bad",
  actions: {
    ...action("string", async () => { throw "just a text"; }),
    ...action("nothing", async () => { throw undefined; }),
    ...action("function", async () => ({ callback: () => 1 })),
    ...action("not-a-number", async () => ({ a: [NaN] })),
    ...action("cycle", async () => { const a = {}; a.self = a; return a; }),
    ...action("huge", async () => "x".repeat(50 * 1024 * 1024)),
    ...action("deep", async () => { let a = 1; for (let n = 0; n < 20000; n++) a = [a]; return a; }),
    ...action("recursion", async () => { const f = (n) => 1 + f(n + 1); return f(0); }),
    ...action("microtasks", async () => { for (;;) await null; }),
    ...action("memory", async () => { const all = []; for (;;) all.push(new Array(1000).fill(1)); }),
    ...action("fetch", async () => { await fetch("https://api.example.com/x"); }),
    endless: steps,
  },
});
"#;

fn good() -> Place {
    Place::with_flow(GOOD)
}

/// What the answer must be.
struct Refusal {
    code: i32,
    name: &'static str,
    /// Each of these must be said.
    says: &'static [&'static str],
}

/// A refused command: its code, its words and its document; and nothing in the database.
#[track_caller]
fn check(place: &Place, line: &str, refusal: Refusal) {
    let words: Vec<&str> = line.split(' ').map(|word| if word == "''" { "" } else { word }).collect();
    check_words(place, &words, refusal);
}

#[track_caller]
fn check_words(place: &Place, words: &[&str], Refusal { code, name, says }: Refusal) {
    let before = rows(place);
    let text = place.run(words);
    let answer = place.run(&[words, &["--json"]].concat());
    for answer in [&text, &answer] {
        assert_eq!(answer.code, Some(code), "flowglass {words:?}\n{answer}");
        check_speech(answer, says);
    }
    assert_eq!(text.stdout, "", "flowglass {words:?} prints no result\n{text}");
    let document = answer.json();
    let pattern = json!({ "error": { "name": name, "code": "<text>", "message": "<text>", "…": 0 } });
    assert_matches(&format!("flowglass {words:?}"), &document, &pattern);
    let message = document["error"]["message"].as_str().unwrap_or_default();
    assert!(says.iter().all(|word| message.contains(word)), "{message:?} does not say all of {says:?}");
    assert_eq!(rows(place), before, "flowglass {words:?} wrote something");
}

#[track_caller]
fn check_speech(answer: &Answer, says: &[&str]) {
    for word in says {
        assert!(answer.stderr.contains(word), "standard error does not say {word:?}\n{answer}");
    }
    for ours in ["stack backtrace", ".rs:", "RUST_BACKTRACE", "__flowglass"] {
        assert!(!answer.stderr.contains(ours), "standard error shows our insides ({ours})\n{answer}");
    }
}

/// What the database holds; zeros when there is none.
fn rows(place: &Place) -> Value {
    if !place.database().exists() {
        return json!([0, 0, 0]);
    }
    match place.ask("stats") {
        answer if answer.code == Some(0) => {
            let stats = answer.json();
            json!([stats["sessions"], stats["requests"], stats["events"]])
        }
        // The workspace itself is refused; its database is looked at where that matters.
        _ => Value::Null,
    }
}

/// A flow file that does not load: where, and why.
#[track_caller]
fn check_load(source: &str, line: u32, says: &'static [&'static str]) {
    let place = good().file("flows/broken.ts", source);
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(1), "{answer}");
    let document = answer.json();
    assert_matches(
        "check",
        &document,
        &json!([
            {
                "kind": "broken", "file": "flows/broken.ts", "actions": [], "hasMock": false,
                "error": { "message": "<text>", "file": "flows/broken.ts", "line": line, "column": "<number>" },
            },
            { "kind": "good", "…": 0 },
        ]),
    );
    let message = document[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(says.iter().all(|word| message.contains(word)), "{message:?} does not say all of {says:?}");
    check(&place, "run broken go --user ada", Refusal { code: 1, name: "LoadError", says });
    // One broken file takes nothing from the others.
    place.get("run good go --user ada --input {\"by\":1}");
}

/// A handler that misbehaves: the request fails, and everything goes on working.
#[track_caller]
fn check_handler(action: &str, name: &str, path: &str, says: &[&str]) {
    let place =
        Place::with_flow(BAD_HANDLERS).file("flowglass.json", r#"{ "limits": { "yieldMs": 1500, "memoryMb": 96 } }"#);
    let answer = place.ask(&format!("run bad {action} --user ada --request r"));
    assert_eq!(answer.code, Some(3), "{action}\n{answer}");
    assert_matches(
        action,
        &answer.json(),
        &json!({
            "requestId": "r", "sessionId": "<text>", "status": "failed", "durationMs": "<number>",
            "error": { "name": name, "message": "<text>", "path": path, "…": 0 },
        }),
    );
    check_speech(&answer, says);
    assert_eq!(place.get("show r")["request"]["status"], "failed");
    place.get("flows");
}

#[test]
fn a_flow_that_is_not_exported_is_no_silence() {
    let define = "import { defineFlow, handler } from '@flow-state-dev/core';\nconst block = handler({ name: 'b', execute: () => 1 });\n";
    let lost = |source: &str| format!("{define}{source}");
    let says = &["flow \"lost\" is not exported", "export default defineFlow({ … })"];
    check_load(&lost("const flow = defineFlow({ kind: 'lost', actions: { go: { block } } });\n"), 3, says);
    check_load(&lost("\ndefineFlow({ kind: 'lost', actions: {} });\nexport const x = 1;\n"), 4, says);
    check_load(
        &lost("export default { kind: 'lost', actions: { go: { block } } };\n"),
        3,
        &["the definition of flow \"lost\"", "export default defineFlow({ kind: \"lost\", actions: { … } })"],
    );
}

#[test]
fn a_file_for_others_to_import_defines_no_flow() {
    let place = good()
        .file("flows/parts.ts", "import { handler } from '@flow-state-dev/core';\nexport default handler({ name: 'b', execute: () => 1 });\n")
        .file("flows/table.ts", "import flow from './main.ts';\nexport const kinds = [flow.kind];\nexport default { kind: 'tea' };\n");
    let found = place.get("check");
    assert_matches("check", &found, &json!([{ "kind": "good", "…": 0 }]));
}

#[test]
fn what_only_reads_makes_no_database() {
    let place = good();
    let missing = "data/mistyped.db";
    for line in [
        "requests",
        "sessions",
        "flows",
        "stats",
        "show r",
        "resume r",
        "delete --session s",
        "export --session s --out x",
    ] {
        let answer = place.ask(&format!("{line} --data {missing}"));
        assert_eq!(answer.code, Some(6), "{line}\n{answer}");
        assert!(answer.stderr.contains(missing), "{line}\n{answer}");
        assert!(!place.dir().join("data").exists(), "{line} left something behind");
    }
    // A workspace that nothing was ever run in is no mistake, and a run may begin a database.
    place.get("requests");
    place.get(&format!("run good go --user ada --input {{\"by\":1}} --data {missing}"));
    assert_eq!(place.get(&format!("requests --data {missing}")).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_syntax_error_is_shown_at_its_place() {
    check_load("const fine = 1;\nconst a = ;\n", 2, &["Unexpected token"]);
}

#[test]
fn a_throw_while_loading_is_shown_at_its_place() {
    check_load("const fine = 1;\n\nthrow new Error(\"not today\");\n", 3, &["not today"]);
}

#[test]
fn an_unknown_package_says_how_to_install_it() {
    check_load("import x from \"no-such-package\";\nexport default x;\n", 1, &["no-such-package", "npm install"]);
}

#[test]
fn an_unknown_file_is_named() {
    check_load("import x from \"./gone.ts\";\nexport default x;\n", 1, &["./gone.ts"]);
}

#[test]
fn a_node_built_in_is_refused_with_another_way() {
    for import in [
        "import fs from \"node:fs\";\nexport default fs;\n",
        "import { spawn } from \"child_process\";\nexport default spawn;\n",
    ] {
        check_load(import, 1, &["Node.js built-in that a flow does not have"]);
    }
}

#[test]
fn an_action_without_a_block_says_what_is_missing() {
    let source = "import { defineFlow } from \"@flow-state-dev/core\";\nexport default defineFlow({ kind: \"x\", actions: { go: {} } });\n";
    check_load(source, 2, &["action \"go\"", "needs a block"]);
}

#[test]
fn an_endless_loop_while_loading_ends() {
    let place =
        Place::new().file("flowglass.json", r#"{ "limits": { "yieldMs": 200 } }"#).file("flows/a.ts", "for (;;) {}\n");
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(1), "{answer}");
    let document = answer.json();
    assert!(document[0]["error"]["message"].as_str().is_some_and(|message| message.contains("yieldMs")), "{answer}");
}

#[test]
fn declarations_that_cannot_both_hold_name_field_blocks_and_types() {
    let block = |name: &str, kind: &str| {
        format!("handler({{ name: '{name}', sessionStateSchema: z.object({{ n: z.{kind}() }}), execute: () => 1 }})")
    };
    let flow = |kind: &str| {
        format!(
            "import {{ defineFlow, handler, sequencer }} from '@flow-state-dev/core';\nimport {{ z }} from 'zod';\n\
             const chain = sequencer({{ name: 's' }}).tap({}).tap({});\n\
             export default defineFlow({{ kind: 'c', actions: {{ run: {{ block: chain }} }} }});\n",
            block("one", "number"),
            block("two", kind)
        )
    };
    let refused = Place::new().file("c.ts", &flow("string")).ask("check");
    assert_eq!(refused.code, Some(1), "{refused}");
    let message = refused.json()[0]["error"]["message"].as_str().unwrap_or_default().to_owned();
    for part in ["SchemaConflictError", "session", "\"n\"", "number by block \"one\"", "string by block \"two\""] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(Place::new().file("c.ts", &flow("number")).ask("check").code, Some(0), "the same type twice is fine");
}

#[test]
fn the_second_flow_of_a_kind_is_refused_and_the_first_runs() {
    let imports = "import { defineFlow, FlowError, generator, handler, sequencer } from \"@flow-state-dev/core\";\nimport { z } from \"zod\";\n";
    let place = good().file("flows/second.ts", &format!("{imports}{GOOD}"));
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(1), "{answer}");
    assert_matches(
        "check",
        &answer.json(),
        &json!([
            { "kind": "good", "file": "flows/main.ts", "actions": "<any>", "hasMock": false },
            { "kind": "good", "file": "flows/second.ts", "error": { "message": "<text>", "file": "flows/second.ts", "…": 0 }, "…": 0 },
        ]),
    );
    let message = answer.json()[1]["error"]["message"].clone();
    assert!(message.as_str().is_some_and(|m| m.contains("good") && m.contains("flows/main.ts")), "{message}");
    place.get("run good go --user ada --input {\"by\":1}");
}

#[test]
fn an_unknown_flow_or_action_is_wrong_usage_that_names_what_there_is() {
    let place = good();
    let unknown = |says| Refusal { code: 2, name: "NotFoundError", says };
    check(&place, "run goood go --user ada", unknown(&["goood", "there are: good"]));
    check(&place, "run good stop --user ada", unknown(&["stop", "good", "there are: go"]));
    check(&Place::new(), "run good go --user ada", unknown(&["good", "there are none"]));
}

#[test]
fn input_that_is_not_json_says_where() {
    let place = good().file("broken.json", "{ \"by\": }");
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    check(&place, "run good go --user ada --input {by:1}", invalid(&["--input", "not JSON", "line 1"]));
    check(&place, "run good go --user ada --input hello", invalid(&["--input", "not JSON", "quotes"]));
    check(&place, "run good go --user ada --input ''", invalid(&["--input", "not JSON"]));
    check(
        &place,
        "run good go --user ada --input @broken.json",
        invalid(&["broken.json", "not JSON", "line 1 column 9"]),
    );
    check(&place, "run good go --user ada --input @gone.json", invalid(&["gone.json", "No such file"]));
    check(&place, "run good go --user ada --input -", invalid(&["standard input", "not JSON"]));
    assert!(!place.database().exists(), "wrong usage makes no database");
}

#[test]
fn input_that_breaks_the_schema_names_the_field() {
    let place = good();
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    check(
        &place,
        "run good go --user ada --input {\"by\":0}",
        invalid(&["action \"go\"", "by", "greater than or equal to 1"]),
    );
    check(
        &place,
        "run good go --user ada --input {\"by\":\"x\"}",
        invalid(&["by", "Expected number, received string"]),
    );
    check(&place, "run good go --user ada", invalid(&["Required", "--input"]));
    let answer = place.ask("run good go --user ada --input {\"inner\":{\"name\":7}}");
    assert_matches(
        "two mistakes",
        &answer.json()["error"]["details"],
        &json!([
            { "path": "by", "message": "Required" },
            { "path": "inner.name", "message": "Expected string, received number" },
        ]),
    );
}

#[test]
fn a_missing_user_is_asked_for() {
    let place = good();
    check(&place, "run good go --input {\"by\":1}", Refusal { code: 2, name: "UsageError", says: &["--user"] });
    check(
        &place,
        "run good go --user '' --input {\"by\":1}",
        Refusal { code: 2, name: "ValidationError", says: &["--user"] },
    );
}

#[test]
fn what_the_command_line_does_not_know_is_named() {
    let place = good();
    let usage = |says| Refusal { code: 2, name: "UsageError", says };
    check(&place, "frobnicate", usage(&["frobnicate"]));
    check(&place, "sessions --bogus", usage(&["--bogus"]));
    check(&place, "sessions --limit many", usage(&["many", "--limit"]));
    check(&place, "sessions --limit -1", usage(&["-1"]));
    check(&place, "requests --status done", usage(&["done", "completed", "interrupted"]));
    check(&place, "sessions --order oldest", usage(&["oldest", "changed", "created"]));
    check(&place, "items --request r --view secret", usage(&["secret", "history", "trace"]));
    check(&place, "items", usage(&["--session"]));
    check(&place, "state", usage(&["--session", "--user", "--project", "--request"]));
    check(&place, "state --session s --user u", usage(&["--session", "--user"]));
    check(&place, "state --session s --at 3", usage(&["--session", "--at"]));
    check(&place, "state --request r --at step:x", usage(&["step:x", "root"]));
    check(&place, "flows --durability none", usage(&["none", "process", "power"]));
    check(&place, "show", usage(&["<REQUEST>"]));
    assert!(!place.database().exists(), "wrong usage makes no database");
}

#[test]
fn a_workspace_that_is_not_there_is_named_and_not_made() {
    let place = good();
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    check(&place, "--dir gone flows", invalid(&["gone", "No such file"]));
    check(&place, "--dir flows/main.ts flows", invalid(&["flows/main.ts", "not a folder"]));
    assert!(!place.dir().join("gone").exists());
}

#[test]
fn settings_that_are_wrong_are_named() {
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    for (settings, says) in [
        (r#"{ "flowz": [] }"#, &["flowglass.json", "flowz", "flows"][..]),
        (r#"{ "limits": { "memory": 1 } }"#, &["flowglass.json", "memory", "memoryMb"]),
        (r#"{ "models": { "m": { "apiKey": "x" } } }"#, &["flowglass.json", "apiKey", "apiKeyEnv"]),
        (r#"{ "durability": "never" }"#, &["flowglass.json", "never", "process"]),
        (r#"{ "limits": { "yieldMs": -1 } }"#, &["flowglass.json", "limits.yieldMs", "-1", "line 1"]),
        (r#"{ "limits": { "memoryMb": 4 } }"#, &["flowglass.json", "limits.memoryMb", "at least 8", "not 4"]),
        (r#"{ "limits": { "yieldMs": 0 } }"#, &["flowglass.json", "limits.yieldMs", "at least 1", "not 0"]),
        ("{", &["flowglass.json", "line 1"]),
        ("[]", &["flowglass.json", "must be an object"]),
        (r#"{ "models": { "m": [] } }"#, &["flowglass.json", "models.m must be an object"]),
        (r#"{ "limits": [256] }"#, &["flowglass.json", "limits must be an object"]),
        (r#"{ "flows": ["gone"] }"#, &["flowglass.json", "gone", "does not exist"]),
    ] {
        check(&good().file("flowglass.json", settings), "flows", invalid(says));
    }
}

#[test]
fn a_mock_script_that_is_wrong_is_named() {
    let place = good().file("odd.json", r#"{ "generators": { "a": [{ "txt": "x" }] } }"#);
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    check(
        &place,
        "run good go --user ada --input {\"by\":1} --mock=gone.json",
        invalid(&["gone.json", "cannot be read"]),
    );
    check(&place, "run good go --user ada --input {\"by\":1} --mock=odd.json", invalid(&["odd.json", "txt", "text"]));
}

#[test]
fn unknown_sessions_requests_and_paths_are_not_found() {
    let place = good();
    place.get("run good go --user ada --request r --session s --input {\"by\":1}");
    let unknown = |says| Refusal { code: 6, name: "NotFoundError", says };
    for line in
        ["show nope", "events nope", "items --request nope", "state --request nope", "diff nope", "diff r --with nope"]
    {
        check(&place, line, unknown(&["request", "nope"]));
    }
    for line in ["items --session nope", "requests --session nope", "state --session nope"] {
        check(&place, line, unknown(&["session", "nope"]));
    }
    check(&place, "state --user nope", unknown(&["user", "nope"]));
    check(&place, "state --project nope", unknown(&["project", "nope"]));
    check(&place, "state --request r --at 9999", unknown(&["9999", "r"]));
    check(&place, "state --request r --at root/step:nope", unknown(&["root/step:nope"]));
    check(&place, "diff r --to root/step:nope", unknown(&["root/step:nope"]));
}

#[test]
fn somebody_elses_session_and_a_used_id_are_refused() {
    let place = good();
    place.get("run good go --user ada --request r --session s --input {\"by\":1}");
    let refused = |says| Refusal { code: 7, name: "RefusedError", says };
    check(&place, "run good go --user bob --session s --input {\"by\":1}", refused(&["\"s\"", "ada", "bob"]));
    check(&place, "run good go --user ada --request r --input {\"by\":1}", refused(&["\"r\"", "in use"]));
    let invalid = |says| Refusal { code: 2, name: "ValidationError", says };
    check(&place, "run good go --user ada --request a:b --input {\"by\":1}", invalid(&["a:b", "\":\""]));
    check(&place, "run good go --user ada --request '' --input {\"by\":1}", invalid(&["empty"]));
}

/// A text of 100,000 brackets once ended the program: its main thread had no stack for reading it.
#[test]
fn an_input_without_a_bottom_is_refused() {
    let place = good();
    place.write("deep.json", "[".repeat(100_000));
    place.write("objects.json", format!("{}1{}", "{\"a\":".repeat(1_001), "}".repeat(1_001)));
    place.write("text.json", format!("\"{}\"", "[".repeat(100_000)));
    let deep = |says| Refusal { code: 2, name: "ValidationError", says };
    check(&place, "run good go --user ada --input @deep.json", deep(&["deep.json", "deeper than 1000"]));
    check(&place, "run good go --user ada --input @objects.json", deep(&["objects.json", "deeper than 1000"]));
    let unfit = Refusal { code: 2, name: "ValidationError", says: &["does not fit", "Expected object"] };
    check(&place, "run good go --user ada --input @text.json", unfit);
}

#[test]
fn what_a_handler_throws_fails_the_request() {
    check_handler("string", "Error", "root", &["just a text"]);
    check_handler("nothing", "Error", "root", &["Unknown block execution error"]);
    check_handler("recursion", "RangeError", "root", &["call stack", "flows/main.ts"]);
    check_handler("fetch", "Error", "root", &["api.example.com", "flowglass.json"]);
}

#[test]
fn what_a_handler_returns_must_be_json() {
    check_handler("function", "ValidationError", "root", &["callback", "function"]);
    check_handler("not-a-number", "ValidationError", "root", &["a[0]", "NaN"]);
    check_handler("cycle", "ValidationError", "root", &["self", "itself"]);
    check_handler("deep", "ValidationError", "root", &["nested deeper"]);
}

#[test]
fn a_handler_that_never_yields_ends_with_its_name() {
    check_handler("endless", "LimitError", "root/step:endless", &["1500 ms", "limits.yieldMs", "endless"]);
    check_handler("microtasks", "LimitError", "root", &["1500 ms", "limits.yieldMs", "block \"microtasks\""]);
}

#[test]
fn a_handler_that_takes_all_memory_ends() {
    check_handler("memory", "LimitError", "root", &["limits.memoryMb"]);
    check_handler("huge", "LimitError", "root", &["limits.memoryMb"]);
}

#[test]
fn a_result_of_fifty_megabytes_is_kept() {
    let place = Place::with_flow(BAD_HANDLERS);
    let answer = place.ask("run bad huge --user ada --request r");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert_eq!(answer.json()["output"].as_str().map(str::len), Some(50 << 20));
    assert_eq!(place.get("show r")["output"].as_str().map(str::len), Some(50 << 20));
    let text = place.run(&["show", "r"]);
    assert!(text.stdout.len() < 10_000, "people get a part of it: {} bytes", text.stdout.len());
}

/// A database that is refused: its bytes stay, and nothing is put beside it.
#[track_caller]
fn check_database(bytes: &[u8], code: i32, name: &str, says: &[&str]) {
    let place = good();
    place.write("data/file.db", bytes);
    let file = place.dir().join("data/file.db");
    for line in ["sessions", "run good go --user ada --input {\"by\":1}"] {
        let answer = place.ask(&format!("{line} --data data/file.db"));
        assert_eq!(answer.code, Some(code), "{line}\n{answer}");
        check_speech(&answer, says);
        assert_matches(
            line,
            &answer.json(),
            &json!({ "error": { "name": name, "code": "<text>", "message": "<text>" } }),
        );
    }
    assert!(std::fs::read(&file).expect("it is still there") == bytes, "the file changed");
    let beside: Vec<_> =
        std::fs::read_dir(place.dir().join("data")).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(beside, ["file.db"], "nothing lies beside it");
}

/// The bytes of a small SQLite database.
fn sqlite(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let place = good();
    place.get("run good go --user ada --input {\"by\":1}");
    let mut bytes = std::fs::read(place.database()).expect("a database");
    // A clean exit may leave the newest pages in the log beside it; the header is what counts here.
    assert!(bytes.starts_with(b"SQLite format 3\0"));
    change(&mut bytes);
    bytes
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    check_database(b"dear diary\n", 1, "StorageError", &["data/file.db", "not a SQLite database"]);
    check_database(&[7; 100_000], 1, "StorageError", &["data/file.db", "not a SQLite database"]);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    // The application id is at byte 68 of the header.
    let foreign = sqlite(|bytes| bytes[68..72].fill(0));
    check_database(&foreign, 1, "StorageError", &["data/file.db", "not one of Flowglass"]);
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    // The user version is at byte 60 of the header.
    let newer = sqlite(|bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes()));
    check_database(&newer, 7, "RefusedError", &["data/file.db", "format 99", "update Flowglass"]);
}

/// A session id of 70,000 letters made every list of the workspace panic.
#[test]
fn ids_are_short_and_hold_nothing_that_acts_on_a_terminal() {
    let place = good();
    for what in ["user", "session", "request", "project"] {
        for (id, says) in
            [("x".repeat(70_000), "at most 512"), ("a\u{1b}[2J".to_owned(), "U+001B"), ("a\nb".to_owned(), "U+000A")]
        {
            let flag = format!("--{what}");
            let mut words = vec!["run", "good", "go", "--json", "--input", "{\"by\":1}", &flag, &id];
            if what != "user" {
                words.extend(["--user", "ada"]);
            }
            let answer = place.run(&words);
            assert_eq!(answer.code, Some(2), "{what}\n{answer}");
            assert!(answer.stderr.contains(says) && answer.stderr.contains(what), "{what}: {says}\n{answer}");
            assert!(answer.stderr.len() < 1_000 && !answer.stderr.contains('\u{1b}'), "{what}\n{answer}");
        }
    }
    assert_eq!(place.get("requests"), json!([]));
    let longest = "é".repeat(256);
    let done = place.run(&[
        "run",
        "good",
        "go",
        "--user",
        &longest,
        "--session",
        &longest,
        "--request",
        &longest,
        "--input",
        "{\"by\":1}",
    ]);
    assert_eq!(done.code, Some(0), "{done}");
    for list in ["requests", "sessions", "stats"] {
        assert_eq!(place.run(&[list]).code, Some(0), "{list}");
    }
}
