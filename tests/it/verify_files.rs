//! `.run` files that are large, that cannot be written, or that are verified while somebody works: nothing is half
//! written, and what is told last is of the newest save.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Answer, Place, program};

/// A large value, and a small one of which an edit makes another.
const FLOW: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const large = handler({ name: "large", inputSchema: any, outputSchema: any, execute: (n) => "x".repeat(n) });
const small = handler({ name: "small", inputSchema: any, outputSchema: any, execute: (text) => text.length });
export default defineFlow({
  kind: "main",
  actions: { go: { inputSchema: any, block: sequencer({ name: "all", inputSchema: any }).step(large).step(small) } },
});
"#;

fn kept(bytes: usize) -> Place {
    let place = Place::new().file("flows/main.ts", FLOW);
    let ran = place.ask(&format!("run main go --user ada --request r --input {bytes}"));
    assert_eq!(ran.code, Some(0), "{ran}");
    place.get("keep r --as r.run");
    place
}

/// A command line of the shell, with the program as `$FLOWGLASS`.
fn shell(place: &Place, line: &str) -> Answer {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("FLOWGLASS", program()).current_dir(place.dir());
    let output = command.output().expect("there is a shell");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is UTF-8");
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A disk that is full, as a limit of the size of files: the file is larger, and the database of the replay is not.
#[test]
fn a_file_that_cannot_be_accepted_stays_as_it_was() {
    let place = kept(12_000_000);
    let before = std::fs::read(place.dir().join("r.run")).expect("it is kept");
    assert!(before.len() > 12_000_000);
    place.write("flows/main.ts", FLOW.replace("text.length", "text.length + 1"));
    let full = shell(&place, "ulimit -f 16000; exec \"$FLOWGLASS\" verify r.run --accept --json");
    let row = &full.json()["results"][0];
    assert_eq!((full.code, &row["verdict"]), (Some(1), &json!("differs")), "{full}");
    assert!(row["why"].as_str().is_some_and(|why| why.contains("it was not accepted")), "{full}");
    assert!(std::fs::read(place.dir().join("r.run")).is_ok_and(|now| now == before), "it is as it was");
    let names = std::fs::read_dir(place.dir()).expect("it is there").flatten().map(|entry| entry.file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".part")), "nothing lies beside it");
    // With room it is accepted, and nothing but the expectation is another.
    let room = place.ask("verify r.run --accept");
    assert_eq!((room.code, &room.json()["results"][0]["accepted"]), (Some(0), &json!(true)), "{room}");
    assert_eq!(place.get("verify r.run")["same"], 1);
    let after = std::fs::read_to_string(place.dir().join("r.run")).expect("it is kept");
    let before = String::from_utf8(before).expect("it is text");
    let added: Vec<&str> = after.lines().filter(|line| !before.contains(line)).collect();
    assert!(added.iter().any(|line| line.contains("\"expected\":\"root/step:small\"")), "{} lines", added.len());
    assert!(added.iter().all(|line| line.starts_with("{\"did\":")), "{} lines", added.len());
}

/// A long value was in memory three times: in the text of the file, by itself, and in each place of it.
#[test]
fn a_large_file_is_verified_as_a_small_one() {
    let place = kept(12_000_000);
    assert_eq!(place.get("verify r.run")["same"], 1);
    let text = std::fs::read_to_string(place.dir().join("r.run")).expect("it is kept");
    let large = text.lines().filter(|line| line.len() >= 12_000_000);
    assert_eq!(large.count(), 1, "the large value stands once");
    place.write("r.run", text.replace('\n', "\r\n"));
    assert_eq!(place.get("verify r.run")["same"], 1);
}

/// A round that a save overtook was told after that save, so that the last line was of code that is gone.
#[test]
fn of_many_fast_saves_the_newest_is_told_last() {
    let place = Place::new().file("flows/main.ts", FLOW);
    for nth in 0..20 {
        place.run(&["run", "main", "go", "--user", "ada", "--request", &format!("r{nth}"), "--input", "9"]);
    }
    let watch = place.start("verify --watch");
    watch.until_it_prints("the first round", |round| round["unaffected"] == 20);
    for nth in 0..30 {
        place.write("flows/main.ts", FLOW.replace("text.length", &format!("text.length + {nth} + 1")));
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
    place.write("flows/main.ts", FLOW.replace("text.length", "text.length + 700"));
    let newest = |round: &Value| [json!({ "output": 709 }), json!(709)].contains(&round["results"][0]["found"]);
    watch.until_it_prints("the newest save", newest);
    watch.signal("INT");
    let ended = watch.ended();
    let rounds: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a round a line")).collect();
    let whole: Vec<_> = rounds.iter().filter(|round| round["notRun"].is_null()).collect();
    assert!(whole.last().is_some_and(|round| newest(round)), "{ended}");
    // Rounds that a save cancelled are not shown: only the round that the signal ended lacks a verdict.
    assert!(rounds.len() - whole.len() <= 1, "{ended}");
}

/// The signal ends the replay that runs, also one that does not yield, and leaves no temporary database behind.
#[test]
fn a_signal_ends_the_verification_of_a_file_at_once() {
    let place = kept(9);
    std::fs::create_dir(place.dir().join("scratch")).expect("a folder");
    let place = place.file("flowglass.json", r#"{ "limits": { "yieldMs": 600000 } }"#);
    let scratch = place.dir().join("scratch").display().to_string();
    let place = place.variable("TMPDIR", &scratch);
    place.write("flows/main.ts", FLOW.replace("text.length", "{ for (;;) text.length; }"));
    let left = || std::fs::read_dir(&scratch).map_or(0, Iterator::count);
    let verify = place.start("verify r.run");
    let has_run = |entry: std::fs::DirEntry| entry.path().join("run.db").exists();
    let is_begun = || std::fs::read_dir(&scratch).is_ok_and(|folder| folder.flatten().any(has_run));
    place.until("the replay has begun", |_| is_begun().then_some(()));
    verify.signal("INT");
    let ended = verify.ended();
    assert_eq!((ended.code, left()), (Some(1), 0), "{ended}");
    assert_eq!((&ended.json()["missing"], &ended.json()["results"]), (&json!(["r.run"]), &json!([])), "{ended}");
}
