//! Details of a failure that the commands show after its message: thrown values that are not errors, causes, gathered
//! errors, and the length of a cut message.

use serde_json::json;
use tests::bench::Place;

const FLOW: &str = r#"
const fails = (name: string, make: () => unknown) => ({ block: handler({ name, execute: () => { throw make(); } }) });
export default defineFlow({
  kind: "main",
  actions: {
    object: fails("object", () => ({ status: 418, body: "I am a teapot" })),
    nothing: fails("nothing", () => undefined),
    text: fails("text", () => "only a text"),
    none: fails("none", () => null),
    big: fails("big", () => 42n),
    circle: fails("circle", () => { const e: any = new Error("round"); e.cause = new Error("inner", { cause: e }); return e; }),
    itself: fails("itself", () => { const e: any = new Error("round"); e.cause = e; return e; }),
    many: fails("many", () => { let e = new Error("e60"); for (let i = 59; i >= 0; i--) e = new Error("e" + i, { cause: e }); return e; }),
    any: { block: handler({ name: "any", execute: () => Promise.any([Promise.reject(new Error("p1"))]) }) },
    symbol: fails("symbol", () => Symbol("mine")),
    causes: fails("causes", () => new Error("outer", { cause: new TypeError("middle", { cause: { at: 3 } }) })),
    gathered: fails("gathered", () => new AggregateError([new Error("a"), new RangeError("b", { cause: new Error("c") })], "several")),
    own: fails("own", () => Object.assign(new Error("outer", { cause: new Error("inner") }), { details: { at: 3 } })),
    long: fails("long", () => new Error("x".repeat(200_000), { cause: new Error("y".repeat(200_000)) })),
  },
});
"#;

/// Fails an action, and returns what `run`, `show` and `block` print, and the error as JSON.
fn shown(place: &Place, action: &str) -> (Vec<String>, serde_json::Value) {
    let run = place.run(&["run", "main", action, "--user", "u", "--request", action]);
    assert_eq!(run.code, Some(3), "{run}");
    let show = place.run(&["show", action]);
    let block = place.run(&["block", action, "root"]);
    let error = place.get(&format!("block {action} root"))["block"]["error"].clone();
    (vec![run.stderr, show.stdout, block.stdout], error)
}

/// All commands print these lines, in this order.
#[track_caller]
fn check(place: &Place, action: &str, lines: &[&str]) {
    for printed in shown(place, action).0 {
        let mut rest = printed.as_str();
        for line in lines {
            let at = rest.find(line).unwrap_or_else(|| panic!("{action}: no {line:?} in\n{printed}"));
            rest = &rest[at + line.len()..];
        }
    }
}

#[test]
fn a_thrown_value_is_shown() {
    let place = Place::with_flow(FLOW);
    let message = "Error: Unknown block execution error";
    check(&place, "object", &[message, "threw {\"status\":418,\"body\":\"I am a teapot\"}"]);
    check(&place, "nothing", &[message, "threw undefined"]);
    check(&place, "symbol", &[message, "threw Symbol(mine)"]);
    check(&place, "none", &[message, "threw null"]);
    check(&place, "big", &[message, "threw 42n"]);
    check(&place, "text", &["Error: only a text"]);
    let error = place.get("block object root")["block"]["error"].clone();
    assert_eq!(error["details"], json!({ "thrown": { "status": 418, "body": "I am a teapot" } }));
}

#[test]
fn causes_and_gathered_errors_are_shown() {
    let place = Place::with_flow(FLOW);
    check(&place, "causes", &["Error: outer", "caused by TypeError: middle", "  caused by Error: {\"at\":3}"]);
    check(
        &place,
        "gathered",
        &["AggregateError: several", "error Error: a", "error RangeError: b", "  caused by Error: c"],
    );
    check(&place, "own", &["Error: outer", "caused by Error: inner"]);
}

#[test]
fn a_long_message_is_cut_and_says_its_length() {
    let place = Place::with_flow(FLOW);
    let (printed, error) = shown(&place, "long");
    for printed in printed {
        assert!(printed.len() < 10_000, "{} bytes", printed.len());
        assert!(printed.contains("x… (200000 bytes)") && printed.contains("y… (2000"), "{printed}");
    }
    assert_eq!(error["message"].as_str().map(str::len), Some(200_000));
}

#[test]
fn causes_in_a_circle_and_long_chains_end() {
    let place = Place::with_flow(FLOW);
    let again = "(again: the causes go in a circle)";
    check(&place, "itself", &["Error: round", &format!("caused by Error: round {again}")]);
    check(&place, "circle", &["Error: round", "caused by Error: inner", &format!("caused by Error: round {again}")]);
    check(&place, "many", &["Error: e0", "caused by Error: e17", "caused by Error: … 43 more causes"]);
    check(&place, "any", &["AggregateError: All promises were rejected", "error Error: p1"]);
}

#[test]
fn a_file_that_throws_another_value_shows_the_value() {
    let place = Place::new().file("flows/main.ts", "throw { status: 418 };\n").file("flows/other.ts", "throw null;\n");
    let flows = place.get("flows").to_string();
    assert!(flows.contains("it threw {\\\"status\\\":418}") && flows.contains("it threw null"), "{flows}");
}

#[test]
fn a_schema_that_throws_says_where() {
    let flow = "const input = z.object({ a: z.any().refine((v: any) =>
  v.x.y > 1) });
const h = handler({ name: 'h', inputSchema: input, execute: (given) => given });
export default defineFlow({ kind: 'main', actions: { go: { inputSchema: input, block: h } } });
";
    let failed = Place::with_flow(flow).run(&["run", "main", "go", "--user", "u", "--input", "{\"a\":1}"]);
    assert!(failed.stderr.contains("(reading 'y') (at flows/main.ts:4:"), "{failed}");
}

/// A value without a JSON form is kept as its text, also inside of another one.
#[test]
fn a_thrown_value_without_a_json_form_is_kept_as_text() {
    let flow = r#"
const thrower = (name: string, make: () => unknown) => ({ block: handler({ name, inputSchema: z.any(), execute: async () => { throw make(); } }) });
export default defineFlow({ kind: "main", actions: {
  map: thrower("map", () => new Map([[1, 2]])),
  set: thrower("set", () => new Set(["a"])),
  promise: thrower("promise", () => Promise.resolve(1)),
  thenable: thrower("thenable", () => ({ then: () => 1 })),
  pattern: thrower("pattern", () => /a+/),
  inside: thrower("inside", () => ({ code: 7, seen: new Set(["a"]) })),
} });
"#;
    let place = Place::with_flow(flow);
    let texts = [
        ("map", json!("{\"Map(1)\":[[1,2]]}")),
        ("set", json!("{\"Set(1)\":[\"a\"]}")),
        ("promise", json!("[object Promise]")),
        ("thenable", json!("{\"then\":\"[function then]\"}")),
        ("pattern", json!("/a+/")),
        ("inside", json!({ "code": 7, "seen": "{\"Set(1)\":[\"a\"]}" })),
    ];
    for (action, thrown) in texts {
        place.ask(&format!("run main {action} --user u --request {action}"));
        let error = place.get(&format!("block {action} root"))["block"]["error"].clone();
        assert_eq!(error["details"], json!({ "thrown": thrown }), "{action}");
        assert_eq!(place.get(&format!("replay {action}"))["identical"], true, "{action}");
    }
}
