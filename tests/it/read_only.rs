//! A workspace in a place that cannot be written to, such as an image, a share or somebody else's folder, is read
//! as it lies: nothing is made beside it, and what would change it is refused.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Place, program};

const FLOW: &str = r#"
const add = handler({ name: "add", execute: async (input, ctx) => { await ctx.session.incState({ n: input }); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => {
  const answer = await ctx.suspend({ reason: "approval", message: "Go on?" });
  return answer;
} });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    go: { block: sequencer({ name: "go", inputSchema: z.any() }).step(add) },
    ask: { block: sequencer({ name: "ask", inputSchema: z.any() }).step(add).step(ask) },
  },
});
"#;

/// What reads, and what is refused.
const READS: [&str; 11] = [
    "flows",
    "check",
    "sessions",
    "requests",
    "show done",
    "events done",
    "items --request done",
    "state --request done",
    "search add",
    "suspensions",
    "check --data",
];
const WRITES: [&str; 8] = [
    "run main go --user ada --input 1",
    "resume asked --approve",
    "retry done",
    "fork done --at root/step:add",
    "abort asked",
    "delete --session s",
    "compact",
    "import ../out.flowglass",
];

fn place() -> Place {
    let place = Place::with_flow(FLOW);
    place.get("run main go --user ada --session s --request done --input 5");
    assert_eq!(place.ask("run main ask --user ada --session s --request asked --input 1").code, Some(4));
    place
}

/// Runs the program as a user who may write nowhere, in a folder of which nothing can be written.
struct Nobody {
    folder: tempfile::TempDir,
}

impl Nobody {
    /// With a copy of a place; `None` where this test can be nobody else and may write everywhere.
    fn with(place: &Place) -> Option<Nobody> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let copied =
            Command::new("cp").args(["-R", "."]).arg(folder.path().join("w")).current_dir(place.dir()).status();
        assert!(copied.expect("cp runs").success());
        std::fs::write(folder.path().join("out.flowglass"), "nothing").expect("our own folder");
        let nobody = Nobody { folder };
        nobody.close();
        let can_read = nobody.command(&["--version"]).output().is_ok_and(|output| output.status.success());
        let can_write = nobody.other("touch", &["w/x"]).output().is_ok_and(|output| output.status.success());
        if !can_read || can_write {
            eprintln!("nobody can be another user here");
            return None;
        }
        Some(nobody)
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn close(&self) {
        for (file, _) in files(self.folder.path()) {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o444)).expect("our own file");
        }
        let mut find = Command::new("find");
        find.arg(self.folder.path()).args(["-type", "d", "-exec", "chmod", "0555", "{}", "+"]);
        assert!(find.status().expect("find runs").success());
    }

    fn other(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]).args(words);
        command.current_dir(self.folder.path());
        command
    }

    fn command(&self, words: &[&str]) -> Command {
        let program = program().display().to_string();
        let mut command = self.other(&program, words);
        command.current_dir(self.dir());
        command
    }

    fn ask(&self, line: &str) -> (Option<i32>, Value, String) {
        let words: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let output = self.command(&words).output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let value = serde_json::from_str(&text).unwrap_or(Value::Null);
        (output.status.code(), value, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Nobody {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.folder.path()).status();
    }
}

/// Every file in a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("a file"));
        }
    }
    found
}

/// Everything that reads answers as it does where it can be written, everything else is refused, and no byte changes.
fn check(place: &Place) {
    let Some(nobody) = Nobody::with(place) else { return };
    let before = files(nobody.folder.path());
    for line in READS {
        let (code, answer, said) = nobody.ask(line);
        assert_eq!(code, Some(0), "{line}\n{said}");
        assert_eq!(answer, place.get(line), "{line}");
        let opens = !matches!(line, "flows" | "check");
        assert!(!opens || said.contains("is only read"), "{line}\n{said}");
    }
    for line in WRITES {
        let (code, answer, said) = nobody.ask(line);
        assert_eq!(code, Some(1), "{line}\n{answer}\n{said}");
        assert!(said.contains("flowglass.db") && said.contains("--data"), "{line}\n{said}");
    }
    assert_eq!(files(nobody.folder.path()), before);
}

#[test]
fn what_nobody_may_write_is_read_as_it_lies() {
    let place = place();
    assert!(!place.dir().join(".flowglass/flowglass.db-wal").exists(), "no process is left");
    check(&place);
}

/// A process that was killed leaves its log beside the database. Who may not write can neither share the log's index
/// nor make one, so a copy is read, and it has what the log has.
#[test]
fn a_log_that_a_killed_process_left_is_read_too() {
    for keeps_index in [true, false] {
        let place = place();
        let slow = Place::with_flow(&FLOW.replace(
            "return input; } });",
            "await new Promise((go) => setTimeout(go, input * 1000)); return input; } });",
        ));
        std::fs::copy(slow.dir().join("flows/main.ts"), place.dir().join("flows/main.ts")).expect("our own file");
        let going = place.start("run main go --user ada --session s --request killed --input 60");
        place.until("a beginning", |place| place.stores("add").then_some(()));
        place.until_status("killed", "in_progress");
        going.kill();
        assert!(place.dir().join(".flowglass/flowglass.db-wal").metadata().is_ok_and(|log| log.len() > 0));
        if !keeps_index {
            std::fs::remove_file(place.dir().join(".flowglass/flowglass.db-shm")).expect("an index");
        }
        let Some(nobody) = Nobody::with(&place) else { return };
        let before = files(nobody.folder.path());
        let (code, answer, said) = nobody.ask("requests");
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(answer[0]["id"], "killed", "{answer}");
        assert_eq!(answer[0]["status"], "interrupted", "{answer}");
        assert_eq!(nobody.ask("check --data").1["ok"], json!(true));
        assert_eq!(files(nobody.folder.path()), before);
    }
}

#[test]
fn a_folder_without_a_database_is_looked_at_too() {
    let place = Place::with_flow(FLOW);
    let Some(nobody) = Nobody::with(&place) else { return };
    let before = files(nobody.folder.path());
    assert_eq!(nobody.ask("flows").1[0]["kind"], "main");
    assert_eq!(nobody.ask("check").0, Some(0));
    assert_eq!(nobody.ask("sessions").1, json!([]));
    let (code, _, said) = nobody.ask("run main go --user ada --input 1");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--data"), "{said}");
    // Where the database is elsewhere, flows run.
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o777)).expect("our own folder");
    let data = elsewhere.path().join("log.db").display().to_string();
    let (code, answer, said) = nobody.ask(&format!("run main go --user ada --input 1 --data {data}"));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(answer["output"], json!(1));
    assert_eq!(files(nobody.folder.path()), before);
}

/// The superuser may write to anything, and a file that says that it is not to be written is left alone all the same.
#[test]
fn a_file_that_is_marked_read_only_is_only_read() {
    let place = place();
    let file = place.database();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("our own file");
    let before = std::fs::read(&file).expect("a file");
    assert_eq!(place.get("requests")[0]["id"], "asked");
    assert_eq!(place.ask("run main go --user ada --input 1").code, Some(1));
    assert_eq!(std::fs::read(&file).expect("a file"), before);
}
