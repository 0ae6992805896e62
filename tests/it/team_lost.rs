//! A server that is away or changed while requests run: what processes say of it, and how workers continue.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use tests::bench::Place;
use tests::postgres::Postgres;

const FLOW: &str = "
const first = handler({ name: \"first\", inputSchema: z.any(), execute: (n: number) => n + 1 });
const wait = handler({ name: \"wait\", inputSchema: z.any(), execute: async (n: number) => {
  await new Promise((done) => setTimeout(done, 3000)); return n + 1; } });
const last = handler({ name: \"last\", inputSchema: z.any(), execute: (n: number) => n + 1 });
export default defineFlow({ kind: \"main\", actions: { go: { inputSchema: z.any(),
  block: sequencer({ name: \"all\", inputSchema: z.any() }).step(first).step(wait).step(last) } } });";

fn place(server: &Postgres, schema: &str) -> Place {
    Place::with_flow(FLOW).variable("FLOWGLASS_DATA", &server.address(schema))
}

/// Waits until the second step of a request runs.
fn until_it_waits(place: &Place, request: &str) {
    place.until("its second step", |place| {
        let shown = place.ask(&format!("show {request}"));
        shown.stdout.contains("wait").then_some(())
    });
}

/// The server stays away: the process names its request, and how to continue it.
#[test]
fn a_process_that_lost_its_server_names_its_request() {
    let Some(mut server) = Postgres::start() else { return };
    let place = place(&server, "away");
    let going = place.start("run main go --user ada --request r1 --input 1");
    until_it_waits(&place, "r1");
    server.kill();
    let ended = going.ended();
    assert_eq!(ended.code, Some(5), "{ended}");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("r1") && said.contains("flowglass resume r1"), "{ended}");
    server.resume();
    // The lease of the process that ended is valid for some seconds more.
    place.until_status("r1", "interrupted");
    let resumed = place.get("resume r1");
    assert_eq!(resumed["output"], 4, "{resumed}");
}

/// A server that ends idle sessions does not disturb a request whose step takes longer.
#[test]
fn a_server_may_end_idle_sessions() {
    let Some(server) = Postgres::start_with(&["idle_session_timeout=1000"]) else { return };
    let place = place(&server, "idle");
    let ran = place.run(&["run", "main", "go", "--user", "ada", "--input", "1"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// The storage failed and came back while a process lived, which then recorded the interruption: a worker continues
/// the request.
#[test]
fn a_worker_resumes_a_request_whose_interruption_was_recorded() {
    let Some(server) = Postgres::start() else { return };
    let place = place(&server, "recorded");
    let going = place.start("run main go --user ada --request r1 --input 1");
    until_it_waits(&place, "r1");
    going.kill();
    server.query("UPDATE recorded.request SET status = 'interrupted' WHERE id = 'r1'").expect("it is there");
    assert_eq!(place.get("requests --status interrupted")[0]["id"], "r1");
    let worker = place.start("worker --until-idle").ended();
    assert_eq!((worker.code, &worker.json()["requests"]), (Some(0), &serde_json::json!(1)), "{worker}");
    place.until_status("r1", "completed");
}

/// Tables of a newer program: both formats are named. A foreign program's lock is told from a turn of our own.
#[test]
fn messages_say_which_program_is_in_the_way() {
    let Some(server) = Postgres::start() else { return };
    let place = place(&server, "locks");
    place.get("run main go --user ada --request r0 --input 1");
    let going = place.start("run main go --user ada --request r1 --input 1");
    until_it_waits(&place, "r1");
    let format: u32 =
        server.query("SELECT format FROM locks.revision").expect("it is there").parse().expect("a number");
    server.query("UPDATE locks.revision SET format = format + 1").expect("it can be changed");
    let ended = going.ended();
    let words = format!("from format {format} to format {}", format + 1);
    assert!(ended.code != Some(0) && format!("{}{}", ended.stdout, ended.stderr).contains(&words), "{ended}");
    server.query("UPDATE locks.revision SET format = format - 1").expect("it can be changed");
    for (name, words) in [("psql", "another process keeps the database locked"), ("flowglass", "waiting for a turn")] {
        let (holder, place) = (&server, &place);
        std::thread::scope(|scope| {
            let sql = format!(
                "SET application_name = '{name}'; BEGIN; UPDATE locks.revision SET mark = mark; SELECT pg_sleep(8); \
                 ROLLBACK"
            );
            let held = scope.spawn(move || holder.query(&sql));
            place.until("the lock", |_| {
                let sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(8)%' AND state = 'active'
                           AND pid <> pg_backend_pid()";
                (holder.query(sql).as_deref() == Some("1")).then_some(())
            });
            let ran = place.run(&["run", "main", "go", "--user", "ada", "--input", "1"]);
            assert!(ran.code == Some(0) && ran.stderr.contains(words), "{name}: {ran}");
            held.join().expect("it ends");
        });
    }
}
