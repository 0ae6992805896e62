//! Who owns a request: one job at a time, told by a lock that every path to the database leads to, that no
//! trouble of somebody else's takes away, and that ends with the job. Real processes on one database.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use runner::{Deadlines, OpenOptions, RunOptions, Workspace};
use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::exported::{opened, packed};
use tests::going::Going;

/// `hold` runs until a file appears, and counts itself before; `ask` waits for a person, for a moment only.
const FLOW: &str = r#"
const first = handler({ name: "first", inputSchema: z.any(), execute: async (_i, ctx) => { await ctx.session.incState({ runs: 1 }); return 1; } });
const hold = handler({ name: "hold", inputSchema: z.any(), execute: async (_i, ctx) => { await new Promise((done) => setTimeout(done, 5000)); await ctx.session.incState({ held: 1 }); return "held"; } });
const ask = handler({ name: "ask", inputSchema: z.any(), execute: async (_i, ctx) => ctx.suspend({ reason: "approval", timeoutMs: 600 }).then(() => "answered", () => "late") });
const quick = handler({ name: "quick", inputSchema: z.any(), execute: () => "quick" });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ runs: z.number().default(0), held: z.number().default(0) }) },
  actions: {
    hold: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(first).step(hold) },
    ask: { block: sequencer({ name: "asking", inputSchema: z.any() }).step(first).step(ask) },
    quick: { block: quick },
  },
});
"#;

fn holding(place: &Place) -> Going {
    let going = place.start("run main hold --user ada --session s --request r");
    place.until("the first step is done", |place| place.ask("show r").stdout.contains("root/step:hold").then_some(()));
    going
}

/// The program, elsewhere than in the place itself.
fn command(dir: &Path, words: &[&str]) -> Output {
    Command::new(program()).args(words).current_dir(dir).output().expect("the program starts")
}

/// The lock files there are, wherever they are.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}

/// Somebody looks at the running request, and tries to take it.
#[track_caller]
fn is_left_alone(dir: &Path, words: &[&str]) {
    let requests = command(dir, &[words, &["requests", "--json"]].concat());
    let rows: Value = serde_json::from_slice(&requests.stdout).unwrap_or_default();
    assert_eq!(rows[0]["status"], "in_progress", "{words:?}: {requests:?}");
    let resumed = command(dir, &[words, &["resume", "r", "--json"]].concat());
    assert_eq!(resumed.status.code(), Some(7), "{words:?}: {resumed:?}");
}

#[track_caller]
fn held_once(place: &Place, going: Going) {
    let answer = going.ended();
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("held")), "{answer}");
    assert_eq!(place.get("state --session s")["session"], json!({ "runs": 1, "held": 1 }));
    place.get("check --data");
    assert!(locks(place.dir()).is_empty(), "a job that has ended leaves nothing behind");
}

#[test]
fn every_way_to_a_database_leads_to_the_same_owners() {
    let place = Place::with_flow(FLOW);
    let going = holding(&place);
    is_left_alone(&place.dir().join(".flowglass"), &["--dir", "..", "--data", "flowglass.db"]);
    #[cfg(unix)]
    {
        let link = place.dir().join("link.db");
        std::os::unix::fs::symlink(place.database(), &link).expect("a link can be made");
        is_left_alone(place.dir(), &["--data", "link.db"]);
    }
    held_once(&place, going);
}

#[cfg(unix)]
#[test]
fn a_lock_of_another_user_is_no_dead_one() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_flow(FLOW);
    let going = holding(&place);
    let nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(program()).args(words).current_dir(place.dir()).output()
    };
    let may = Command::new("chmod").args(["-R", "a+rwX", "."]).current_dir(place.dir()).status();
    let can_run = may.is_ok() && nobody(&["--version"]).is_ok_and(|output| output.status.success());
    if !can_run {
        eprintln!("nobody can be another user here");
        return;
    }
    for mode in [0o644, 0o600] {
        for lock in locks(place.dir()) {
            std::fs::set_permissions(lock, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        let requests = nobody(&["requests", "--json"]).expect("it runs");
        let rows: Value = serde_json::from_slice(&requests.stdout).unwrap_or_default();
        assert_eq!(rows[0]["status"], "in_progress", "{mode:o}: {requests:?}");
        let resumed = nobody(&["resume", "r", "--json"]).expect("it runs");
        assert_eq!(resumed.status.code(), Some(7), "{mode:o}: {resumed:?}");
    }
    held_once(&place, going);
}

#[cfg(target_os = "linux")]
#[test]
fn who_has_no_more_files_takes_nobodys_lock_away() {
    let place = Place::with_flow(FLOW);
    let going = holding(&place);
    // It lives as long as all of these take.
    going.signal("STOP");
    for files in 4..24 {
        let limit = format!("--nofile={files}");
        for words in [["sessions", "--json"], ["resume", "r"]] {
            let mut command = Command::new("prlimit");
            let Ok(output) = command.arg(&limit).arg(program()).args(words).current_dir(place.dir()).output() else {
                eprintln!("there is no prlimit here");
                return;
            };
            assert!(words[0] == "sessions" || !output.status.success(), "{files}: {output:?}");
            assert_eq!(locks(place.dir()).len(), 1, "with {files} files");
        }
    }
    is_left_alone(place.dir(), &[]);
    going.signal("CONT");
    held_once(&place, going);
}

#[test]
fn an_owner_that_stands_still_is_alive() {
    let place = Place::with_flow(FLOW);
    let going = holding(&place);
    going.signal("STOP");
    is_left_alone(place.dir(), &[]);
    going.signal("CONT");
    held_once(&place, going);
}

#[test]
fn a_copy_of_a_database_has_no_owners() {
    let place = Place::with_flow(FLOW);
    let going = holding(&place);
    for end in ["", "-wal"] {
        let from = format!("{}{end}", place.database().display());
        std::fs::copy(from, place.dir().join(format!("copy.db{end}"))).expect("it is there");
    }
    let rows = place.get("requests --data copy.db");
    assert_eq!(rows[0]["status"], "interrupted");
    held_once(&place, going);
}

#[test]
fn an_imported_owner_is_nobody_here() {
    let place = Place::with_flow(FLOW);
    holding(&place).kill();
    place.get("export --session s --out s.flowglass");
    let lines: Vec<String> = opened(&place.dir().join("s.flowglass")).lines().skip(2).map(str::to_owned).collect();
    let rewritten: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
            if let Some(owner) = line.pointer_mut("/event/event/owner") {
                *owner = "../../../victim".into();
            }
            line.to_string()
        })
        .collect();
    assert!(rewritten.iter().any(|line| line.contains("victim")), "{lines:?}");
    place.write("evil.flowglass", packed(&rewritten.iter().map(|line| format!("{line}\n")).collect::<String>()));
    place.write("there/victim.lock", "");
    let answer = place.ask("import evil.flowglass --data there/x.db");
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(place.get("requests --data there/x.db")[0]["status"], "interrupted");
    assert_eq!(place.get("abort r --data there/x.db")["status"], "aborted");
    assert_eq!(std::fs::read(place.dir().join("there/victim.lock")).expect("it is there"), b"");
    assert!(!place.dir().join("victim.abort").exists() && !place.dir().join("there/victim.abort").exists());
    place.get("check --data there/x.db");
}

fn open(place: &Place) -> std::sync::Arc<Workspace> {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    Workspace::open(options).expect("the workspace opens")
}

fn wanted(action: &str, request: &str) -> RunOptions {
    RunOptions {
        flow: "main".to_owned(),
        action: action.to_owned(),
        user: "ada".to_owned(),
        session: Some("s".to_owned()),
        request: Some(request.to_owned()),
        ..RunOptions::default()
    }
}

#[test]
fn a_request_keeps_its_lock_when_its_workspace_is_closed() {
    let place = Place::with_flow(FLOW);
    let workspace = open(&place);
    let running = workspace.run(wanted("hold", "r")).expect("it starts");
    drop(workspace);
    is_left_alone(place.dir(), &[]);
    assert_eq!(running.wait().expect("it ends").output.to_json(), json!("held"));
    assert_eq!(place.get("show r")["request"]["status"], "completed");
}

#[test]
fn what_was_interrupted_can_be_aborted_and_goes_on_later() {
    let place = Place::with_flow(FLOW);
    holding(&place).kill();
    assert_eq!(place.get("requests")[0]["status"], "interrupted");
    assert_eq!(place.get("abort r")["status"], "aborted");
    assert_eq!(place.get("requests")[0]["status"], "aborted");
    assert_eq!(place.ask("abort r").code, Some(7));
    place.get("check --data");
    let resumed = place.get("resume r");
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &json!("held")));
    assert_eq!(place.get("state --session s")["session"], json!({ "runs": 1, "held": 1 }));
    let epochs: Vec<Value> = place
        .get("events r")
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["path"].is_null())
        .filter_map(|event| event.pointer("/payload/epoch").cloned())
        .collect();
    assert_eq!(epochs, [json!(2), json!(3)]);
    place.get("check --data");
}

#[test]
fn two_users_never_share_a_session() {
    let place = Place::with_flow(FLOW);
    place.get("check");
    for round in 0..12 {
        let start = |user: &str| place.start(&format!("run main quick --user {user} --session race-{round}"));
        let both = [start("ada"), start("bob")];
        let answers = both.map(Going::ended);
        let mut codes = [answers[0].code, answers[1].code];
        codes.sort();
        assert_eq!(codes, [Some(0), Some(7)], "{}\n{}", answers[0], answers[1]);
        let refused = answers.iter().find(|answer| answer.code == Some(7)).expect("one is refused");
        assert!(refused.stderr.contains("belongs to user"), "{refused}");
    }
    place.get("check --data");
}

/// Where the code of today does not fit what ran, the answer "nobody answered" cannot be used.
#[test]
fn a_late_question_is_acted_on_once() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main ask --user ada --session s --request r").code, Some(4));
    let (_, rest) = FLOW.split_once("const hold").expect("it is there");
    let other = "const first = sequencer({ name: \"first\", inputSchema: z.any() }).map(() => 1);";
    place.edit(&format!("{other}\nconst hold{rest}"));
    let workspace = open(&place);
    let mut known = Deadlines::default();
    std::thread::sleep(Duration::from_millis(700));
    let events = || place.get("events r").as_array().map_or(0, Vec::len);
    let before = events();
    for running in workspace.resume_late(&mut known).expect("the database can be read") {
        // It may not fit the code of today.
        let _ = running.wait();
    }
    let told = events();
    assert!(told > before, "it was tried");
    for _ in 0..3 {
        assert_eq!(workspace.resume_late(&mut known).expect("the database can be read").len(), 0, "it was tried again");
    }
    assert_eq!(events(), told);
    assert_eq!(place.get("show r")["request"]["status"], "suspended");
    // Somebody who mends the code can go on by hand.
    place.edit(FLOW);
    let resumed = place.get("resume r");
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &json!("late")));
}

#[test]
fn an_imported_question_waits_for_somebody_here() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main ask --user ada --session s --request r --data here.db").code, Some(4));
    place.get("export --session s --out s.flowglass --data here.db");
    place.get("import s.flowglass");
    std::thread::sleep(Duration::from_millis(700));
    let workspace = open(&place);
    let mut known = Deadlines::default();
    assert_eq!(workspace.resume_late(&mut known).expect("the database can be read").len(), 0, "nobody ran it here");
    let resumed = place.get("resume r");
    assert_eq!(resumed["output"], "late");
}
