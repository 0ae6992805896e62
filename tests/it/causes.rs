//! What the commands show of a failure beside its message: thrown values that are no errors, causes, gathered errors,
//! and the length of a message that they cut.

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
    check(&place, "nothing", &[message, "threw \"undefined\""]);
    check(&place, "symbol", &[message, "threw \"Symbol(mine)\""]);
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
