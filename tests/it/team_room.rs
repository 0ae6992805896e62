//! A shared database whose server does not answer, or lacks connections or disk space.
//!
//! Each test starts its own server. On a machine without PostgreSQL it says so and tests nothing.

use std::net::TcpListener;

use tests::bench::Place;
use tests::pausing::PausingProxy;
use tests::postgres::Postgres;

/// Each input has a different output that cannot be compressed much.
const FLOW: &str = "const greet = handler({ name: \"greet\", execute: (input: any) =>
  Array.from({ length: 20_000 }, (_, n) => (n * 7919 + String(input).charCodeAt(0) * 104729) % 1_000_003).join(\" \"),
});
export default defineFlow({ kind: \"greeter\", actions: { greet: { inputSchema: z.any(), block: greet } } });";

/// A command does not wait forever for a server that accepts a connection and does not answer.
#[test]
fn a_server_that_does_not_answer_is_an_error() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = silent.local_addr().expect("it is bound").port();
    let place = Place::with_flow(FLOW);
    let address = format!("postgres://ann:secret@127.0.0.1:{port}/runs?connect_timeout=1");
    for command in ["requests", "check", "worker"] {
        let answer = place.run(&[command, "--data", &address]);
        assert_eq!(answer.code, Some(1), "{answer}");
        assert!(answer.stderr.contains("has not answered within 1 s"), "{answer}");
        assert!(!answer.stderr.contains("secret"), "{answer}");
    }
}

/// A stopped idle worker ends even if the server hangs by then.
#[test]
fn an_idle_worker_ends_although_the_server_is_silent() {
    let Some(server) = Postgres::start() else { return };
    let proxy = PausingProxy::start(server.port());
    let address = server.address("idle").replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port()));
    let place = Place::with_flow(FLOW).variable("FLOWGLASS_DATA", &address);
    let mut worker = place.start("worker");
    worker.until_it_says("working on");
    proxy.pause();
    worker.signal("TERM");
    let ended = worker.ended();
    assert_eq!(ended.code, Some(0), "{ended}");
}

/// A user whose limit of connections is too low gets an error with the needed number at once.
#[test]
fn a_limit_of_connections_that_is_too_low_is_reported_with_the_needed_number() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    let address = server.address("few").replace("postgres@", "few@");
    server.query("CREATE ROLE few LOGIN; CREATE SCHEMA few AUTHORIZATION few").expect("it can be made");
    let run = ["run", "greeter", "greet", "--user", "a", "--input", "1", "--data", &address];
    assert_eq!(place.run(&run).code, Some(0));
    for (limit, may_read) in [(1, false), (2, false), (3, true), (4, true)] {
        server.query(&format!("ALTER ROLE few CONNECTION LIMIT {limit}")).expect("it can be changed");
        let read = place.run(&["requests", "--data", &address]);
        assert_eq!(read.code == Some(0), may_read, "{limit}: {read}");
        let ran = place.run(&run);
        assert_eq!(ran.code == Some(0), limit == 4, "{limit}: {ran}");
        let refused = [read, ran].into_iter().filter(|answer| answer.code != Some(0));
        for answer in refused {
            let words = format!("3 if it only reads, and the role few may have {limit}");
            assert!(answer.stderr.contains(&words), "{answer}");
            assert!(answer.stderr.contains("ALTER ROLE few CONNECTION LIMIT 4"), "{answer}");
            assert!(!answer.stderr.contains("make it writable"), "{answer}");
        }
    }
}

/// Compacting returns space to the disk if no other process is connected, or else says that it did not.
#[test]
fn compacting_returns_space_or_says_that_it_did_not() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW).variable("FLOWGLASS_DATA", &server.address("room"));
    for session in ["a", "b", "c", "d"] {
        place.get(&format!("run greeter greet --user ada --session {session} --input \"{session}\""));
    }
    for session in ["a", "b", "c"] {
        place.get(&format!("delete --session {session}"));
    }
    let mut worker = place.start("worker");
    worker.until_it_says("working on");
    let beside = place.run(&["compact"]);
    assert_eq!(beside.code, Some(0), "{beside}");
    assert!(beside.stdout.contains("became") || beside.stdout.contains("VACUUM FULL"), "{beside}");
    worker.signal("TERM");
    worker.ended();
    place.until("nobody else is connected", |_| {
        server
            .query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flowglass'")
            .filter(|count| count == "0")
    });
    let alone = place.get("compact");
    assert!(alone["after"].as_u64() < alone["before"].as_u64(), "{alone}");
    assert_eq!(place.get("check --data")["ok"], true);
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1));
}

/// If several processes import the same file at once, all succeed, and its data is there once.
#[test]
fn the_same_file_may_be_imported_by_several_at_once() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    for _ in 0..12 {
        place.get("run greeter greet --user ada --session s --input 1");
    }
    place.get("export --session s --out runs.jsonl");
    for data in [server.address("many"), "there.db".to_owned()] {
        let all: Vec<_> = (0..6).map(|_| place.start(&format!("import runs.jsonl --data {data}"))).collect();
        let answers: Vec<_> = all.into_iter().map(|going| going.ended()).collect();
        assert!(answers.iter().all(|answer| answer.code == Some(0)), "{data}: {answers:?}");
        let brought = answers.iter().filter(|answer| answer.json()["imported"] == true).count();
        assert_eq!(brought, 1, "{data}: {answers:?}");
        assert_eq!(place.get(&format!("check --data {data}"))["ok"], true);
        let rows = place.get(&format!("requests --data {data}"));
        assert_eq!(rows.as_array().map(Vec::len), Some(12), "{data}");
    }
}

/// U+0000, which a server cannot store, looks the same in lists of a file and of a server.
#[test]
fn lists_with_the_character_nul_are_equal_in_files_and_on_servers() {
    let Some(server) = Postgres::start() else { return };
    let flow = "const name = handler({ name: \"name\", execute: async (input: any, ctx) => {
      await ctx.session.setMetadata({ title: \"a\\u0000title\" }); return input; } });
    export default defineFlow({ kind: \"greeter\", actions: { greet: { inputSchema: z.any(), block: name } } });";
    let place = Place::with_flow(flow);
    let lists = [server.address("nul"), "nul.db".to_owned()].map(|data| {
        let run = ["run", "greeter", "greet", "--user", "a", "--session", "s", "--input", r#""a\u0000b""#];
        assert_eq!(place.run(&[&run[..], &["--data", &data]].concat()).code, Some(0));
        assert_eq!(place.get(&format!("check --data {data}"))["ok"], true);
        ["requests", "sessions"].map(|list| {
            let row = place.get(&format!("{list} --data {data}"))[0].clone();
            assert!(row.to_string().contains('\u{2400}'), "{data}: {row}");
            [row["title"].clone(), row["words"].clone()]
        })
    });
    assert_eq!(lists[0], lists[1]);
}
