//! The official clients of the Model Context Protocol from npm against the program: `tests/clients`.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{program, repository};

use crate::debug::recorded;

/// Lets the clients use a server, and returns what each of them saw. `None` if they are not installed.
pub(crate) fn clients(given: &[&str]) -> Option<Vec<Value>> {
    let folder = repository().join("tests/clients");
    if !folder.join("node_modules/.package-lock.json").is_file() {
        eprintln!("skipped: the clients are not installed; `make setup` installs tests/clients");
        return None;
    }
    let mut node = Command::new("node");
    node.arg("mcp.mjs").args(given).current_dir(&folder).env("XDG_CONFIG_HOME", folder.join("node_modules/.config"));
    let ended = node.output().expect("Node.js starts");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    Some(said.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect())
}

/// Checks what the clients saw of the request `good`.
#[track_caller]
pub(crate) fn check(saw: &[Value], names: &[&str]) {
    let all: Vec<&str> = saw.iter().filter_map(|one| one["client"].as_str()).collect();
    assert_eq!(all, names);
    for one in saw {
        assert_eq!(one["tools"], json!(["find", "look", "diff", "why", "print", "run", "compare"]), "{one:#}");
        assert!(one["found"].as_str().is_some_and(|text| text.starts_with("3 requests")), "{one:#}");
        let refused = one["refused"].as_str().unwrap_or_default();
        assert!(refused.contains("argument `request`: unknown request"), "{one:#}");
        assert!(one["templates"].as_u64().is_some_and(|count| count > 0), "{one:#}");
        assert!(one["read"].as_str().is_some_and(|text| text.contains("items")), "{one:#}");
    }
}

#[test]
fn official_clients_of_every_generation_work_on_standard_input() {
    let place = recorded();
    let program = program().display().to_string();
    let folder = place.dir().display().to_string();
    let Some(saw) = clients(&["stdio", &program, &folder, "good"]) else { return };
    check(&saw, &["sdk", "older sdk", "legacy", "auto"]);
    assert_eq!(saw[0]["rows"], 3, "{saw:#?}");
    assert_eq!(saw[3]["version"], "2026-07-28", "{saw:#?}");
}
