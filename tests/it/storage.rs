//! What happens to a request when the storage fails under it: it is told clearly, nothing that was
//! answered is lost, and once the storage is well a resume goes on.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Answer, Place, program};

/// Steps that each keep a value too large to be overlooked, and one that waits until it is told.
const FLOW: &str = r#"
// One look at chance, and text that does not compress.
const noise = () => { let x = Math.floor(Math.random() * 2 ** 31); return Array.from({ length: 6000 }, () => (x = (x * 1103515245 + 12345) % 2 ** 31).toString(36)).join(""); };
const fill = handler({ name: "fill", inputSchema: z.any(), execute: async (value, ctx) => {
  await ctx.session.incState({ steps: 1 });
  await ctx.session.patchState({ text: noise() });
  return { n: value.n + 1 };
} });
const first = handler({ name: "first", inputSchema: z.any(), execute: async (value, ctx) => { await ctx.session.incState({ steps: 1 }); return value; } });
const wait = handler({ name: "wait", inputSchema: z.any(), execute: async (value) => { await new Promise((done) => setTimeout(done, 1200)); return value; } });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ steps: z.number().default(0), text: z.string().default("") }) },
  actions: {
    fill: { block: sequencer({ name: "chain", inputSchema: z.any() }).doUntil((value) => value.n >= 30, fill).map((value) => value.n) },
    wait: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(first).step(wait).step(first).map(() => "done") },
  },
});
"#;

/// The blocks of a request that had completed, by path.
fn completed(place: &Place) -> Vec<Value> {
    let shown = place.get("show r");
    let blocks = shown["blocks"].as_array().expect("a list");
    blocks.iter().filter(|block| block["status"] == "completed").cloned().collect()
}

/// Resumes the request, which must complete, and whose finished blocks must not run again.
#[track_caller]
fn goes_on(place: &Place, output: Value, steps: u32) {
    let before = completed(place);
    let resumed = place.get("resume r");
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &output), "{resumed}");
    let after = place.get("show r")["blocks"].clone();
    for block in before {
        let later = after.as_array().expect("a list").iter().filter(|other| other["path"] == block["path"]);
        let runs = later.filter(|other| other["memoized"] == false).count();
        assert_eq!(runs, 1, "{} ran again", block["path"]);
    }
    assert_eq!(place.get("state --session s")["session"]["steps"], steps);
}

/// How a command that the storage failed under ends.
#[track_caller]
fn interrupted(answer: &Answer, says: &str) {
    assert_eq!(answer.code, Some(5), "{answer}");
    assert!(answer.stderr.contains(says), "{says}\n{answer}");
    let result = answer.json();
    assert_eq!(
        (&result["status"], &result["error"]["code"]),
        (&json!("interrupted"), &json!("storage_error")),
        "{answer}"
    );
    assert!(result["error"]["message"].as_str().is_some_and(|message| message.contains(says)), "{says}\n{answer}");
}

/// A command line of the shell, with the program as `$FLOWGLASS`.
fn shell(place: &Place, line: &str) -> Answer {
    let output = Command::new("sh")
        .args(["-c", line])
        .env("FLOWGLASS", program())
        .current_dir(place.dir())
        .output()
        .expect("there is a shell");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is UTF-8");
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const FILL: &str = "run main fill --user ada --session s --request r --input '{\"n\":0}' --json";

#[test]
fn a_file_that_may_not_grow() {
    // The signal that comes with it ended the program.
    for before in ["trap '' XFSZ; ", ""] {
        let place = Place::with_flow(FLOW);
        let answer = shell(&place, &format!("{before}ulimit -f 1200; exec \"$FLOWGLASS\" {FILL}"));
        interrupted(&answer, "nothing after the last stored step was kept");
        assert!(completed(&place).len() > 1, "it got somewhere first");
        goes_on(&place, json!(30), 30);
    }
}

/// Closing the terminal killed the program, and its request was interrupted; under `nohup` it runs on.
#[test]
fn a_terminal_that_is_closed() {
    let place = Place::with_flow(FLOW);
    let going = waits(&place);
    going.signal("HUP");
    let answer = going.ended();
    assert_eq!((answer.code, &answer.json()["status"]), (Some(5), &json!("aborted")), "{answer}");
    let place = Place::with_flow(FLOW);
    let line = "trap '' HUP; \"$FLOWGLASS\" run main wait --user ada --request r --input {} --json & pid=$!; \
                until \"$FLOWGLASS\" show r 2>&1 | grep -q step:wait; do sleep 0.05; done; kill -HUP $pid; wait $pid";
    let answer = shell(&place, line);
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("done")), "{answer}");
}

/// `check --data` looked at the database of the folder, whatever `--data` said.
#[test]
fn the_database_that_is_named_is_the_one_that_is_checked() {
    let place = Place::with_flow(FLOW);
    for request in ["one", "two"] {
        place.get(&format!("--data other.db run main fill --user ada --request {request} --input {{\"n\":29}}"));
    }
    place.get("run main fill --user ada --request r --input {\"n\":29}");
    assert_eq!(place.get("--data other.db check --data")["requests"], 2);
    assert_eq!(place.get("check --data")["requests"], 1);
    let mut bytes = std::fs::read(place.dir().join("other.db")).expect("it can be read");
    let end = bytes.len() - 4096;
    bytes[end..].fill(0x5a);
    place.write("other.db", bytes);
    let damaged = place.ask("--data other.db check --data");
    assert_eq!(damaged.code, Some(1), "{damaged}");
    place.get("check --data");
}

#[test]
fn a_full_disk() {
    let place = Place::with_flow(FLOW);
    place.write("small/here", "");
    let may = shell(&place, "unshare -rm mount -t tmpfs -o size=1m tmpfs small");
    if may.code != Some(0) {
        // Where nobody may mount, the test above is what there is.
        eprintln!("no small disk can be made here: {}", may.stderr);
        return;
    }
    let line = format!(
        "unshare -rm sh -c 'mount -t tmpfs -o size=1m tmpfs small; \"$FLOWGLASS\" --data small/x.db \"$@\"; code=$?; \
         mkdir .flowglass/; cp small/x.db .flowglass/flowglass.db; cp small/x.db-wal .flowglass/flowglass.db-wal; \
         exit $code' sh {FILL}"
    );
    let answer = shell(&place, &line);
    interrupted(&answer, "the disk is full");
    assert!(completed(&place).len() > 1, "it got somewhere first");
    goes_on(&place, json!(30), 30);
}

/// Holds the lock of SQLite's one writer, as a process does that never ends its transaction.
fn hold(place: &Place) -> File {
    let name = place.dir().join(".flowglass/flowglass.db-shm");
    let shared = File::options().read(true).write(true).open(name).expect("a database in use has it");
    // SAFETY: a plain structure of numbers, for which all bits zero are a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (libc::F_WRLCK as _, libc::SEEK_SET as _);
    // WAL_WRITE_LOCK of SQLite's file format.
    (lock.l_start, lock.l_len) = (120, 1);
    // SAFETY: the descriptor is open and the structure lives through the call.
    let taken = unsafe { libc::fcntl(shared.as_raw_fd(), libc::F_SETLKW, &lock) };
    assert_eq!(taken, 0, "{}", std::io::Error::last_os_error());
    shared
}

fn waits(place: &Place) -> tests::going::Going {
    let going = place.start("run main wait --user ada --session s --request r --input {}");
    place.until("the first step is done", |place| {
        let shown = place.ask("show r").stdout;
        shown.contains("root/step:wait").then_some(())
    });
    going
}

#[test]
fn a_database_that_another_process_keeps_locked() {
    let place = Place::with_flow(FLOW);
    let going = waits(&place);
    let held = hold(&place);
    // Whoever comes meanwhile waits as well, and both are told so.
    let mut other = place.start("run main wait --user bob --session other --request o --input {}");
    let mut going = going;
    for waiting in [&mut going, &mut other] {
        waiting.until_it_says("another process keeps the database locked; waiting");
    }
    // Longer than anybody waited before.
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1), "readers do not wait");
    drop(held);
    for waited in [going, other] {
        let answer = waited.ended();
        assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("done")), "{answer}");
    }
    place.get("check --data");
}

#[test]
fn a_database_that_is_taken_away_under_a_request() {
    let place = Place::with_flow(FLOW);
    let going = waits(&place);
    let files = ["flowglass.db", "flowglass.db-wal", "flowglass.db-shm"];
    let folder = place.dir().join(".flowglass");
    std::fs::create_dir(place.dir().join("away")).expect("the place is writable");
    for file in files {
        std::fs::rename(folder.join(file), place.dir().join("away").join(file)).expect("it is there");
    }
    let answer = going.ended();
    interrupted(&answer, "was removed or replaced while it was in use");
    for file in files {
        // The process may have made new ones, or cleared away its own.
        let _ = std::fs::remove_file(folder.join(file));
        let _ = std::fs::rename(place.dir().join("away").join(file), folder.join(file));
    }
    goes_on(&place, json!("done"), 2);
}

/// Another process read an older state, and both overwrote each other's pages.
#[test]
fn a_log_that_is_removed_under_a_request() {
    for files in [&["flowglass.db-shm"][..], &["flowglass.db-wal"], &["flowglass.db-wal", "flowglass.db-shm"]] {
        let place = Place::with_flow(FLOW);
        let going = waits(&place);
        for file in files {
            std::fs::remove_file(place.dir().join(".flowglass").join(file)).expect("a database in use has it");
        }
        // It would end by itself, and then the database may be opened.
        going.signal("STOP");
        let other = place.ask("run main fill --user bob --session other --request o --input {\"n\":29}");
        assert_eq!(other.code, Some(7), "{files:?}\n{other}");
        assert!(other.stderr.contains("was removed while another process uses"), "{files:?}\n{other}");
        going.signal("CONT");
        interrupted(&going.ended(), "was removed or replaced while it was in use");
        assert_eq!(place.get("check --data")["problems"], json!([]), "{files:?}");
        goes_on(&place, json!("done"), 2);
    }
}

#[test]
fn a_database_with_two_names() {
    let place = Place::with_flow(FLOW);
    place.get("run main fill --user ada --session s --request r --input {\"n\":29}");
    let other = place.dir().join("other.db");
    std::fs::hard_link(place.database(), &other).expect("a name can be added");
    for line in ["requests", "--data other.db requests", "--data other.db run main fill --user ada --input {\"n\":29}"]
    {
        let refused = place.ask(line);
        assert_eq!(refused.code, Some(7), "{line}\n{refused}");
        assert!(refused.stderr.contains("2 names (hard links)"), "{line}\n{refused}");
    }
    std::fs::remove_file(other).expect("it is there");
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1));
}

/// Another process took the request over, and both ran it.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_is_deleted_under_a_request() {
    let place = Place::with_flow(FLOW);
    let going = waits(&place);
    std::fs::remove_dir_all(place.dir().join(".flowglass/run")).expect("a job that runs has a lock");
    let refused = place.ask("resume r");
    assert_eq!(refused.code, Some(7), "{refused}");
    assert_eq!(place.get("show r")["request"]["status"], "in_progress");
    let ended = going.ended();
    assert_eq!((ended.code, &ended.json()["output"]), (Some(0), &json!("done")), "{ended}");
    assert_eq!(place.get("state --session s")["session"]["steps"], 2);
}

#[test]
fn a_folder_that_may_only_be_read() {
    let place = Place::with_flow(FLOW);
    assert_eq!(shell(&place, "mkdir data && chmod 555 data && chmod 755 .").code, Some(0));
    // The superuser may write anywhere, so somebody else asks.
    let nobody = match shell(&place, "id -u").stdout.trim() {
        "0" => "setpriv --reuid 65534 --regid 65534 --clear-groups",
        _ => "",
    };
    if shell(&place, &format!("{nobody} \"$FLOWGLASS\" --version")).code != Some(0) {
        eprintln!("nobody else can run the program here");
        return;
    }
    let ask = |line: &str| shell(&place, &format!("{nobody} \"$FLOWGLASS\" --data data/x.db {line} --json"));
    assert_eq!(ask("requests").code, Some(6), "a command that reads makes no database");
    let answer = ask("run main fill --user ada --input '{\"n\":0}'");
    assert_eq!(answer.code, Some(1), "{answer}");
    assert!(answer.stderr.contains("data") && answer.stderr.contains("writ"), "{answer}");
    assert_eq!(answer.json()["error"]["code"], "storage_error", "{answer}");
    assert!(!answer.stderr.contains("panicked"), "{answer}");
    assert_eq!(shell(&place, "ls -A data").stdout, "", "nothing was written");
}
