//! `check --data`: a database is looked at whole, from its events alone.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const FLOW: &str = r#"
// Put together here, because the code that ran is kept as well.
const marker = (of) => ["marker", "in", of].join("-");
const note = handler({
  name: "note",
  execute: async (input: any, ctx) => {
    await ctx.session.patchState({ word: marker("state") });
    await ctx.user.incState({ n: 1 });
    return { large: `${marker("payload")} `.repeat(400) + input.n, ms: input.ms };
  },
});
const slow = handler({ name: "slow", execute: async (input: any, ctx) => {
  await ctx.request.patchState({ at: "slow" });
  await new Promise((done) => setTimeout(done, input.ms));
} });
export default defineFlow({ kind: "sound", actions: {
  note: { block: sequencer({ name: "pipe", stateSchema: z.object({ x: z.number().default(1) }) }).step(note) },
  slow: { block: sequencer({ name: "pipe" }).step(note).step(slow) },
} });
"#;

fn place() -> Place {
    let place = Place::with_flow(FLOW);
    for id in ["r1", "r2"] {
        place.get(&format!("run sound note --user ada --session s --request {id} --input {{\"n\":1}}"));
    }
    place
}

fn check(place: &Place) -> Value {
    let answer = place.ask("check --data");
    let found = answer.json();
    assert_eq!(answer.code, Some(if found["ok"] == true { 0 } else { 1 }), "{answer}");
    found
}

#[test]
fn a_database_is_sound_after_a_crash_a_resume_and_a_deletion() {
    let place = place();
    let found = check(&place);
    assert_matches("check", &found, &json!({ "ok": true, "requests": 2, "events": "<number>", "problems": [] }));
    assert_eq!(found["events"], place.get("stats")["events"]);
    let going = place.start("run sound slow --user ada --session t --request r3 --input {\"ms\":60000}");
    place.until("it is in its second step", |place| {
        let events = place.ask("events r3 --kind block_finished");
        (events.code == Some(0) && events.json().as_array()?.len() == 1).then_some(())
    });
    assert_eq!(check(&place)["ok"], true, "while it runs");
    going.kill();
    assert_eq!(check(&place)["ok"], true, "after the crash");
    place.get("delete --session s");
    place.get("compact");
    assert_matches(
        "check",
        &check(&place),
        &json!({ "ok": true, "requests": 1, "events": "<number>", "problems": [] }),
    );
    let text = place.run(&["check", "--data"]);
    assert!(text.stdout.ends_with("no problems found\n"), "{text}");
}

#[test]
fn a_changed_byte_is_found_and_named() {
    let place = place();
    place.get("compact");
    let sound = std::fs::read(place.database()).expect("it is there");
    let position = |words: &str| {
        let at = sound.windows(words.len()).position(|window| window == words.as_bytes());
        at.unwrap_or_else(|| panic!("{words} stands in the file"))
    };
    for (words, told) in [
        ("marker-in-state", "does not fit its checksum"),
        // What is not known is not taken to be the end.
        ("request_finished", "its events say in_progress"),
        ("marker-in-payload", "payload"),
    ] {
        let mut bytes = sound.clone();
        bytes[position(words)] = b'X';
        place.write("copy.db", &bytes);
        let answer = place.ask("check --data copy.db");
        assert_eq!(answer.code, Some(1), "{words}\n{answer}");
        let found = answer.json();
        assert_eq!(found["ok"], false, "{words}");
        let problems = found["problems"].as_array().expect("a list");
        let is_named = |problem: &Value| problem["what"].as_str().is_some_and(|what| what.contains(told));
        assert!(problems.iter().any(is_named), "{words}: {found:#}");
    }
    // Not a database any more, and cut off.
    for bytes in [b"no database at all".to_vec(), sound[..sound.len() / 2].to_vec()] {
        place.write("copy.db", &bytes);
        let answer = place.ask("check --data copy.db");
        assert_eq!((answer.code, &answer.json()["ok"]), (Some(1), &json!(false)), "{answer}");
        assert_eq!(std::fs::read(place.dir().join("copy.db")).expect("it is there"), bytes, "it is left as it was");
    }
}

#[test]
fn the_check_of_flows_is_as_it_was_and_wrong_usage_is_told() {
    let place = place();
    assert_eq!(place.get("check")[0]["kind"], "sound");
    assert_eq!(place.ask("check --data nowhere.db").code, Some(6));
    assert!(!place.dir().join("nowhere.db").exists());
    for line in ["stats --data", "flows --data"] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(2), "{line}\n{answer}");
    }
    let empty = Place::new();
    assert_eq!(empty.get("check --data"), json!({ "ok": true, "requests": 0, "events": 0, "problems": [] }));
    assert!(!empty.database().exists(), "nothing is made by looking");
}
