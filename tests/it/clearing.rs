//! `delete` and `compact`: what goes, what stays, and what a kill in the middle leaves.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const FLOW: &str = r#"
const work = handler({
  name: "work",
  execute: async (input: any, ctx) => {
    await ctx.session.incState({ n: 1 });
    await ctx.user.pushState("seen", input.word);
    await ctx.project?.incState({ runs: 1 });
    await ctx.session.resources.notes.patchState({ text: input.word });
    await ctx.user.resources.profile.patchState({ last: input.word });
    await ctx.session.appendJournal({ text: input.word });
    return { large: `${input.word} ${input.large ?? ""}` };
  },
});
const wait = handler({ name: "wait", execute: async () => new Promise((done) => setTimeout(done, 60000)) });
export default defineFlow({
  kind: "clearing",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  user: { stateSchema: z.object({ seen: z.array(z.string()).default([]) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  resources: {
    notes: defineResource({ scope: "session", stateSchema: z.object({ text: z.string().default("") }) }),
    profile: defineResource({ scope: "user", stateSchema: z.object({ last: z.string().default("") }) }),
  },
  actions: { work: { block: sequencer({ name: "pipe", stateSchema: z.object({ x: z.number().default(1) }) }).step(work) }, wait: { block: wait } },
});
"#;

fn place() -> Place {
    let flow = format!("import {{ defineResource }} from \"@flow-state-dev/core\";\n{FLOW}");
    Place::with_flow(&flow)
}

fn work(place: &Place, id: &str, session: &str, input: &Value) {
    let words = [
        "run",
        "clearing",
        "work",
        "--user",
        "ada",
        "--project",
        "p",
        "--session",
        session,
        "--request",
        id,
        "--input",
        "-",
    ];
    let answer = place.run_with(&words, &input.to_string());
    assert_eq!(answer.code, Some(0), "{answer}");
}

/// Sessions `a` and `b` by turns: requests a1 b1 a2 a3 b2.
fn worked() -> Place {
    let place = place();
    for id in ["a1", "b1", "a2", "a3", "b2"] {
        work(&place, id, &id[..1], &json!({ "word": id }));
    }
    place
}

/// All that can be asked about what stays.
fn told(place: &Place) -> Vec<Value> {
    [
        "state --user ada",
        "state --project p",
        "state --session b",
        "state --request b1",
        "state --request b2",
        "state --request b1 --at 1",
        "state --request b2 --at 1",
        "diff b1",
        "diff b2",
        "show b1",
        "events b2",
        "items --session b",
        "journal --session b",
        "requests --session b",
        "history b2 --path user.seen",
        "search b2",
    ]
    .map(|line| place.get(line))
    .into()
}

#[test]
fn a_deleted_session_is_gone_and_everything_else_is_as_it_was() {
    let place = worked();
    let before = told(&place);
    let stats = place.get("stats");
    let events: usize =
        ["a1", "a2", "a3"].iter().map(|id| place.get(&format!("events {id}")).as_array().map_or(0, Vec::len)).sum();
    assert_eq!(place.get("delete --session a"), json!({ "sessionId": "a", "requests": 3, "events": events }));
    assert_eq!(told(&place), before);
    for line in [
        "state --session a",
        "items --session a",
        "journal --session a",
        "show a1",
        "events a2",
        "requests --session a",
        "delete --session a",
        "search a1 --session a",
    ] {
        assert_eq!(place.ask(line).code, Some(6), "{line}");
    }
    assert_eq!(place.get("sessions").as_array().map(Vec::len), Some(1));
    assert_eq!(place.get("search a2 --limit 9"), place.get("search a2"));
    assert!(place.get("search a2").as_array().expect("a list").iter().all(|hit| hit["requestId"] != "a2"));
    let after = place.get("stats");
    assert_eq!(after["events"].as_u64(), stats["events"].as_u64().map(|all| all - events as u64));
    assert_eq!((&after["sessions"], &after["requests"]), (&json!(1), &json!(2)));
    // What stays goes on, and so does an id that was used.
    work(&place, "a1", "a", &json!({ "word": "again" }));
    assert_eq!(place.get("state --session a")["session"]["n"], 1);
    assert_eq!(place.get("state --user ada")["user"]["seen"], json!(["a1", "b1", "a2", "a3", "b2", "again"]));
    assert_eq!(place.get("state --project p")["project"]["runs"], 6);
    assert_eq!(place.get("state --user ada")["versions"]["user"], 6);
    assert_matches(
        "what it wrote",
        &place.get("history a1 --path user.seen[5]"),
        &json!([{ "old": null, "new": "again", "…": 0 }]),
    );
}

/// The newest events go: their numbers are not given again, or instants would lie.
#[test]
fn users_and_projects_keep_what_the_last_session_left() {
    let place = worked();
    place.get("delete --session b");
    place.get("delete --session a");
    let seen = json!(["a1", "b1", "a2", "a3", "b2"]);
    assert_eq!(place.get("state --user ada")["user"]["seen"], seen);
    assert_eq!(place.get("state --user ada")["resources"]["user/profile"]["last"], "b2");
    assert_eq!(place.get("stats")["events"], 0);
    assert_eq!(place.get("stats")["payloadBytes"], 0);
    work(&place, "c1", "c", &json!({ "word": "c1" }));
    assert_eq!(place.get("state --request c1 --at 1")["user"]["seen"], seen);
    assert_eq!(place.get("history c1 --path user.seen[5]")[0]["new"], "c1");
    place.get("delete --session c");
    assert_eq!(place.get("state --project p")["project"]["runs"], 6);
    let text = place.run(&["delete", "--session", "c"]);
    assert_eq!(text.code, Some(6), "{text}");
}

#[test]
fn large_values_go_with_the_last_that_names_them_and_compacting_gives_the_room_back() {
    let place = place();
    let (own, shared) = ("own ".repeat(100_000), "shared ".repeat(100_000));
    work(&place, "a1", "a", &json!({ "word": "w", "large": own }));
    work(&place, "a2", "a", &json!({ "word": "w", "large": shared }));
    work(&place, "b1", "b", &json!({ "word": "w", "large": shared }));
    let unique = |place: &Place| place.get("stats")["uniquePayloadBytes"].as_i64().expect("a number");
    let all = unique(&place);
    let show = place.get("show b1");
    place.get("delete --session a");
    let left = unique(&place);
    assert!((all - left - 800_000).abs() < 20_000, "{all} became {left}");
    assert_eq!(place.get("show b1"), show);
    let compacted = place.get("compact");
    assert_matches("compact", &compacted, &json!({ "before": "<number>", "after": "<number>" }));
    assert!(compacted["after"].as_u64() < compacted["before"].as_u64(), "{compacted}");
    assert_eq!(place.get("stats")["bytes"], compacted["after"]);
    assert_eq!(
        std::fs::metadata(place.database()).expect("it is there").len(),
        compacted["after"].as_u64().expect("a number")
    );
    assert_eq!(place.get("show b1"), show);
    assert_eq!(unique(&place), left);
    work(&place, "b2", "b", &json!({ "word": "w", "large": own }));
    assert!(place.run(&["compact"]).stdout.contains("bytes became"));
}

#[test]
fn what_runs_is_not_deleted_and_goes_on_while_others_are() {
    let place = worked();
    let going = place.start("run clearing wait --user ada --session a --request w1");
    place.until_status("w1", "in_progress");
    let answer = place.ask("delete --session a");
    assert_eq!(answer.code, Some(7), "{answer}");
    assert!(answer.stderr.contains("w1"), "{answer}");
    assert_eq!(answer.json()["error"]["code"], "refused");
    place.get("delete --session b");
    place.get("compact");
    place.get("check --data");
    assert_eq!(place.get("show a1")["request"]["status"], "completed");
    going.kill();
    // Its process is gone: it runs no more.
    place.get("compact");
    assert_eq!(place.get("delete --session a")["requests"], 4);
    assert_eq!(place.ask("delete").code, Some(2));
}

/// Killed again and again while it deletes and compacts: a session is there whole or not at all.
#[test]
fn a_kill_leaves_all_of_it_or_nothing() {
    let place = place();
    for n in 0..12 {
        work(
            &place,
            &format!("r{n}"),
            &format!("s{n}"),
            &json!({ "word": format!("w{n}"), "large": "x".repeat(200_000) }),
        );
    }
    let user = place.get("state --user ada");
    for n in 0..11 {
        for line in [format!("delete --session s{n}"), "compact".to_owned()] {
            let going = place.start(&line);
            std::thread::sleep(std::time::Duration::from_millis(3 * n));
            going.kill();
        }
        let gone = place.ask(&format!("requests --session s{n}"));
        match gone.code {
            Some(6) => assert_eq!(place.ask(&format!("show r{n}")).code, Some(6)),
            Some(0) => assert_eq!(place.get(&format!("show r{n}"))["request"]["status"], "completed"),
            _ => panic!("{gone}"),
        }
        assert_eq!(place.get("state --user ada"), user);
    }
    assert_eq!(place.get("show r11")["request"]["status"], "completed");
}

/// A fork's copies of users and projects go with it, and the real ones stay.
#[test]
fn a_deleted_fork_takes_its_copies_with_it() {
    let place = worked();
    let before = told(&place);
    let forked = place.get("fork a2 --at root/step:work");
    let session = forked["sessionId"].as_str().expect("it has one").to_owned();
    assert_eq!(place.get(&format!("state --session {session}"))["session"]["n"], 2);
    place.get("check --data");
    place.get(&format!("delete --session {session}"));
    assert_eq!(place.get("check --data")["ok"], true);
    assert_eq!(told(&place), before);
}

const LOGS: &str = r#"
const work = handler({ name: "work", execute: async (input, ctx) => { console.log("one line"); ctx.emit.message("hello"); return input; } });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "pipe", inputSchema: z.any() }).step(work) } } });
"#;

/// An event of a kind that a later version writes is shown and left alone.
#[test]
fn what_a_later_version_wrote_is_read() {
    let place = Place::with_flow(LOGS);
    place.get("run main go --user ada --session s --request r --input 1");
    let seq = place.get("events r --kind logged")[0]["seq"].clone();
    // In the file a row's kind stands before its body, with two small numbers between them.
    let mut bytes = std::fs::read(place.database()).expect("it is there");
    let is_row =
        |at: usize| bytes[at..].starts_with(b"logged") && bytes[at + 6..at + 11].windows(2).any(|two| two == b"{\"");
    let rows: Vec<usize> = (0..bytes.len() - 16).filter(|at| is_row(*at)).collect();
    assert_eq!(rows.len(), 1, "the one row is found");
    bytes[rows[0]..rows[0] + 6].copy_from_slice(b"unseen");
    std::fs::write(place.database(), bytes).expect("the place is writable");
    for line in
        ["show r", "items --request r", "checkpoints r", "diff r", "search hello", "state --request r", "replay r"]
    {
        place.get(line);
    }
    let event = &place.get("events r")[seq.as_u64().expect("a number") as usize - 1];
    assert_matches(
        "the event",
        event,
        &json!({ "kind": "unseen", "seq": seq, "payload": { "level": "log", "text": "one line" }, "…": 0 }),
    );
    let checked = place.get("check --data");
    assert_eq!((&checked["ok"], &checked["unknown"]), (&json!(true), &json!({ "unseen": 1 })), "{checked}");
    assert!(place.run(&["check", "--data"]).stdout.contains("does not know"));
    place.get("export --request r --out r.flowglass");
    place.get("--data there.db import r.flowglass");
    assert_eq!(&place.get("--data there.db events r")[seq.as_u64().expect("a number") as usize - 1], event);
}
