//! A request that was resumed after its file was changed: questions about each part use the code that ran in that part.

use serde_json::{Value, json};
use tests::bench::Place;

/// Two handlers around a question. Lines count from the two imports that the place puts before it.
const FLOW: &str = r#"const one = handler({ name: "one", inputSchema: z.number(), outputSchema: z.number(), execute: (input) => {
  const first = input + 1;
  return first;
} });
const gate = handler({ name: "gate", inputSchema: z.number(), outputSchema: z.number(), execute: async (input, ctx) => {
  await ctx.suspend({ reason: "approval", message: "ok?" });
  return input;
} });
const two = handler({ name: "two", inputSchema: z.number(), outputSchema: z.number(), execute: (input) => {
  const second = input * 2;
  return second;
} });
export default defineFlow({ kind: "ask", actions: {
  go: { inputSchema: z.number(), block: sequencer({ name: "s", inputSchema: z.number() }).step(one).step(gate).step(two) },
} });
"#;

/// Line 4 of the old text is line 6 of the new one; `two` was on 12 and is on 14.
fn changed() -> Place {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run ask go --user ada --request r --input 3").code, Some(4));
    place.edit(&FLOW.replace("  const first = input + 1;", "  // one\n  // two\n  const first = input + 1;"));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    place
}

fn lines(covered: &Value) -> Value {
    let line = |line: &Value| json!([line["line"], line["hits"]]);
    covered["lines"].as_array().into_iter().flatten().map(line).collect()
}

#[test]
fn each_block_shows_the_code_that_it_ran() {
    let place = changed();
    let at = |path: &str, line: u64| {
        let shown = place.run(&["step", "r", "--at", path]);
        assert_eq!(shown.code, Some(0), "{shown}");
        let instant = place.get(&format!("step r --at {path}"));
        assert_eq!(instant["line"], line, "{instant}");
        shown.stdout
    };
    assert!(at("root/step:one#0+1", 4).contains("const first = input + 1"));
    assert!(at("root/step:two#0+1", 14).contains("const second = input * 2"));
    let source = |path: &str| place.ask(&format!("show r --source {path}")).stdout;
    assert!(!source("root/step:one").contains("// one"), "{}", source("root/step:one"));
    assert!(place.get("show r --source root/step:one")["hash"] != place.get("show r --source root/step:two")["hash"]);
}

#[test]
fn each_version_of_the_code_has_its_own_counts() {
    let place = changed();
    let covered = place.get("coverage r --file flows/main.ts");
    assert_eq!(covered.as_array().map(Vec::len), Some(2), "{covered}");
    let (old, new) = (&covered[0], &covered[1]);
    assert!(old["code"] != new["code"] && new["fromSeq"].as_u64() > old["fromSeq"].as_u64(), "{covered}");
    let hits = |covered: &Value, line: u64| {
        let all = lines(covered);
        all.as_array().into_iter().flatten().find(|one| one[0] == line).map(|one| one[1].clone())
    };
    assert_eq!((hits(old, 4), hits(old, 12)), (Some(json!(1)), Some(json!(0))), "{old}");
    assert_eq!((hits(new, 6), hits(new, 14)), (Some(json!(0)), Some(json!(1))), "{new}");
}

#[test]
fn a_debugger_stops_in_both_versions_and_moves_between_them() {
    let place = changed();
    let words = "b flows/main.ts:4\nb flows/main.ts:14\nrc\nrc\nc\nc\ntick\nwhere\n";
    let told = place.run_with(&["debug", "r", "--json"], words);
    assert_eq!(told.code, Some(0), "{told}");
    let answers: Vec<Value> = told.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let times = |at: usize| answers[at]["breakpoints"][0]["times"].clone();
    assert_eq!((times(1), times(2)), (json!(1), json!(1)), "{told}");
    let last = answers.last().expect("an answer");
    assert_eq!((&last["at"]["path"], &last["at"]["line"]), (&json!("root/step:two"), &json!(14)), "{told}");
    let shown = last["lines"].as_array().expect("lines");
    let line = shown.iter().find(|line| line["line"] == 14).expect("the line");
    assert_eq!(line["text"], "  const second = input * 2;");
    let ticks = &answers[answers.len() - 2]["ticks"];
    assert!(ticks["order"].as_u64() <= ticks["end"].as_u64(), "{ticks}");
}

#[test]
fn a_note_says_if_changed_code_differs_from_the_earlier_recording() {
    let place = Place::with_flow(FLOW);
    place.ask("run ask go --user ada --request r --input 3");
    place.edit(&FLOW.replace("input + 1", "input + 10"));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    let printed = place.get("print flows/main.ts:13 second --request r");
    let note = printed["notes"][0]["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("does something else than the recording at root/step:one"), "{printed}");
    let stepped = place.get("step r --at root/step:two#0+1");
    assert!(stepped["note"].as_str().is_some_and(|note| note.contains("the code was changed before")), "{stepped}");
    assert!(place.get("step r --at root/step:one#0+1").get("note").is_none(), "what ran before is as it was");
}
