//! Export and import: what travels, what must not, and which files are refused.
//!
//! A place has one folder of flows and a database a machine: `here.db` and `there.db`.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::{opened, packed};

const FLOW: &str = r#"
const note = handler({
  name: "note",
  execute: async (input, ctx) => {
    console.log(`noting ${input}`);
    await ctx.session.pushState("notes", input);
    await ctx.user.incState({ runs: 1 });
    if (ctx.project) await ctx.project.incState({ runs: 1 });
    await ctx.request.patchState({ last: input });
    await ctx.session.appendJournal({ text: `note ${input}`, tags: ["t"] });
    await ctx.session.setMetadata({ title: `Notes on ${input}` });
    ctx.emit.message(`noted ${input}`);
    return { input, runs: ctx.user.state.runs };
  },
});
const large = handler({ name: "large", execute: (input) => ({ ...input, text: "long words ".repeat(2000) }) });
const inner = sequencer({ name: "inner", stateSchema: z.object({ passes: z.number().default(0) }) })
  .step(handler({ name: "pass", execute: async (value, ctx) => { await ctx.sequencer.incState({ passes: 1 }); return value; } }));
const fail = handler({ name: "fail", execute: async (_input, ctx) => { await ctx.user.incState({ runs: 10 }); throw new FlowError("no", { code: "no" }); } });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ last: z.any() }) },
  session: { stateSchema: z.object({ notes: z.array(z.any()).default([]) }) },
  user: { stateSchema: z.object({ runs: z.number().default(0) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    note: { userMessage: (input) => `note ${input}`, block: sequencer({ name: "pipe", inputSchema: z.any() }).step(note).step(large).step(inner) },
    fail: { block: fail },
    slow: { block: sequencer({ name: "slow", inputSchema: z.any() }).step(note).step(handler({ name: "waits", execute: async (value, ctx) => { ctx.emit.message("waiting"); await new Promise((done) => setTimeout(done, 4000)); return value; } })) },
  },
});
"#;

/// A command on the database of one machine.
fn on(place: &Place, machine: &str, line: &str) -> Answer {
    place.ask(&format!("--data {machine}.db {line}"))
}

#[track_caller]
fn get(place: &Place, machine: &str, line: &str) -> Value {
    let answer = on(place, machine, line);
    assert_eq!(answer.code, Some(0), "{machine}: {line}\n{answer}");
    answer.json()
}

fn note(place: &Place, machine: &str, session: &str, request: &str, input: u32) {
    get(
        place,
        machine,
        &format!("run main note --user ada --project p --session {session} --request {request} --input {input}"),
    );
}

/// Two requests of a session that is exported, between others of the same user, some in its middle.
fn two_machines() -> Place {
    let place = Place::with_flow(FLOW);
    note(&place, "here", "before", "b1", 7);
    note(&place, "here", "s", "r1", 1);
    note(&place, "here", "other", "o1", 8);
    note(&place, "here", "other", "o2", 9);
    assert_eq!(on(&place, "here", "run main fail --user ada --session s --request r2 --input 0").code, Some(3));
    note(&place, "here", "s", "r3", 3);
    note(&place, "here", "other", "o3", 10);
    place
}

/// What every command prints about some requests, byte by byte.
fn everything(place: &Place, machine: &str, requests: &[&str], session: Option<&str>) -> Vec<(String, String)> {
    looked_at(place, machine, requests, session, 8)
}

/// The same, with the state at every so many events.
fn looked_at(
    place: &Place,
    machine: &str,
    requests: &[&str],
    session: Option<&str>,
    step: usize,
) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for request in requests {
        let last = get(place, machine, &format!("show {request}"))["request"]["lastSeq"].as_u64().expect("a number");
        for command in ["show", "events", "checkpoints", "diff"] {
            lines.push(format!("{command} {request}"));
        }
        for view in ["all", "client", "history", "trace"] {
            lines.push(format!("items --request {request} --view {view}"));
        }
        lines.extend((0..=last).rev().step_by(step).map(|seq| format!("state --request {request} --at {seq}")));
        lines.push(format!("diff {request} --from 0"));
        lines.push(format!("diff {} --with {request}", requests[0]));
    }
    if let Some(session) = session {
        lines.push(format!("state --session {session}"));
        lines.push(format!("journal --session {session}"));
        lines.push(format!("items --session {session}"));
        lines.push(format!("requests --session {session}"));
    }
    lines
        .into_iter()
        .map(|line| {
            let answer = on(place, machine, &line);
            let said = format!("{:?} {}", answer.code, answer.stdout);
            (line, said)
        })
        .collect()
}

#[track_caller]
fn assert_same(here: &[(String, String)], there: &[(String, String)]) {
    assert_eq!(here.len(), there.len());
    for ((line, here), (_, there)) in here.iter().zip(there) {
        assert_eq!(here, there, "{line}");
    }
}

#[test]
fn every_view_is_the_same_on_another_machine() {
    let place = two_machines();
    let exported = get(&place, "here", "export --session s --out s.flowglass");
    assert_eq!(exported["requests"], json!(["r1", "r2", "r3"]), "{exported}");
    let imported = get(&place, "there", "import s.flowglass");
    assert_eq!((&imported["imported"], &imported["sessions"]), (&json!(true), &json!(["s"])), "{imported}");
    let requests = ["r1", "r2", "r3"];
    let look = |machine| looked_at(&place, machine, &requests, Some("s"), 1);
    assert_same(&look("here"), &look("there"));
    // Only what was asked for has travelled.
    assert_eq!(get(&place, "there", "requests").as_array().map(Vec::len), Some(3));
    assert_eq!(get(&place, "there", "sessions").as_array().map(Vec::len), Some(1));
}

#[test]
fn one_request_travels_with_the_records_it_began_on() {
    let place = two_machines();
    get(&place, "here", "export --request r3 --out r3.flowglass");
    get(&place, "there", "import r3.flowglass");
    assert_same(&everything(&place, "here", &["r3"], None), &everything(&place, "there", &["r3"], None));
    assert_eq!(get(&place, "there", "state --request r3 --at 0")["session"]["notes"], json!([1]));
}

/// A flow that keeps a user's state apart brings that, and nothing of what other flows know of the user.
#[test]
fn state_that_is_kept_apart_travels_alone() {
    let apart = r#"
import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const go = handler({ name: "go", execute: async (i, ctx) => { await ctx.user.incState({ runs: 1 }); return ctx.user.state.runs; } });
export default defineFlow({ kind: "apart", isolateUserState: true,
  user: { stateSchema: z.object({ runs: z.number().default(0) }) }, actions: { go: { block: go } } });"#;
    let place = Place::with_flow(FLOW).file("flows/apart.ts", apart);
    note(&place, "here", "s", "r1", 1);
    get(&place, "here", "run apart go --user ada --session alone --request a1");
    assert_eq!(get(&place, "here", "state --user ada")["user"], json!({ "runs": 1 }));
    get(&place, "here", "export --session alone --out a.flowglass");
    get(&place, "there", "import a.flowglass");
    let same = |line: &str| assert_eq!(get(&place, "here", line), get(&place, "there", line), "{line}");
    ["state --request a1", "show a1"].into_iter().for_each(same);
    assert_eq!(get(&place, "there", "state --request a1")["user"], json!({ "runs": 1 }));
    assert_eq!(get(&place, "there", "state --user ada")["user"], json!({}));
    assert_eq!(get(&place, "there", "run apart go --user ada")["output"], 2);
    assert_eq!(get(&place, "there", "run main note --user ada --input 1")["output"]["runs"], 1);
}

/// A flow that began to keep a user's state apart: its session has requests of before and of after, and one user.
#[test]
fn what_a_user_keeps_comes_once_whether_a_request_kept_state_apart_or_not() {
    let flow = |options: &str| {
        let text = r#"
import { defineFlow, defineResource, handler } from "@flow-state-dev/core";
import { z } from "zod";
const prefs = defineResource({ ref: "prefs", scope: "user", flowIsolation: false, stateSchema: z.object({ seen: z.number().default(0) }) });
const go = handler({ name: "go", execute: async (i, ctx) => {
  await ctx.user.incState({ runs: 1 });
  await ctx.resources.prefs.incState({ seen: 1 });
  return { runs: ctx.user.state.runs, seen: ctx.resources.prefs.state.seen };
} });
export default defineFlow({ kind: "main", OPTIONS resources: { prefs },
  user: { stateSchema: z.object({ runs: z.number().default(0) }) }, actions: { go: { block: go } } });"#;
        text.replace("OPTIONS", options)
    };
    let place = Place::new();
    place.write("flows/main.ts", flow(""));
    let go = |machine, more: &str| get(&place, machine, &format!("run main go --user ada --session s {more}"));
    go("here", "--request r1");
    place.write("flows/main.ts", flow("isolateUserState: true,"));
    assert_eq!(go("here", "--request r2")["output"], json!({ "runs": 1, "seen": 2 }));
    get(&place, "here", "export --session s --out s.flowglass");
    let lines = opened(&place.dir().join("s.flowglass"));
    let records =
        lines.lines().filter(|line| line.starts_with("{\"record\"") && line.contains("user/ada/prefs")).count();
    assert_eq!(records, 1, "{lines}");
    get(&place, "there", "import s.flowglass");
    assert_same(
        &everything(&place, "here", &["r1", "r2"], Some("s")),
        &everything(&place, "there", &["r1", "r2"], Some("s")),
    );
    assert_eq!(go("there", "")["output"], json!({ "runs": 2, "seen": 3 }));
}

#[test]
fn two_pasts_of_one_user_do_not_mix() {
    let place = two_machines();
    for (request, input) in [("t1", 20), ("t2", 21)] {
        note(&place, "there", "theirs", request, input);
    }
    let own = everything(&place, "there", &["t1", "t2"], Some("theirs"));
    let user = get(&place, "there", "state --user ada");
    get(&place, "here", "export --session s --out s.flowglass");
    get(&place, "there", "import s.flowglass");
    assert_same(&own, &everything(&place, "there", &["t1", "t2"], Some("theirs")));
    assert_eq!(get(&place, "there", "state --user ada"), user);
    let requests = ["r1", "r2", "r3"];
    assert_same(&everything(&place, "here", &requests, Some("s")), &everything(&place, "there", &requests, Some("s")));
    // Both go on from where they were.
    note(&place, "there", "theirs", "t3", 22);
    assert_eq!(get(&place, "there", "show t3")["output"]["runs"], 3);
    note(&place, "there", "s", "r4", 4);
    assert_eq!(get(&place, "there", "state --session s")["session"]["notes"], json!([1, 3, 4]));
    assert_same(&everything(&place, "here", &requests, None), &everything(&place, "there", &requests, None));
}

#[test]
fn what_was_imported_can_be_exported_again() {
    let place = two_machines();
    note(&place, "there", "theirs", "t1", 20);
    get(&place, "here", "export --session s --out s.flowglass");
    get(&place, "there", "import s.flowglass");
    get(&place, "there", "export --session s --out again.flowglass");
    let bytes = |name: &str| std::fs::read(place.dir().join(name)).expect("it is there");
    assert_eq!(bytes("s.flowglass"), bytes("again.flowglass"));
}

#[test]
fn an_imported_interrupted_request_is_resumed() {
    let place = Place::with_flow(FLOW);
    let going = place.start("--data here.db run main slow --user ada --session s --request r --input 5");
    place.until("it waits", |_| on(&place, "here", "items --request r").stdout.contains("waiting").then_some(()));
    going.kill();
    get(&place, "here", "export --session s --out s.flowglass");
    get(&place, "there", "import s.flowglass");
    assert_eq!(get(&place, "there", "show r")["request"]["status"], "interrupted");
    let resumed = get(&place, "there", "resume r");
    assert_eq!((&resumed["status"], &resumed["output"]["input"]), (&json!("completed"), &json!(5)), "{resumed}");
    assert_eq!(
        get(&place, "there", "state --session s")["session"]["notes"],
        json!([5]),
        "finished blocks are not run again"
    );
    assert_eq!(get(&place, "here", "show r")["request"]["status"], "interrupted", "the other machine is not touched");
}

/// A secret in each place that the client must not see, and in each that models must not.
const SECRETS: &str = r#"
const hidden = handler({
  name: "hidden",
  execute: async (input, ctx) => {
    console.log("SECRET-log");
    ctx.emit.message("SECRET-trace", { agentType: "trace" });
    ctx.emit.message("SECRET-nobody", { itemVisibility: { client: false, history: false } });
    ctx.emit.message("for the client", { agentType: "sub" });
    ctx.emit.message("for models", { itemVisibility: { client: false, history: true } });
    ctx.emit.message("for both");
    ctx.emit.component("card", { text: "SECRET-before" }, { key: "opened", agentType: "trace" });
    ctx.emit.component("card", { text: "shown at last" }, { key: "opened" });
    ctx.emit.component("card", { text: "shown at first" }, { key: "closed" });
    ctx.emit.component("card", { text: "SECRET-after" }, { key: "closed", agentType: "trace" });
    await ctx.session.patchState({ kept: "SECRET-written" });
    await ctx.session.appendJournal({ text: "SECRET-journal" });
    await ctx.session.setMetadata({ title: "SECRET-title" });
    await ctx.runOnce("SECRET-once-key", async () => "SECRET-once");
    return { output: "SECRET-output" };
  },
});
const failing = handler({ name: "failing", execute: async () => { throw new FlowError("said aloud", { code: "c", details: { why: "SECRET-details" } }); } });
const calm = handler({ name: "calm", execute: () => ({ calm: "SECRET-rescued" }) });
const bot = generator({ name: "bot", model: "tiny", prompt: "SECRET-prompt", inputSchema: z.any(), user: () => "SECRET-user-turn", history: false });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ kept: z.string().default("SECRET-state") }) },
  actions: { go: { block: sequencer({ name: "pipe", inputSchema: z.any(), stateSchema: z.object({ own: z.string().default("SECRET-own-state") }) })
    .step(hidden).step(failing.rescue([{ block: calm }])).step(bot).map(() => ({ end: "SECRET-end" })) } },
});
"#;

#[test]
fn a_file_for_an_audience_holds_nothing_else() {
    let place =
        Place::with_flow(SECRETS).file("mock.json", r#"{ "generators": { "bot": [{ "text": "an answer" }] } }"#);
    get(&place, "here", "run main go --user ada --session s --request r --input \"SECRET-input\" --mock=mock.json");
    for view in ["all", "client", "history"] {
        get(&place, "here", &format!("export --session s --out {view}.flowglass --view {view}"));
    }
    let all = opened(&place.dir().join("all.flowglass"));
    for place in [
        "log",
        "trace",
        "nobody",
        "journal",
        "title",
        "once",
        "output",
        "details",
        "rescued",
        "prompt",
        "state",
        "before",
        "after",
        "written",
        "own-state",
        "end",
        "input",
    ] {
        assert!(all.contains(&format!("SECRET-{place}")), "{place} is nowhere, so this test could not fail");
    }
    let (client, history) =
        (opened(&place.dir().join("client.flowglass")), opened(&place.dir().join("history.flowglass")));
    assert!(!client.contains("SECRET"), "{client}");
    assert!(client.contains("shown at last") && !client.contains("shown at first"), "{client}");
    assert!(!history.contains("SECRET"), "{history}");
    assert!(
        client.contains("for the client") && client.contains("for both") && client.contains("said aloud"),
        "{client}"
    );
    assert!(!client.contains("for models"), "{client}");
    assert!(history.contains("for models") && history.contains("for both"), "{history}");
    assert!(!history.contains("for the client") && !history.contains("said aloud"), "{history}");
    for view in ["client", "history"] {
        let refused = on(&place, "there", &format!("import {view}.flowglass"));
        assert_eq!(refused.code, Some(7), "{refused}");
        assert!(refused.stderr.contains("--view all"), "{refused}");
    }
}

#[track_caller]
fn refused(place: &Place, file: &str, code: i32, says: &str) {
    let answer = on(place, "there", &format!("import {file}"));
    assert_eq!(answer.code, Some(code), "{file}\n{answer}");
    assert!(answer.stderr.contains(says) && answer.stderr.contains(file), "{file}: {says}\n{answer}");
    assert_eq!(get(place, "there", "requests"), json!([]), "{file} left something behind");
}

#[test]
fn damaged_and_foreign_and_newer_files_are_refused() {
    let place = two_machines();
    get(&place, "here", "export --session s --out s.flowglass");
    let whole = std::fs::read(place.dir().join("s.flowglass")).expect("it is there");
    let head = "flowglass export 3\n".len();
    for (at, name) in [(head + 3, "sum"), (whole.len() / 2, "middle"), (whole.len() - 1, "end")] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        place.write(&format!("{name}.flowglass"), bytes);
        refused(&place, &format!("{name}.flowglass"), 7, "damaged");
    }
    for length in [head - 1, head, head + 20, whole.len() / 2, whole.len() - 1] {
        place.write("cut.flowglass", &whole[..length]);
        refused(&place, "cut.flowglass", 7, "damaged");
    }
    place.write("newer.flowglass", [b"flowglass export 7\n", &whole[head..]].concat());
    refused(&place, "newer.flowglass", 7, "newer");
    for foreign in ["", "{}", "SQLite format 3\0"] {
        place.write("foreign.flowglass", foreign);
        refused(&place, "foreign.flowglass", 7, "not an export");
    }
    refused(&place, "missing.flowglass", 2, "cannot be read");
    // The same bytes with a checksum that fits, but events that do not.
    let text = opened(&place.dir().join("s.flowglass"));
    let lines: Vec<&str> = text.lines().skip(2).collect();
    for (name, without) in [
        ("gap", 20),
        ("headless", lines.iter().position(|line| line.contains("request_started")).expect("there is one")),
    ] {
        let mut fewer = lines.clone();
        fewer.remove(without);
        let label =
            fewer[0].replace(&format!("\"lines\":{}", lines.len() - 1), &format!("\"lines\":{}", lines.len() - 2));
        fewer[0] = &label;
        place.write(&format!("{name}.flowglass"), packed(&fewer.join("\n")));
        refused(&place, &format!("{name}.flowglass"), 7, "damaged");
    }
}

#[test]
fn what_is_here_already_is_not_imported_again() {
    let place = two_machines();
    get(&place, "here", "export --session s --out s.flowglass");
    get(&place, "there", "import s.flowglass");
    let before = everything(&place, "there", &["r1", "r2", "r3"], Some("s"));
    // The same file changes nothing and is no failure: whoever asked has what they asked for.
    assert_eq!(get(&place, "there", "import s.flowglass")["imported"], false);
    assert_eq!(get(&place, "here", "import s.flowglass")["imported"], false);
    assert_same(&before, &everything(&place, "there", &["r1", "r2", "r3"], Some("s")));
    // A session of that name with other requests, and a request of that name with other events.
    note(&place, "third", "s", "x", 1);
    note(&place, "fourth", "elsewhere", "r1", 1);
    for (machine, what) in [("third", "session \"s\""), ("fourth", "request \"r1\"")] {
        let before = get(&place, machine, "requests");
        let answer = on(&place, machine, "import s.flowglass");
        assert_eq!(answer.code, Some(7), "{answer}");
        assert!(answer.stderr.contains(what) && answer.stderr.contains("other content"), "{answer}");
        assert_eq!(get(&place, machine, "requests"), before);
    }
}

#[test]
fn an_export_replaces_a_file_whole_or_not_at_all() {
    let place = two_machines().file("s.flowglass", "old");
    for (line, code, says) in [
        ("export --session nobody --out s.flowglass", 6, "nobody"),
        ("export --request nobody --out s.flowglass", 6, "nobody"),
        ("export --session s --out no/where/s.flowglass", 2, "no/where/s.flowglass cannot be written"),
        ("export --session s --out flows", 2, "flows cannot be written"),
        ("export --out s.flowglass", 2, "--session"),
        ("export --session s --request r1 --out s.flowglass", 2, "--request"),
        ("export --session s", 2, "--out"),
        ("export --session s --out s.flowglass --view trace", 2, "one of client, history, all"),
    ] {
        let answer = on(&place, "here", line);
        assert_eq!(answer.code, Some(code), "{line}\n{answer}");
        assert!(answer.stderr.contains(says), "{line}: {says}\n{answer}");
    }
    let read = || std::fs::read(place.dir().join("s.flowglass")).expect("it is there");
    assert_eq!(read(), b"old");
    get(&place, "here", "export --session s --out s.flowglass --force");
    assert!(read().starts_with(b"flowglass export 3\n"));
    let left = std::fs::read_dir(place.dir()).expect("it is there").flatten();
    assert!(
        left.into_iter().all(|file| !file.file_name().to_string_lossy().ends_with(".part")),
        "nothing lies beside it"
    );
}

/// What the workspace lives on is never given up for an export, by whatever name it is reached.
#[test]
fn an_export_goes_nowhere_where_something_else_lives() {
    let place = two_machines().file("s.flowglass", "old").file("other.mock.json", "{}").file("flowglass.json", "{}");
    std::os::unix::fs::symlink(place.dir().join("here.db"), place.dir().join("link.flowglass"))
        .expect("a link is made");
    std::os::unix::fs::symlink("nowhere", place.dir().join("dangling")).expect("a link is made");
    let before = get(&place, "here", "requests");
    for (file, says) in [
        ("s.flowglass", "replace it with --force"),
        ("dangling", "replace it with --force"),
        ("here.db", "the database"),
        ("here.db-wal", "the database"),
        ("here.db-journal", "the database"),
        ("./flows/../here.db", "the database"),
        ("link.flowglass", "the database"),
        ("flows/main.ts", "a file of code"),
        ("new.TS", "a file of code"),
        ("flowglass.json", "a file that flows need"),
        ("other.mock.json", "a file that flows need"),
    ] {
        for force in ["", " --force"] {
            if says.contains("--force") && !force.is_empty() {
                continue;
            }
            let answer = on(&place, "here", &format!("export --session s --out {file}{force}"));
            assert_eq!(answer.code, Some(7), "{file}{force}\n{answer}");
            assert!(answer.stderr.contains(says), "{file}{force}: {says}\n{answer}");
        }
    }
    assert_eq!(get(&place, "here", "requests"), before);
    assert_eq!(get(&place, "here", "check --data")["ok"], true);
    let own = place.ask("export --session s --out .flowglass/run");
    assert_ne!(own.code, Some(0), "{own}");
    assert_eq!(std::fs::read(place.dir().join("s.flowglass")).expect("it is there"), b"old");
}

#[test]
fn a_fork_travels_with_the_request_that_it_comes_from() {
    let place = Place::with_flow(FLOW);
    note(&place, "here", "s", "r1", 1);
    note(&place, "here", "s", "r2", 2);
    let forked = get(&place, "here", "fork r2 --at root/step:note");
    let id = |name: &str| forked[name].as_str().expect("it has one").to_owned();
    let (fork, session) = (id("requestId"), id("sessionId"));
    get(&place, "here", &format!("export --session {session} --out fork.flowglass"));
    get(&place, "there", "import fork.flowglass");
    let requests = ["r1", "r2", &fork];
    let looked = |machine| everything(&place, machine, &requests, Some(&session));
    assert_same(&looked("here"), &looked("there"));
    // Where the origin has come before, only what is new is taken.
    get(&place, "here", "export --session s --out origin.flowglass");
    get(&place, "elsewhere", "import origin.flowglass");
    get(&place, "elsewhere", "import fork.flowglass");
    assert_same(&looked("here"), &looked("elsewhere"));
    assert_eq!(get(&place, "elsewhere", "import fork.flowglass")["imported"], false);
    for machine in ["here", "there", "elsewhere"] {
        get(&place, machine, "check --data");
        // What came before the fork is read from the session it comes from.
        let refused = on(&place, machine, "delete --session s");
        assert_eq!(refused.code, Some(7), "{refused}");
        assert!(refused.stdout.contains(&session), "it names the fork\n{refused}");
        get(&place, machine, &format!("delete --session {session}"));
        get(&place, machine, "delete --session s");
        get(&place, machine, "check --data");
    }
}

const WAITS: &str = r#"
const add = (name: string) => handler({ name, execute: async (value, ctx) => { await ctx.user.incState({ runs: 1 }); return value; } });
const ask = handler({ name: "ask", execute: async (value, ctx) => { await ctx.suspend({ reason: "approval", message: "go on?" }); return value; } });
const all = sequencer({ name: "all", inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  user: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    waits: { block: all.step(add("before")).step(ask).step(add("after")) },
    many: { block: sequencer({ name: "many", inputSchema: z.any() }).step(add("one")).step(add("two")).step(add("three")) },
  },
});
"#;

/// The steps that an import brings are those of another database: a request that was under way meanwhile took
/// them, and their versions, for its own record's.
#[test]
fn an_import_in_the_midst_of_a_request_is_no_part_of_its_past() {
    let place = Place::with_flow(WAITS);
    let asked = on(&place, "here", "run main waits --user ada --session s --request mine --input 1");
    assert_eq!(asked.code, Some(4), "{asked}");
    for n in 0..2 {
        get(&place, "there", &format!("run main many --user ada --session t --request t{n} --input 1"));
    }
    get(&place, "there", "export --session t --out t.flowglass");
    get(&place, "here", "import t.flowglass");
    get(&place, "here", "run main many --user ada --session u --request local --input 1");
    get(&place, "here", "resume mine --approve");
    assert_eq!(get(&place, "here", "state --user ada")["user"]["runs"], 5);
    let history = get(&place, "here", "history mine --path user.runs");
    let told: Vec<_> = history.as_array().into_iter().flatten().map(|row| (&row["old"], &row["new"])).collect();
    assert_eq!(told, [(&json!(0), &json!(1)), (&json!(4), &json!(5))], "{history}");
    let diff = get(&place, "here", "diff mine");
    let runs = diff.as_array().into_iter().flatten().find(|row| row["path"] == "runs").expect("it changed");
    assert_eq!((&runs["new"], &runs["by"]), (&json!(5), &json!("root/step:after")), "{runs}");
    for request in ["mine", "local", "t0", "t1"] {
        let replay = on(&place, "here", &format!("replay {request}"));
        assert_eq!(replay.json()["identical"], true, "{request}: {replay}");
    }
    assert_eq!(get(&place, "here", "check --data")["ok"], true);
}

/// A fork begins at versions that its records have elsewhere; that is no reason to write its events anew.
#[test]
fn a_fork_is_the_same_after_its_import() {
    let place = Place::with_flow(FLOW);
    for n in 0..3 {
        note(&place, "here", "s", &format!("r{n}"), n);
    }
    let fork = get(&place, "here", "fork r2 --at root/step:note");
    let session = fork["sessionId"].as_str().expect("it has one").to_owned();
    get(&place, "here", "export --session s --out s.flowglass");
    get(&place, "here", &format!("export --session {session} --out fork.flowglass"));
    get(&place, "there", "import s.flowglass");
    get(&place, "there", "import fork.flowglass");
    let again = on(&place, "there", "import fork.flowglass");
    assert!(!again.stderr.contains("other content"), "{again}");
    let fork = fork["requestId"].as_str().expect("it has one").to_owned();
    assert_eq!(get(&place, "there", &format!("events {fork}")), get(&place, "here", &format!("events {fork}")));
    assert_eq!(get(&place, "there", "check --data")["ok"], true);
}
