//! Questions about runs that a limit of memory or time ended, and questions that it ended: what was found before is
//! shown, and never as if it were all.

use serde_json::json;
use tests::bench::{Answer, Place};

/// The usual imports are two lines.
const FLOW: &str = r#"const grow = handler({ name: "grow", inputSchema: z.number(), execute: (turns) => {
  const all: number[][] = [];
  for (let i = 0; i < turns; i++) {
    all.push(new Array(20000).fill(i));
  }
  return all.length;
} });
const spin = handler({ name: "spin", inputSchema: z.any(), execute: () => {
  let n = 0;
  for (let i = 0; i < 5; i++) {
    n += i;
  }
  for (;;) n++;
} });
export default defineFlow({ kind: "f", actions: {
  grow: { inputSchema: z.number(), block: grow }, spin: { inputSchema: z.any(), block: spin },
} });
"#;
const PUSH: &str = "flows/main.ts:6";
const ADD: &str = "flows/main.ts:13";

fn place(limits: &str) -> Place {
    let place = Place::with_flow(FLOW);
    limit(&place, limits);
    place
}

fn limit(place: &Place, limits: &str) {
    place.write("flowglass.json", format!("{{ \"limits\": {limits} }}"));
}

fn print(place: &Place, args: &[&str]) -> Answer {
    place.run(&[&["--json", "print"], args, &["--request", "r"]].concat())
}

fn previews(answer: &Answer) -> Vec<String> {
    let found = answer.json();
    let hits = found["hits"].as_array().into_iter().flatten();
    hits.map(|hit| hit["values"][0]["preview"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What is said of an answer that a limit cut off.
#[track_caller]
fn check_cut(answer: &Answer, said: &[&str]) {
    assert_eq!(answer.code, Some(1), "{answer}");
    let found = answer.json();
    let note = found["notes"][0]["note"].as_str().unwrap_or_default();
    assert!(said.iter().all(|part| note.contains(part)), "{note}");
    assert_eq!((&found["notes"][0]["endedByLimit"], &found["totalIsAtLeast"]), (&json!(true), &json!(true)), "{found}");
}

#[test]
fn a_run_that_its_memory_ended_shows_what_came_before() {
    let place = place(r#"{ "memoryMb": 64 }"#);
    assert_eq!(place.ask("run f grow --user ada --request r --input 100000").code, Some(3));
    let answer = print(&place, &[PUSH, "all.length"]);
    check_cut(&answer, &["the request was ended by a limit (block \"grow\": used more than 64 MB", "more than 128 MB"]);
    let found = previews(&answer);
    assert!(found.len() > 20 && found.len() < 1000, "{}", found.len());
    // The last one may be what had no memory left.
    let earlier = found[..found.len() - 1].iter().enumerate();
    assert!(earlier.into_iter().all(|(at, length)| *length == at.to_string()), "{found:?}");
    let text = place.run(&["print", PUSH, "all.length", "--request", "r"]);
    assert_eq!(text.code, Some(1), "{text}");
    assert!(text.stdout.lines().last().is_some_and(|last| last.contains("ended by a limit")), "{text}");
    // A limit of hits that is reached before is another one.
    let first = print(&place, &[PUSH, "all.length", "--limit", "3"]);
    assert_eq!((first.code, previews(&first).len()), (Some(0), 3), "{first}");
    // A condition that fails does not hide it.
    let failing = print(&place, &[PUSH, "all.length", "--if", "all.nothing.deep"]);
    check_cut(&failing, &["ended by a limit", "the condition failed"]);

    let covered = place.run(&["--json", "coverage", "r"]);
    assert_eq!((covered.code, &covered.json()[0]["endedByLimit"]), (Some(1), &json!(true)), "{covered}");
    assert!(covered.stderr.contains("ended by a limit"), "{covered}");
    let last = place.get("step r --at root");
    assert_eq!((&last["tick"], &last["error"]["name"]), (&last["ticks"], &json!("LimitError")), "{last}");
    assert!(last["note"].as_str().is_some_and(|note| note.contains("ended by a limit")), "{last}");
}

#[test]
fn a_question_that_its_memory_ends_shows_what_it_found() {
    let place = place(r#"{ "memoryMb": 400 }"#);
    assert_eq!(place.ask("run f grow --user ada --request r --input 600").code, Some(0));
    let whole = print(&place, &[PUSH, "all.length"]);
    assert_eq!((whole.code, previews(&whole).len()), (Some(0), 600), "{whole}");
    limit(&place, r#"{ "memoryMb": 24 }"#);
    let answer = print(&place, &[PUSH, "all.length"]);
    check_cut(&answer, &["the replay was ended by a limit", "the hits before that are right"]);
    let found = previews(&answer);
    assert!(found.len() > 20 && found.len() < 600, "{}", found.len());
    let stepped = place.run(&["--json", "step", "r", "--at", "root"]);
    assert_eq!(stepped.code, Some(7), "{stepped}");
    assert!(stepped.stdout.contains("cannot be stepped through"), "{stepped}");
}

#[test]
fn a_run_that_its_time_ended_shows_what_came_before() {
    let place = place(r#"{ "yieldMs": 300 }"#);
    assert_eq!(place.ask("run f spin --user ada --request r").code, Some(3));
    let answer = print(&place, &[ADD, "n"]);
    check_cut(&answer, &["the request was ended by a limit", "300 ms", "1800 ms"]);
    assert_eq!(previews(&answer), ["0", "0", "1", "3", "6"]);
}

/// A loop of ten million turns is printed to its end, but not stepped through.
#[test]
fn a_block_of_too_many_statements_is_printed_and_not_stepped_through() {
    let place = Place::with_flow(
        r#"const loop = handler({ name: "loop", inputSchema: z.any(), outputSchema: z.number(), execute: (turns) => {
  let sum = 0;
  for (let turn = 0; turn < turns; turn++) {
    sum += turn % 7;
  }
  return sum;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: loop } } });
"#,
    );
    place.get("run f go --user ada --request r --input 10000000");
    let first = place.get("print flows/main.ts:6 turn sum --limit 2");
    assert_eq!(
        (&first["hits"][1]["values"][0]["json"], &first["totalIsAtLeast"]),
        (&json!(1), &json!(true)),
        "{first}"
    );
    let last = place.get("print flows/main.ts:8 sum");
    assert_eq!(
        (&last["hits"][0]["tick"], &last["hits"][0]["values"][0]["json"]),
        (&json!(20_000_003), &json!(29_999_994))
    );
    let refused = place.ask("step r --at root#0+5");
    assert_eq!(refused.code, Some(7), "{refused}");
    let why = refused.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("ran more than 4000000 statements") && why.contains("print its values with --limit"), "{why}");
}
