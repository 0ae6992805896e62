//! A session as a conversation: its requests with their items for each audience, its forks as a tree, and what people
//! add to it.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::opened;

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.object({ text: z.string() }), execute: async ({ text }, ctx) => {
  await ctx.session.incState({ said: 1 });
  ctx.emit.message(`You said ${text}`);
  if (text === "bad") throw new Error("no");
  if (text === "many") for (let n = 0; n < 150; n++) ctx.emit.message(`line ${n}`);
  return text;
} });
export default defineFlow({
  kind: "talk",
  session: { stateSchema: z.object({ said: z.number().default(0) }) RETENTION },
  actions: { say: { block: sequencer({ name: "talk" }).step(say), userMessage: (input) => input.text } },
});
"#;

fn place(retention: &str) -> Place {
    Place::with_flow(&FLOW.replace("RETENTION", retention))
}

fn say(place: &Place, session: &str, request: &str, text: &str) {
    let input = json!({ "text": text }).to_string();
    let told = place.run(&[
        "run",
        "talk",
        "say",
        "--user",
        "ada",
        "--session",
        session,
        "--request",
        request,
        "--input",
        &input,
    ]);
    assert!(matches!(told.code, Some(0 | 3)), "{told}");
}

fn talk() -> Place {
    let place = place("");
    for (request, text) in [("r1", "hello"), ("r2", "bad"), ("r3", "bye")] {
        say(&place, "s1", request, text);
    }
    place
}

fn ids(conversation: &Value) -> Vec<&str> {
    let turns = conversation["turns"].as_array().expect("a list");
    turns.iter().filter_map(|turn| turn["run"]["id"].as_str()).collect()
}

/// The texts of the messages of a turn.
fn texts(turn: &Value) -> Vec<&str> {
    let items = turn["items"].as_array().expect("a list").iter();
    items.filter_map(|shown| shown["item"]["content"][0]["text"].as_str()).collect()
}

#[test]
fn a_session_shows_what_was_said_over_its_requests() {
    let place = talk();
    let whole = place.get("session s1 --view client");
    assert_eq!((&whole["total"], &whole["offset"]), (&json!(3), &json!(0)));
    assert_eq!(ids(&whole), ["r1", "r2", "r3"]);
    assert_eq!(texts(&whole["turns"][0]), ["hello", "You said hello"]);
    assert_eq!(whole["turns"][1]["run"]["error"]["message"], "no");
    // Models read later what completed requests said.
    let history = place.get("session s1 --view history");
    assert_eq!(texts(&history["turns"][0]), ["hello", "You said hello"]);
    assert_eq!(history["turns"][1]["items"], json!([]));
    assert_eq!(history["turns"][1]["counts"]["history"], 0);
    // As `items` says of all of them.
    for view in ["all", "client", "history", "trace"] {
        let items = place.get(&format!("items --session s1 --view {view}"));
        let shown = place.get(&format!("session s1 --view {view}"));
        let turns = shown["turns"].as_array().expect("a list");
        let of_turns: Vec<&Value> = turns
            .iter()
            .flat_map(|turn| turn["items"].as_array().expect("a list").iter().map(|shown| &shown["item"]["id"]))
            .collect();
        let of_items: Vec<&Value> = items.as_array().expect("a list").iter().map(|item| &item["id"]).collect();
        assert_eq!(of_turns, of_items, "{view}");
    }
    let told = place.run(&["session", "s1"]).stdout;
    assert!(told.contains("requests 1 to 3 of 3") && told.contains("You said bye"), "{told}");
    assert_eq!(place.ask("session nobody").code, Some(6));
}

#[test]
fn pages_of_a_session_are_its_turns() {
    let place = talk();
    assert_eq!(ids(&place.get("session s1 --limit 2")), ["r2", "r3"]);
    assert_eq!(ids(&place.get("session s1 --limit 1 --offset 1")), ["r2"]);
    // Behind the end are the newest ones.
    assert_eq!(ids(&place.get("session s1 --limit 1 --offset 7")), ["r3"]);
    assert_eq!(place.ask("session s1 --limit 51").code, Some(2));
    say(&place, "s2", "many", "many");
    let long = &place.get("session s2 --view client")["turns"][0];
    assert_eq!((&long["leftOut"], &long["leftOutAt"]), (&json!(33), &json!(20)));
    let said = texts(long);
    assert_eq!((said.len(), said[0], said[118]), (119, "many", "line 149"));
    assert!(place.run(&["session", "s2", "--view", "client"]).stdout.contains("33 items are left out"));
}

#[test]
fn forks_are_a_tree() {
    let place = talk();
    assert_eq!(place.get("session s1")["forks"].as_array().map(Vec::len), Some(1));
    let fork = place.get("fork r1 --at root/step:say --output \"else\"");
    let inner = fork["sessionId"].as_str().expect("a session").to_owned();
    let request = fork["requestId"].as_str().expect("a request");
    let second = place.get(&format!("fork {request} --at root/step:say"));
    let deepest = second["sessionId"].as_str().expect("a session").to_owned();
    for session in ["s1", &inner, &deepest] {
        let shown = place.get(&format!("session {session}"));
        let tree: Vec<(&Value, &Value)> =
            shown["forks"].as_array().expect("a list").iter().map(|fork| (&fork["id"], &fork["parent"])).collect();
        assert_eq!(
            tree,
            [(&json!("s1"), &Value::Null), (&json!(inner), &json!("s1")), (&json!(deepest), &json!(inner))]
        );
    }
    let text = place.run(&["session", &deepest]).stdout;
    assert!(text.contains(&format!("\n    {deepest}  from {request}, event ")), "{text}");
    // The fork shows what was before it, and no more of the session it comes from.
    assert_eq!(place.get(&format!("session {inner}"))["total"], 1);
}

#[test]
fn a_session_shows_what_its_flow_keeps_in_sight() {
    let place = place(", retention: { maxItems: 4 }");
    for (request, text) in [("r1", "one"), ("r2", "two"), ("r3", "three"), ("r4", "four")] {
        say(&place, "s1", request, text);
    }
    let shown = place.get("session s1 --view client");
    let forgotten: Vec<&Value> =
        shown["turns"].as_array().expect("a list").iter().map(|turn| &turn["isForgotten"]).collect();
    let kept = place.get("items --session s1 --view client");
    let of_kept: Vec<&str> = kept.as_array().expect("a list").iter().filter_map(|i| i["requestId"].as_str()).collect();
    for (turn, is_forgotten) in shown["turns"].as_array().expect("a list").iter().zip(forgotten) {
        let is_kept = of_kept.contains(&turn["run"]["id"].as_str().unwrap_or_default());
        assert_eq!(*is_forgotten, json!(!is_kept), "{turn}");
        assert_eq!(turn["items"].as_array().expect("a list").is_empty(), !is_kept);
    }
    assert!(of_kept.contains(&"r4") && !of_kept.contains(&"r1"), "{of_kept:?}");
}

#[test]
fn a_session_is_tagged_and_shows_its_tags() {
    let place = talk();
    assert_eq!(place.get("tag --session s1"), json!({ "sessionId": "s1", "tags": [] }));
    let whole = json!({ "sessionId": "s1", "tags": ["demo", "long"], "note": "- keep it", "title": "The talk" });
    let now = place.run(&[
        "--json",
        "tag",
        "--session",
        "s1",
        "-x",
        "+long",
        "+demo",
        "--note",
        "- keep it",
        "--title",
        "The talk",
    ]);
    assert_eq!(now.json(), whole);
    assert_eq!(place.run(&["--json", "tag", "--session", "s1", "-gone"]).json(), whole);
    let row = &place.get("sessions --tag demo")[0];
    assert_eq!((&row["id"], &row["title"], &row["tags"]), (&json!("s1"), &json!("The talk"), &json!(["demo", "long"])));
    assert_eq!(place.get("sessions --search LONG")[0]["id"], "s1");
    assert_eq!(place.get("sessions --tag other"), json!([]));
    assert_eq!(place.get("session s1")["tags"], whole);
    // The tags of its requests are their own.
    assert_eq!(place.get("tag r1")["tags"], json!([]));
    let refused = |args: &[&str], said: &str| {
        let told: Answer = place.run(args);
        assert_eq!(told.code, Some(2), "{told}");
        assert!(told.stderr.contains(said), "{told}");
    };
    refused(&["tag", "--session", "s1", "r1"], "write +TAG to add a tag, or -TAG to remove one");
    refused(&["tag", "--session", "s1", "+a\u{202e}b"], "has the character U+202E");
    refused(&["tag", "--session", "s1", "--title", "two\nlines"], "a title is one line");
    assert_eq!(place.ask("tag --session nobody +x").code, Some(6));
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

#[test]
fn what_is_added_to_a_session_travels_with_all_of_it_and_goes_with_it() {
    let place = talk();
    let added = json!({ "sessionId": "s1", "tags": ["demo"], "note": "SECRET-note", "title": "The talk" });
    place.run(&["tag", "--session", "s1", "+demo", "+old", "-old", "--note", "SECRET-note", "--title", "The talk"]);
    place.get("export --session s1 --out all.flowglass");
    place.get("export --request r1 --out one.flowglass");
    let head = |file: &str| std::fs::read(place.dir().join(file)).expect("it was written")[..20].to_vec();
    assert!(head("all.flowglass").starts_with(b"flowglass export 5\n"));
    assert!(head("one.flowglass").starts_with(b"flowglass export 3\n"), "a part of a session says nothing of it");
    assert_eq!(place.ask("--data there.db import all.flowglass").code, Some(0));
    assert_eq!(place.ask("--data there.db tag --session s1").json(), added);
    assert_eq!(place.ask("--data there.db check").json()["ok"], json!(true));
    // Again changes nothing.
    assert_eq!(place.ask("--data there.db import all.flowglass").code, Some(0));
    place.get("export --session s1 --out client.flowglass --view client");
    assert!(!opened(&place.dir().join("client.flowglass")).contains("SECRET-note"));

    place.get("delete --session s1");
    assert_eq!(place.ask("tag --session s1").code, Some(6));
    // Another one of that name has none of it.
    say(&place, "s1", "again", "hello");
    assert_eq!(place.get("tag --session s1"), json!({ "sessionId": "s1", "tags": [] }));
    assert_eq!(place.get("check --data")["ok"], json!(true));
}
