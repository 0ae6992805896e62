//! Where `print`, `step` and `coverage` can stop: at the head of a loop with each turn, at the fields and the static
//! parts of a class, and nowhere that nothing runs.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const FLOW: &str = r#"const made = () => 7;
class Box {
  width = made();
  area = this.width * 2;
  static unit = 1;
  #depth = made() + this.area;
  later = () => made();
  deep() { return this.#depth; }
}
const turns = handler({ name: "turns", inputSchema: z.any(), outputSchema: z.any(), execute: async () => {
  const seen: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    if (i === 1) continue;
    seen.push(i);
  }
  let left = 2;
  while (left > 0) {
    left--;
  }
  for (const word of ["a", "b"]) {
    if (word === "a") continue;
    seen.push(word);
  }
  for (const key in { x: 1, y: 2 }) seen.push(key);
  for await (const late of [Promise.resolve(1)]) {
    seen.push(late);
  }
  do {
    left++;
  } while (left < 2);
  let n = 0;
  outer: for (;;) {
    if (n++ < 2) continue outer;
    break;
  }
  try {
    seen.push(n);
  } finally {
    seen.push("end");
  }
  const box = new Box();
  class Own {
    static start = made();
    static {
      seen.push(Own.start);
    }
    name = "own " + seen.length;
  }
  return [seen, box.deep(), new Own().name, typeof box.later];
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: turns } } });
"#;

fn place() -> Place {
    let place = Place::with_flow(FLOW);
    let ran = place.get("run f go --user ada --request r")["output"].clone();
    assert_eq!(ran, json!([[0, 2, "b", "x", "y", 1, 3, "end", 7], 21, "own 9", "function"]));
    place
}

/// The line that begins with a text; the usual imports are two lines.
#[track_caller]
fn line(text: &str) -> usize {
    let at = FLOW.lines().position(|line| line.trim_start().starts_with(text));
    at.unwrap_or_else(|| panic!("no line begins with {text}")) + 3
}

fn print(place: &Place, text: &str, expression: &str) -> Answer {
    place.run(&["--json", "print", &format!("flows/main.ts:{}", line(text)), expression, "--request", "r"])
}

/// The previews of an expression at a line, and the names of the errors.
#[track_caller]
fn values(place: &Place, text: &str, expression: &str) -> Vec<String> {
    let answer = print(place, text, expression);
    assert_eq!(answer.code, Some(0), "{answer}");
    let found = answer.json();
    assert_eq!((&found["notAsked"], found.get("notes")), (&json!([]), None), "{text}: {found}");
    let shown = |hit: &Value| {
        let value = &hit["values"][0];
        value["preview"].as_str().or(value["error"]["name"].as_str()).unwrap_or_default().to_owned()
    };
    found["hits"].as_array().into_iter().flatten().map(shown).collect()
}

#[test]
fn the_head_of_a_loop_is_asked_with_each_turn() {
    let place = place();
    assert_eq!(values(&place, "for (let i", "seen.length"), ["0", "1", "1", "2"]);
    assert_eq!(values(&place, "for (let i", "i"), ["ReferenceError", "0", "1", "2"]);
    assert_eq!(values(&place, "while (left", "left"), ["2", "1", "0"]);
    assert_eq!(values(&place, "for (const word", "word"), ["ReferenceError", "\"a\"", "\"b\""]);
    assert_eq!(values(&place, "for await", "late"), ["ReferenceError", "1"]);
    assert_eq!(values(&place, "} while (left", "left"), ["1", "2"]);
    assert_eq!(values(&place, "outer: for", "n"), ["0", "1", "2"]);
    // The names choose the statement in the loop, as before.
    assert_eq!(values(&place, "for (const key", "key"), ["\"x\"", "\"y\""]);
    assert_eq!(values(&place, "for (const key", "seen.length"), ["3", "3", "4"]);
    // A column asks for the beginning alone, or for the turns.
    let at_column = |column: usize| {
        let place_of = format!("flows/main.ts:{}:{column}", line("for (let i"));
        place.run(&["--json", "print", &place_of, "seen.length", "--request", "r"]).json()["total"].clone()
    };
    assert_eq!((at_column(3), at_column(19)), (json!(1), json!(3)));
}

#[test]
fn where_nothing_runs_there_is_no_stop() {
    let place = place();
    for text in ["try {", "do {", "static {", "static unit", "later ="] {
        let answer = print(&place, text, "1").json();
        let note = answer["note"].as_str().unwrap_or_default();
        // The body of the function is one, which never ran.
        let expected = if text == "later =" { "was never reached" } else { "holds no statement" };
        assert!(note.contains(expected), "{text}: {answer}");
    }
}

#[test]
fn fields_and_static_blocks_are_asked() {
    let place = place();
    assert_eq!(values(&place, "area =", "this.width"), ["7"]);
    assert_eq!(values(&place, "#depth =", "this.area"), ["14"]);
    assert_eq!(values(&place, "static start", "seen.length"), ["8"]);
    assert_eq!(values(&place, "seen.push(Own.start)", "Own.start"), ["7"]);
    assert_eq!(values(&place, "name = \"own", "seen.length"), ["9"]);
}

#[test]
fn a_line_is_counted_with_the_turns_of_its_loop() {
    let place = place();
    let covered = place.get("coverage r --file flows/main.ts");
    let hits = |text: &str| {
        let lines = covered[0]["lines"].as_array().expect("lines");
        lines.iter().find(|covered| covered["line"] == line(text)).and_then(|covered| covered["hits"].as_u64())
    };
    for (text, expected) in [
        ("for (let i", Some(4)),
        ("if (i === 1)", Some(3)),
        ("while (left", Some(3)),
        ("for (const word", Some(3)),
        ("for (const key", Some(3)),
        ("for await", Some(2)),
        ("do {", None),
        ("} while (left", Some(2)),
        ("outer: for", Some(3)),
        ("try {", None),
        ("width =", Some(1)),
        ("static unit", None),
        ("static start", Some(1)),
        ("name = \"own", Some(1)),
    ] {
        assert_eq!(hits(text), expected, "{text}");
    }
    assert_eq!(covered[0].get("endedByLimit"), None);
}

#[test]
fn steps_pass_the_head_with_each_turn_and_the_fields_of_an_object() {
    let place = place();
    let at = |at: &str, args: &[&str]| {
        let answer = place.run(&[&["--json", "step", "r", "--at", at], args].concat());
        assert_eq!(answer.code, Some(0), "{answer}");
        answer.json()
    };
    let text = |instant: &Value| instant["line"].as_u64().unwrap_or(0) as usize;
    let mut here = at("root", &["--to", &line("while (left").to_string()]);
    for expected in ["left--", "while (left", "left--", "while (left", "for (const word"] {
        here = at(here["instant"].as_str().expect("an instant"), &["--over"]);
        assert_eq!(text(&here), line(expected), "{expected}: {here}");
    }
    here = at("root", &["--to", &line("const box").to_string()]);
    for (how, expected, function) in [
        ("--into", "width =", "width"),
        ("--into", "const made", "made"),
        ("--out", "area =", "area"),
        ("--over", "#depth =", "#depth"),
        ("--over", "class Own", "execute"),
        ("--into", "static start", "start"),
        ("--over", "seen.push(Own.start)", "static"),
        ("--over", "return [seen", "execute"),
    ] {
        here = at(here["instant"].as_str().expect("an instant"), &[how]);
        assert_eq!((text(&here), here["function"].as_str()), (line(expected), Some(function)), "{how}: {here}");
    }
    let back = at(here["instant"].as_str().expect("an instant"), &["--back-over"]);
    assert_eq!(text(&back), line("class Own"), "{back}");
}

/// What `step` says of a block that threw something else than an error.
#[test]
fn a_step_says_what_was_thrown() {
    let place = Place::with_flow(
        r#"const throws = (what: () => unknown) => handler({ name: "throws", inputSchema: z.any(), execute: () => {
  throw what();
} });
export default defineFlow({ kind: "f", actions: {
  nothing: { block: throws(() => undefined) }, none: { block: throws(() => null) },
  symbol: { block: throws(() => Symbol("mine")) }, text: { block: throws(() => "only a text") },
  blank: { block: throws(() => "") }, big: { block: throws(() => 42n) }, object: { block: throws(() => ({ odd: 1 })) },
} });
"#,
    );
    for (action, message) in [
        ("nothing", "Unknown block execution error: undefined"),
        ("none", "Unknown block execution error: null"),
        ("symbol", "Unknown block execution error: Symbol(mine)"),
        ("text", "only a text"),
        ("blank", "Unknown block execution error: \"\""),
        ("big", "Unknown block execution error: 42n"),
        ("object", "Unknown block execution error: {\"odd\":1}"),
    ] {
        place.ask(&format!("run f {action} --user ada --request {action}"));
        let thrown = place.get(&format!("step {action} --at root"));
        assert_eq!((&thrown["error"]["message"], &thrown["line"]), (&json!(message), &json!(4)), "{thrown}");
        let said = place.run(&["step", action, "--at", "root"]).stdout;
        assert!(said.contains(&format!("throws Error: {message}\n")), "{said}");
        let prompt = place.run_with(&["debug", action], "bt\n").stdout;
        assert!(prompt.contains(message), "{prompt}");
    }
}

/// What a flow has without an import an expression has, too, whatever the files use.
#[test]
fn an_expression_has_the_globals_that_the_files_do_not_use() {
    let env = r#"{ "env": { "PLAIN": "p", "T": { "valueEnv": "SECRET_T" } } }"#;
    let place = place().file("flowglass.json", env).variable("SECRET_T", "t0p");
    let at = format!("flows/main.ts:{}", line("const box"));
    for (expression, preview) in [
        ("process.env.PLAIN", "\"p\""),
        ("process.env.T", "\"[redacted]\""),
        ("process.version", "\"\""),
        ("typeof process", "\"object\""),
        ("[process].length", "1"),
        ("process?.platform", "\"linux\""),
        ("globalThis.process.arch", "\"x64\""),
        ("Buffer.from('a').toString('hex')", "\"61\""),
        ("btoa('a')", "\"YQ==\""),
        ("new Intl.NumberFormat('en').format(1000)", "\"1,000\""),
    ] {
        let found = place.run(&["--json", "print", &at, expression, "--request", "r"]);
        assert_eq!(found.code, Some(0), "{expression}: {found}");
        assert_eq!(found.json()["hits"][0]["values"][0]["preview"], preview, "{expression}: {found}");
    }
    let watch = place.get("step r --at root#0+1 --watch process.env.PLAIN");
    assert_eq!(watch["watches"][0]["json"], "p", "{watch}");
    let held = ["--json", "print", &at, "1", "--if", "process.env.PLAIN === 'p'", "--request", "r"];
    assert_eq!(place.run(&held).json()["total"], 1);
}

/// On a line with several statements the names choose, and a name has no value before it is declared.
#[test]
fn of_several_statements_the_one_is_asked_whose_names_have_values() {
    let place = Place::with_flow(
        r#"const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.number(), execute: (input) => {
  const made = [1, 2].map((one) => { const twice = one * 2; return twice + input; });
  const total = made.reduce((sum, one) => sum + one, 0);
  return total; } });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"#,
    );
    place.get("run f go --user ada --request r --input 1");
    let print = |line: &str, names: &str| place.get(&format!("print flows/main.ts:{line} {names}"));
    let previews = |found: &Value| -> Vec<String> {
        let hits = found["hits"].as_array().into_iter().flatten();
        hits.map(|hit| hit["values"][0]["preview"].as_str().unwrap_or("none").to_owned()).collect()
    };
    let note = |found: &Value| found["note"].as_str().unwrap_or_default().to_owned();
    let twice = print("4", "twice");
    assert_eq!((previews(&twice), note(&twice)), (vec!["2".to_owned(), "4".to_owned()], String::new()), "{twice}");
    // Of the statements that fit as well the first one is asked, and the others are named.
    let input = print("4", "input");
    assert_eq!(previews(&input), ["1"], "{input}");
    let said = "of several statements on the line, this is the one at column 3; write flows/main.ts:4:38 or \
                flows/main.ts:4:61";
    assert_eq!(note(&input), said);
    // Behind the function, the column is one of the statement around it.
    assert_eq!(previews(&print("4:83", "input")), ["1"]);
    let by_column = print("4:61", "twice");
    assert_eq!((previews(&by_column), note(&by_column)), (vec!["2".to_owned(), "4".to_owned()], String::new()));
    // The line declares it: no statement on it has the value.
    let total = print("5", "total");
    assert_eq!(previews(&total), ["none"], "{total}");
    assert_eq!(
        note(&total),
        "values are those before the statement runs: total is declared by it or later, so ask a later line"
    );
    assert_eq!(note(&print("6", "total")), "");
}

/// A message of several lines stays on the line of its hit.
#[test]
fn a_message_does_not_look_like_a_hit() {
    let place = place();
    let at = format!("flows/main.ts:{}", line("while (left"));
    let found = place.run(&["print", &at, "new Error('one\\n  root#0+1  two')", "--request", "r", "--limit", "1"]);
    assert!(found.stdout.contains("Error: one\\n  root#0+1  two\n"), "{found}");
}

/// Code that runs while the file loads is of no block.
#[test]
fn a_statement_that_runs_for_no_block_is_said_to() {
    let place = Place::with_flow(
        r#"const doubled = (n: number) => {
  const twice = n * 2;
  return twice;
};
const base = doubled(4);
const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.number(), execute: () => base });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"#,
    );
    place.get("run f go --user ada --request r");
    let found = place.get("print flows/main.ts:5 twice");
    assert_eq!(found["hits"], json!([]), "{found}");
    let note = found["note"].as_str().unwrap_or_default();
    assert!(note.starts_with("flows/main.ts:5 ran outside of blocks only"), "{note}");
}

/// A request that waits may reach the line yet.
#[test]
fn a_line_behind_a_question_is_not_reached_so_far() {
    let place = Place::with_flow(
        r#"const ask = handler({ name: "ask", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) => {
  await ctx.suspend({ reason: "approve", message: "Go on?" });
  const after = 1;
  return after;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: ask } } });
"#,
    );
    assert_eq!(place.ask("run f go --user ada --request r").code, Some(4));
    let note = || place.get("print flows/main.ts:6 after")["note"].clone();
    assert_eq!(note(), "flows/main.ts:6 was not reached so far by the request that ran it");
    place.get("resume r --approve");
    assert_eq!(note(), Value::Null);
}
