//! Several processes on one database, some of them killed, stopped or kept waiting: nothing is lost, nothing runs
//! twice, and afterwards the database is what its events say.
//!
//! Each storm is short here; `make soak` sets FLOWGLASS_SOAK and runs it ten times as long.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::counting::Counter;
use tests::going::Going;

/// How much longer a storm is when `make soak` asks for it.
fn soak() -> u32 {
    if std::env::var_os("FLOWGLASS_SOAK").is_some() { 10 } else { 1 }
}

/// Pays once for each request, outside of the database, and counts it in the user's record.
fn flow(counter: &Counter) -> String {
    format!(
        r#"
const pay = handler({{
  name: "pay",
  execute: async (input, ctx) => {{
    await ctx.runOnce("paid", async () => {{
      await fetch("http://{host}/", {{ method: "POST", body: `${{input}}:pay` }});
      return true;
    }});
    return input;
  }},
}});
const wait = (ms) => handler({{ name: `wait ${{ms}}`, execute: async (input) => {{ await new Promise((done) => setTimeout(done, ms)); return input; }} }});
const count = handler({{
  name: "count",
  execute: async (input, ctx) => {{
    await ctx.user.incState({{ runs: 1 }});
    await ctx.session.atomicState((state) => ({{ ...state, seen: [...state.seen, input] }}));
    return input;
  }},
}});
export default defineFlow({{
  kind: "main",
  user: {{ stateSchema: z.object({{ runs: z.number().default(0) }}) }},
  session: {{ stateSchema: z.object({{ seen: z.array(z.any()).default([]) }}) }},
  actions: {{
    go: {{ block: sequencer({{ name: "go", inputSchema: z.any() }}).step(wait(10)).step(pay).step(wait(20)).step(count).step(wait(10)) }},
    slow: {{ block: sequencer({{ name: "slow", inputSchema: z.any() }}).step(pay).step(wait(2500)).step(count) }},
  }},
}});
"#,
        host = counter.host()
    )
}

fn place(counter: &Counter) -> Place {
    Place::with_flow(&flow(counter))
        .file("flowglass.json", &json!({ "fetch": { "allow": [counter.host()] } }).to_string())
}

fn status(place: &Place, request: &str) -> String {
    let rows = place.get("requests");
    let rows = rows.as_array().expect("a list");
    let row = rows.iter().find(|row| row["id"] == request);
    row.and_then(|row| row["status"].as_str()).unwrap_or("unknown").to_owned()
}

#[track_caller]
fn assert_sound(place: &Place) {
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], json!(true), "{checked}");
}

/// Three processes at a time run requests of one user and one session; most are killed in their middle. Whoever
/// comes later takes up what they left.
#[test]
fn processes_that_are_killed_beside_each_other_lose_nothing() {
    let counter = Counter::start();
    let place = place(&counter);
    place.get("check");
    let rounds = 7 * soak();
    let mut killed = 0;
    for round in 0..rounds {
        let mut going: Vec<(String, Going)> = (0..3)
            .map(|at| {
                let request = format!("r{round}x{at}");
                let line = format!("run main go --user ada --session s --request {request} --input \"{request}\"");
                (request, place.start(&line))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(150 + u64::from(round * 37 % 200)));
        for (at, (_, going)) in going.drain(..).enumerate() {
            if at == 2 {
                let answer = going.ended();
                assert!(matches!(answer.code, Some(0)), "{answer}");
            } else {
                going.kill();
                killed += 1;
            }
        }
    }
    let rows = place.get("requests");
    let mut completed = 0;
    for row in rows.as_array().expect("a list") {
        let request = row["id"].as_str().expect("an id");
        match row["status"].as_str() {
            Some("completed") => completed += 1,
            Some("interrupted") => {
                let resumed = place.get(&format!("resume {request}"));
                assert_eq!(resumed["status"], "completed", "{resumed}");
                completed += 1;
            }
            other => panic!("{request} is {other:?} though its process is dead"),
        }
        assert_eq!(place.get(&format!("replay {request}"))["identical"], json!(true), "{request}");
        let block = place.get(&format!("events {request} --kind effect_finished"));
        assert!(block.as_array().is_some_and(|events| !events.is_empty()), "{request} paid nothing");
    }
    assert_eq!(place.get("state --user ada")["user"]["runs"], json!(completed));
    assert_eq!(place.get("state --session s")["session"]["seen"].as_array().map(Vec::len), Some(completed));
    println!("{killed} kills, {completed} requests");
    assert_sound(&place);
}

/// A stopped process lives: nobody may take its request over. When it goes on, it ends its request itself.
#[test]
fn a_stopped_owner_is_alive() {
    let counter = Counter::start();
    let place = place(&counter);
    let going = place.start("run main slow --user ada --session s --request r --input 1");
    place.until_status("r", "in_progress");
    place.until("it has paid", |place| {
        let paid = place.ask("events r --kind effect_finished");
        paid.json().as_array().is_some_and(|events| !events.is_empty()).then_some(())
    });
    going.signal("STOP");
    std::thread::sleep(Duration::from_secs(if soak() > 1 { 60 } else { 2 }));
    assert_eq!(status(&place, "r"), "in_progress");
    let refused = place.ask("resume r");
    assert_eq!(refused.code, Some(7), "{refused}");
    going.signal("CONT");
    let answer = going.ended();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(place.get("state --user ada")["user"]["runs"], json!(1));
    assert_eq!(counter.of("1").values().sum::<usize>(), 1);
    assert_sound(&place);
}

/// Where somebody removed its lock, the process lives all the same. Where its sign cannot be seen either, as from
/// another container, its request is taken over; when it comes back, what it still wants to write is refused.
#[cfg(target_os = "linux")]
#[test]
fn an_owner_that_was_taken_over_writes_nothing_more() {
    let counter = Counter::start();
    let place = place(&counter);
    let going = place.start("run main slow --user ada --session s --request r --input 1");
    place.until("it has paid", |place| {
        let paid = place.ask("events r --kind effect_finished");
        (paid.code == Some(0) && paid.json().as_array().is_some_and(|events| !events.is_empty())).then_some(())
    });
    going.signal("STOP");
    remove_locks(&place.dir().join(".flowglass/run"));
    assert_eq!(status(&place, "r"), "in_progress");
    assert_eq!(place.ask("resume r").code, Some(7));
    let elsewhere = |program: &Path, words: &[&str]| {
        Command::new("unshare").arg("-n").arg(program).args(words).current_dir(place.dir()).output()
    };
    if !elsewhere(Path::new("true"), &[]).is_ok_and(|output| output.status.success()) {
        eprintln!("no command can be run in a network namespace of its own here");
        going.kill();
        return;
    }
    let resumed = elsewhere(&program(), &["resume", "r", "--json"]).expect("it runs");
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    let events = place.get("events r");
    going.signal("CONT");
    let late = going.ended();
    assert_eq!(late.code, Some(7), "{late}");
    assert_eq!(place.get("events r"), events, "the late process wrote something");
    assert_eq!(place.get("state --user ada")["user"]["runs"], json!(1));
    assert_sound(&place);
}

fn remove_locks(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("locks lie in it").flatten() {
        if entry.path().is_dir() {
            remove_locks(&entry.path());
        } else if entry.path().extension().is_some_and(|end| end == "lock") {
            std::fs::remove_file(entry.path()).expect("it can be removed");
        }
    }
}

/// SQLite's lock for whoever writes: byte 120 of the index of the write-ahead log.
const WRITE_LOCK_AT: libc::off_t = 120;

/// Holds a database as a process does that writes for long.
struct Writing(std::fs::File);

impl Writing {
    fn begin(place: &Place) -> Writing {
        let index = place.dir().join(".flowglass/flowglass.db-shm");
        let file = std::fs::File::options().read(true).write(true).open(index).expect("the database is in use");
        let start = Instant::now();
        while !set(&file, libc::F_WRLCK) {
            assert!(start.elapsed() < Duration::from_secs(10), "the lock is never free");
            std::thread::sleep(Duration::from_millis(1));
        }
        Writing(file)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        set(&self.0, libc::F_UNLCK);
    }
}

fn set(file: &std::fs::File, kind: libc::c_int) -> bool {
    // SAFETY: `flock` is plain data, and every field that matters is set.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = WRITE_LOCK_AT;
    lock.l_len = 1;
    // SAFETY: the descriptor is open for as long as the file lives, and the structure outlives the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) == 0 }
}

/// Another process keeps the database for a long time: the run waits, says so, and goes on.
#[test]
fn a_busy_database_is_waited_for() {
    let counter = Counter::start();
    let place = place(&counter);
    let mut going = place.start("run main slow --user ada --session s --request r --input 1");
    place.until_status("r", "in_progress");
    let writing = Writing::begin(&place);
    let seconds = if soak() > 1 { 60 } else { 8 };
    going.until_it_says("waiting");
    std::thread::sleep(Duration::from_secs(seconds));
    assert_eq!(status(&place, "r"), "in_progress", "readers are not kept waiting");
    drop(writing);
    let answer = going.ended();
    assert_eq!(answer.code, Some(0), "{answer}");
    let output: Value = answer.json();
    assert_eq!(output["status"], "completed");
    assert_sound(&place);
}
