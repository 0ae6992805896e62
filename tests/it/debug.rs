//! The prompt of `flowglass debug`, through the real program: a line in, an answer out.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use tests::bench::{Place, program};

/// A chain of two handlers; the first one fails if the sum is large.
const FLOW: &str = r#"
const priceOf = (price, count) => {
  const line = price * count;
  return line;
};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const total = handler({ name: "total", inputSchema: z.any(), execute: async (input, ctx) => {
  let sum = 0;
  for (const item of input.items) {
    sum += priceOf(item.price, item.count);
  }
  const plan = { sum, deep: { er: { than: { this: [1, 2, 3] } } } };
  await ctx.session.patchState({ plan: plan.sum });
  if (sum > 100) {
    throw new Error("too much: " + sum);
  }
  return sum;
} });
const note = handler({ name: "note", execute: (sum) => {
  const text = "You pay " + sum;
  return text;
} });
const left = handler({ name: "left", execute: async () => {
  const first = "left";
  await pause(5);
  const second = first + first;
  await pause(5);
  return second;
} });
const right = handler({ name: "right", execute: async () => {
  const first = "right";
  await pause(7);
  return first.length;
} });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ plan: z.number().default(0) }) },
  actions: {
    pay: { block: sequencer({ name: "pay", inputSchema: z.any() }).step(total).step(note) },
    both: { block: sequencer({ name: "both" }).parallel({ left, right }).step(note) },
  },
});
"#;

/// A folder with a run `good`, a run `bad` that failed, and a run `both` of two blocks side by side.
pub(crate) fn recorded() -> Place {
    let place = Place::with_flow(FLOW);
    let items = |price: u32| format!(r#"{{"items":[{{"price":3,"count":2}},{{"price":{price},"count":4}}]}}"#);
    place.get(&format!("run main pay --user ada --request good --input {}", items(5)));
    place.get("run main both --user ada --request both");
    assert_eq!(place.ask(&format!("run main pay --user ada --request bad --input {}", items(50))).code, Some(3));
    place
}

/// The line of the flow's file that holds a text, from 1.
#[track_caller]
pub(crate) fn line_of(place: &Place, text: &str) -> u64 {
    let file = std::fs::read_to_string(place.dir().join("flows/main.ts")).expect("the flow is there");
    let at = file.lines().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("no line has {text}")) as u64 + 1
}

/// The answers to lines, after the first one, which says where the prompt begins.
#[track_caller]
fn answers(place: &Place, request: &str, lines: &[&str]) -> Vec<Value> {
    let answer = place.run_with(&["debug", request, "--json"], &lines.join("\n"));
    assert_eq!(answer.code, Some(0), "{answer}");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    answer.stdout.lines().map(read).collect()
}

#[track_caller]
fn text(place: &Place, request: &str, lines: &[&str]) -> String {
    let answer = place.run_with(&["debug", request], &lines.join("\n"));
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.stdout
}

fn instant(answer: &Value) -> String {
    answer["at"]["instant"].as_str().unwrap_or_default().to_owned()
}

fn line(answer: &Value) -> u64 {
    answer["at"]["line"].as_u64().unwrap_or(0)
}

#[test]
fn every_step_leads_back_through_all_blocks() {
    let place = recorded();
    for request in ["good", "both"] {
        let there = answers(&place, request, &["s"; 40]);
        let way: Vec<String> = there.iter().take_while(|answer| answer["end"].is_null()).map(instant).collect();
        let end = &there[way.len()];
        assert_eq!(end["note"], "the request's last statement", "{end}");
        assert!(way.len() > 7 && way.last().is_some_and(|last| last.starts_with("root/step:note")), "{way:?}");
        let lines: Vec<&str> = std::iter::repeat_n("s", way.len() - 1).chain(["bs"; 40]).collect();
        let back = answers(&place, request, &lines);
        let back: Vec<String> =
            back[way.len() - 1..].iter().take_while(|answer| answer["end"].is_null()).map(instant).collect();
        assert_eq!(back, way.iter().rev().cloned().collect::<Vec<_>>(), "{request}");
    }
    let first = answers(&place, "good", &["bs"]);
    assert_eq!((instant(&first[0]), instant(&first[1])), (instant(&first[0]), instant(&first[0])));
    assert_eq!(first[1]["note"], "the request's first statement");
}

#[test]
fn steps_go_over_and_out_of_functions_and_on_to_the_next_block() {
    let place = recorded();
    let at = |text: &str| line_of(&place, text);
    let found = answers(&place, "good", &["n", "n", "n", "s", "n", "o", "bs", "bo", "n", "bn"]);
    let lines: Vec<u64> = found.iter().map(line).collect();
    let (sum, body, call) = (at("let sum"), at("for (const"), at("sum += priceOf"));
    let (inside, result) = (at("const line"), at("return line"));
    // The loop begins, and then takes an entry with each turn.
    assert_eq!(lines, [sum, body, body, call, inside, result, body, result, call, body, call], "{lines:?}");
    let end = format!("b {}\nc\nn\nn\nbn", at("return sum"));
    let found = answers(&place, "good", &end.lines().collect::<Vec<_>>());
    assert_eq!(instant(&found[3]), "root/step:note#0+1");
    assert_eq!(found[3]["note"], "root/step:total ended");
    assert_eq!(found[5]["note"], Value::Null);
}

#[test]
fn a_failed_run_opens_at_the_statement_that_threw() {
    let place = recorded();
    let lines = ["where", "locals", "bt", "p sum - 100", "p sum.nope.nope", "p {", "t", "p plan.deep"];
    let found = answers(&place, "bad", &lines);
    let threw = line_of(&place, "throw new Error");
    assert_eq!((line(&found[0]), &found[0]["at"]["error"]["message"]), (threw, &"too much: 206".into()));
    let shown = found[1]["lines"].as_array().expect("lines");
    assert!(shown.iter().any(|line| line["line"] == threw && line["text"].to_string().contains("too much")));
    let names: Vec<&Value> = found[2]["locals"].as_array().into_iter().flatten().map(|local| &local["name"]).collect();
    assert_eq!(names, ["input", "ctx", "sum", "plan"]);
    assert_eq!(found[3]["blocks"], serde_json::json!(["root", "root/step:total"]));
    assert_eq!(found[3]["stack"][0]["function"], "execute");
    assert_eq!(found[4]["value"]["json"], 106);
    assert_eq!(found[5]["value"]["error"]["name"], "TypeError");
    assert!(found[6]["error"]["message"].as_str().is_some_and(|text| text.contains("column 1")), "{}", found[6]);
    assert_eq!(found[7]["ticks"]["tick"], found[7]["ticks"]["ticks"]);
    assert_eq!(found[8]["value"]["kind"], "object");
    let text = text(&place, "bad", &["bt", "t"]);
    assert!(text.contains("throws Error: too much: 206\nroot\nroot/step:total\n    execute (flows/main.ts:"), "{text}");
}

#[test]
fn breakpoints_are_gone_to_in_both_directions() {
    let place = recorded();
    let call = line_of(&place, "sum += priceOf");
    let conditional = format!("b flows/main.ts:{call} if sum > 3");
    let found = answers(&place, "good", &[&conditional, "b main.ts:5", "b", "c", "p sum", "c", "c", "rc", "d 1", "rc"]);
    assert_eq!((&found[1]["breakpoints"][0]["number"], &found[1]["breakpoints"][0]["times"]), (&1.into(), &1.into()));
    assert_eq!(found[3]["breakpoints"].as_array().map(Vec::len), Some(2), "{}", found[3]);
    let stopped = |at: usize| (&found[at]["stoppedBy"], line(&found[at]));
    assert_eq!(found[4]["at"]["function"], "priceOf");
    let (two, one) = (serde_json::json!([2]), serde_json::json!([1]));
    assert_eq!(stopped(6), (&one, call), "{:#?}", found[6]);
    assert_eq!(stopped(7).0, &two);
    assert_eq!(stopped(8), (&one, call));
    assert_eq!(found[9]["breakpoints"].as_array().map(Vec::len), Some(1));
    assert_eq!(stopped(10).0, &two);
    let none = answers(&place, "good", &["c", "rc"]);
    assert_eq!((&none[1]["note"], &none[1]["end"]), (&"no breakpoint after this".into(), &true.into()));
    assert_eq!(none[2]["note"], "no breakpoint before this");
    assert_eq!(instant(&none[2]), instant(&none[0]), "it stays");
}

#[test]
fn a_watched_path_stops_where_it_was_written() {
    let place = recorded();
    let found =
        answers(&place, "good", &["watch session.plan", "c", "p plan.sum", "c", "watch nowhere.x", "watch user.x"]);
    assert_eq!(line(&found[2]), line_of(&place, "patchState"));
    assert_eq!((&found[2]["stoppedBy"], &found[3]["value"]["json"]), (&serde_json::json!([1]), &26.into()));
    assert_eq!(found[4]["note"], "no breakpoint after this");
    let refused = found[5]["error"]["message"].as_str().unwrap_or_default();
    assert!(refused.starts_with("\"nowhere.x\"") && refused.contains("is not a scope"), "{refused}");
    assert_eq!(found[6]["breakpoints"][0]["note"], "no statement of this run writes user.x");
    let text = text(&place, "good", &["watch session.plan", "c"]);
    assert!(text.contains("breakpoint 1: session.plan: 0 → 26\n"), "{text}");
}

#[test]
fn runs_to_lines_and_to_conditions() {
    let place = recorded();
    let (inside, sum) = (line_of(&place, "const line"), line_of(&place, "let sum"));
    let lines = [format!("u {sum}"), "until sum > 3".to_owned(), "p sum".to_owned(), "until sum > 500".to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = answers(&place, "good", &lines);
    assert_eq!(found[1]["note"], format!("line {sum} does not run after this"));
    assert_eq!(found[3]["value"]["json"], 6);
    assert_eq!(found[4]["note"], "the expression holds at no later statement of this block");
    assert_eq!(instant(&found[4]), instant(&found[2]));
    let to = [format!("u {inside}"), String::new(), String::new(), format!("ub {inside}"), "u 1".to_owned()];
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let found = answers(&place, "good", &to);
    assert_eq!((line(&found[1]), line(&found[2])), (inside, inside), "an empty line repeats the movement");
    assert_eq!(found[3]["end"], true);
    assert_eq!(instant(&found[4]), instant(&found[1]));
    assert!(found[5]["error"]["message"].as_str().is_some_and(|text| text.contains("holds no statement")));
}

#[test]
fn a_condition_that_fails_is_told_of() {
    let place = recorded();
    let sum = line_of(&place, "let sum");
    let said = text(&place, "good", &[&format!("b {sum} if input.nothing.deep"), "until input.nothing.deep > 1"]);
    assert!(said.contains("the condition failed once, first: TypeError"), "{said}");
    assert!(said.contains("at no later statement of this block: the expression failed"), "{said}");
}

#[test]
fn what_is_wrong_names_what_is_right_and_goes_on() {
    let place = recorded();
    let said = text(&place, "good", &["", "jump", "n 3", "b nowhere.ts:3", "b 1", "b x", "d 7", "p", "u 0", "h", "n"]);
    for right in [
        "nothing to repeat yet; n goes to the next statement",
        "unknown command \"jump\"; the commands are n s o bn bs bo c rc",
        "n takes no argument (got \"3\")",
        "this request did not run nowhere.ts; it ran flows/main.ts",
        "flows/main.ts:1 holds no statement that a block runs",
        "write: b [FILE:]LINE[:COL] [if EXPR]",
        "there is no breakpoint 7; b lists them",
        "write: p EXPR",
        "write: u LINE",
        "back to the previous breakpoint",
    ] {
        assert!(said.contains(right), "{right}\n{said}");
    }
    assert!(said.ends_with("for (const item of input.items) {\n"), "{said}");
    let unknown = place.ask("debug nowhere");
    assert_eq!(unknown.code, Some(6), "{unknown}");
    let no_block = place.ask("debug good --at root/step:nowhere");
    assert!(no_block.code == Some(6) && no_block.stderr.contains("has no block at"), "{no_block}");
    let no_statement = place.ask("debug good --at root");
    assert!(no_statement.stderr.contains("step into a handler, like root/step:"), "{no_statement}");
    assert_eq!(place.ask("debug good --at #x+").code, Some(6));
}

#[test]
fn input_that_is_no_text_is_answered() {
    let place = recorded();
    let mut child = Command::new(program())
        .args(["debug", "good", "--json"])
        .current_dir(place.dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"\xff\xfe\x00\n\np \xc3\n").expect("it reads");
    stdin.write_all(&vec![b'('; 100_000]).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stdout).expect("it is text");
    assert_eq!(said.lines().count(), 5, "{said}");
    let errors = said.lines().skip(1).filter(|line| line.contains("\"error\"")).count();
    assert_eq!(errors, 3, "{said}");
}

#[test]
fn steps_lead_into_blocks_that_a_function_runs_and_from_attempt_to_attempt() {
    let place = Place::with_flow(
        r#"
const child = handler({ name: "child", inputSchema: z.number(), execute: (n) => {
  const twice = n * 2;
  return twice;
} });
const parent = handler({ name: "parent", execute: async (_input, ctx) => {
  const one = await child.run(1, ctx);
  return one;
} });
const flaky = handler({ name: "flaky", retry: { maxAttempts: 2, baseDelayMs: 1 }, execute: async (_input, ctx) => {
  if (ctx.attempt < 1) throw new Error("again");
  return ctx.attempt;
} });
const chain = sequencer({ name: "go" }).step(parent).step(flaky);
export default defineFlow({ kind: "main", actions: { go: { block: chain } } });
"#,
    );
    place.get("run main go --user ada --request r");
    let way = [
        "root/step:parent#0+1",
        "root/step:parent/run:child[0]#0+1",
        "root/step:parent/run:child[0]#0+2",
        "root/step:parent#0+2",
        "root/step:flaky#0+1",
        "root/step:flaky#0+2",
        "root/step:flaky#1+1",
        "root/step:flaky#1+2",
    ];
    let found = answers(&place, "r", &[["s"; 7], ["bs"; 7]].concat());
    let found: Vec<String> = found.iter().map(instant).collect();
    assert_eq!(found[..8], way);
    assert_eq!(found[7..], way.iter().rev().copied().collect::<Vec<_>>());
    let over = answers(&place, "r", &["n", "n"]);
    assert_eq!(over.iter().map(instant).collect::<Vec<_>>(), [way[0], way[3], way[4]]);
    let failed = answers(&place, "r", &["s", "s", "s", "s", "s", "s"]);
    assert_eq!(failed[6]["note"], "root/step:flaky failed");
}
