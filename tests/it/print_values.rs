//! What `print` and `step` show of promises, of objects of the web, and of variables that nothing else uses.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const FLOW: &str = r##"class Later extends Promise<number> {}
class Address extends URL {
  note = "mine";
}
const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.any(), execute: async () => {
  const waits = new Promise(() => {});
  const kept = Promise.resolve({ a: 1 });
  const broken = Promise.reject(new RangeError("far"));
  broken.catch(() => {});
  const later = Later.resolve(3);
  const box: { own?: unknown } = {};
  box.own = Promise.resolve(box);
  const asked = (async () => 7)();
  const url = new URL("https://ada@example.com:8080/a/b?c=1#d");
  const address = new Address("https://example.com");
  const query = new URLSearchParams("a=1&b=2&a=3");
  const headers = new Headers({ "X-One": "1", accept: "text/plain" });
  const reply = new Response("body", { status: 201, headers });
  const abort = new AbortController();
  const number = new Number(3);
  const letters = new String("ab");
  class Tagged extends Headers { tag = "x"; }
  const tagged = new Tagged({ accept: "text/plain" });
  const bytes = new (class Bytes extends Uint8Array {})([1, 2]);
  return "end";
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"##;

fn place() -> Place {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.get("run f go --user ada --request r")["output"], "end");
    place
}

/// The place of the first line that begins with a text; the usual imports are two lines.
#[track_caller]
fn line(flow: &str, text: &str) -> String {
    let at = flow.lines().position(|line| line.trim_start().starts_with(text));
    format!("flows/main.ts:{}", at.unwrap_or_else(|| panic!("no line begins with {text}")) + 3)
}

fn print(place: &Place, args: &[&str]) -> Answer {
    place.run(&[&["--json", "print"], args].concat())
}

/// The values of expressions at the last statement.
#[track_caller]
fn at_end(place: &Place, expressions: &[&str]) -> Vec<Value> {
    let answer = print(place, &[&[line(FLOW, "return").as_str()], expressions].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()["hits"][0]["values"].as_array().cloned().unwrap_or_default()
}

#[track_caller]
fn check(place: &Place, expected: &[(&str, &str, &str)]) {
    let expressions: Vec<&str> = expected.iter().map(|(expression, ..)| *expression).collect();
    for ((expression, kind, preview), value) in expected.iter().zip(at_end(place, &expressions)) {
        assert_eq!((&value["kind"], &value["preview"]), (&json!(kind), &json!(preview)), "{expression}: {value}");
    }
}

/// The names and previews inside of what a handle opens.
#[track_caller]
fn inside(place: &Place, handle: &Value) -> Vec<(String, String)> {
    let opened = place.get(&format!("print --open {}", handle.as_str().expect("a handle")));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = opened["entries"].as_array().expect("entries");
    assert_eq!(opened["total"], entries.len(), "{opened}");
    entries.iter().map(|entry| (text(&entry["name"]), text(&entry["value"]["preview"]))).collect()
}

#[test]
fn a_promise_shows_its_state() {
    let place = place();
    check(
        &place,
        &[
            ("waits", "promise", "Promise <pending>"),
            ("kept", "promise", "Promise <fulfilled: {a: 1}>"),
            ("broken", "promise", "Promise <rejected: RangeError: far>"),
            ("later", "promise", "Later <fulfilled: 3>"),
            ("box", "object", "{own: Promise <fulfilled: [circular]>}"),
            ("asked", "promise", "Promise <fulfilled: 7>"),
            ("[[[kept]]]", "array", "[[Array(1)]]"),
            ("[[kept]]", "array", "[[Promise <fulfilled: …>]]"),
            // An expression starts nothing that goes on after it.
            ("(async () => { await 1; return 2; })()", "promise", "Promise <pending>"),
            ("(async () => 2)()", "promise", "Promise <fulfilled: 2>"),
            ("({ then() { throw 1; } })", "object", "{then: ƒ then}"),
            ("Object.create(Promise.prototype)", "instance", "Promise {}"),
            ("new Proxy(kept, {})", "instance", "Proxy"),
        ],
    );
    let found = at_end(&place, &["kept", "waits"]);
    let [kept, waits] = &found[..] else { panic!("two values") };
    assert_eq!(inside(&place, &kept["handle"]), [("<fulfilled>".to_owned(), "{a: 1}".to_owned())]);
    assert_eq!(waits.get("handle"), None, "nothing is inside: {waits}");
}

#[test]
fn objects_of_the_web_show_what_is_in_them() {
    let place = place();
    check(
        &place,
        &[
            ("url", "instance", "URL \"https://ada@example.com:8080/a/b?c=1#d\""),
            ("[url]", "array", "[URL \"https://ada@example.com:8080/a/b?c=1#d\"]"),
            ("address", "instance", "Address \"https://example.com/\""),
            ("query", "instance", "URLSearchParams(3) {\"a\" → \"1\", \"b\" → \"2\", \"a\" → \"3\"}"),
            ("headers", "instance", "Headers(2) {\"x-one\" → \"1\", \"accept\" → \"text/plain\"}"),
            ("tagged", "instance", "Tagged(1) {\"accept\" → \"text/plain\", tag: \"x\"}"),
            ("abort", "instance", "AbortController {signal: AbortSignal {aborted: false, reason: undefined}}"),
            ("number", "instance", "Number 3"),
            ("letters", "instance", "String \"ab\""),
            ("bytes", "typedArray", "Bytes(2) [1, 2]"),
            ("Object.create(url)", "instance", "URL {}"),
            ("url.constructor.name", "string", "\"URL\""),
        ],
    );
    let found = at_end(&place, &["url", "reply", "headers"]);
    let [url, reply, headers] = &found[..] else { panic!("three values") };
    let reply = reply["preview"].as_str().unwrap_or_default();
    assert!(reply.starts_with("Response {headers: Headers(3) {") && reply.contains("status: 201"), "{reply}");
    let parts = inside(&place, &url["handle"]);
    let part = |name: &str| parts.iter().find(|(known, _)| known == name).map(|(_, shown)| shown.as_str());
    assert_eq!(part("host"), Some("\"example.com:8080\""));
    assert_eq!(part("search"), Some("\"?c=1\""));
    assert_eq!(headers.get("handle"), None, "all is shown: {headers}");
}

/// What reads the content of an object is not run if an author has replaced the methods that it needs.
#[test]
fn nothing_of_an_author_runs_for_an_object_of_the_web() {
    let flow = r#"const ran: string[] = [];
const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.any(), execute: () => {
  const url = new URL("https://example.com");
  const own = WeakMap.prototype.get;
  WeakMap.prototype.get = function (key) { ran.push("get"); return own.call(this, key); };
  Object.defineProperty(url, "href", { get() { ran.push("href"); return "no"; } });
  ran.length = 0;
  const here = 1;
  const seen = ran.join();
  WeakMap.prototype.get = own;
  return seen;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"#;
    let place = Place::with_flow(flow);
    assert_eq!(place.get("run f go --user ada --request r")["output"], "");
    let shown = print(&place, &[&line(flow, "const seen"), "url"]).json();
    assert_eq!(shown["hits"][0]["values"][0]["preview"], "URL {href: (getter)}", "{shown}");
    let after = print(&place, &[&line(flow, "return seen"), "seen", "ran.length"]).json();
    assert_eq!(after["hits"][0]["values"][0]["preview"], "\"\"", "{after}");
    assert_eq!(after.get("notes"), None, "{after}");
}

/// Variables that only a question looks at, computed by statements of an author's: the bundler may leave them out.
const UNUSED: &str = r#"const o: any = {
  toString() { return "o"; },
  valueOf() { return 7; },
};
function pure(n: number) { return n + 1; }
const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.any(), execute: (n) => {
  const used = n + 1;
  const compared = o == 1;
  const less = o < 3;
  const marked = /* @__PURE__ */ pure(1);
  const keyed = { [o]: 1 };
  const text = String(o);
  const most = Math.abs(o);
  if (used) {
    const inner = /* @__PURE__ */ pure(2);
    const last = () => inner;
  }
  let assigned;
  assigned = /* @__PURE__ */ pure(3);
  switch (used) {
    case 1:
      const never = 1;
    default:
      const chosen = o == 7;
  }
  return used;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"#;

#[test]
fn an_expression_does_not_decide_which_statements_run() {
    let place = Place::with_flow(UNUSED);
    assert_eq!(place.get("run f go --user ada --request r --input 2")["output"], 3);
    let end = line(UNUSED, "return used");
    let tick = |expression: &str| print(&place, &[&end, expression]).json()["hits"][0]["tick"].clone();
    let plain = tick("used");
    for name in ["compared", "less", "marked", "keyed", "text", "most", "assigned", "n"] {
        assert_eq!(tick(name), plain, "{name}");
    }
    let number = end.rsplit_once(':').expect("a line").1;
    let there = place.get(&format!("step r --at root --to {number}"));
    assert_eq!((&there["tick"], &there["line"]), (&plain, &json!(number.parse::<u64>().expect("a number"))));
    let locals: Vec<(&str, &str)> = there["locals"].as_array().expect("locals").iter().map(named).collect();
    let expected = [
        ("n", "2"),
        ("used", "3"),
        ("compared", "false"),
        ("less", "false"),
        ("marked", "2"),
        ("keyed", "{o: 1}"),
        ("text", "\"o\""),
        ("most", "7"),
        ("assigned", "4"),
    ];
    assert_eq!(locals, expected);
    assert_eq!(print(&place, &[&line(UNUSED, "const last"), "inner"]).json()["hits"][0]["values"][0]["json"], 3);
}

fn named(local: &Value) -> (&str, &str) {
    (local["name"].as_str().unwrap_or_default(), local["value"]["preview"].as_str().unwrap_or_default())
}

/// What the code itself has not asked `ctx`, and a URL of an expression's own.
#[test]
fn an_expression_reads_all_that_ctx_has() {
    let flow = r#"const any = z.any();
const first = handler({ name: "first", inputSchema: any, outputSchema: any, execute: (n) => n + 1 });
const second = handler({ name: "second", inputSchema: any, outputSchema: any, execute: (n, ctx) => {
  const here = n;
  return here;
} });
const state = z.object({ done: z.number().default(4) });
const root = sequencer({ name: "root", inputSchema: z.any(), stateSchema: state }).step(first).step(second);
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: root } } });
"#;
    let place = Place::with_flow(flow);
    assert_eq!(place.get("run f go --user ada --request r --input 1")["output"], 2);
    let asked = [
        ("ctx.sequencer.state", "{done: 4}"),
        ("ctx.getBlockOutput('first')", "2"),
        ("ctx.getBlockResult('first').status", "\"completed\""),
        ("ctx.wasRescued('first')", "false"),
        ("ctx.getTarget('first').input", "1"),
        ("new URL('https://example.com/a').pathname", "\"/a\""),
        ("URL.canParse('no')", "false"),
    ];
    let expressions: Vec<&str> = asked.iter().map(|(expression, _)| *expression).collect();
    let answer = print(&place, &[&[line(flow, "return here").as_str()], &expressions[..]].concat());
    let found = answer.json();
    for ((expression, expected), value) in asked.iter().zip(found["hits"][0]["values"].as_array().expect("values")) {
        assert_eq!(value["preview"], *expected, "{expression}: {value}");
    }
    assert_eq!(found.get("notes"), None, "{found}");
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let place = place();
    let answer = print(&place, &[&line(FLOW, "return"), "1", "--limit", "0"]);
    assert_eq!(answer.code, Some(2), "{answer}");
    assert!(answer.stderr.contains("a limit of 0 finds no hit"), "{answer}");
}

#[cfg(unix)]
#[test]
fn a_module_in_the_folder_of_flows_that_is_a_link_is_found_by_both_names() {
    let place = Place::with_flow(
        "import linked from \"./linked\";
const go = handler({ name: \"go\", inputSchema: z.any(), outputSchema: z.any(), execute: (n) => linked(n) });
export default defineFlow({ kind: \"f\", actions: { go: { inputSchema: z.any(), block: go } } });\n",
    )
    .file("common/linked.ts", "export default function linked(n: number) {\n  return n + 1;\n}\n");
    std::os::unix::fs::symlink("../common/linked.ts", place.dir().join("flows/linked.ts")).expect("links can be made");
    assert_eq!(place.get("run f go --user ada --request r --input 2")["output"], 3);
    for name in ["common/linked.ts:2", "flows/linked.ts:2"] {
        assert_eq!(print(&place, &[name, "n"]).json()["hits"][0]["values"][0]["json"], 2, "{name}");
    }
}
