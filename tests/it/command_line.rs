//! The command line takes what is given in an unusual form: a path through a link, an empty file, a flag without its
//! value, a byte-order mark. What it cannot do for a reason outside of it is no error of ours.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
function aside() {
  const hidden = 1;
  return hidden;
}
const add = handler({ name: "add", inputSchema: z.any(), execute: (input) => {
  {
    const left = aside();
    input = { ...input, left };
  }
  const sum = input.left + 1;
  return sum;
} });
export default defineFlow({ kind: "main", actions: { go: { block: add } } });
"#;
/// The last statement but one of the handler.
const LINE: &str = "13";

fn ran() -> Place {
    let place = Place::with_flow(FLOW);
    place.get("run main go --user ada --session s --request r --input {}");
    place
}

/// An editor that opened the folder by a link names files by it.
#[cfg(unix)]
#[test]
fn a_file_is_the_same_by_every_path() {
    let place = ran();
    let links = tempfile::tempdir().expect("a folder");
    let link = links.path().join("link");
    std::os::unix::fs::symlink(place.dir(), &link).expect("a link");
    std::os::unix::fs::symlink("flows", place.dir().join("inner")).expect("a link");
    let real = std::fs::canonicalize(place.dir()).expect("it is there");
    let (link, real) = (link.display().to_string(), real.display().to_string());
    let names = [
        "flows/main.ts".to_owned(),
        "inner/main.ts".to_owned(),
        format!("{real}/flows/main.ts"),
        format!("{link}/flows/main.ts"),
        format!("{link}/inner/main.ts"),
        format!("{link}/flows/../flows/main.ts"),
    ];
    let ask = |dir: &str| {
        let coverage = place.get(&format!("--dir {dir} coverage r --file flows/main.ts"));
        for name in &names {
            let found = place.get(&format!("--dir {dir} print {name}:{LINE} input.left"));
            assert_eq!(found["hits"][0]["values"][0]["json"], 1, "{name} {found}");
            assert_eq!(place.get(&format!("--dir {dir} coverage r --file {name}")), coverage, "{name}");
        }
    };
    ask(&real);
    ask(&link);
    // A file that is gone ran all the same.
    std::fs::remove_file(place.dir().join("flows/main.ts")).expect("it was there");
    ask(&real);
    ask(&link);
    let outside = links.path().join("other.ts");
    std::fs::write(&outside, "").expect("it is writable");
    let refused = place.ask(&format!("print {}:1 1", outside.display()));
    assert_eq!(refused.code, Some(7), "{refused}");
    assert!(refused.stderr.contains("outside the workspace"), "{refused}");
}

#[test]
fn a_name_out_of_scope_is_not_defined() {
    let place = ran();
    for name in ["hidden", "left", "nothing"] {
        let found = place.get(&format!("print flows/main.ts:{LINE} {name}"));
        let error = &found["hits"][0]["values"][0]["error"];
        assert_eq!(error["message"], format!("{name} is not defined"), "{found}");
    }
    let found = place.get(&format!("print flows/main.ts:{LINE} sum"));
    let message = &found["hits"][0]["values"][0]["error"]["message"];
    assert_eq!(message, "Cannot access 'sum' before initialization", "it is declared by the statement: {found}");
}

#[test]
fn a_value_that_is_stored_once_is_never_more_than_the_values() {
    let place = Place::with_flow(
        r#"const count = handler({ name: "count", inputSchema: z.string(), execute: (text) => text.length });
export default defineFlow({ kind: "main", actions: { go: { block: count } } });"#,
    );
    let input = json!("x".repeat(60_000)).to_string();
    place.run_with(&["run", "main", "go", "--user", "ada", "--input", "-"], &input);
    let stats = place.get("stats");
    let bytes = |name: &str| stats[name].as_u64().expect("a number");
    assert!(bytes("uniquePayloadBytes") >= 60_000, "{stats}");
    assert!(bytes("uniquePayloadBytes") <= bytes("payloadBytes"), "{stats}");
}

#[test]
fn an_empty_file_is_an_empty_database() {
    let place = ran();
    place.write("e.db", "");
    for list in ["requests", "sessions", "suspensions"] {
        assert_eq!(place.get(&format!("{list} --data e.db")), json!([]), "{list}");
    }
    assert_eq!(place.get("check --data e.db")["ok"], true);
    assert_eq!(place.ask("show r --data e.db").code, Some(6));
    assert_eq!(std::fs::read(place.dir().join("e.db")).expect("it is there"), b"", "it was only read");
    place.get("run main go --user ada --request r2 --input {} --data e.db");
    assert_eq!(place.get("requests --data e.db").as_array().map(Vec::len), Some(1));
    let missing = place.ask("requests --data none.db");
    assert_eq!(missing.code, Some(6), "{missing}");
}

/// The error of a command that wants something that is not there.
#[track_caller]
fn error(answer: &tests::bench::Answer, code: i32) -> Value {
    assert_eq!(answer.code, Some(code), "{answer}");
    answer.json()["error"].clone()
}

#[test]
fn what_is_missing_outside_is_no_error_of_ours() {
    let place = ran().variable("DISPLAY", "").variable("WAYLAND_DISPLAY", "");
    let collector = error(&place.ask("export --request r --otlp http://127.0.0.1:1/v1/traces"), 1);
    assert_eq!((&collector["name"], &collector["code"]), (&json!("UnavailableError"), &json!("unavailable")));
    if cfg!(target_os = "linux") {
        assert_eq!(error(&place.ask("open ."), 1)["code"], "unavailable");
        // What is wrong on every machine is said first.
        let missing = error(&place.ask("open gone"), 2);
        assert_eq!(missing["code"], "validation_error", "{missing}");
        assert!(missing["message"].as_str().is_some_and(|message| message.contains("gone")), "{missing}");
    }
}

#[test]
fn a_flag_is_no_value_of_the_flag_before_it() {
    let place = ran();
    for line in [
        "run main go --user ada --input",
        "fork r --at 0 --input",
        "fork r --at root --output",
        "fork r --action-input",
        "resume r --submit",
        "show r --filter",
        "requests --filter",
        "tag r --note",
        "print flows/main.ts:12 input --if",
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(2), "{line}\n{answer}");
        assert_eq!(answer.json()["error"]["code"], "usage", "{line}\n{answer}");
        assert!(answer.stderr.contains("value"), "{line}\n{answer}");
    }
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1), "nothing was run");
    let echo = Place::with_flow(
        r#"const echo = handler({ name: "echo", inputSchema: z.any(), execute: (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: echo } } });"#,
    );
    for (given, output) in
        [("-5", json!(-5)), ("-1.5e3", json!(-1500)), ("-1e-1", json!(-0.1)), ("-", json!("from stdin"))]
    {
        let answer = echo.run_with(&["run", "main", "go", "--user", "a", "--input", given, "--json"], "\"from stdin\"");
        assert_eq!(answer.json()["output"], output, "{given}\n{answer}");
    }
}

/// Editors of some systems put one before a text.
#[test]
fn a_byte_order_mark_is_skipped() {
    let place = Place::with_flow(
        r#"const echo = handler({ name: "echo", inputSchema: z.any(), execute: (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: echo } } });"#,
    )
    .file("flowglass.json", "\u{feff}{ \"limits\": { \"depth\": 100 } }")
    .file("in.json", "\u{feff}[1]");
    let answer = place.run_with(&["run", "main", "go", "--user", "a", "--input", "-", "--json"], "\u{feff}{\"a\":1}\n");
    assert_eq!(answer.json()["output"], json!({ "a": 1 }), "{answer}");
    assert_eq!(place.get("run main go --user a --input @in.json")["output"], json!([1]));
    let wrong = place.run_with(&["run", "main", "go", "--user", "a", "--input", "-"], "{}\u{feff}");
    assert_eq!(wrong.code, Some(2), "only at the beginning: {wrong}");
}

#[test]
fn a_session_is_found_by_each_project_that_it_ran_in() {
    let place = ran();
    let run = |session: &str, project: &str| {
        place.get(&format!("run main go --user ada --session {session} --project {project} --input {{}}"));
    };
    run("one", "p1");
    run("both", "p1");
    run("both", "p2");
    let found = |project: &str| {
        let listed = place.get(&format!("sessions --project {project}"));
        let ids = listed.as_array().into_iter().flatten().map(|row| row["id"].as_str().unwrap_or_default().to_owned());
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids
    };
    assert_eq!(found("p1"), ["both", "one"]);
    assert_eq!(found("p2"), ["both"]);
    assert_eq!(found("p3"), [""; 0]);
}
