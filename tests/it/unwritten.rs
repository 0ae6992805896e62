//! Commands whose stderr or stdout cannot be written.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tests::bench::{Place, program};

const FLOW: &str = r#"
const boom = handler({ name: "boom", execute: () => { throw new Error("no"); } });
const sleep = handler({ name: "sleep", execute: () => new Promise((go) => setTimeout(go, 600000)) });
export default defineFlow({ kind: "main", actions: { boom: { block: boom }, sleep: { block: sleep } } });
"#;

/// A file that takes nothing, as on a full disk.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it").into()
}

fn command(place: &Place, line: &str) -> Command {
    let mut command = Command::new(program());
    command.args(line.split(' ')).current_dir(place.dir()).stdin(Stdio::null());
    command
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one document")
}

/// The line on standard error panicked, and the result was lost.
#[test]
fn a_result_does_not_depend_on_what_is_told_beside_it() {
    let place = Place::with_flow(FLOW);
    let ran = command(&place, "run main boom --user ada --json").stderr(full()).output().expect("it runs");
    assert_eq!((ran.status.code(), &document(&ran)["error"]["message"]), (Some(3), &Value::from("no")));
    let shown = command(&place, "show nothing --json").stderr(full()).output().expect("it runs");
    assert_eq!((shown.status.code(), &document(&shown)["error"]["code"]), (Some(6), &Value::from("not_found")));
}

/// It ended only by SIGKILL: telling that it stops came first, and panicked.
#[test]
fn a_signal_stops_what_nobody_listens_to() {
    let place = Place::with_flow(FLOW);
    let asked = "run main sleep --user ada --request r --json";
    let mut running = command(&place, asked).stdout(Stdio::null()).stderr(full()).spawn().expect("it runs");
    place.until_status("r", "in_progress");
    let sent = Command::new("kill").arg(running.id().to_string()).status().expect("kill can be run");
    assert!(sent.success());
    assert_eq!(running.wait().expect("it ends").code(), Some(5));
    assert_eq!(place.get("show r")["request"]["status"], "aborted");
}

/// A script had a cut file and exit code 0.
#[test]
fn a_result_that_is_not_written_whole_is_a_failure() {
    let place = Place::with_flow(FLOW);
    place.ask("run main boom --user ada --request r");
    for line in ["requests --json", "show r", "events r", "run main boom --user ada --events --json"] {
        let cut = command(&place, line).stdout(full()).output().expect("it runs");
        let told = String::from_utf8_lossy(&cut.stderr);
        assert_eq!(cut.status.code(), Some(1), "{line}: {told}");
        assert!(told.contains("the result could not be written whole: No space left on device"), "{line}: {told}");
    }
}

/// They ended with 0, and a script took an empty text for the version.
#[test]
fn help_that_is_not_written_is_a_failure() {
    let place = Place::new();
    for line in ["--help", "--version", "help", "help run", "run --help", "verify -h", "-V"] {
        let cut = command(&place, line).stdout(full()).output().expect("it runs");
        let told = String::from_utf8_lossy(&cut.stderr);
        assert_eq!(cut.status.code(), Some(1), "{line}: {told}");
        assert!(told.contains("the result could not be written whole: No space left on device"), "{line}: {told}");
        let whole = command(&place, line).output().expect("it runs");
        assert_eq!(whole.status.code(), Some(0), "{line}");
        assert!(!whole.stdout.is_empty() && !whole.stdout.contains(&0x1b), "{line}");
        assert!(whole.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&whole.stderr));
    }
}
