//! What a variable was in a past run: `print` runs the code that ran once more, with the recorded effects, and takes the
//! values of expressions at a statement.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::bench::{Answer, Place, program};

/// Lines count from the two imports that the place puts before it.
const CART: &str = r#"const items = z.array(z.object({ name: z.string(), price: z.number() }));
const total = handler({ name: "total", inputSchema: items, outputSchema: z.number(), execute: async (input, ctx) => {
  let sum = 0;
  for (const item of input) {
    const before = sum;
    sum += item.price;
  }
  await ctx.session.patchState({ sum });
  const names = input.map((item) => item.name.length);
  const drawn = Math.random();
  if (sum > 100) {
    throw new Error("too much");
  }
  return sum;
} });
export default defineFlow({
  kind: "cart",
  session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: { pay: { inputSchema: items, block: total } },
});
"#;

fn cart() -> Place {
    let place = Place::with_flow(CART);
    place.pay("one", r#"[{"name":"tea","price":3},{"name":"cup","price":10}]"#);
    place.pay("two", r#"[{"name":"pot","price":200}]"#);
    place
}

trait Paying {
    fn pay(&self, request: &str, input: &str);
    fn print(&self, args: &[&str]) -> Answer;
}

impl Paying for Place {
    fn pay(&self, request: &str, input: &str) {
        self.run(&["run", "cart", "pay", "--user", "ada", "--request", request, "--input", input]);
    }

    fn print(&self, args: &[&str]) -> Answer {
        self.run(&[&["--json", "print"], args].concat())
    }
}

/// What was printed: for each hit its request, its tick, and the previews of its values.
fn hits(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{answer}");
    let text = |value: &Value| match value.get("error") {
        Some(error) => format!("{}: {}", error["name"].as_str().unwrap_or(""), error["message"].as_str().unwrap_or("")),
        None => value["preview"].as_str().unwrap_or_default().to_owned(),
    };
    let hit = |hit: &Value| {
        let values: Vec<String> = hit["values"].as_array().into_iter().flatten().map(text).collect();
        json!([hit["requestId"], hit["tick"], values])
    };
    answer.json()["hits"].as_array().into_iter().flatten().map(hit).collect()
}

#[test]
fn every_run_of_a_line_is_a_hit_with_its_values() {
    let place = cart();
    let found = place.print(&["flows/main.ts:7", "before", "item.price"]);
    // The values are those before the statement runs: `before` is declared by the one on the line before.
    assert_eq!(
        hits(&place.print(&["flows/main.ts:8", "before", "item.price"])),
        json!([["two", 5, ["0", "200"]], ["one", 5, ["0", "3"]], ["one", 8, ["3", "10"]],])
    );
    assert_eq!(found.json()["hits"][0]["values"][0]["error"]["name"], "ReferenceError", "it is not declared yet");
    let one = place.print(&["flows/main.ts:8", "sum", "--request", "one"]);
    assert_eq!(hits(&one), json!([["one", 5, ["0"]], ["one", 8, ["3"]]]));
    let some = place.print(&["flows/main.ts:8", "sum", "--if", "item.price > 100"]);
    assert_eq!(hits(&some), json!([["two", 5, ["0"]]]));
    let first = place.print(&["flows/main.ts:8", "sum", "--limit", "1"]);
    assert_eq!(hits(&first), json!([["two", 5, ["0"]]]));
    assert_eq!(first.json()["truncated"], true);
    let all = place.print(&["flows/main.ts:8", "sum", "--limit", "3"]).json();
    assert_eq!((&all["truncated"], &all["total"]), (&json!(false), &json!(3)), "{all}");
    let of_one = place.print(&["flows/main.ts:8", "sum", "--limit", "1", "--request", "one"]).json();
    assert_eq!((&of_one["truncated"], &of_one["total"]), (&json!(true), &json!(2)), "{of_one}");
    assert_eq!(of_one["totalIsAtLeast"], true, "the limit ended the search: {of_one}");
    let alone = ["flows/main.ts:8", "sum", "--limit", "1", "--request", "one", "--alone"];
    let known = place.print(&alone).json();
    assert_eq!((known.get("totalIsAtLeast"), &known["total"]), (None, &json!(2)), "the first pass knows it: {known}");
    let with_condition = ["flows/main.ts:8", "sum", "--limit", "1", "--request", "one", "--if", "true"];
    let at_least = place.print(&with_condition).json();
    assert_eq!((&at_least["totalIsAtLeast"], &at_least["total"]), (&json!(true), &json!(2)), "{at_least}");
    let text = place.run(&["print", "flows/main.ts:8", "sum", "--limit", "1"]);
    assert!(text.stdout.contains("1 of at least 1 hits; --limit N shows more"), "{text}");
}

#[test]
fn a_hit_says_where_in_the_log_it_is() {
    let place = cart();
    let before = place.print(&["flows/main.ts:10", "sum", "--request", "one"]).json();
    let after = place.print(&["flows/main.ts:13", "sum", "--request", "one"]).json();
    let (before, after) = (&before["hits"][0], &after["hits"][0]);
    assert_eq!(before["path"], "root");
    assert_eq!(before["attempt"], 0);
    let last = |hit: &Value| {
        let events = place.get("events one");
        let mut until =
            events.as_array().into_iter().flatten().filter(|event| event["seq"].as_u64() <= hit["seq"].as_u64());
        until.next_back().map(|event| event["kind"].clone())
    };
    assert_eq!(last(before), Some(json!("block_started")), "it has not written yet");
    assert_eq!(last(after), Some(json!("state_changed")), "it has written");
    assert!(before["at"].as_i64().is_some_and(|at| at > 1_600_000_000_000), "{before}");
}

#[test]
fn of_several_statements_on_a_line_the_names_choose_or_the_column() {
    let place = cart();
    let inner = place.print(&["flows/main.ts:11", "item.name", "--request", "one"]);
    assert_eq!(hits(&inner)[1][2], json!(["\"cup\""]), "{inner}");
    let outer = place.print(&["flows/main.ts:11", "sum", "--request", "one"]);
    assert_eq!(hits(&outer), json!([["one", 10, ["13"]]]));
    let column = place.print(&["flows/main.ts:11:40", "sum", "--request", "one"]);
    assert_eq!(hits(&column).as_array().map(Vec::len), Some(2), "{column}");
}

#[test]
fn the_recorded_effects_answer() {
    let place = cart();
    let drawn = |place: &Place| hits(&place.print(&["flows/main.ts:13", "drawn", "--request", "one"]));
    assert_eq!(drawn(&place), drawn(&place));
}

/// The bundler leaves out the calls whose results nothing uses: the run with probes must not take their values either.
#[test]
fn values_of_chance_are_those_of_their_calls() {
    let place = Place::with_flow(
        r#"const draws = handler({ name: "draws", inputSchema: z.any(), outputSchema: z.any(), execute: () => {
  Math.random();
  const unused = Math.random();
  const roll = () => Math.random(), seen: number[] = [], see = () => seen.push(roll());
  roll(), see(); see(), roll();
  const kept = Math.random();
  const all = [kept, roll(), ...seen];
  return all;
} });
export default defineFlow({ kind: "draws", actions: { go: { inputSchema: z.any(), block: draws } } });
"#,
    );
    let output = place.get("run draws go --user u --request r --input 1")["output"].clone();
    let found = hits(&place.print(&["flows/main.ts:10", "unused", "all[0]", "all[1]", "--request", "r"]));
    let shown = |at: usize| found[0][2][at].as_str().and_then(|shown| shown.parse::<f64>().ok());
    assert_eq!((shown(1), shown(2)), (output[0].as_f64(), output[1].as_f64()), "{found}");
    assert_eq!(found[0][2][0], "NaN", "it was not drawn");
}

#[test]
fn what_ran_is_asked_whatever_the_file_says_today() {
    let place = cart();
    place.edit(&CART.replace("let sum = 0;", "let sum = 1000;"));
    let found = place.print(&["flows/main.ts:5", "input.length", "--request", "one"]);
    assert_eq!(hits(&found), json!([["one", 1, ["2"]]]));
    let note = found.json()["note"].as_str().unwrap_or_default().to_owned();
    assert_eq!(note, "flows/main.ts has changed since: line 5 was `let sum = 0;` when it ran");
    assert_eq!(hits(&place.print(&["flows/main.ts:8", "sum", "--request", "two"])), json!([["two", 5, ["0"]]]));
    std::fs::remove_file(place.dir().join("flows/main.ts")).expect("it is there");
    assert_eq!(hits(&place.print(&["flows/main.ts:8", "sum", "--request", "two"])), json!([["two", 5, ["0"]]]));
}

#[test]
fn helpers_in_other_files_are_asked_too() {
    let place = Place::with_flow(
        r#"import { double } from "../lib/double";
export default defineFlow({ kind: "f", actions: { go: { block: handler({ name: "h", execute: (n) => double(n) }) } } });
"#,
    )
    .file(
        "lib/double.ts",
        "export const double = (n: number): number => {\n  const made = n * 2;\n  return made;\n};\n",
    );
    place.run(&["run", "f", "go", "--user", "ada", "--request", "r", "--input", "21"]);
    assert_eq!(hits(&place.print(&["lib/double.ts:3", "made", "n"])), json!([["r", 3, ["42", "21"]]]));
    std::fs::remove_dir_all(place.dir().join("lib")).expect("it is there");
    assert_eq!(hits(&place.print(&["lib/double.ts:3", "made"])), json!([["r", 3, ["42"]]]), "it is gone today");
}

#[test]
fn an_answer_without_hits_says_why() {
    let place = cart();
    let note = |args: &[&str]| {
        let answer = place.print(args);
        assert_eq!(hits(&answer), json!([]));
        answer.json()["note"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(
        note(&["flows/main.ts:14", "sum", "--request", "one"]),
        "flows/main.ts:14 was never reached by the request that ran it"
    );
    let unmet = note(&["flows/main.ts:8", "sum", "--if", "false"]);
    assert_eq!(unmet, "flows/main.ts:8 was never reached while the condition holds by 2 requests that ran it");
    let blank = note(&["flows/main.ts:9", "sum"]);
    assert_eq!(blank, "flows/main.ts:9 holds no statement that a block runs; the nearest are on lines 8 and 10");
    assert_eq!(note(&["flows/main.ts:900", "sum"]), "flows/main.ts has 22 lines, not 900");
    let missing = place.print(&["flows/other.ts:1", "sum"]);
    assert_eq!(missing.code, Some(6), "{missing}");
    place.write("flows/new.ts", "export const n = 1;\n");
    assert_eq!(note(&["flows/new.ts:1", "n"]), "no recorded request ran flows/new.ts");
    let waiting = note(&["flows/main.ts:8", "sum", "--status", "suspended"]);
    assert_eq!(waiting, "no request with status suspended is recorded");
    let failed = note(&["flows/new.ts:1", "n", "--status", "failed", "--flow", "cart"]);
    assert_eq!(failed, "no recorded request of flow \"cart\" with status failed ran flows/new.ts");
    assert_eq!(place.print(&["flows/main.ts:8", "sum", "--flow", "nof"]).code, Some(6));
    for wrong in ["flows/main.ts", "flows/main.ts:0", "flows/main.ts:x", ":3"] {
        assert_eq!(place.print(&[wrong, "sum"]).code, Some(2), "{wrong}");
    }
}

/// An expression, and what is said of it.
#[track_caller]
fn refused(place: &Place, expression: &str, column: u32, message: &str) {
    let answer = place.print(&["flows/main.ts:8", expression]);
    assert_eq!(answer.code, Some(2), "{expression}\n{answer}");
    let said = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains(message) && said.ends_with(&format!("(column {column})")), "{expression}: {said}");
}

#[test]
fn what_is_no_expression_is_refused_at_its_column() {
    let place = cart();
    refused(&place, "sum +", 5, "has a syntax error: it is not complete");
    refused(&place, "[sum, 2", 7, "has a syntax error: it is not complete");
    refused(&place, "sum)", 4, "a closing bracket without an opening one");
    refused(&place, "sum) + (1", 4, "a closing bracket without an opening one");
    refused(&place, "sum) => (1", 1, "a closing bracket without an opening one");
    refused(&place, "if (sum) 1", 1, "has a syntax error");
    refused(&place, "sum; item", 4, "has a syntax error");
    refused(&place, "1 + await item", 5, "cannot wait");
    refused(&place, "sum += 1", 1, "cannot change anything: it writes");
    // No comment in a module, but `sum < !--sum`.
    refused(&place, "sum <!-- sum", 10, "cannot change anything: it writes");
    // What it changed would be what later statements see.
    refused(&place, "1 + input.push(item)", 5, "calls push, which changes its object; write [...it, value]");
    refused(&place, "[input.sort()]", 2, "write it.toSorted(…)");
    refused(&place, "({ sum } = { sum: 100 })", 4, "it writes");
    refused(&place, "[sum] = [1]", 2, "it writes");
    refused(&place, "Object.assign(item, { a: 1 })", 1, "calls Object.assign, which changes its argument");
    refused(&place, "Object.freeze(input[0])", 1, "calls Object.freeze");
    refused(&place, "Reflect.set(item, 'a', 1)", 1, "calls Reflect.set");
    refused(&place, "[].push.call(input, item)", 1, "calls push, which changes its object");
    refused(&place, "Array.prototype.sort.apply(input)", 1, "write it.toSorted(…)");
    refused(&place, "1 + eval('sum = 1000')", 5, "cannot run `sum = 1000`: it cannot change anything: it writes");
    refused(&place, "eval('su' + 'm')", 1, "runs code that is no string literal");
    refused(&place, "new Function('return 1')()", 1, "creates a function from a string");
    refused(&place, "1 + require('fs').x", 5, "cannot import");
    refused(&place, "import('fs')", 1, "cannot import");
    for own in [
        "Object.assign({}, item)",
        "((one) => { ({ one } = { one: 2 }); return one; })(1)",
        "input.map((one) => one.price).sort()",
        "[...input].reverse()",
        "((all) => all.push(1))([])",
        "[].concat.call(input, item).length",
        "eval('1 + 1')",
    ] {
        assert_eq!(place.print(&["flows/main.ts:8", own]).code, Some(0), "{own}");
    }
    refused(&place, "", 1, "is empty");
    let deep = place.print(&["flows/main.ts:8", &"(".repeat(20_000)]);
    assert_eq!(deep.code, Some(2));
    assert!(deep.stderr.len() < 400, "only the beginning of a long expression is repeated: {}", deep.stderr.len());
}

#[test]
fn an_expression_that_fails_fails_alone() {
    let place = cart();
    let at = |expression: &str| {
        hits(&place.print(&["flows/main.ts:10", expression, "sum", "--request", "one"]))[0][2].clone()
    };
    assert_eq!(
        at("sum.nothing.deep"),
        json!(["TypeError: Cannot read properties of undefined (reading 'deep')", "13"])
    );
    assert_eq!(at("unknown"), json!(["ReferenceError: unknown is not defined", "13"]));
    assert_eq!(at("(() => { throw 'a text'; })()"), json!(["Error: \"a text\"", "13"]));
    assert_eq!(at("(() => { throw { a: 1 }; })()"), json!(["Error: {a: 1}", "13"]));
    assert_eq!(at("(() => { for (;;); })()"), json!(["LimitError: the expression ran for 1000 ms", "13"]));
    for huge in ["'z'.repeat(2 ** 29).length", "new Uint8Array(2 ** 30).length"] {
        let found = at(huge);
        assert!(found[0].as_str().is_some_and(|said| said.contains("more than") && said.contains("memory")), "{found}");
        assert_eq!(found[1], "13");
    }
    for effect in ["ctx.session.patchState({ sum: 1 })", "Math.random()", "Date.now()", "fetch('http://127.0.0.1')"] {
        let found = at(effect);
        let said = found[0].as_str().unwrap_or_default().to_owned();
        assert!(said.contains("only looks") || said.starts_with("Promise <"), "{effect}: {said}");
        assert_eq!(found[1], "13");
    }
    let after = place.print(&["flows/main.ts:13", "ctx.session.state.sum", "--request", "one"]);
    assert_eq!(hits(&after)[0][2], json!(["13"]), "nothing was changed");
}

#[test]
fn nothing_is_written_to_the_database() {
    let place = cart();
    let counted = || place.get("stats");
    let before = counted();
    place.print(&["flows/main.ts:8", "sum"]);
    place.get("coverage one");
    place.get("step one --at root");
    assert_eq!(counted(), before);
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// Values of all kinds, and how each is shown.
const KINDS: &[(&str, &str, &str)] = &[
    ("undefined", "undefined", "undefined"),
    ("null", "null", "null"),
    ("true", "boolean", "true"),
    ("-0", "number", "-0"),
    ("1e21", "number", "1e+21"),
    ("NaN", "number", "NaN"),
    ("'a\\nb'", "string", "\"a\\nb\""),
    ("12n", "bigint", "12n"),
    ("Symbol('s')", "symbol", "Symbol(s)"),
    ("function named() {}", "function", "ƒ named"),
    ("class Named {}", "function", "class Named"),
    ("[1, , 'b']", "array", "[1, (empty), \"b\"]"),
    ("({ a: 1, 'b c': { d: { e: 1 } } })", "object", "{a: 1, \"b c\": {d: {…}}}"),
    ("new Map([['k', { v: 1 }]])", "map", "Map(1) {\"k\" → {v: 1}}"),
    ("new Set([1, 2])", "set", "Set(2) {1, 2}"),
    ("new Date(0)", "date", "1970-01-01T00:00:00.000Z"),
    ("new Date(NaN)", "date", "Invalid Date"),
    ("/a+/gi", "regexp", "/a+/gi"),
    ("new RangeError('far')", "error", "RangeError: far"),
    ("new Uint8Array([1, 2])", "typedArray", "Uint8Array(2) [1, 2]"),
    ("new ArrayBuffer(3)", "typedArray", "ArrayBuffer(3) []"),
    ("Promise.resolve(1)", "promise", "Promise <fulfilled: 1>"),
    ("new DataView(new ArrayBuffer(3))", "typedArray", "DataView(3) []"),
    ("(function* () { yield 1; })()", "instance", "Generator {}"),
    ("new Map().keys()", "instance", "Map Iterator {}"),
    ("Object.create({ inherited: 1 })", "instance", "Object {}"),
    ("new (class Point { x = 1; get y() { throw 1; } })()", "instance", "Point {x: 1}"),
    ("({ get bad() { throw new Error('no'); } })", "object", "{bad: (getter)}"),
    (
        "new Proxy({}, { get() { throw 1; }, ownKeys() { throw 1; }, getPrototypeOf() { throw 1; } })",
        "instance",
        "Proxy",
    ),
    ("(() => { const own = { n: 1 }; own.own = own; return own; })()", "object", "{n: 1, own: [circular]}"),
    ("Object.create(null)", "object", "{}"),
    ("({ toJSON() { throw 1; } }).toJSON", "function", "ƒ toJSON"),
    ("new Array(1e9)", "array", "…"),
    ("'x'.repeat(3e6)", "string", "…"),
    ("Array.from({ length: 5000 }, (_, n) => ({ n }))", "array", "…"),
];

#[test]
fn values_keep_their_kinds_and_no_code_of_theirs_runs() {
    let place = cart();
    let expressions: Vec<&str> = KINDS.iter().map(|(expression, ..)| *expression).collect();
    let args = [&["flows/main.ts:10"], &expressions[..], &["--request", "one"]].concat();
    let args: Vec<&str> = args.into_iter().map(|arg| if arg == "-0" { "(-0)" } else { arg }).collect();
    let answer = place.print(&args).json();
    for ((expression, kind, preview), value) in
        KINDS.iter().zip(answer["hits"][0]["values"].as_array().expect("values"))
    {
        assert_eq!(value["kind"], *kind, "{expression}: {value}");
        let shown = value["preview"].as_str().unwrap_or_default();
        assert!(shown == *preview || *preview == "…" && shown.len() < 2000, "{expression}: {shown}");
    }
    let json = |at: usize| &answer["hits"][0]["values"][at]["json"];
    assert_eq!(
        (json(1), json(2), json(12)),
        (&json!(null), &json!(true), &json!({ "a": 1, "b c": { "d": { "e": 1 } } }))
    );
    assert_eq!((json(0), json(3), json(11), json(13)), (&Value::Null, &Value::Null, &Value::Null, &Value::Null));
}

#[test]
fn an_expression_that_changes_what_it_looks_at_is_told_of() {
    let place = cart();
    let note = |expression: &str| {
        let answer = place.print(&["flows/main.ts:7", expression, "--request", "one"]);
        assert_eq!(answer.code, Some(0), "{answer}");
        answer.json()["notes"][0]["note"].as_str().unwrap_or_default().to_owned()
    };
    let changed = note("((one: any) => { one.price += 5; return one; })(item)");
    assert!(changed.starts_with("an expression changed item at "), "{changed}");
    assert_eq!(note("input.map((one) => one.price)"), "");
    assert_eq!(note("((one: any) => { one.price += 5; return one; })({ ...item })"), "");
}

/// What an expression would do later would change what the statements after it see.
#[test]
fn an_expression_does_nothing_after_its_statement() {
    let flow = r#"const later = async (o: any) => {
  await null;
  o.n += 1000;
};
const turns = handler({ name: "turns", inputSchema: z.any(), execute: async () => {
  const o = { n: 1 };
  for (let i = 0; i < 3; i++) {
    await null;
    o.n += i;
  }
  return o.n;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: turns } } });
"#;
    let place = Place::with_flow(flow);
    place.get("run f go --user ada --request r");
    let found = |expression: &str| {
        let answer = place.print(&["flows/main.ts:11", expression, "o.n", "--request", "r"]);
        let values: Value = hits(&answer).as_array().into_iter().flatten().map(|hit| hit[2][1].clone()).collect();
        values
    };
    for expression in [
        "later(o)",
        "Promise.resolve().then(() => later(o))",
        "Promise.resolve().then(() => { for (;;); })",
        "queueMicrotask(() => { for (;;); })",
        "(async () => { await null; await later(o); })()",
        "Promise.reject(new Error('no')).catch(() => later(o))",
    ] {
        assert_eq!(found(expression), json!(["1", "1", "2"]), "{expression}");
    }
    assert_eq!(place.get("replay r")["identical"], true);
}

#[test]
fn a_flow_that_is_gone_is_asked_all_the_same() {
    let place = cart();
    std::fs::remove_file(place.dir().join("flows/main.ts")).expect("it was there");
    let found = hits(&place.print(&["flows/main.ts:16", "sum", "--request", "one"]));
    assert_eq!(found[0][2], json!(["13"]), "{found}");
    std::fs::remove_dir_all(place.dir().join("flows")).expect("it was there");
    std::fs::remove_dir_all(place.dir().join(".flowglass/cache")).expect("it was there");
    assert_eq!(hits(&place.print(&["flows/main.ts:16", "sum", "--request", "one"])), found);
}

#[test]
fn a_package_that_changed_is_named_and_nothing_is_shown_that_never_was() {
    let package = |value: u32| format!("export const rate = () => {value};\n");
    let place = Place::new()
        .file("node_modules/rates/package.json", r#"{"name":"rates","version":"1.0.0","type":"module","main":"index.js"}"#)
        .file("node_modules/rates/index.js", &package(1))
        .file(
            "flows/main.ts",
            "import { defineFlow, handler, sequencer } from '@flow-state-dev/core';
import { rate } from 'rates';
const first = handler({ name: 'first', execute: () => {
  const found = rate();
  return found;
} });
const second = handler({ name: 'second', execute: (input) => {
  const doubled = Number(input) * 2;
  return doubled;
} });
export default defineFlow({ kind: 'main', actions: { go: { block: sequencer({ name: 's' }).step(first).step(second) } } });
",
        );
    place.get("run main go --user ada --request r");
    assert_eq!(hits(&place.print(&["flows/main.ts:9", "doubled"])), json!([["r", 2, ["2"]]]));
    place.write("node_modules/rates/index.js", package(7));
    let answer = place.print(&["flows/main.ts:9", "doubled"]);
    assert_eq!(hits(&answer), json!([]), "{answer}");
    let why = answer.json()["notes"][0]["note"].as_str().unwrap_or_default().to_owned();
    assert!(why.starts_with("packages, data files, tsconfig.json") && why.contains("does something else"), "{why}");
}

#[test]
fn half_of_a_character_is_no_json() {
    let place = cart();
    let value = |expression: &str| {
        place.print(&["flows/main.ts:13", expression, "--request", "one"]).json()["hits"][0]["values"][0].clone()
    };
    assert_eq!(value("'a🎉'")["json"], "a🎉");
    for half in ["'a\\ud83d'", "['\\udf89']", "({ '\\ud83d': 1 })"] {
        assert!(value(half).get("json").is_none(), "{half}: {}", value(half));
    }
}

#[test]
fn a_handle_opens_what_is_inside() {
    let place = cart();
    let expression =
        "({ deep: { er: { list: Array.from({ length: 3000 }, (_, n) => n) } }, map: new Map([['k', [7]]]) })";
    let found = place.print(&["flows/main.ts:10", expression, "--request", "one"]).json();
    let open = |handle: &Value| place.get(&format!("print --open {}", handle.as_str().expect("a handle")));
    let inside = |opened: &Value, name: &str| {
        let entries = opened["entries"].as_array().expect("entries");
        entries.iter().find(|entry| entry["name"] == name).expect(name)["value"].clone()
    };
    let top = open(&found["hits"][0]["values"][0]["handle"]);
    let deep = open(&inside(&top, "deep")["handle"]);
    let list = open(&inside(&open(&inside(&deep, "er")["handle"]), "list")["handle"]);
    assert_eq!((&list["total"], list["entries"].as_array().map(Vec::len)), (&json!(3000), Some(1000)));
    assert_eq!(inside(&list, "999")["json"], 999);
    assert_eq!(inside(&top, "map")["preview"], "Map(1) {\"k\" → [7]}");
}

/// Of a text of 20 MB the beginning is opened, and what is left out is counted.
#[test]
fn a_text_that_is_too_long_is_cut_and_said_to_be() {
    let place = cart();
    let found = place.print(&["flows/main.ts:10", "'é'.repeat(10_000_000)", "--request", "one"]).json();
    let value = &found["hits"][0]["values"][0];
    assert!(value["preview"].as_str().is_some_and(|shown| shown.ends_with("… (10000000 characters)")), "{value}");
    let opened = place.run(&["print", "--open", value["handle"].as_str().expect("a handle")]);
    assert!(opened.stdout.ends_with("é\n… 8976000 more characters\n"), "{} bytes", opened.stdout.len());
}

#[test]
fn a_handle_that_is_none_is_refused() {
    let place = cart();
    for wrong in ["nothing", "e30", "!"] {
        assert_eq!(place.print(&["--open", wrong]).code, Some(2), "{wrong}");
    }
}

/// Questions of several processes at once, one of which is killed, beside a run.
#[test]
fn questions_disturb_neither_each_other_nor_a_run() {
    let place = cart();
    let start = |args: &[&str]| {
        let mut command = Command::new(program());
        command.args(args).current_dir(place.dir()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    };
    let question = ["--json", "print", "flows/main.ts:8", "sum", "--request", "one"];
    let mut all: Vec<_> = (0..3).map(|_| start(&question)).collect();
    let mut killed = start(&["print", "flows/main.ts:10", "(() => { for (;;); })()"]);
    let run =
        start(&["run", "cart", "pay", "--user", "bo", "--request", "three", "--input", r#"[{"name":"a","price":1}]"#]);
    let answers: Vec<Vec<u8>> = all.drain(..).map(|child| child.wait_with_output().expect("it ends").stdout).collect();
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    assert!(run.wait_with_output().expect("it ends").status.success());
    let found: Vec<Value> = answers.iter().map(|answer| serde_json::from_slice(answer).expect("a document")).collect();
    assert!(found.iter().all(|answer| answer["total"] == 2 && *answer == found[0]), "{found:?}");
    assert_eq!(place.ask("check --data").code, Some(0));
    assert_eq!(hits(&place.print(&["flows/main.ts:8", "sum", "--request", "three"])), json!([["three", 5, ["0"]]]));
}
