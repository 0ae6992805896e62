//! Special files in a folder: a pipe without a writer, an endless device, a link to one. They are refused by name, and
//! no command waits for one or reads one to its end.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tests::bench::{Answer, Place};

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.any(), execute: async (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "go", inputSchema: z.any() }).step(say) } } });
"#;

fn pipe(at: &Path) {
    let _ = std::fs::remove_file(at);
    assert!(Command::new("mkfifo").arg(at).status().expect("mkfifo runs").success());
}

#[track_caller]
fn refused(answer: &Answer, code: i32, says: &[&str]) {
    assert_eq!(answer.code, Some(code), "{answer}");
    for words in says {
        assert!(answer.stderr.contains(words), "{words}\n{answer}");
    }
    assert!(answer.stderr.len() < 2_000, "{}", answer.stderr.len());
}

#[test]
fn settings_must_be_a_regular_file_of_limited_size() {
    let place = Place::with_flow(FLOW);
    let file = place.dir().join("flowglass.json");
    pipe(&file);
    refused(&place.ask("flows"), 2, &["flowglass.json", "not a regular file"]);
    std::fs::remove_file(&file).expect("our own file");
    symlink("/dev/zero", &file).expect("our own folder");
    refused(&place.ask("flows"), 2, &["flowglass.json", "not a regular file"]);
    std::fs::remove_file(&file).expect("our own file");
    place.write("flowglass.json", format!("\"{}\"", "x".repeat(5 << 20)));
    refused(&place.ask("flows"), 2, &["flowglass.json", "4194304 bytes"]);
    // A long invalid value is not quoted completely.
    place.write("flowglass.json", format!("\"{}\"", "x".repeat(1 << 20)));
    refused(&place.ask("flows"), 2, &["flowglass.json"]);
}

#[test]
fn a_mock_script_must_be_a_regular_file() {
    let place = Place::with_flow(FLOW);
    pipe(&place.dir().join("flows/main.mock.json"));
    pipe(&place.dir().join("other.json"));
    // The pipe next to the flow is ignored, so the run has no script.
    place.get("run main go --user ada --input 1 --mock");
    refused(&place.ask("run main go --user ada --input 1 --mock=other.json"), 2, &["other.json", "not a regular file"]);
    std::fs::remove_file(place.dir().join("other.json")).expect("our own file");
    place.write("other.json", format!("{{ \"generators\": \"{}\" }}", "x".repeat(1 << 20)));
    refused(&place.ask("run main go --user ada --input 1 --mock=other.json"), 2, &["other.json"]);
}

#[test]
fn a_database_must_be_a_regular_file() {
    let place = Place::with_flow(FLOW);
    pipe(&place.dir().join("pipe.db"));
    refused(&place.ask("sessions --data pipe.db"), 1, &["pipe.db", "not a SQLite database"]);
    std::fs::create_dir_all(place.dir().join(".flowglass")).expect("our own folder");
    pipe(&place.database());
    refused(&place.ask("sessions"), 1, &["flowglass.db", "not a SQLite database"]);
    refused(&place.ask("run main go --user ada --input 1"), 1, &["flowglass.db", "not a SQLite database"]);
}

#[test]
fn an_unreadable_cache_costs_only_time() {
    let place = Place::with_flow(FLOW);
    let before = place.get("flows");
    let cache = std::fs::read_dir(place.dir().join(".flowglass/cache")).expect("a cache");
    for file in cache.flatten() {
        pipe(&file.path());
    }
    assert_eq!(place.get("flows"), before);
    // A regular cache file has replaced the pipe.
    let cache = std::fs::read_dir(place.dir().join(".flowglass/cache")).expect("a cache");
    for file in cache.flatten() {
        assert!(file.file_type().is_ok_and(|kind| kind.is_file()), "{file:?}");
        std::fs::remove_file(file.path()).expect("our own file");
        symlink("/dev/zero", file.path()).expect("our own folder");
    }
    assert_eq!(place.get("flows"), before);
}

#[test]
fn an_export_replaces_only_regular_files() {
    let place = Place::with_flow(FLOW);
    place.get("run main go --user ada --session s --request r --input 1");
    let (link, target, pipe_file) = (place.dir().join("link"), place.dir().join("target"), place.dir().join("pipe"));
    std::fs::write(&target, "mine").expect("our own file");
    symlink(&target, &link).expect("our own folder");
    pipe(&pipe_file);
    for out in ["link", "pipe"] {
        refused(&place.ask(&format!("export --session s --out {out} --force")), 7, &[out, "never replaced"]);
        refused(&place.ask(&format!("export --request r --otlp {out} --force")), 7, &[out, "never replaced"]);
    }
    assert_eq!(std::fs::read_to_string(&target).expect("our own file"), "mine");
    assert!(link.symlink_metadata().is_ok_and(|link| link.is_symlink()) && pipe_file.symlink_metadata().is_ok());
    // Names of files that flows use are refused, even if there is no such file.
    refused(&place.ask("export --session s --out flowglass.json"), 7, &["flowglass.json"]);
    refused(&place.ask("export --request r --otlp ftp://example.invalid/x"), 2, &["ftp", "http"]);
    assert_eq!(place.get("flows").as_array().map(Vec::len), Some(1));
    assert_eq!(place.get("export --session s --out out.flowglass")["events"].is_number(), json!(true));
}
