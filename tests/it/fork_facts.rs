//! What is said of a fork: who wrote what it shows, what it spent, and how long it took.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const load = handler({ name: "load", execute: async (input, ctx) => {
  await ctx.session.patchState({ last: { amount: input, note: "paid" } });
  await ctx.session.incState({ count: 1 });
  await ctx.sequencer.patchState({ seen: true });
  await ctx.request.patchState({ loaded: true });
  return input;
} });
const calc = handler({ name: "calc", execute: async (input, ctx) => {
  await ctx.session.patchState({ total: ctx.session.state.last.amount * 2 });
  return input;
} });
const go = sequencer({ name: "go", inputSchema: z.any(), stateSchema: z.object({ seen: z.boolean().default(false) }) });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({
    last: z.object({ amount: z.number(), note: z.string() }).default({ amount: 0, note: "none" }),
    count: z.number().default(0), total: z.number().default(0),
  }) },
  actions: { go: { block: go.step(load).step(calc) } },
});
"#;

const LOAD: &str = "root/step:load";

fn ran() -> Place {
    ran_with(FLOW)
}

fn ran_with(flow: &str) -> Place {
    let place = Place::with_flow(flow);
    for (request, input) in [("earlier", 150), ("r", 200)] {
        let line = format!("run main go --user ada --session s --request {request} --input {input}");
        assert_eq!(place.ask(&line).code, Some(0), "{request}");
    }
    place
}

fn fork(place: &Place, line: &str) -> String {
    let answer = place.ask(&format!("fork {line}"));
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()["requestId"].as_str().expect("an id").to_owned()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// A block that a fork keeps ran in its origin, and took its time there.
#[test]
fn kept_blocks_of_a_fork_count_where_they_ran() {
    let place = ran();
    let options = runner::OpenOptions { dir: place.dir().to_owned(), ..Default::default() };
    let workspace = runner::Workspace::open(options).expect("the workspace opens");
    let sums = || {
        let sums = workspace.block_sums("main", "go", "").expect("it is counted");
        let count = |place: &str| sums.blocks.iter().find(|block| block.place == place).map(|block| block.count);
        (sums.runs, count(LOAD), count("root/step:calc"), count("root"))
    };
    assert_eq!(sums(), (2, Some(2), Some(2), Some(2)));
    let first = fork(&place, "r --at root/step:load");
    assert_eq!(sums(), (3, Some(2), Some(3), Some(3)));
    fork(&place, &format!("{first} --at root/step:load"));
    assert_eq!(sums(), (4, Some(2), Some(4), Some(4)));
}

/// Their scopes are those of the request that a fork keeps them from.
#[test]
fn kept_blocks_of_a_fork_wrote_what_they_wrote() {
    let place = ran();
    let first = fork(&place, "r --at root/step:load");
    let second = fork(&place, &format!("{first} --at root/step:load"));
    let changes = |request: &str| -> Vec<Value> {
        let block = place.get(&format!("block {request} {LOAD}"));
        let plain = |one: &Value| json!([one["scope"], one["path"], one["old"], one["new"], one["by"], one["seq"]]);
        list(&block["changes"]).iter().map(plain).collect()
    };
    let writers = |request: &str, path: &str| -> Vec<Value> {
        let rows = place.get(&format!("history {request} --path {path}"));
        list(&rows).iter().map(|row| json!([row["by"], row["operation"], row["old"], row["new"], row["seq"]])).collect()
    };
    assert!(changes("r").iter().any(|one| one[1] == "count"), "{:?}", changes("r"));
    for fork in [&first, &second] {
        assert_eq!(changes(fork), changes("r"), "{fork}");
        for path in ["session.count", "session.last.amount", "request.loaded", "sequencer[root].seen"] {
            assert_eq!(writers(fork, path), writers("r", path), "{fork} {path}");
        }
        let text = place.run(&["block", fork, LOAD]).stdout;
        assert!(text.contains("State changes"), "{text}");
    }
    // The request that wrote before the fork's own has written there, too.
    assert_eq!(
        writers(&first, "session.count"),
        [json!([LOAD, "increment", 1, 2, writers("r", "session.count")[0][4]])]
    );
    // What the request wrote after the fork left it is none of the fork's.
    let total = writers("r", "session.total");
    let own = writers(&first, "session.total");
    assert_eq!((total.len(), own.len()), (1, 1));
    assert_ne!(total[0][4], own[0][4]);
}

/// The writer of the other request was named for what the fork's edit had put there.
#[test]
fn a_difference_names_the_edit_of_a_fork() {
    let place = ran();
    let first = fork(&place, r#"r --at root/step:load --set session.last={"amount":60,"note":"paid"}"#);
    let from = place.get(&format!("show {first}"))["request"]["forkedFrom"]["seq"].as_u64().expect("a number");
    let amount = |line: &str| -> Value {
        let changes = place.get(&format!("diff {line}"));
        let found = list(&changes).iter().find(|one| one["path"] == "last.amount").cloned();
        found.unwrap_or_else(|| panic!("{changes:#}"))
    };
    let again = fork(&place, &format!("{first} --at root/step:load"));
    for line in [format!("{first} --from 1"), format!("{first} --from {from}"), format!("{again} --from 1")] {
        let change = amount(&line);
        assert_eq!((&change["new"], &change["isEdit"]), (&json!(60), &json!(true)), "{line}: {change}");
        assert_eq!(change["by"], json!(null), "{line}: {change}");
        assert!(change["seq"].as_u64().is_some_and(|seq| seq > from), "{line}: {change}");
    }
    // Other places of the record, and the same place before the edit, keep their writers.
    let before = amount(&format!("{first} --from 1 --to {from}"));
    assert_eq!((&before["by"], &before["new"], &before["isEdit"]), (&json!(LOAD), &json!(200), &json!(null)));
    let changes = place.get(&format!("diff {first} --from 1"));
    let count = list(&changes).iter().find(|one| one["path"] == "count").expect("it changed");
    assert_eq!(count["by"], LOAD, "{count}");
    let text = place.run(&["diff", &first, "--from", "1"]).stdout;
    assert!(text.lines().any(|line| line.contains("last.amount") && line.contains("(the fork's edit)")), "{text}");
    let history = place.get(&format!("history {again} --path session.last.amount"));
    let by: Vec<String> = list(&history)
        .iter()
        .map(|row| format!("{} {}", row["operation"].as_str().unwrap_or(""), row["new"]))
        .collect();
    assert_eq!(by.last().map(String::as_str), Some("edit 60"), "{history:#}");
    let why = place.get(&format!("why {first} --at root --value session.last.amount"));
    assert!(why.to_string().contains("\"edit\""), "{why:#}");
}

/// The events with which a fork records what it begins with showed an empty state.
#[test]
fn every_instant_of_a_fork_has_its_states() {
    let place = ran();
    let edits = "--set session.last.amount=60 --set request.loaded=false --set sequencer.seen=false";
    let first = fork(&place, &format!("r --at {LOAD} {edits}"));
    // Its fork adds to the edits, which were lost with the state.
    let second = fork(&place, &format!("{first} --at {LOAD} --set request.more=1"));
    for (fork, request) in [(&first, json!({ "loaded": false })), (&second, json!({ "loaded": false, "more": 1 }))] {
        let from = place.get(&format!("show {fork}"))["request"]["forkedFrom"]["seq"].as_u64().expect("a number");
        let events = place.get(&format!("events {fork}"));
        let runs = |event: &&Value| event["seq"].as_u64() > Some(from) && event["kind"] == "block_started";
        let ran = list(&events).iter().find(runs).and_then(|event| event["seq"].as_u64()).expect("a block ran");
        assert!(ran > from + 4, "{events}");
        for seq in from + 1..=ran {
            let state = place.get(&format!("state --request {fork} --at {seq}"));
            let session = json!({ "last": { "amount": 60, "note": "paid" }, "count": 2, "total": 300 });
            assert_eq!((&state["session"], &state["request"]), (&session, &request), "{fork} at {seq}: {state}");
            let blocks: Vec<&Value> = state["sequencers"].as_object().expect("states").values().collect();
            assert_eq!(blocks, [&json!({ "seen": false })], "{fork} at {seq}");
        }
        let changes = |from: u64, to: u64| place.get(&format!("diff {fork} --from {from} --to {to}"));
        assert_eq!(changes(from + 1, ran), json!([]), "{fork}");
        let all = changes(from, from + 1);
        assert!(list(&all).iter().all(|change| change["isEdit"] == true), "{all:#}");
        let history = place.get(&format!("history {fork} --path request.loaded"));
        let edit = list(&history).iter().find(|write| write["operation"] == "edit").cloned().expect("an edit");
        let began = place.get(&format!("show {first}"))["request"]["forkedFrom"]["seq"].as_u64().map(|seq| seq + 1);
        assert_eq!(edit["committed"].as_u64(), began, "{history:#}");
    }
    let from = place.get(&format!("show {first}"))["request"]["forkedFrom"]["seq"].as_u64().expect("a number");
    let all = place.get(&format!("diff {first} --from {from} --to {}", from + 1));
    let mut paths: Vec<&str> = list(&all).iter().filter_map(|change| change["path"].as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["last.amount", "loaded", "seen"], "{all:#}");
    let at = place.get(&format!("why {first} --at {} --value request.loaded", from + 1));
    assert!(at.to_string().contains("\"edit\""), "{at:#}");
}

/// Nobody was named for a place that no block had written before.
#[test]
fn an_edit_may_be_the_first_write_to_the_state_of_a_request() {
    let place = ran_with(&FLOW.replace("  await ctx.request.patchState({ loaded: true });\n", ""));
    let fork = fork(&place, &format!("r --at {LOAD} --set request.fresh=1"));
    let history = place.get(&format!("history {fork} --path request.fresh"));
    let rows: Vec<Value> =
        list(&history).iter().map(|row| json!([row["operation"], row["old"], row["new"], row["by"]])).collect();
    assert_eq!(rows, [json!(["edit", null, 1, null])], "{history:#}");
    let changes = place.get(&format!("diff {fork} --from 1"));
    let edits: Vec<&str> =
        list(&changes).iter().filter(|one| one["isEdit"] == true).filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(edits, ["fresh"], "{changes:#}");
    // What a schema gives a record is no edit.
    let fork = self::fork(&place, "earlier --at 0");
    let changes = place.get(&format!("diff {fork} --from 1"));
    assert!(list(&changes).iter().all(|one| one["isEdit"] != true), "{changes:#}");
}

/// A place that is misspelt was set without a word, and nothing read it.
#[test]
fn the_plan_of_a_fork_names_what_no_schema_declares() {
    let place = ran();
    let plan = |set: &str| -> Value {
        let answer = place.run(&["fork", "r", "--at", LOAD, "--set", set, "--plan", "--json"]);
        assert_eq!(answer.code, Some(0), "{answer}");
        answer.json()["undeclared"].clone()
    };
    assert_eq!(plan("session.nothere.deep=\"x\""), json!(["session.nothere.deep"]));
    assert_eq!(plan("session.total=5"), json!(null));
    assert_eq!(plan("session.last.amount=5"), json!(null));
    // The flow has no schema of the request's state, so any field of it may be meant.
    assert_eq!(plan("request.other=5"), json!(null));
    let text = place.run(&["fork", "r", "--at", LOAD, "--set", "session.nothere=1", "--plan"]).stdout;
    assert!(text.contains("declared by no schema of the flow:\n  session.nothere"), "{text}");
}
