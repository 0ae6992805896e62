//! Databases and exports that an older version wrote: they open, they are whole, and their requests go on.
//!
//! `tests/flows/older/` has a database of format 5 and an export of format 1, made by the last version that wrote
//! them with the flow beside them: requests that ended, failed, wait, were killed, resumed, retried and forked. The one
//! deadline in it was moved to the year 2100 afterwards, so that it never passes.

use serde_json::{Value, json};
use tests::bench::{Place, repository};

/// A workspace with the flow and the database of format 5.
fn older() -> Place {
    let place = Place::new();
    let folder = repository().join("tests/flows/older");
    for name in ["old.ts", "old.mock.json"] {
        place.write(name, std::fs::read(folder.join(name)).expect("the fixture is there"));
    }
    place.write(".flowglass/flowglass.db", std::fs::read(folder.join("format-5.db")).expect("the fixture is there"));
    place
}

fn status(place: &Place, request: &str) -> Value {
    place.get(&format!("show {request}"))["request"]["status"].clone()
}

#[test]
fn a_database_of_format_5_is_taken_over() {
    let place = older();
    let rows = place.get("requests");
    let rows = rows.as_array().expect("a list");
    let statuses: Vec<(&str, &str)> = rows
        .iter()
        .filter_map(|row| Some((row["id"].as_str()?, row["status"].as_str()?)))
        .filter(|(id, _)| !id.starts_with("req_"))
        .collect();
    assert_eq!(
        statuses,
        [
            ("cut2", "interrupted"),
            ("resumed", "completed"),
            ("cut", "interrupted"),
            ("failed2", "failed"),
            ("failed", "failed"),
            ("late", "suspended"),
            ("waits", "suspended"),
            ("asked", "suspended"),
            ("done", "completed"),
        ]
    );
    assert!(place.dir().join(".flowglass/flowglass.db.format-5").is_file(), "a copy of the old file is kept");
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], json!(true), "{checked}");
    let state = place.get("state --session s");
    assert_eq!(state["session"], json!({ "notes": [1], "mapped": 1 }));
    for request in ["done", "resumed"] {
        assert_eq!(place.get(&format!("replay {request}"))["identical"], json!(true), "{request}");
    }
    assert_eq!(place.get("journal --session s")[0]["text"], "note 1");
    assert_ne!(place.get("search odds").as_array(), None);
    let found = place.get("search luck");
    assert!(found.as_array().is_some_and(|hits| !hits.is_empty()), "{found}");
    let kinds = place
        .get("events done")
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["kind"].as_str().map(str::to_owned))
        .collect::<Vec<_>>();
    for old in ["effect_recorded", "function_returned"] {
        assert!(!kinds.iter().any(|kind| kind == old), "{old} is still there");
    }
    for new in ["effect_finished", "callback_returned"] {
        assert!(kinds.iter().any(|kind| kind == new), "{new} is not there");
    }
}

#[test]
fn requests_of_format_5_go_on() {
    let place = older();
    // What was killed runs again from its unfinished step; what it finished is not run again.
    let cut = place.get("resume cut");
    assert_eq!(cut["status"], "completed", "{cut}");
    let looks = place.get("show cut")["blocks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|block| block["path"] == "root/step:looks" && block["memoized"] == json!(false))
        .count();
    assert_eq!(looks, 1, "a finished step ran again");
    // The answers that were given count, and the pending ones can be given.
    let waits = place.get("resume waits --approve");
    assert_eq!(waits["status"], "completed", "{waits}");
    let late = place.ask("resume late --approve");
    assert_eq!(late.code, Some(0), "{late}");
    // A failure that was caught stays; the one that ended the request is tried again.
    let failed = place.ask("resume failed");
    assert_eq!(failed.code, Some(3), "{failed}");
    let ran = |path: &str| {
        place.get("show failed")["blocks"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|block| block["path"] == path && block["memoized"] == json!(false))
            .count()
    };
    assert_eq!((ran("root/step:saved"), ran("root/step:breaks")), (1, 2));
    let forked = place.get("fork done --at root/step:looks --mock");
    assert_eq!(forked["status"], "completed", "{forked}");
    assert_eq!(place.ask("abort asked").code, Some(0));
    for (request, is) in [("cut", "completed"), ("waits", "completed"), ("late", "completed"), ("asked", "aborted")] {
        assert_eq!(status(&place, request), is, "{request}");
    }
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], json!(true), "{checked}");
    assert_eq!(place.get("delete --session s2")["requests"], json!(5));
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

#[test]
fn an_export_of_format_1_is_imported() {
    let place = Place::new();
    let folder = repository().join("tests/flows/older");
    for name in ["old.ts", "old.mock.json", "export-1.flowglass"] {
        place.write(name, std::fs::read(folder.join(name)).expect("the fixture is there"));
    }
    let imported = place.get("import export-1.flowglass");
    assert_eq!(imported["requests"], json!(["asked", "done"]), "{imported}");
    assert_eq!(place.get("check --data")["ok"], json!(true));
    assert_eq!(place.get("replay done")["identical"], json!(true));
    let again = place.get("import export-1.flowglass");
    assert_eq!(again["imported"], json!(false), "what is here already changes nothing");
    // A request of another machine belongs to nobody here, and whoever answers it takes it over.
    let asked = place.get("resume asked --approve");
    assert_eq!(asked["status"], "completed", "{asked}");
}
