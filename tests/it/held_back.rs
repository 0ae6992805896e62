//! A flow that ended a process by a signal is not loaded again automatically: it is listed with the reason, until its file
//! changes or a person loads it anyway.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use tests::bench::Place;
use tests::going::Going;

const FLOW: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const count = handler({
  name: "count",
  inputSchema: z.number(),
  execute: async (to) => {
    let sum = 0;
    for (let n = 0; n < to; n++) sum += n;
    return sum;
  },
});
export default defineFlow({ kind: "counts", actions: { go: { block: count } } });
"#;

/// Counts for longer than a test waits.
const LONG: &str = "100000000000";

fn place() -> Place {
    let place = Place::new().file("flowglass.json", r#"{ "limits": { "yieldMs": 600000 } }"#);
    place.write("flows/a.ts", FLOW);
    place
}

/// The thread of a process that has this name.
fn thread(process: u32, name: &str) -> Option<PathBuf> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let is_named = |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|found| found.trim() == name);
    tasks.map(|task| task.path()).find(is_named)
}

/// The processor's time that a process or a thread has had, in hundredths of a second.
fn ticks(task: &Path) -> Option<u64> {
    let told = std::fs::read_to_string(task.join("stat")).ok()?;
    told.rsplit(')').next()?.split_whitespace().nth(11)?.parse().ok()
}

/// Sends a signal to a thread.
fn fault(process: u32, name: &str, signal: libc::c_int) {
    let task = thread(process, name).unwrap_or_else(|| panic!("no thread {name}"));
    let id: libc::c_long = task.file_name().and_then(|id| id.to_str()?.parse().ok()).expect("a thread's number");
    // SAFETY: a system call of three numbers.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::c_long::from(process), id, signal) };
    assert_eq!(sent, 0, "the thread takes the signal");
}

/// Starts a run and waits until its block runs. The block does not yield, so nothing is written that says so: the test
/// waits until its thread has used the processor for three seconds.
fn running(place: &Place, request: &str) -> Going {
    let going = place.start(&format!("run counts go --user ada --input {LONG} --request {request}"));
    place.until("the request is there", |place| {
        let shown = place.ask(&format!("show {request}"));
        (shown.code == Some(0)).then_some(())
    });
    place.until("the block runs", |_| (ticks(&thread(going.id(), "requests")?)? > 300).then_some(()));
    going
}

/// Runs the flow, and ends its process by a signal in the thread that runs it.
fn ended_by(place: &Place, signal: libc::c_int) {
    let going = running(place, "faulty");
    fault(going.id(), "requests", signal);
    assert_eq!(going.ended().code, None, "the signal ends the process all the same");
}

fn error(place: &Place) -> String {
    let checked = place.ask("check");
    checked.json()[0]["error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// `check` and `flows` list the flow by its own name, with the reason. `run`, `resume` and `retry` are refused with it.
/// `check --load-anyway` loads the file.
#[test]
fn a_run_that_ended_its_process_by_a_fault_holds_its_file_back() {
    for (signal, name) in [(libc::SIGSEGV, "signal 11 (SIGSEGV)"), (libc::SIGABRT, "signal 6 (SIGABRT)")] {
        let place = place();
        ended_by(&place, signal);

        let told = error(&place);
        assert!(told.contains("its last run ended the process") && told.contains(name), "{told}");
        let listed = place.ask("flows").json();
        assert_eq!((&listed[0]["kind"], &listed[0]["isHeldBack"]), (&"counts".into(), &true.into()), "{listed}");
        for line in ["run counts go --user ada --input 3", "resume faulty", "retry faulty"] {
            let refused = place.ask(line);
            assert_ne!(refused.code, Some(0), "{line}\n{refused}");
            assert!(refused.stderr.contains("flowglass check --load-anyway flows/a.ts"), "{line}\n{refused}");
        }
        assert_eq!(place.get("requests")[0]["status"], "interrupted", "what was recorded is there");

        let loaded = place.get("check --load-anyway flows/a.ts");
        assert_eq!(loaded[0]["error"], serde_json::Value::Null, "{loaded}");
        assert_eq!(place.get("run counts go --user ada --input 3")["output"], 3);
        let again = place.ask("check --load-anyway flows/a.ts");
        assert!(again.stderr.contains("flows/a.ts is not held back"), "{again}");
        let missing = place.ask("check --load-anyway flows/b.ts");
        assert!(missing.stderr.contains("flows/b.ts"), "{missing}");
        assert_eq!(place.ask("check --load-anyway flows/a.ts --data x.db").code, Some(2));
    }
}

/// A file that exports the flow again runs the same code; a link to the file is loaded anyway by the path that is listed.
#[test]
fn a_flow_is_held_back_wherever_it_is_found() {
    let place = Place::new().file("flowglass.json", r#"{ "limits": { "yieldMs": 600000 } }"#);
    place.write("parts/a.ts", FLOW);
    std::fs::create_dir_all(place.dir().join("flows")).expect("a folder");
    std::os::unix::fs::symlink("../parts/a.ts", place.dir().join("flows/a.ts")).expect("a link");
    place.write(
        "flows/again.ts",
        "import { defineFlow } from \"@flow-state-dev/core\";\nvoid defineFlow;\nexport { default } from \"./a\";\n",
    );
    ended_by(&place, libc::SIGSEGV);
    let flows = place.ask("flows").json();
    let held =
        flows.as_array().expect("a list").iter().find(|row| row["isHeldBack"] == true).expect("one is held back");
    let file = held["file"].as_str().expect("a path").to_owned();
    let refused = place.ask("run counts go --user ada --input 3");
    assert!(refused.stderr.contains("--load-anyway"), "{refused}\n{flows}");
    place.get(&format!("check --load-anyway {file}"));
    assert_eq!(place.get("run counts go --user ada --input 3")["output"], 3);
}

#[test]
fn a_file_that_changes_is_tried_again() {
    let place = place();
    ended_by(&place, libc::SIGBUS);
    assert!(error(&place).contains("SIGBUS"));
    place.write("flows/a.ts", FLOW.replace("return sum", "return sum + 1"));
    assert_eq!(place.get("run counts go --user ada --input 3")["output"], 4);
}

/// A process that is killed, or gets the signal in a thread that runs no flow, was not ended by the flow.
#[test]
fn an_end_that_is_not_the_flows_doing_holds_nothing_back() {
    let place = place();
    running(&place, "killed").kill();
    assert_eq!(error(&place), "");
    let going = running(&place, "sent");
    fault(going.id(), "command", libc::SIGSEGV);
    assert_eq!(going.ended().code, None);
    assert_eq!(error(&place), "");
}

/// A file whose top level ends the child that evaluates it is not given to another child automatically.
#[test]
fn a_load_that_ended_its_process_by_a_fault_holds_its_file_back() {
    let place = place();
    let forever = format!("let sum = 0;\nfor (let n = 0; n < {LONG}; n++) sum += n;\n{FLOW}");
    place.write("flows/a.ts", &forever);
    let check = place.start("check");
    let child = place.until("a child evaluates the file", |_| {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", check.id())).ok()?;
        // The command's own thread starts it.
        let tasks = std::fs::read_dir(format!("/proc/{}/task", check.id())).ok()?.flatten();
        let of_task = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
        let all = tasks.filter_map(of_task).collect::<String>() + &children;
        let child: u32 = all.split_whitespace().next()?.parse().ok()?;
        (ticks(&thread(child, "evaluation")?)? > 50).then_some(child)
    });
    // SAFETY: a signal to a process that the test has started.
    assert_eq!(unsafe { libc::kill(child as libc::pid_t, libc::SIGILL) }, 0);
    let checked = check.ended();
    assert!(
        checked.stdout.contains("its last load ended the process that evaluated it by signal 4 (SIGILL)"),
        "{checked}"
    );
    let again = place.ask("check");
    assert!(again.stdout.contains("flowglass check --load-anyway flows/a.ts"), "{again}");
    assert_eq!(again.json()[0]["isHeldBack"], true, "no child evaluates it again");
}

/// The window lists it with the reason, and its button loads it.
#[test]
fn the_window_loads_it_anyway() {
    let place = place();
    ended_by(&place, libc::SIGSEGV);
    let window = tests::sitting::open(&place, &["--flow", "counts"]);
    window.wait_for_text("[data-testid=flow-page]", "its last run ended the process by signal 11 (SIGSEGV)");
    window.click("[data-testid=notice-action]");
    window.wait_for_none("[data-testid=notice-action]");
    window.wait_for_text("[data-testid=flow-page]", "go");
    assert_eq!(error(&place), "");
}
