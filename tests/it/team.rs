//! One database for many: runs on a PostgreSQL server, and workers that may die.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use std::path::Path;

use serde_json::Value;
use tests::bench::Place;
use tests::counting::Counter;
use tests::dying::{Bed, Order, differences};
use tests::postgres::Postgres;

/// A flow whose steps count themselves outside, and take a while.
const STEPS: &str = r#"
const step = (name: string) => handler({ name, execute: async (value: any, ctx) => {
  await fetch("http://HOST", { method: "POST", body: ctx.idempotencyKey });
  await new Promise((done) => setTimeout(done, 150));
  await ctx.session.incState({ total: 1 });
  return value;
}});
export default defineFlow({
  kind: "steps",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: sequencer({ name: "all", inputSchema: z.any() })
    .step(step("a")).step(step("b")).step(step("c")).step(step("d")) } },
});
"#;

fn with_steps(server: &Postgres, schema: &str, counter: &Counter) -> Place {
    let settings = format!(r#"{{"fetch":{{"allow":["{}"]}}}}"#, counter.host());
    Place::with_flow(&STEPS.replace("HOST", &counter.host()))
        .file("flowglass.json", &settings)
        .variable("FLOWGLASS_DATA", &server.address(schema))
}

/// Another folder with the same flows and the same database, as another machine has them.
fn elsewhere(place: &Place, server: &Postgres, schema: &str) -> Place {
    let read = |name: &str| std::fs::read_to_string(place.dir().join(name)).expect("it is there");
    Place::new()
        .file("flows/main.ts", &read("flows/main.ts"))
        .file("flowglass.json", &read("flowglass.json"))
        .variable("FLOWGLASS_DATA", &server.address(schema))
}

/// How often a step of a request happened.
fn times(counter: &Counter, request: &str, step: &str) -> usize {
    let counts = counter.of(request);
    counts.iter().filter(|(path, _)| path.contains(&format!("step:{step}"))).map(|(_, count)| count).sum()
}

fn list(answer: &Value) -> &[Value] {
    answer.as_array().expect("a list")
}

/// What one process wrote, the next one reads, replays and checks; and it moves to a file and back, byte by byte.
#[test]
fn runs_on_a_server_are_read_replayed_and_moved() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = with_steps(&server, "moves", &counter);
    let ran = place.get("run steps go --input 1 --user ann --session s --request r1");
    assert_eq!(ran["status"], "completed");
    let other = elsewhere(&place, &server, "moves");
    assert_eq!(other.get("run steps go --input 2 --user ann --session s --request r2")["status"], "completed");
    assert_eq!(list(&other.get("requests")).len(), 2);
    assert_eq!(place.get("replay r2")["identical"], true);
    assert!(place.get("state --session s").to_string().contains(r#""total":8"#));
    assert_eq!(place.get("check --data")["ok"], true);
    assert_eq!(place.run(&["export", "--session", "s", "--out", "from-server.json"]).code, Some(0));
    let file = ["--data", "there.db"];
    assert_eq!(place.run(&[&["import", "from-server.json"], &file[..]].concat()).code, Some(0));
    assert_eq!(
        place.run(&[&["export", "--session", "s", "--out", "from-file.json"], &file[..]].concat()).code,
        Some(0)
    );
    let read = |name: &str| std::fs::read(place.dir().join(name)).expect("it was written");
    assert!(read("from-server.json") == read("from-file.json"), "the files differ");
    let back = elsewhere(&place, &server, "back");
    let moved = place.dir().join("from-file.json").display().to_string();
    assert_eq!(back.run(&["import", &moved]).code, Some(0));
    assert_eq!(back.run(&["export", "--session", "s", "--out", "again.json"]).code, Some(0));
    assert!(
        std::fs::read(back.dir().join("again.json")).expect("it was written") == read("from-file.json"),
        "the files differ"
    );
    assert_eq!(back.get("check --data")["ok"], true);
}

/// Processes die in the middle, and so does one of the workers: each request is finished, and each step that had ended
/// has happened once.
#[test]
fn workers_finish_what_dead_processes_left() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = with_steps(&server, "workers", &counter);
    // Makes the tables.
    place.get("requests");
    let requests: Vec<String> = (0..6).map(|n| format!("r{n}")).collect();
    for request in &requests {
        let going = place.start(&format!("run steps go --input 1 --user ann --session {request} --request {request}"));
        place.until("its second step", |_| (times(&counter, request, "b") > 0).then_some(()));
        going.kill();
    }
    let victim = place.start("worker --concurrency 2");
    place.until("a request that goes on", |_| requests.iter().any(|one| times(&counter, one, "c") > 0).then_some(()));
    let others = [place.start("worker --until-idle"), place.start("worker --until-idle")];
    victim.kill();
    for other in others {
        assert_eq!(other.ended().code, Some(0));
    }
    // What the victim had when the others looked for the last time.
    assert_eq!(place.start("worker --until-idle").ended().code, Some(0));
    for request in &requests {
        assert_eq!(place.get(&format!("show {request}"))["request"]["status"], "completed", "{request}");
        let state = place.get(&format!("state --session {request}")).to_string();
        assert!(state.contains(r#""total":4"#), "{request}: {state}");
        let counts = counter.of(request);
        assert_eq!(times(&counter, request, "a"), 1, "{request}: {counts:?}");
        // A process may have died in each of the others once, and the victim once more.
        assert!(counts.values().all(|count| (1..=3).contains(count)), "{request}: {counts:?}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

/// Letters that the server's texts cannot hold, in an input: the request runs, is found, checked, exported and compacted.
#[test]
fn letters_that_a_server_cannot_hold_do_no_harm() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_examples().variable("FLOWGLASS_DATA", &server.address("letters"));
    let input = r#"{"message":"a\u0000b \\u0000"}"#;
    let ran = place.run(&["run", "chat", "chat", "--user", "me", "--session", "s", "--mock", "--input", input]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(list(&place.get("requests")).len(), 1);
    assert_eq!(place.get("check --data")["ok"], true);
    assert_eq!(place.run(&["export", "--session", "s", "--out", "s.json"]).code, Some(0));
    assert_eq!(place.run(&["compact"]).code, Some(0));
}

/// A request that waits for an answer while it runs gets it from another process, and one that is to be aborted hears it.
#[test]
fn answers_and_wishes_reach_the_process_that_runs() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = with_steps(&server, "wishes", &counter);
    place.get("requests");
    let going = place.start("run steps go --input 1 --user ann --session s --request r");
    place.until("its first step", |_| (times(&counter, "r", "a") > 0).then_some(()));
    let other = elsewhere(&place, &server, "wishes");
    assert_eq!(other.get("abort r")["status"], "aborted");
    assert_eq!(going.ended().code, Some(5));
}

/// The server dies while a request runs and comes back: the request goes on, and nothing is doubled.
#[test]
fn a_request_outlives_its_server() {
    let Some(mut server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = with_steps(&server, "outlives", &counter);
    place.get("requests");
    let going = place.start("run steps go --input 1 --user ann --session s --request r");
    place.until("its second step", |_| (times(&counter, "r", "b") > 0).then_some(()));
    server.kill();
    server.resume();
    let answer = going.ended();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(counter.of("r").values().sum::<usize>(), 4);
    assert_eq!(place.get("check --data")["ok"], true);
}

/// As for a file: the process dies at each commit, another one goes on, and everything that can be seen is the same.
#[test]
fn a_process_may_die_at_each_commit_to_a_server() {
    let Some(server) = Postgres::start() else { return };
    let bed = Bed::new("chain", Order::Fixed, Path::new(env!("CARGO_BIN_EXE_crash")), 0).on_server(server);
    let told = bed.process("plain", &["run", bed.flow, "plain"]).expect("nothing tells it to die");
    let (plain, commits) = (bed.essence("plain", &told), told.commits());
    assert!(commits > 5, "{commits} commits");
    for n in 1..=commits {
        let request = format!("at{n}");
        bed.process(&request, &["run", bed.flow, &request, &n.to_string()]);
        let counts = bed.counts(&request);
        let told = bed.process(&request, &["resume", &request]).expect("nothing tells it to die");
        let (found, finished) = (bed.essence(&request, &told), told.finished(&counts));
        let mut different = differences(&plain, &told, &found, &finished);
        different.extend(plain.not_once(&finished));
        assert!(different.is_empty(), "commit {n}: {different:?}");
    }
}

/// Wrong addresses and servers that are not there are told with what to do, and no password is shown.
#[test]
fn addresses_that_cannot_be_used_are_told() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_examples();
    let port = server.port();
    for (address, code, words) in [
        (format!("postgres://ann:secret@127.0.0.1:{port}/postgres"), 1, "PGPASSWORD"),
        (format!("postgres://postgres:secret@127.0.0.1:{port}/nowhere"), 1, "createdb"),
        ("postgres://postgres:secret@127.0.0.1:1/postgres".to_owned(), 1, "start the server"),
        (format!("postgres://postgres:secret@127.0.0.1:{port}/postgres?schema=A-B"), 2, "is not a valid name"),
        ("postgres://postgres:secret@h:port/postgres".to_owned(), 2, "postgres://user@host:5432/database"),
        (
            format!("postgres://postgres:secret@127.0.0.1:{port}/postgres?schema=none"),
            6,
            "has no tables of Flowglass yet",
        ),
    ] {
        let answer = place.run(&["--data", &address, "requests"]);
        assert_eq!(answer.code, Some(code), "{address}\n{answer}");
        assert!(answer.stderr.contains(words) && !answer.stderr.contains("secret"), "{address}\n{answer}");
    }
    // Tables of a newer program, and a user who may only read.
    let newer = server.address("newer");
    assert_eq!(
        place.run(&["--data", &newer, "run", "support", "ticket", "--user", "a", "--input", "{}"]).code,
        Some(2)
    );
    server.query("UPDATE newer.revision SET format = 999").expect("it is there");
    let answer = place.run(&["--data", &newer, "requests"]);
    assert!(answer.code == Some(7) && answer.stderr.contains("update Flowglass"), "{answer}");
    server.query("UPDATE newer.revision SET format = 14; CREATE ROLE looker LOGIN").expect("it is there");
    server.query("GRANT USAGE ON SCHEMA newer TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA newer TO looker");
    let looker = newer.replace("postgres@", "looker@");
    assert_eq!(place.run(&["--data", &looker, "requests"]).code, Some(0));
    for words in ["tag nothing +x", "delete --session nothing", "compact", "worker --until-idle"] {
        let words: Vec<&str> = words.split(' ').collect();
        let refused = place.run(&[&["--data", &looker], &words[..]].concat());
        assert!(refused.code != Some(0) && refused.stderr.contains("GRANT ALL ON ALL TABLES"), "{refused}");
    }
}

/// A process that hung lost its request to a worker, which finished it: that is what the process says of it.
#[test]
fn a_process_that_lost_its_request_says_what_became_of_it() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = with_steps(&server, "lost", &counter);
    let going = place.start("run steps go --user ann --request r1 --input 1");
    place.until("its first step", |_| (times(&counter, "r1", "a") > 0).then_some(()));
    going.signal("STOP");
    let there = elsewhere(&place, &server, "lost");
    let _worker = there.start("worker");
    there.until_status("r1", "completed");
    going.signal("CONT");
    let ended = going.ended();
    assert_eq!(ended.code, Some(7), "{ended}");
    assert_eq!(ended.json()["status"], "completed", "{ended}");
}
