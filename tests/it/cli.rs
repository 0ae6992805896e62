//! The main job through the command line: run a flow, then look at everything that happened.
//!
//! Names, fields, order and exit codes are a contract, so every document is compared whole.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// Two steps, all scopes, an item for every audience.
const COUNTER: &str = r#"
const count = handler({
  name: "count",
  execute: async (input: { by: number }, ctx) => {
    ctx.emitStatus("Counting");
    await ctx.session.incState({ total: input.by });
    await ctx.user.pushState("seen", input.by);
    ctx.emitMessage("for everyone");
    ctx.emitMessage("for the client", { agentType: "sub" });
    ctx.emitMessage("for developers", { agentType: "trace" });
    return ctx.session.state.total;
  },
});
const note = handler({
  name: "note",
  execute: async (total, ctx) => {
    await ctx.sequencer.patchState({ last: total });
    await ctx.request.patchState({ noted: true });
    if (ctx.project) await ctx.project.incState({ runs: 1 });
    return { total };
  },
});
const fail = handler({
  name: "fail",
  execute: async () => {
    throw new FlowError("no more", { code: "sold_out" });
  },
});
export default defineFlow({
  kind: "counter",
  request: { stateSchema: z.object({ noted: z.boolean().default(false) }) },
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  user: { stateSchema: z.object({ seen: z.array(z.number()).default([]) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    count: {
      description: "Adds to the total",
      inputSchema: z.object({ by: z.number() }),
      userMessage: (input) => `add ${input.by}`,
      block: sequencer({ name: "pipe", stateSchema: z.object({ last: z.number().default(0) }) }).step(count).step(note),
    },
    fail: { block: fail },
  },
});
"#;

fn counter() -> Place {
    Place::with_flow(COUNTER)
}

/// Two requests of Ada in session `s1`, the first in project `p`, and one of Bob in `s2` that fails.
fn counted() -> Place {
    let place = counter();
    place.get("run counter count --user ada --session s1 --project p --request r1 --input {\"by\":2}");
    place.get("run counter count --user ada --session s1 --request r2 --input {\"by\":3}");
    let failed = place.ask("run counter fail --user bob --session s2 --request r3");
    assert_eq!(failed.code, Some(3), "{failed}");
    place
}

/// The document of a command that succeeds.
#[track_caller]
fn check(place: &Place, line: &str, pattern: Value) {
    assert_matches(&format!("flowglass {line}"), &place.get(line), &pattern);
}

/// One field of every element of a list.
#[track_caller]
fn check_list(place: &Place, line: &str, field: &str, expected: &[&str]) {
    let found = place.get(line);
    let found: Vec<&str> =
        found.as_array().expect("a list").iter().map(|row| row[field].as_str().unwrap_or("?")).collect();
    assert_eq!(found, expected, "flowglass {line}: {field}");
}

#[test]
fn flows_lists_kinds_files_actions_schemas_and_blocks() {
    check(
        &counter(),
        "flows",
        json!([{
            "kind": "counter",
            "file": "flows/main.ts",
            "hasMock": false,
            "actions": [
                {
                    "name": "count",
                    "description": "Adds to the total",
                    "inputSchema": {
                        "type": "object", "properties": { "by": { "type": "number" } }, "required": ["by"], "…": 0,
                    },
                    "root": {
                        "name": "pipe",
                        "kind": "sequencer",
                        "steps": [
                            { "op": "step", "label": "step count", "blocks": [{ "name": "count", "kind": "handler", "…": 0 }], "…": 0 },
                            { "op": "step", "label": "step note", "blocks": [{ "name": "note", "kind": "handler", "…": 0 }], "…": 0 },
                        ],
                        "…": 0,
                    },
                },
                { "name": "fail", "inputSchema": {}, "root": { "name": "fail", "kind": "handler", "…": 0 } },
            ],
        }]),
    );
}

#[test]
fn check_passes_when_every_flow_loads() {
    let answer = counter().run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert!(answer.stdout.contains("counter") && answer.stdout.contains("flows/main.ts"), "{answer}");
}

#[test]
fn check_names_file_line_and_column_and_exits_1_when_one_fails() {
    let place = counter().file("flows/broken.ts", "const a = ;\n");
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(1), "{answer}");
    assert_matches(
        "check",
        &answer.json(),
        &json!([
            {
                "kind": "broken", "file": "flows/broken.ts", "actions": [], "hasMock": false,
                "error": { "message": "<text>", "file": "flows/broken.ts", "line": 1, "column": 11 },
            },
            { "kind": "counter", "…": 0 },
        ]),
    );
    let text = place.run(&["check"]);
    assert!(format!("{}{}", text.stdout, text.stderr).contains("flows/broken.ts:1:11"), "{text}");
}

#[test]
fn run_answers_with_ids_status_output_and_duration() {
    let place = counter();
    check(
        &place,
        "run counter count --user ada --input {\"by\":2}",
        json!({
            "requestId": "<text>", "sessionId": "<text>", "status": "completed", "output": { "total": 2 }, "durationMs": "<number>",
        }),
    );
    check(
        &place,
        "run counter count --user ada --session s1 --request r1 --input {\"by\":2}",
        json!({
            "requestId": "r1", "sessionId": "s1", "status": "completed", "output": { "total": 2 }, "durationMs": "<number>",
        }),
    );
}

#[test]
fn input_comes_from_the_argument_a_file_or_standard_input() {
    let place = counter().file("input.json", "{ \"by\": 20 }\n");
    let line = |input| ["run", "counter", "count", "--user", "ada", "--session", "s", "--json", "--input", input];
    for (input, stdin, total) in [("{\"by\":1}", "", 1), ("@input.json", "", 21), ("-", "{\"by\": 300}", 321)] {
        let answer = place.run_with(&line(input), stdin);
        assert_eq!(answer.code, Some(0), "--input {input}\n{answer}");
        assert_eq!(answer.json()["output"]["total"], total, "--input {input}");
    }
}

#[test]
fn a_failed_run_exits_3_with_name_code_message_block_and_place() {
    let answer = counter().ask("run counter fail --user ada");
    assert_eq!(answer.code, Some(3), "{answer}");
    assert_matches(
        "fail",
        &answer.json(),
        &json!({
            "requestId": "<text>", "sessionId": "<text>", "status": "failed", "durationMs": "<number>",
            "error": {
                "name": "FlowError", "code": "sold_out", "message": "no more", "path": "root",
                "file": "flows/main.ts", "line": 28, "column": "<number>", "stack": "<text>", "…": 0,
            },
        }),
    );
    assert!(answer.stderr.contains("no more") && answer.stderr.contains("flows/main.ts:28"), "{answer}");
}

#[test]
fn events_stream_one_a_line_with_the_result_last() {
    let place = counter();
    let answer =
        place.run(&["run", "counter", "count", "--user", "ada", "--request", "r", "--input", "{\"by\":1}", "--events"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let mut lines: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let result = lines.pop().expect("there is a last line");
    assert_eq!((&result["requestId"], &result["status"]), (&json!("r"), &json!("completed")));
    assert_eq!(Value::Array(lines), place.get("events r"), "the stream is the log");
}

#[test]
fn events_are_told_while_the_flow_runs() {
    let place = Place::with_flow(
        r#"
const wait = handler({ name: "wait", execute: () => new Promise((resolve) => setTimeout(() => resolve("done"), 60_000)) });
export default defineFlow({ kind: "slow", actions: { wait: { block: wait } } });
"#,
    );
    let mut child = std::process::Command::new(tests::bench::program())
        .args(["run", "slow", "wait", "--user", "ada", "--events"])
        .current_dir(place.dir())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut first).expect("a line");
    let running = child.try_wait().expect("our own child").is_none();
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    assert!(first.contains("request_started") && running, "{first}");
    // Nobody finished it, and everybody can see that.
    check_list(&place, "requests", "status", &["interrupted"]);
}

#[test]
fn sessions_are_newest_first_with_their_counts() {
    let place = counted();
    check(
        &place,
        "sessions",
        json!([
            {
                "id": "s2", "flow": "counter", "userId": "bob", "requests": 1, "items": "<number>",
                "lastStatus": "failed", "createdAt": "<number>", "updatedAt": "<number>",
            },
            {
                "id": "s1", "flow": "counter", "userId": "ada", "projectId": "p", "requests": 2, "items": "<number>",
                "lastStatus": "completed", "createdAt": "<number>", "updatedAt": "<number>",
            },
        ]),
    );
    check_list(&place, "sessions --user ada", "id", &["s1"]);
    check_list(&place, "sessions --flow counter", "id", &["s2", "s1"]);
    check_list(&place, "sessions --flow other", "id", &[]);
    check_list(&place, "sessions --project p", "id", &["s1"]);
    check_list(&place, "sessions --status failed", "id", &["s2"]);
    check_list(&place, "sessions --search s2", "id", &["s2"]);
    check_list(&place, "sessions --limit 1", "id", &["s2"]);
    check_list(&place, "sessions --limit 1 --offset 1", "id", &["s1"]);
}

#[test]
fn requests_are_newest_first() {
    let place = counted();
    let completed = |id: &str, project: Value| {
        let mut row = json!({
            "id": id, "sessionId": "s1", "flow": "counter", "action": "count", "userId": "ada", "status": "completed",
            "startedAt": "<number>", "finishedAt": "<number>", "durationMs": "<number>", "mock": false, "lastSeq": "<number>",
            "totals": { "blocks": "<number>", "failed": 0, "…": 0 }, "tags": [], "tokens": 0, "words": "<text>",
        });
        if !project.is_null() {
            row["projectId"] = project;
        }
        row
    };
    check(
        &place,
        "requests",
        json!([
            {
                "id": "r3", "sessionId": "s2", "flow": "counter", "action": "fail", "userId": "bob", "status": "failed",
                "startedAt": "<number>", "finishedAt": "<number>", "durationMs": "<number>", "mock": false, "lastSeq": "<number>",
                "totals": { "blocks": "<number>", "failed": "<number>", "modelCalls": 0, "promptTokens": 0,
                            "completionTokens": 0, "changes": "<number>", "unpriced": 0 },
                "tags": [], "tokens": 0,
                "error": { "name": "FlowError", "code": "sold_out", "message": "no more", "…": 0 },
            },
            completed("r2", Value::Null),
            completed("r1", json!("p")),
        ]),
    );
    check_list(&place, "requests --session s1", "id", &["r2", "r1"]);
    check_list(&place, "requests --status failed", "id", &["r3"]);
    check_list(&place, "requests --limit 1 --offset 1", "id", &["r2"]);
}

#[test]
fn show_has_every_block_in_start_order_with_input_and_output() {
    let place = counted();
    let block = |path: &str, name: &str, kind: &str, input: Value, output: Value| {
        let mut row = json!({
            "path": path, "instanceId": format!("r2:{path}:0"), "name": name, "kind": kind, "attempt": 0,
            "status": "completed", "startedAt": "<number>", "durationMs": "<number>", "memoized": false,
            "input": input, "output": output, "seqStart": "<number>", "seqEnd": "<number>",
            "changes": "<number>", "items": "<number>",
        });
        if path != "root" {
            row["parent"] = json!("r2:root:0");
        }
        row
    };
    check(
        &place,
        "show r2",
        json!({
            "request": { "id": "r2", "status": "completed", "…": 0 },
            "input": { "by": 3 },
            "output": { "total": 5 },
            "blocks": [
                block("root", "pipe", "sequencer", json!({ "by": 3 }), json!({ "total": 5 })),
                block("root/step:count", "count", "handler", json!({ "by": 3 }), json!(5)),
                block("root/step:note", "note", "handler", json!(5), json!({ "total": 5 })),
            ],
        }),
    );
    check(
        &place,
        "show r3",
        json!({
            "request": { "id": "r3", "status": "failed", "error": { "message": "no more", "…": 0 }, "…": 0 },
            "blocks": [{ "path": "root", "status": "failed", "error": { "code": "sold_out", "…": 0 }, "…": 0 }],
        }),
    );
}

#[test]
fn events_are_numbered_without_gaps_oldest_first() {
    let place = counted();
    let events = place.get("events r2");
    let events = events.as_array().expect("a list");
    for (n, event) in events.iter().enumerate() {
        assert_matches(
            &format!("event {n}"),
            event,
            &json!({ "seq": n + 1, "at": "<number>", "kind": "<text>", "payload": "<any>", "…": 0 }),
        );
    }
    assert_eq!(events.first().map(|event| &event["kind"]), Some(&json!("request_started")));
    assert_eq!(events.last().map(|event| &event["kind"]), Some(&json!("request_finished")));
    check_list(&place, "events r2 --kind block_started", "path", &["root", "root/step:count", "root/step:note"]);
    check_list(&place, "events r2 --kind block_started --limit 1 --offset 1", "path", &["root/step:count"]);
    let from = place.get(&format!("events r2 --from {}", events.len()));
    assert_eq!(from.as_array().expect("a list"), &events[events.len() - 1..]);
}

#[test]
fn each_view_of_the_items_shows_what_its_audience_may_see() {
    let place = counted();
    let contents = |view: &str| -> Vec<String> {
        let items = place.get(&format!("items --request r2 --view {view} --type message"));
        let items = items.as_array().expect("a list");
        items.iter().map(|item| item["content"][0]["text"].as_str().unwrap_or("?").to_owned()).collect()
    };
    assert_eq!(contents("all"), ["add 3", "for everyone", "for the client", "for developers"]);
    assert_eq!(contents("client"), ["add 3", "for everyone", "for the client"]);
    assert_eq!(contents("history"), ["add 3", "for everyone"]);
    assert_eq!(contents("trace"), ["for developers"]);
    check_list(&place, "items --request r2 --view history", "type", &["message", "message"]);
    check_list(&place, "items --request r2 --type block_output", "blockName", &["count", "note", "pipe"]);
    check_list(&place, "items --request r2 --type block_trace", "blockName", &["count", "note", "pipe"]);
    check(
        &place,
        "items --session s1 --type message --limit 1 --offset 5",
        json!([{
            "id": "<text>", "type": "message", "status": "completed", "requestId": "r2", "itemIndex": "<number>",
            "ts": "<number>", "seq": "<number>", "visibility": { "client": true, "history": true },
            "provenance": {
                "blockName": "count", "path": "root/step:count", "blockInstanceId": "r2:root/step:count:0", "attempt": 0, "phase": "main",
            },
            "role": "assistant", "content": [{ "type": "output_text", "text": "for everyone" }],
        }]),
    );
}

#[test]
fn a_transient_item_is_seen_by_developers_only() {
    let place = counted();
    check(&place, "items --request r2 --type status", json!([{ "transient": true, "message": "Counting", "…": 0 }]));
    for view in ["client", "history"] {
        check(&place, &format!("items --request r2 --type status --view {view}"), json!([]));
    }
}

#[test]
fn items_have_indexes_that_grow_with_time() {
    let items = counted().get("items --request r2");
    let indexes: Vec<u64> =
        items.as_array().expect("a list").iter().map(|item| item["itemIndex"].as_u64().expect("a number")).collect();
    assert!(indexes.windows(2).all(|pair| pair[0] < pair[1]), "{indexes:?}");
}

#[test]
fn state_is_read_by_scope_now() {
    let place = counted();
    check(&place, "state --session s1", json!({ "session": { "total": 5 }, "versions": { "session": 2 } }));
    check(&place, "state --user ada", json!({ "user": { "seen": [2, 3] }, "versions": { "user": 2 } }));
    check(&place, "state --project p", json!({ "project": { "runs": 1 }, "versions": { "project": 1 } }));
}

#[test]
fn state_is_read_at_an_event_or_just_after_a_block() {
    let place = counted();
    check(
        &place,
        "state --request r2",
        json!({
            "seq": "<number>", "at": "<number>",
            "request": { "noted": true }, "session": { "total": 5 }, "user": { "seen": [2, 3] },
            "sequencers": { "r2:root:0": { "last": 5 } },
            "versions": { "request": 1, "session": 2, "user": 2, "r2:root:0": 1 },
        }),
    );
    let after_count = json!({
        "seq": "<number>", "at": "<number>",
        "request": { "noted": false }, "session": { "total": 5 }, "user": { "seen": [2, 3] },
        "sequencers": { "r2:root:0": { "last": 0 } },
        "versions": { "request": 0, "session": 2, "user": 2, "r2:root:0": 0 },
    });
    check(&place, "state --request r2 --at root/step:count", after_count.clone());
    let seq = place.get("state --request r2 --at root/step:count")["seq"].clone();
    check(&place, &format!("state --request r2 --at {seq}"), after_count);
    // A block's durable writes come into force together, when it has finished.
    let before = seq.as_u64().expect("a number") - 1;
    check(
        &place,
        &format!("state --request r2 --at {before}"),
        json!({
            "session": { "total": 2 }, "user": { "seen": [2] }, "versions": { "session": 1, "user": 1, "…": 0 }, "…": 0,
        }),
    );
    check(
        &place,
        "state --request r1",
        json!({
            "session": { "total": 2 }, "user": { "seen": [2] }, "project": { "runs": 1 }, "…": 0,
        }),
    );
}

#[test]
fn diff_names_path_kind_old_new_and_writer() {
    let place = counted();
    check(
        &place,
        "diff r2 --from root/step:count",
        json!([
            { "scope": "request", "path": "noted", "kind": "changed", "old": false, "new": true, "seq": "<number>", "by": "root/step:note" },
            {
                "scope": "sequencer", "instanceId": "r2:root:0", "path": "last", "kind": "changed", "old": 0, "new": 5,
                "seq": "<number>", "by": "root/step:note",
            },
        ]),
    );
    let by_count = json!([
        { "scope": "session", "path": "total", "kind": "changed", "old": 2, "new": 5, "seq": "<number>", "by": "root/step:count" },
        { "scope": "user", "path": "seen[1]", "kind": "added", "new": 3, "seq": "<number>", "by": "root/step:count" },
    ]);
    let durable = |line: &str| -> Value {
        let changes = place.get(line);
        changes
            .as_array()
            .expect("a list")
            .iter()
            .filter(|c| c["scope"] == "session" || c["scope"] == "user")
            .cloned()
            .collect()
    };
    assert_matches("the whole request", &durable("diff r2"), &by_count);
    assert_matches("up to the first step", &durable("diff r2 --to root/step:count"), &by_count);
    check(&place, "diff r2 --limit 1 --offset 100", json!([]));
}

#[test]
fn two_requests_are_compared_at_their_ends() {
    let place = counted();
    check(
        &place,
        "diff r1 --with r2",
        json!([
            { "scope": "session", "path": "total", "kind": "changed", "old": 2, "new": 5, "…": 0 },
            { "scope": "user", "path": "seen[1]", "kind": "added", "new": 3, "…": 0 },
            { "scope": "sequencer", "path": "last", "kind": "changed", "old": 2, "new": 5, "…": 0 },
        ]),
    );
}

#[test]
fn stats_count_what_the_database_holds() {
    let place = counted();
    let stats = place.get("stats");
    assert_matches(
        "stats",
        &stats,
        &json!({
            "bytes": "<number>", "events": "<number>", "items": "<number>", "sessions": 2, "requests": 3, "samples": 0,
            "payloadBytes": "<number>", "uniquePayloadBytes": "<number>",
        }),
    );
    let events: usize =
        ["r1", "r2", "r3"].iter().map(|id| place.get(&format!("events {id}")).as_array().map_or(0, Vec::len)).sum();
    assert_eq!(stats["events"], events);
}

#[test]
fn without_json_the_results_are_text_for_people() {
    let place = counted();
    for (line, words) in [
        ("flows", "counter"),
        ("sessions", "s1"),
        ("requests --session s1", "r2"),
        ("show r2", "step:note"),
        ("events r2", "request_finished"),
        ("items --request r2", "for everyone"),
        ("state --session s1", "total"),
        ("diff r2", "session.total"),
        ("stats", "requests"),
    ] {
        let answer = place.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(answer.code, Some(0), "flowglass {line}\n{answer}");
        assert!(answer.stdout.contains(words), "flowglass {line} does not say {words}\n{answer}");
        assert!(serde_json::from_str::<Value>(&answer.stdout).is_err(), "flowglass {line} is not for people\n{answer}");
        assert_eq!(answer.stderr, "", "flowglass {line}");
    }
}

#[test]
fn folder_and_database_are_named_by_flags_in_any_place() {
    let place = counter();
    let elsewhere = Place::new();
    let dir = place.dir().display().to_string();
    let data = elsewhere.dir().join("deep/other.db").display().to_string();
    let run =
        ["--dir", &dir, "run", "counter", "count", "--user", "ada", "--input", "{\"by\":1}", "--json", "--data", &data];
    for durability in ["process", "power"] {
        let answer = elsewhere.run(&[&run[..], &["--durability", durability]].concat());
        assert_eq!(answer.code, Some(0), "{answer}");
    }
    assert!(!place.database().exists(), "--data names the only database");
    let stats = elsewhere.run(&["stats", "--json", "--dir", &dir, "--data", &data]).json();
    assert_eq!(stats["requests"], 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = counted();
    let line = format!("{} events r1 | head -n 1", tests::bench::program().display());
    let shell = std::process::Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {line}")])
        .current_dir(place.dir())
        .output();
    let output = shell.expect("bash runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = "run counter count --user ada --input '{\"by\":1}' --events";
    let line = format!("{} {run} | true", tests::bench::program().display());
    let shell = std::process::Command::new("bash").args(["-c", &line]).current_dir(place.dir()).output();
    let output = shell.expect("bash runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
