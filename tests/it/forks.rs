//! Forks: a request goes on from any of its finished steps in a session of its own, and nothing that
//! happens there is seen anywhere else.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::pattern::assert_matches;

/// One action for each way in which blocks stand around each other. Every block leaves a trace in every
/// scope; none looks at a clock, so that the rest of a fork can be compared with the rest of its request.
const FLOW: &str = r#"
import { defineResource, defineResourceCollection, router } from "@flow-state-dev/core";
const step = (name, more = {}) => handler({ name, ...more, execute: async (input, ctx) => {
  await ctx.session.pushState("log", name);
  await ctx.user.incState({ n: 1 });
  await ctx.project?.incState({ n: 1 });
  await ctx.request.pushState("log", name);
  await ctx.session.resources.page.patchState({ by: name });
  ctx.emit.message(name);
  return (input ?? 0) + 1;
} });
const counted = (name) => handler({ name, execute: async (input, ctx) => {
  await ctx.sequencer.patchState({ seen: [...ctx.sequencer.state.seen, name] });
  return ctx.sequencer.state.seen.length;
} });
const fails = handler({ name: "fails", execute: async (_input, ctx) => {
  await ctx.session.pushState("log", "fails");
  throw new FlowError("it broke", { code: "broke" });
} });
const asks = handler({ name: "asks", execute: async (input, ctx) => { await ctx.suspend({ reason: "approval" }); return input; } });
const chain = (name, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const own = { stateSchema: z.object({ seen: z.array(z.string()).default([]), plan: z.array(z.object({ t: z.string() })).default([{ t: "x" }, { t: "y" }]) }) };
const bot = generator({ name: "bot", model: "tiny", prompt: "Answer.", user: "Go", tools: [
  handler({ name: "look", inputSchema: z.object({ q: z.string() }), execute: async ({ q }, ctx) => { await ctx.session.pushState("log", q); return q; } }),
] });
const said = handler({ name: "said", execute: (_input, ctx) => ctx.session.items.all().filter((item) => item.type === "message").map((item) => item.content[0].text) });
export default defineFlow({
  kind: "main",
  resources: {
    page: defineResource({ scope: "session", ref: "page", stateSchema: z.object({ by: z.string().default("nobody") }), content: "one" }),
    files: defineResourceCollection({ scope: "user", pattern: "files/*" }),
  },
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), topic: z.string().default("tea"), deep: z.any() }) },
  user: { stateSchema: z.object({ n: z.number().default(0) }) },
  project: { stateSchema: z.object({ n: z.number().default(0) }) },
  request: { stateSchema: z.object({ log: z.array(z.string()).default([]), n: z.number().default(1) }) },
  actions: {
    chain: { block: chain("chain").step(step("a")).step(step("b")).step(step("c")) },
    nested: { block: chain("outer", own).step(counted("a")).step(chain("inner", own).step(counted("b")).step(counted("c"))).step(counted("d")) },
    loops: { block: chain("loops").doUntil((value) => value >= 3, step("up")).map((value) => [value, value]).forEach(step("each")).map((all) => all.length).step(step("back")).loopBack("back", { when: (value) => value < 5, maxIterations: 4 }) },
    parallel: { block: chain("parallel").step(step("a")).parallel({ l: step("l"), r: chain("r").step(step("r1")).step(step("r2")) }).map((both) => both.l + both.r).step(step("z")) },
    router: { block: chain("routes").step(step("a")).step(router({ name: "way", routes: [step("left"), step("right")], execute: (input) => input > 3 ? "right" : "left" })).step(step("z")) },
    rescue: { block: chain("rescue").step(step("a")).step(fails.rescue([{ block: handler({ name: "saved", execute: () => 7 }) }])).step(step("z")) },
    failed: { block: chain("failed").step(step("a")).step(chain("inner").step(step("b")).step(fails)).step(step("z")) },
    suspended: { block: chain("suspended").step(step("a")).step(asks).step(step("z")) },
    work: { block: chain("works").step(step("a")).work(step("w")).waitForWork().step(step("z")) },
    bot: { block: chain("talk").step(bot).step(said) },
    said: { block: said },
    note: { block: handler({ name: "note", execute: async (input, ctx) => {
      await ctx.session.appendJournal({ text: input });
      await ctx.session.setMetadata({ title: input });
      return (await ctx.session.getJournal()).map((entry) => entry.text);
    } }) },
    keeps: { inputSchema: z.object({ text: z.string() }), block: handler({ name: "keeps", execute: async ({ text }, ctx) => {
      await ctx.user.resources.files.create(text, { text });
      await ctx.session.resources.page.writeContent(text);
      return await ctx.session.resources.page.readContent();
    } }) },
    holds: { block: chain("holds").step(step("a")).step(handler({ name: "hold", execute: async () => { await new Promise((done) => setTimeout(done, 600_000)); } })) },
  },
});
"#;

const SCRIPT: &str = r#"{ "generators": { "bot": [{ "toolCalls": [{ "name": "look", "args": { "q": "x" } }] }, { "text": "found" }] } }"#;

fn place() -> Place {
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", SCRIPT);
    place.get("check");
    place
}

/// Runs an action as request `id` of session `id`.
fn run(place: &Place, action: &str, id: &str) -> Value {
    place.ask(&format!("run main {action} --user ada --project p --session {id} --request {id} --mock")).json()
}

/// The steps of a request that ended, by the number of their last event.
fn steps(place: &Place, request: &str) -> Vec<(u64, String)> {
    let ends = place.get(&format!("events {request} --kind block_finished"));
    let ended = |event: &&Value| event["payload"]["outcome"] != "suspended" && event["payload"]["memoized"] != true;
    let ends = ends.as_array().expect("a list").iter().filter(ended);
    ends.map(|event| (event["seq"].as_u64().expect("a number"), event["path"].to_string())).collect()
}

/// Whether a step of a request ended that runs in another process.
fn has_step(place: &Place, request: &str) -> Option<()> {
    let answer = place.ask(&format!("events {request} --kind block_finished"));
    (answer.code == Some(0) && answer.json() != json!([])).then_some(())
}

/// What a request came to, without what tells of ids, times and places in the log.
fn came_to(place: &Place, request: &str) -> Value {
    let items = place.get(&format!("items --request {request} --view client"));
    // Paths that run beside each other may meet in another order.
    let mut items = items.as_array().expect("a list").clone();
    // A fork continues nothing, so it has no item that says so.
    items.retain(|item| item["type"] != "continuation");
    items.sort_by_key(|item| item["provenance"]["blockInstanceId"].as_str().and_then(path_of).unwrap_or_default());
    let items: Vec<Value> = items.iter().map(plain).collect();
    let state = place.get(&format!("state --request {request}"));
    let shown = place.get(&format!("show {request}"));
    json!({
        "status": shown["request"]["status"], "output": shown["output"], "items": items,
        "state": [state["request"], state["session"], state["user"], state["project"], state["resources"], state["contents"]],
    })
}

/// The path of an instance `request:path:attempt`.
fn path_of(instance: &str) -> Option<String> {
    Some(instance.split_once(':')?.1.rsplit_once(':')?.0.to_owned())
}

fn plain(value: &Value) -> Value {
    const OF_PLACE: [&str; 16] = [
        "id",
        "requestId",
        "blockInstanceId",
        "suspensionId",
        "createdAt",
        "resolvedAt",
        "seq",
        "itemIndex",
        "ts",
        "provenance",
        "scopeId",
        "version",
        "startedAt",
        "completedAt",
        "ownedBy",
        // The sum as a block saw it before its commit; what the sums came to is in the states.
        "value",
    ];
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !OF_PLACE.contains(&name.as_str()) && *name != "duration")
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// Says what differs first: two lists of items are long.
#[track_caller]
fn assert_same(found: &Value, was: &Value, what: &str) {
    match (found, was) {
        (Value::Object(found), Value::Object(was)) if found.len() == was.len() => {
            was.iter().for_each(|(name, was)| assert_same(&found[name], was, &format!("{what}: {name}")));
        }
        (Value::Array(found), Value::Array(was)) if found.len() == was.len() => {
            found
                .iter()
                .zip(was)
                .enumerate()
                .for_each(|(n, (found, was))| assert_same(found, was, &format!("{what}[{n}]")));
        }
        _ => assert_eq!(found, was, "{what}"),
    }
}

/// The id of the request that a fork made.
#[track_caller]
fn fork(place: &Place, line: &str) -> String {
    let answer = place.ask(&format!("fork {line}"));
    assert!(matches!(answer.code, Some(0 | 3 | 4)), "fork {line}\n{answer}");
    answer.json()["requestId"].as_str().expect("an id").to_owned()
}

/// What the real records hold.
fn records(place: &Place, session: &str) -> Value {
    json!(
        ["--user ada", "--project p", &format!("--session {session}")]
            .map(|whose| place.get(&format!("state {whose}")))
    )
}

#[test]
fn a_fork_of_every_finished_step_has_the_same_rest() {
    let place = place();
    let actions = ["chain", "nested", "loops", "parallel", "router", "rescue", "failed", "suspended", "work", "bot"];
    for action in actions {
        run(&place, action, action);
        let (was, real, steps) = (came_to(&place, action), records(&place, action), steps(&place, action));
        assert!(!steps.is_empty(), "{action} has steps");
        for (seq, path) in steps {
            let forked = fork(&place, &format!("{action} --at {seq}"));
            assert_same(&came_to(&place, &forked), &was, &format!("{action} forked at {seq}, the end of {path}"));
            let replayed = place.ask(&format!("replay {forked}"));
            assert_eq!(replayed.code, Some(0), "{action} forked at {seq}, the end of {path}\n{replayed}");
        }
        assert_eq!(records(&place, action), real, "the real records of {action} are as they were");
    }
    place.get("check --data");
}

#[test]
fn forks_of_forks_of_crashed_and_of_answered_requests_have_the_same_rest() {
    let place = place();
    run(&place, "suspended", "asked");
    // A fork asks as well, and both are answered on their own.
    let asking = fork(&place, "asked --at root/step:a");
    place.get(&format!("resume {asking} --approve"));
    place.get("resume asked --approve");
    assert_same(&came_to(&place, &asking), &came_to(&place, "asked"), "answered on its own");
    let going = place.start("run main holds --user ada --session crashed --request crashed");
    place.until("the first step ended", |place| has_step(place, "crashed"));
    going.kill();
    place.edit(&FLOW.replace("600_000", "1"));
    place.get("resume crashed");
    let mut seen = 0;
    for request in ["asked", asking.as_str(), "crashed"] {
        let was = came_to(&place, request);
        for (seq, path) in steps(&place, request) {
            let first = fork(&place, &format!("{request} --at {seq}"));
            // The question is asked again where it was not answered yet.
            if place.get(&format!("show {first}"))["request"]["status"] == "suspended" {
                place.get(&format!("resume {first} --approve"));
            }
            assert_same(&came_to(&place, &first), &was, &format!("{request} forked at {seq}, the end of {path}"));
            let (last, _) = steps(&place, &first).pop().expect("it has steps");
            let second = fork(&place, &format!("{first} --at {last}"));
            assert_same(&came_to(&place, &second), &was, &format!("{request} forked at {seq} and again at {last}"));
            assert_eq!(place.get(&format!("replay {second}"))["identical"], true);
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen} steps");
}

#[test]
fn a_fork_has_what_is_edited_and_the_rest_follows_from_it() {
    let place = place();
    run(&place, "chain", "chain");
    run(&place, "nested", "nested");
    let real = records(&place, "chain");
    let rows = [
        ("chain --at 1 --input 40", json!(43), "session.log", json!(["a", "b", "c"])),
        // The block's own input, not the action's.
        ("chain --at root/step:b --input 40", json!(42), "session.log", json!(["a", "b", "c"])),
        ("chain --at root/step:b --output 10", json!(11), "session.log", json!(["a", "b", "c"])),
        ("chain --at root --output {\"any\":1}", json!({ "any": 1 }), "session.log", json!(["a", "b", "c"])),
        ("chain --at root/step:a --set session.log=[\"x\"]", json!(3), "session.log", json!(["x", "b", "c"])),
        (
            "chain --at root/step:a --set session.log[0]=\"y\" --set session.log[1]=\"z\"",
            json!(3),
            "session.log",
            json!(["y", "z", "b", "c"]),
        ),
        (
            "chain --at root/step:a --set session.deep.er[\"to=do\"]=1",
            json!(3),
            "session.deep",
            json!({ "er": { "to=do": 1 } }),
        ),
        ("chain --at root/step:a --set user.n=10", json!(3), "user.n", json!(12)),
        ("chain --at root/step:a --set project.n=10", json!(3), "project.n", json!(12)),
        ("chain --at root/step:a --set request.log[0]=\"r\"", json!(3), "request.log", json!(["r", "b", "c"])),
        ("nested --at root/step:a --set sequencer.seen=[]", json!(1), "", json!(null)),
        (
            "nested --at root/step:inner/step:b --set sequencer[root/step:inner].seen=[\"x\",\"y\",\"z\"]",
            json!(2),
            "",
            json!(null),
        ),
        ("nested --at root/step:inner/step:b --set sequencer[root].seen[1]=\"x\"", json!(3), "", json!(null)),
    ];
    for (line, output, at, value) in rows {
        let forked = fork(&place, line);
        assert_eq!(place.get(&format!("show {forked}"))["output"], output, "fork {line}");
        let state = place.get(&format!("state --request {forked}"));
        let found = at.split('.').filter(|name| !name.is_empty()).fold(&state, |state, name| &state[name]);
        assert!(at.is_empty() || *found == value, "fork {line}: {at} is {found}");
        let replayed = place.ask(&format!("replay {forked}"));
        let answer = replayed.json();
        // An edit of what the action's block returned stands in place of all that the fork would do.
        let is_compared = !line.contains("--at root --output");
        let expected = (is_compared, Some(i32::from(!is_compared)), is_compared);
        let found = (answer["identical"] == true, replayed.code, answer["why"].is_null());
        assert_eq!(found, expected, "fork {line}: {replayed}");
        // An edit lasts: a fork of the fork has it too.
        let again = fork(&place, &format!("{forked} --at root"));
        assert_same(&came_to(&place, &again), &came_to(&place, &forked), &format!("fork {line}"));
    }
    let forked = fork(&place, "chain --at root/step:a --input 40");
    assert_matches("show", &place.get(&format!("show {forked}")), &json!({ "output": 43, "…": 0 }));
    assert_eq!(place.get(&format!("block {forked} root/step:a"))["input"], 40);
    assert_eq!(records(&place, "chain"), real);
}

#[test]
fn what_cannot_be_forked_is_refused_and_nothing_is_written() {
    let place = place();
    run(&place, "nested", "nested");
    run(&place, "keeps", "none");
    place.get("run main said --user ada --session bare --request bare");
    let stats = place.get("stats");
    let rows = [
        ("nobody --at 1", 6, "unknown request"),
        ("nested --at 999", 6, "999"),
        ("nested --at root/step:nothing", 6, "no block finished at path"),
        ("nested --at 1 --output 1", 2, "no step has finished there"),
        ("nested --at root/step:a --set nobody.n=1", 2, "begin with session"),
        ("nested --at root/step:a --set session=1", 2, "name a field"),
        ("nested --at root/step:a --set session.log[x]=1", 2, "is not an index"),
        ("nested --at root/step:a --set session.log=1", 2, "--set session.log"),
        ("nested --at root/step:a --set session.log[7]=\"x\"", 2, "no such place"),
        ("nested --at root/step:a --set user.n=\"x\"", 2, "--set user.n"),
        ("nested --at root/step:a --set project.n=\"x\"", 2, "--set project.n"),
        ("nested --at root/step:a --set request.n=\"x\"", 2, "--set request.n"),
        ("nested --at root/step:a --set sequencer.seen=1", 2, "--set sequencer.seen"),
        ("nested --at root/step:a --set sequencer[root/step:inner].seen=[]", 2, "is not around the step"),
        ("nested --at root/step:a --set block[root/step:a].seen=[]", 2, "no state of its own"),
        ("nested --at 1 --set request.n=1", 2, "no step has finished there"),
        ("nested --at root/step:a --set session.topic", 2, "has no \"=\""),
        ("nested --at root/step:a --set session.topic=tea", 2, "JSON"),
        ("nested --at root/step:a --input {", 2, "JSON"),
        ("nested", 2, "--at"),
        ("bare --at root --set project.n=1", 2, "has no project"),
    ];
    for (line, code, says) in rows {
        let answer = place.ask(&format!("fork {line}"));
        assert_eq!(answer.code, Some(code), "fork {line}\n{answer}");
        assert!(answer.stderr.contains(says), "fork {line} does not say {says:?}\n{answer}");
    }
    // An input that the action's schema refuses.
    place.get("run main keeps --user ada --session s --request kept --input {\"text\":\"x\"}");
    let kept = place.get("stats");
    let refused = place.ask("fork kept --at 1 --input 1");
    assert_eq!(refused.code, Some(2), "{refused}");
    let counted = |stats: &Value| json!([stats["events"], stats["requests"], stats["sessions"], stats["items"]]);
    assert_eq!(counted(&place.get("stats")), counted(&kept));
    assert_eq!(kept["requests"].as_u64(), stats["requests"].as_u64().map(|before| before + 1));
}

#[test]
fn a_forked_session_sees_what_came_before_and_nothing_of_what_came_after() {
    let place = place();
    let run = |line: &str| place.get(&format!("run main {line} --user ada --project p"));
    run("note --session talk --request before --input \"first\"");
    run("chain --session talk --request here");
    run("note --session talk --request after --input \"second\"");
    let forked = fork(&place, "here --at root/step:b");
    let session = place.get(&format!("show {forked}"))["request"]["sessionId"].as_str().expect("an id").to_owned();
    let row = place.get("sessions")[0].clone();
    assert_matches(
        "sessions",
        &row,
        &json!({ "id": session, "forkedFrom": "here", "title": "first", "requests": 1, "…": 0 }),
    );
    let row = place.get("requests")[0].clone();
    assert_matches(
        "requests",
        &row,
        &json!({ "id": forked, "forkedFrom": { "requestId": "here", "seq": "<number>" }, "…": 0 }),
    );
    let texts = |answer: &Value, field: &str| -> Vec<Value> {
        answer.as_array().expect("a list").iter().map(|one| one[field].clone()).collect()
    };
    assert_eq!(texts(&place.get(&format!("journal --session {session}")), "text"), ["first"]);
    assert_eq!(texts(&place.get("journal --session talk"), "text"), ["first", "second"]);
    let items = place.get(&format!("items --session {session} --view history"));
    let said: Vec<&Value> = items.as_array().expect("a list").iter().map(|item| &item["content"][0]["text"]).collect();
    assert_eq!(said, ["a", "b", "c"]);
    let requests: BTreeSet<String> = texts(&items, "requestId").iter().map(Value::to_string).collect();
    assert_eq!(requests, BTreeSet::from([json!(forked).to_string()]), "the fork's own, not those of its parent");
    // What runs there later goes on with the copies, and its flow sees the same past.
    let line = format!("note --session {session} --request later --input \"third\"");
    assert_eq!(run(&line)["output"], json!(["first", "third"]));
    assert_eq!(run(&format!("said --session {session}"))["output"], json!(["a", "b", "c"]));
    let real = records(&place, "talk");
    run(&format!("chain --session {session} --request more"));
    assert_matches(
        "copies",
        &place.get("state --request more"),
        &json!({
            "session": { "log": ["a", "b", "c", "a", "b", "c"], "…": 0 }, "user": { "n": 6, "…": 0 }, "project": { "n": 6, "…": 0 }, "…": 0
        }),
    );
    assert_eq!(records(&place, "talk"), real);
    assert_eq!(place.get("replay more")["identical"], true);
    assert_eq!(texts(&place.get("journal --session talk"), "text"), ["first", "second"]);
}

#[test]
fn resources_of_a_fork_are_copies_with_their_texts() {
    let place = place();
    let keeps = |text: &str, more: &str| {
        let line = format!("run main keeps --user ada --input {{\"text\":\"{text}\"}} {more}");
        place.get(&line)
    };
    keeps("one", "--session s --request one");
    keeps("two", "--session s --request two");
    let forked = fork(&place, "two --at 1 --input {\"text\":\"three\"}");
    let session = place.get(&format!("show {forked}"))["request"]["sessionId"].as_str().expect("an id").to_owned();
    let names = |state: &Value| state["resources"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
    let (real, copy) = (place.get("state --request two"), place.get(&format!("state --request {forked}")));
    let known = ["session/page", "user/files/one", "user/files/two"].map(str::to_owned).to_vec();
    assert_eq!(names(&real), Some(known), "{real}");
    let known = ["session/page", "user/files/one", "user/files/three"].map(str::to_owned).to_vec();
    assert_eq!(names(&copy), Some(known), "{copy}");
    assert_eq!(
        (&real["contents"]["session/page"], &copy["contents"]["session/page"]),
        (&json!("two"), &json!("three"))
    );
    keeps("four", &format!("--session {session} --request four"));
    assert_eq!(place.get("state --request two"), real);
    assert_eq!(names(&place.get("state --user ada")).map(|all| all.len()), Some(2));
    for request in ["two", forked.as_str(), "four"] {
        assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
    }
}

#[test]
fn the_common_part_is_the_parents_and_two_requests_can_be_compared() {
    let place = place();
    run(&place, "chain", "here");
    let forked = fork(&place, "here --at root/step:b --set session.topic=\"milk\" --output 10");
    let (was, from) =
        (steps(&place, "here"), place.get(&format!("show {forked}"))["request"]["forkedFrom"]["seq"].as_u64());
    assert_eq!(from, Some(was[1].0));
    for (seq, path) in &was[..2] {
        let (ours, theirs) = (
            place.get(&format!("state --request {forked} --at {seq}")),
            place.get(&format!("state --request here --at {seq}")),
        );
        assert_eq!(ours, theirs, "at {path}");
    }
    let other = place.get(&format!("diff here --with {forked}"));
    assert_matches(
        "diff --with",
        &other,
        &json!([{ "scope": "session", "path": "topic", "kind": "changed", "old": "tea", "new": "milk", "…": 0 }]),
    );
    let first = was[0].0;
    let within = place.get(&format!("diff {forked} --from {first}"));
    let within: Vec<String> =
        within.as_array().expect("a list").iter().map(|one| format!("{} {}", one["scope"], one["path"])).collect();
    assert!(within.contains(&"\"session\" \"topic\"".to_owned()), "{within:?}");
    assert!(within.contains(&"\"user\" \"n\"".to_owned()), "{within:?}");
}

/// Ids of instances name the request, so the state of sequencers was never compared.
#[test]
fn sequencers_of_two_requests_are_compared_by_path() {
    let place = place();
    run(&place, "nested", "here");
    let places = |left: &str, right: &str| -> Vec<Value> {
        let found = place.get(&format!("diff {left} --with {right}"));
        let found = found.as_array().expect("a list").iter().filter(|one| one["scope"] == "sequencer");
        found.map(|one| json!([one["instanceId"], one["path"], one["kind"], one["old"], one["new"]])).collect()
    };
    let edited = fork(&place, r#"here --at root/step:a --set sequencer[root].plan[1].t="z""#);
    assert_eq!(places("here", &edited), [json!(["here:root:0", "plan[1].t", "changed", "y", "z"])]);
    let inner = fork(&place, r#"here --at root/step:a --set sequencer[root].seen=["a","b"]"#);
    assert_eq!(places("here", &inner), [json!(["here:root:0", "seen[1]", "added", null, "b"])], "{inner}");
    // What ended before the fork is in the log of the other request alone.
    let after = fork(&place, "here --at root/step:inner");
    assert_eq!(places("here", &after), [] as [Value; 0], "{after}");
    run(&place, "chain", "other");
    let only = places("here", "other");
    assert_eq!(only.len(), 2, "the states of both sequencers are gone: {only:?}");
    assert!(only.iter().all(|one| one[2] == "removed"), "{only:?}");
}

#[test]
fn a_request_that_still_runs_can_be_forked_and_two_forks_may_run_at_once() {
    let place = place();
    let going = place.start("run main holds --user ada --session s --request held");
    place.until("the first step ended", |place| has_step(place, "held"));
    place.edit(&FLOW.replace("600_000", "200"));
    place.get("check");
    let forks = [1, 2].map(|_| place.start("fork held --at root/step:a"));
    let answers: Vec<Answer> = forks.into_iter().map(tests::going::Going::ended).collect();
    let mut sessions = BTreeSet::new();
    for answer in answers {
        assert_eq!(answer.code, Some(0), "{answer}");
        let forked = answer.json();
        sessions.insert(forked["sessionId"].to_string());
        let state = place.get(&format!("state --request {}", forked["requestId"].as_str().expect("an id")));
        assert_matches("state", &state, &json!({ "session": { "log": ["a"], "…": 0 }, "user": { "n": 1 }, "…": 0 }));
    }
    assert_eq!(sessions.len(), 2);
    assert_eq!(place.get("show held")["request"]["status"], "in_progress");
    going.kill();
}
