//! The client that VS Code's own debug adapters are tested with, against `flowglass dap`: `tests/clients`.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{program, repository};

use crate::debug::{line_of, recorded};

#[test]
fn the_client_that_adapters_are_tested_with_finds_nothing_wrong() {
    let folder = repository().join("tests/clients");
    if !folder.join("node_modules/@vscode/debugadapter-testsupport").is_dir() {
        eprintln!("skipped: the client is not installed; `make setup` installs tests/clients");
        return;
    }
    let place = recorded();
    let line = |text: &str| line_of(&place, text);
    let lines = json!({
        "sum": line("let sum"), "loop": line("for (const"), "call": line("sum += priceOf"),
        "inside": line("const line"), "thrown": line("throw new Error"),
    });
    let file = std::fs::canonicalize(place.dir()).expect("it is there").join("flows/main.ts");
    let mut node = Command::new("node");
    node.arg("dap.mjs").arg(program()).arg(&file).arg(lines.to_string()).current_dir(&folder);
    let ended = node.output().expect("Node.js starts");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    let saw: Value = serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(saw["steps"], 6, "{saw:#}");
    assert_eq!((&saw["broken"]["evaluated"], &saw["broken"]["threads"]), (&json!("7"), &json!(["root/step:total"])));
    assert_eq!(saw["broken"]["names"], json!(["item", "input", "ctx", "sum"]), "{saw:#}");
    assert_eq!(saw["failed"]["description"], "Error: too much: 206");
    assert!(saw["failed"]["refused"].as_str().is_some_and(|message| message.contains("column")), "{saw:#}");
}
