//! Errors that the runtime makes have the message, line and column that Node.js prints: `tests/flows/node-errors` holds
//! what is thrown, `throws.mjs`, and what Node.js 20 says of it, `expected.json`.

use std::process::Command;

use serde_json::{Map, Value, json};
use tests::bench::{Place, repository};

fn text(name: &str) -> String {
    std::fs::read_to_string(repository().join("tests/flows/node-errors").join(name)).expect("it is there")
}

fn expected() -> Map<String, Value> {
    serde_json::from_str(&text("expected.json")).expect("a table")
}

fn place() -> Place {
    Place::new().file("flows/main.ts", &text("flow.ts")).file("flows/throws.mjs", &text("throws.mjs"))
}

/// Reports every case that differs.
fn compare(found: impl Fn(&str, &Value) -> Value) {
    let mut wrong = Vec::new();
    for (name, expected) in &expected() {
        let found = found(name, expected);
        if found != *expected {
            wrong.push(format!("{name}\n  found    {found}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn errors_of_the_runtime_have_the_messages_and_places_of_node() {
    let place = place();
    let output = place.get("run main all --user u --request r")["output"].clone();
    let shown = place.get("show r");
    let blocks = shown["blocks"].as_array().expect("blocks").clone();
    compare(|name, _| {
        let block = blocks.iter().find(|block| block["name"] == name).unwrap_or(&Value::Null);
        let error = &block["error"];
        assert!(error["stack"].as_str().is_some_and(|stack| stack.contains("throws.mjs")), "{name}: {block}");
        json!({ "name": error["name"], "message": error["message"], "line": error["line"], "column": error["column"] })
    });
    // A rescue gets the same object.
    compare(|name, expected| {
        let told = &output[name];
        let mut found = expected.clone();
        found["name"] = told["name"].clone();
        found["message"] = told["message"].clone();
        found
    });
    place.get("replay r");
}

#[test]
fn an_error_that_a_flow_catches_has_the_same_message() {
    let place = place();
    let output = place.get("run main caught --user u --request r")["output"].clone();
    compare(|name, expected| {
        let mut found = expected.clone();
        found["name"] = output[name]["name"].clone();
        found["message"] = output[name]["message"].clone();
        found
    });
    let rejected = place.get("run main rejected --user u --request p");
    assert_eq!(rejected["output"], "cost.split is not a function");
}

#[test]
fn messages_do_not_contain_types() {
    let place = place();
    for (action, message, called) in [
        ("typed", "typed.split is not a function", "split(\" \")"),
        ("schema", "ctx.session.nope is not a function", "nope(\"x\")"),
    ] {
        let failed = place.ask(&format!("run main {action} --user u --request {action}"));
        let error = failed.json()["error"].clone();
        assert_eq!(error["message"], message, "{failed}");
        let source = text("flow.ts");
        let line = source.lines().position(|line| line.contains(called)).expect("the call") + 1;
        let column = source.lines().nth(line - 1).and_then(|line| line.find(called)).expect("the call") + 1;
        assert_eq!((&error["line"], &error["column"]), (&json!(line), &json!(column)), "{failed}");
    }
}

/// Each block fails on the line of the comment with its name.
const APART: &str = r#"
const shop: any = { items: [], none: undefined, n: 1, find: () => ({}) };
const same = (value: unknown) => value;
const first = ([a]: any, { b }: any) => [a, b];
const fails = (name: string, execute: () => unknown) => handler({ name, execute });
const blocks: Record<string, any> = {
  inLoop: fails("inLoop", () => {
    const { length } = shop.items;
    for (const { id: { v } } of [{ id: null }] as any[]) same([v, length]); /* inLoop */
  }),
  inner: fails("inner", () => {
    same(shop.find());
    const { user: { name } } = shop; /* inner */
    return name;
  }),
  argument: fails("argument", () => {
    const [one] = [1];
    return (({ a: { b } }: any) => [b, one])({}); /* argument */
  }),
  second: fails("second", () => {
    const { length } = shop.items;
    const { x } = shop.none; /* second */
    return [length, x];
  }),
  local: fails("local", () => {
    const { none } = shop;
    const { y } = none; /* local */
    return y;
  }),
  assigned: fails("assigned", () => {
    let z = shop.find().z;
    ({ z } = shop.none); /* assigned */
    return z;
  }),
  list: fails("list", () => {
    const { n } = shop;
    const [head] = n; /* list */
    return head;
  }),
  later: fails("later", async () => {
    const { n } = await Promise.resolve(shop);
    const { w } = await Promise.resolve(n.none); /* later */
    return w;
  }),
};
export default defineFlow({
  kind: "main",
  actions: Object.fromEntries(Object.entries(blocks).map(([name, block]) => [name, { block }])),
});
"#;

/// The runtime reports no place of destructuring patterns, and does not say which value was missing.
#[test]
fn destructuring_errors_have_their_own_line() {
    let place = Place::with_flow(APART);
    let source = std::fs::read_to_string(place.dir().join("flows/main.ts")).expect("the flow");
    for (name, message) in [
        (
            "inLoop",
            "Cannot destructure an element of [{(intermediate value)}] as a value inside it, or it, is undefined",
        ),
        ("inner", "Cannot destructure 'shop' as a value inside it, or it, is undefined or null."),
        ("argument", "Cannot destructure the argument as a value inside it, or it, is undefined or null."),
        ("second", "Cannot destructure property 'x' of 'shop.none' as it is undefined or null."),
        ("local", "Cannot destructure property 'y' of 'none' as it is undefined or null."),
        ("assigned", "Cannot destructure property 'z' of 'shop.none' as it is undefined or null."),
        ("list", "n is not iterable"),
        ("later", "Cannot destructure property 'w' of '(intermediate value)' as it is undefined or null."),
    ] {
        let failed = place.ask(&format!("run main {name} --user u"));
        let error = failed.json()["error"].clone();
        assert!(error["message"].as_str().is_some_and(|told| told.starts_with(message)), "{name}: {error}");
        let line = source.lines().position(|line| line.contains(&format!("/* {name} */"))).expect("the line") + 1;
        assert_eq!(error["line"], line, "{name}: {error}");
    }
}

/// The committed table equals the output of Node.js; other versions of it have some other messages.
#[test]
fn the_table_equals_the_output_of_node() {
    let folder = repository().join("tests/flows/node-errors");
    let version = Command::new("node").arg("--version").output().expect("Node.js");
    if !String::from_utf8_lossy(&version.stdout).starts_with("v20.") {
        return;
    }
    let told = Command::new("node").arg("expected.mjs").current_dir(folder).output().expect("Node.js");
    assert_eq!(String::from_utf8_lossy(&told.stdout), text("expected.json"), "node expected.mjs > expected.json");
}
