//! Sources that nest too deeply for a parser: only their flow fails, and the error names its place.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const HEAD: &str = "import { defineFlow, handler } from \"@flow-state-dev/core\";\n";
const GOOD: &str = "import { defineFlow, handler } from \"@flow-state-dev/core\";
export default defineFlow({ kind: \"good\", actions: { go: { block: handler({ name: \"one\", execute: () => 1 }) } } });
";

/// A flow `deep` with this statement in it.
fn deep(statement: &str) -> String {
    format!(
        "{HEAD}{statement}\nexport default defineFlow({{ kind: \"deep\", actions: {{ go: {{ block: handler({{ \
         name: \"one\", execute: () => 2 }}) }} }} }});\n"
    )
}

/// A workspace with a good flow and this one, and the output of `flows`.
fn place(source: &str) -> (Place, Value) {
    let place = Place::new().file("good.ts", GOOD).file("deep.ts", source);
    let flows = place.get("flows");
    (place, flows)
}

fn row(flows: &Value, file: &str) -> Value {
    flows.as_array().expect("a list").iter().find(|row| row["file"] == file).cloned().expect("it is listed")
}

#[track_caller]
fn assert_good_runs(place: &Place) {
    let ended = place.get("run good go --user ada");
    assert_eq!((&ended["status"], &ended["output"]), (&json!("completed"), &json!(1)));
}

/// The other flow works, and this one is listed with an error at this place.
#[track_caller]
fn check_refused(source: &str, place_of_error: (u32, u32), part: &str) {
    let (place, flows) = place(source);
    assert_eq!(row(&flows, "good.ts").get("error"), None, "{flows}");
    let error = &row(&flows, "deep.ts")["error"];
    assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{error}");
    assert_eq!(
        (&error["file"], &error["line"], &error["column"]),
        (&json!("deep.ts"), &json!(place_of_error.0), &json!(place_of_error.1))
    );
    let checked = place.run(&["check"]);
    assert_eq!(checked.code, Some(1), "{checked}");
    let named = format!("deep.ts:{}:{}", place_of_error.0, place_of_error.1);
    assert!(checked.stdout.contains(&named), "{checked}");
    assert_good_runs(&place);
    let refused: Answer = place.run(&["run", "deep", "go", "--user", "ada"]);
    assert!(refused.code.is_some_and(|code| code != 0) && refused.stderr.contains(part), "{refused}");
}

/// The good flow works. The deep one loads or is refused, as the parser decides.
#[track_caller]
fn check_survived(source: &str) {
    let (place, flows) = place(source);
    assert_eq!(row(&flows, "good.ts").get("error"), None, "{flows}");
    let deep = row(&flows, "deep.ts");
    let error = deep["error"]["message"].as_str();
    assert!(deep["kind"] == "deep" && error.is_none_or(|message| !message.is_empty()), "{deep}");
    assert_good_runs(&place);
}

fn chain(head: &str, link: &str, times: usize, tail: &str) -> String {
    deep(&format!("{head}{}{tail}", link.repeat(times)))
}

#[test]
fn brackets_nested_too_deeply_are_refused_with_their_place() {
    let source = |times: usize| deep(&format!("const a = {}1{};", "[".repeat(times), "]".repeat(times)));
    check_refused(&source(1_100), (2, 1_011), "nested deeper than 1000 levels");
    check_refused(&source(100_000), (2, 1_011), "nested deeper than 1000 levels");
}

#[test]
fn long_chains_load() {
    let (place, flows) = place(&chain("const a = Promise.resolve(1)", ".then((x) => x)", 1_855, ";"));
    assert_eq!(row(&flows, "deep.ts").get("error"), None, "{flows}");
    assert_eq!(place.get("run deep go --user ada")["output"], json!(2));
    for source in [
        chain("const a = 1", " ? 1 : 0 ? 1 : 0", 1_220, ";").replace("? 1 : 0 ? 1 : 0;", "? 1 : 0;"),
        chain("const a = 1", " + 1", 4_393, ";"),
        chain("let a = 1;\nif (a) {}", " else if (a) {}", 4_393, ""),
    ] {
        check_survived(&source);
    }
}

#[test]
fn chains_that_are_too_long_are_refused_with_their_file() {
    for (head, link, tail) in [
        ("const a = Promise.resolve(1)", ".then((x) => x)", ";"),
        ("const a = 0", " ? 1 : 0", ";"),
        ("const a = 1", " + 1", ";"),
        ("let a = 1; if (a) {}", " else if (a) {}", ""),
    ] {
        let (place, flows) = place(&chain(head, link, 100_000, tail));
        let error = &row(&flows, "deep.ts")["error"];
        assert_eq!((&error["file"], &error["line"]), (&json!("deep.ts"), &json!(2)), "{link}: {error}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains("chained here")), "{error}");
        assert_good_runs(&place);
    }
}

/// Other deep sources either load or are refused; no process crashes.
#[test]
fn other_kinds_of_deep_nesting_do_not_crash() {
    let times = 15_000;
    for source in [
        chain("const a = ", "() => ", 9_000, "1;"),
        chain("const a = ", "!", times, "1;"),
        chain("let a = 1;\n", "if (a) ", times, ";"),
        deep(&format!("type A<T> = T;\ntype D = {}1{};", "A<".repeat(times), ">".repeat(times))),
    ] {
        check_survived(&source);
    }
}

/// An import may nest as deeply as a flow.
#[test]
fn an_import_nested_too_deeply_is_refused_with_its_own_place() {
    let place = Place::new()
        .file("good.ts", GOOD)
        .file("deep.ts", &deep("import './parts/list';\nimport data from './parts/data.json';\nconst a = data;"))
        .file("parts/list.ts", &format!("\nexport const a = {}{};\n", "[".repeat(5_000), "]".repeat(5_000)))
        .file("parts/data.json", &format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)));
    let error = &row(&place.get("flows"), "deep.ts")["error"];
    let file = error["file"].as_str().unwrap_or_default();
    assert!(["parts/list.ts", "parts/data.json"].contains(&file) && error["line"].is_number(), "{error}");
    assert_good_runs(&place);
}
