//! `history`: who wrote one place of a scope in a request.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const FLOW: &str = r#"
const plan = handler({
  name: "plan",
  execute: async (input: { topic: string }, ctx) => {
    await ctx.session.patchState({ topic: input.topic, other: 1 });
    await ctx.session.patchState({ topic: input.topic });
    await ctx.user.pushState("seen", { title: input.topic });
    await ctx.sequencer.patchState({ steps: ["a"] });
    await ctx.sequencer.pushState("steps", "b");
    await ctx.request.setStateRecord("odd names", "to do", 1);
    return input;
  },
});
const tries = handler({
  name: "tries",
  stateSchema: z.object({ n: z.number().default(0) }),
  retry: { maxAttempts: 2 },
  execute: async (input, ctx) => {
    await ctx.self.incState({ n: 1 });
    await ctx.session.incState({ count: 1 });
    await ctx.request.incState({ tried: 1 });
    if (ctx.attempt === 0) throw new Error("once more");
    return input;
  },
});
const each = sequencer({ name: "each", stateSchema: z.object({ last: z.string().default("-") }) }).step(
  handler({ name: "item", execute: async (item, ctx) => ctx.sequencer.patchState({ last: item }) }),
);
export default defineFlow({
  kind: "writers",
  session: { stateSchema: z.object({ topic: z.string().default("none"), count: z.number().default(0), other: z.number().default(0) }) },
  user: { stateSchema: z.object({ seen: z.array(z.any()).default([]) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    go: {
      block: sequencer({ name: "pipe", stateSchema: z.object({ steps: z.array(z.string()).default([]) }) })
        .step(plan)
        .step(tries)
        .map((input) => [input.topic])
        .forEach(each),
    },
  },
});
"#;

fn ran() -> Place {
    let place = Place::with_flow(FLOW);
    for (request, topic) in [("r1", "cats"), ("r2", "dogs")] {
        place.run(&[
            "run",
            "writers",
            "go",
            "--user",
            "ada",
            "--session",
            "s",
            "--project",
            "p",
            "--request",
            request,
            "--input",
            &format!("{{\"topic\":\"{topic}\"}}"),
        ]);
    }
    place
}

fn history(place: &Place, request: &str, path: &str) -> Value {
    let answer = place.run(&["history", request, "--path", path, "--json"]);
    assert_eq!(answer.code, Some(0), "{path}\n{answer}");
    answer.json()
}

/// One row without its place in time.
fn row(by: &str, operation: &str, old: Value, new: Value) -> Value {
    json!({ "seq": "<number>", "committed": "<number>", "by": by, "operation": operation, "old": old, "new": new, "at": "<number>" })
}

#[test]
fn every_write_has_its_writer_and_the_value_before_and_after() {
    let place = ran();
    let (plan, tries) = ("root/step:plan", "root/step:tries");
    let item = "root/forEach:each[0]/step:item";
    let cases = [
        ("r1", "session.topic", vec![row(plan, "patch", json!("none"), json!("cats"))]),
        ("r2", "session.topic", vec![row(plan, "patch", json!("cats"), json!("dogs"))]),
        ("r2", "session.other", vec![]),
        ("r1", "session.count", vec![row(tries, "increment", json!(0), json!(1))]),
        ("r2", "session.count", vec![row(tries, "increment", json!(1), json!(2))]),
        ("r1", "user.seen[0].title", vec![row(plan, "push", json!(null), json!("cats"))]),
        ("r2", "user.seen[1]", vec![row(plan, "push", json!(null), json!({ "title": "dogs" }))]),
        ("r2", "user.seen[0]", vec![]),
        ("r1", "project.runs", vec![]),
        ("r1", "org.runs", vec![]),
        ("r1", "request[\"odd names\"][\"to do\"]", vec![row(plan, "patch", json!(null), json!(1))]),
        (
            "r1",
            "sequencer.steps",
            vec![row(plan, "patch", json!([]), json!(["a"])), row(plan, "push", json!(["a"]), json!(["a", "b"]))],
        ),
        ("r1", "sequencer[root].steps[1]", vec![row(plan, "push", json!(null), json!("b"))]),
        ("r1", "sequencer[root/forEach:each[0]].last", vec![row(item, "patch", json!("-"), json!("cats"))]),
        ("r1", "sequencer[r1:root/forEach:each[0]:0].last", vec![row(item, "patch", json!("-"), json!("cats"))]),
        ("r1", "sequencer[root/step:nowhere].last", vec![]),
        ("r1", "session.nobody.wrote[7]", vec![]),
    ];
    for (request, path, expected) in cases {
        assert_matches(&format!("{request} {path}"), &history(&place, request, path), &Value::Array(expected));
    }
}

/// A first attempt's writes count in no view once it was given up, whatever scope they were to.
#[test]
fn an_attempt_that_was_given_up_counts_nowhere() {
    let place = ran();
    let tries = "root/step:tries";
    assert_matches(
        "request",
        &history(&place, "r1", "request.tried"),
        &json!([row(tries, "increment", json!(null), json!(1))]),
    );
    let own = history(&place, "r1", "block[root/step:tries].n");
    assert_matches("block", &own, &json!([row(tries, "increment", json!(0), json!(1))]));
}

#[test]
fn the_whole_scope_can_be_asked_for_and_pages_are_cut() {
    let place = ran();
    let all = history(&place, "r1", "session");
    assert_eq!(all.as_array().map(Vec::len), Some(2), "{all}");
    assert_eq!(all[0]["new"], json!({ "topic": "cats", "count": 0, "other": 1 }));
    let second = place.get("history r1 --path session --offset 1 --limit 1");
    assert_eq!(second[0], all[1]);
    assert_eq!(second.as_array().map(Vec::len), Some(1));
    let seq = all[0]["seq"].as_u64().expect("a number");
    let event = place.get(&format!("events r1 --from {seq} --limit 1"));
    assert_eq!((&event[0]["kind"], &event[0]["at"]), (&json!("state_changed"), &all[0]["at"]));
    let text = place.run(&["history", "r1", "--path", "session.topic"]);
    assert!(text.stdout.contains("root/step:plan") && text.stdout.contains("\"none\" → \"cats\""), "{text}");
    let nobody = place.run(&["history", "r1", "--path", "session.nobody"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(0), "nobody wrote it in this request\n"));
}

#[test]
fn wrong_paths_and_unknown_requests_are_told() {
    let place = ran();
    for (path, words) in [
        ("sesion.topic", "session, user, project"),
        ("resource.x", "session, user, project"),
        ("", "session, user, project"),
        ("session.", "name is empty"),
        ("session..a", "name is empty"),
        ("session.list[x]", "not an index"),
        ("block.n", "add the path of the block"),
        ("sequencer[root", "is not closed"),
    ] {
        let answer = place.run(&["history", "r1", "--path", path, "--json"]);
        assert_eq!(answer.code, Some(2), "{path}\n{answer}");
        assert!(answer.stderr.contains(words), "{path}\n{answer}");
        assert_eq!(answer.json()["error"]["code"], "validation_error", "{path}");
    }
    assert_eq!(place.ask("history nobody --path session.topic").code, Some(6));
    assert_eq!(place.ask("history r1").code, Some(2));
}

const ASKS: &str = r#"
const logs = handler({ name: "logs", execute: async (_input, ctx) => {
  await ctx.sequencer.incState({ c: 1 });
  await ctx.request.pushState("seen", "logs");
  await ctx.session.pushState("log", "logs");
} });
const asks = handler({ name: "asks", execute: async (_input, ctx) => {
  await ctx.session.pushState("log", "asks");
  await ctx.suspend({ reason: "approval", message: "go on?" });
  await ctx.session.pushState("log", "answered");
} });
const last = handler({ name: "last", execute: async (_input, ctx) => {
  await ctx.session.pushState("log", "last");
  await ctx.sequencer.patchState({ done: true });
} });
const chain = sequencer({ name: "chain", stateSchema: z.object({ c: z.number().default(0), done: z.boolean().default(false) }) });
export default defineFlow({
  kind: "asks",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: { go: { block: chain.step(logs).map(async (v, ctx) => { await ctx.request.pushState("seen", "map"); return v; }).step(asks).step(last) } },
});
"#;

fn resumed() -> Place {
    let place = Place::with_flow(ASKS);
    assert_eq!(place.ask("run asks go --user ada --session s --request r").code, Some(4));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    place
}

/// A resume brings into force again what finished blocks and functions wrote; only what ran is told.
#[test]
fn what_a_resume_takes_from_the_log_is_written_once() {
    let place = resumed();
    let (logs, last) = ("root/step:logs", "root/step:last");
    let cases = [
        ("sequencer[root].c", vec![row(logs, "increment", json!(0), json!(1))]),
        ("sequencer[root].done", vec![row(last, "patch", json!(false), json!(true))]),
        (
            "request.seen",
            vec![
                row(logs, "push", json!(null), json!(["logs"])),
                row("root", "push", json!(["logs"]), json!(["logs", "map"])),
            ],
        ),
    ];
    for (path, expected) in cases {
        assert_matches(path, &history(&place, "r", path), &Value::Array(expected));
    }
    // A fork tells of the write that it begins with, and of none a second time.
    let fork = place.get("fork r --at root/step:asks");
    let fork = fork["requestId"].as_str().expect("an id");
    assert_matches(
        "fork",
        &history(&place, fork, "sequencer[root].c"),
        &json!([row(logs, "increment", json!(0), json!(1))]),
    );
}

/// Every entry of a list has its own writer, as `history` tells it, whichever way it is looked at.
#[test]
fn a_difference_names_who_wrote_each_entry_of_a_list() {
    let place = resumed();
    let writers = |line: &str| -> Vec<Value> {
        let changes = place.get(line);
        let of_log = |change: &&Value| change["path"].as_str().is_some_and(|path| path.starts_with("log["));
        changes.as_array().expect("a list").iter().filter(of_log).map(|change| change["by"].clone()).collect()
    };
    let (logs, asks, last) = ("root/step:logs", "root/step:asks", "root/step:last");
    assert_eq!(writers("diff r"), [logs, asks, asks, last]);
    assert_eq!(writers("diff r --from root/step:logs --to root/step:last"), [asks, asks, last]);
    assert_eq!(writers("diff r --from root/step:last --to root/step:logs"), [asks, asks, last]);
    let told = history(&place, "r", "session.log[1]");
    let changes = place.get("diff r --from root/step:logs --to root/step:asks");
    let entry = changes.as_array().into_iter().flatten().find(|change| change["path"] == "log[1]");
    assert_eq!(entry.map(|entry| &entry["seq"]), Some(&told[0]["seq"]), "{changes}");
    // Between a write and its commit it is not in force yet.
    let write = told[0]["seq"].as_u64().expect("a number");
    assert_eq!(writers(&format!("diff r --from {write} --to root/step:asks")), [asks, asks]);
    // A fork has the beginning in common with another request, which knows who wrote it.
    let fork = place.get("fork r --at root/step:asks");
    assert_eq!(writers(&format!("diff {}", fork["requestId"].as_str().expect("an id"))), [logs, asks, asks, last]);
}
