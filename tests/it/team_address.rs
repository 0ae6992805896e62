//! Parts that are missing in a server's address are read from the files of PostgreSQL's own clients, and settings of
//! the server for its users do no harm.
//!
//! Each test starts its own server. On a machine without PostgreSQL it says so and tests nothing.

use std::os::unix::fs::PermissionsExt;

use tests::bench::{Answer, Place};
use tests::postgres::Postgres;

const FLOW: &str = "const greet = handler({ name: \"greet\", execute: () => \"hello\" });
export default defineFlow({ kind: \"greeter\", actions: { greet: { block: greet } } });";

const PASSWORD: &str = "quite:secret";

fn run(place: &Place, address: &str) -> Answer {
    place.run(&["run", "greeter", "greet", "--user", "ada", "--json", "--data", address])
}

/// Services, passwords in files, overrides in the address, and errors in the files.
#[test]
fn an_address_may_name_a_service_and_leave_the_password_to_a_file() {
    let Some(server) = Postgres::start_with_password(PASSWORD) else { return };
    let at = |name: &str| format!("host=127.0.0.1\nport={}\ndbname=postgres\nuser={name}\n", server.port());
    let place = Place::with_flow(FLOW)
        .file(
            "services.conf",
            &format!("[shop]\n{}password={PASSWORD}\n\n[open]\n{}\n[wrong]\nsslcert=a\n", at("ada"), at("ada")),
        )
        .file("passwords", &format!("# ours\n127.0.0.1:*:postgres:ada:{}\n", PASSWORD.replace(':', "\\:")))
        .variable("PGSERVICEFILE", "services.conf")
        .variable("PGPASSFILE", "passwords");
    let passwords = place.dir().join("passwords");
    let let_read = |mode| std::fs::set_permissions(&passwords, PermissionsExt::from_mode(mode)).expect("it is ours");
    let_read(0o600);
    let done = run(&place, "postgres:///?service=shop&schema=shop");
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(run(&place, "postgres://?service=open&schema=shop").code, Some(0), "the password is in the file");
    assert_eq!(run(&place, "postgres://postgres@/?service=open&schema=shop").code, Some(0), "this user needs none");
    assert_eq!(server.query("SELECT count(*) FROM shop.request").as_deref(), Some("3"));
    let_read(0o644);
    let open = run(&place, "postgres:///?service=open&schema=shop");
    assert_eq!(open.code, Some(1), "others may read the file: {open}");
    assert!(open.stderr.contains("passwords") && open.stderr.contains("chmod 0600"), "{open}");
    let none = run(&place, "postgres:///?service=nothing");
    assert_eq!(none.code, Some(2), "{none}");
    assert!(none.stderr.contains("no service \"nothing\"") && none.stderr.contains("services.conf"), "{none}");
    assert!(none.stderr.contains("add a section [nothing]"), "{none}");
    let wrong = run(&place, "postgres:///?service=wrong");
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("line 15: \"sslcert\" is not supported"), "{wrong}");
    for answer in [done, open, none, wrong] {
        assert!(!format!("{answer}").contains("secret"), "{answer}");
    }
}

/// Time-outs that a server sets for its users do not apply to Flowglass.
#[test]
fn time_outs_that_a_server_sets_do_not_end_what_flowglass_does() {
    let settings = ["statement_timeout=5", "lock_timeout=5", "idle_in_transaction_session_timeout=5"];
    let Some(server) = Postgres::start_with(&settings) else { return };
    let place = Place::with_flow(&tests::bench::chain(40, "")).variable("FLOWGLASS_DATA", &server.address("slow"));
    for request in ["r1", "r2"] {
        let ran = place.run(&["run", "main", "go", "--user", "a", "--request", request, "--input", "1"]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

/// If a newer Flowglass changes the tables while this one has them open, this one stops writing and says what to do.
#[test]
fn a_program_whose_tables_were_changed_stops_writing() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(
        "const wait = handler({ name: \"wait\", execute: async () => {
           for (let n = 0; n < 600; n++) await new Promise((done) => setTimeout(done, 100));
         } });
         export default defineFlow({ kind: \"greeter\", actions: { greet: { block: sequencer({ name: \"all\" })
           .step(handler({ name: \"first\", execute: () => 1 })).step(wait) } } });",
    )
    .variable("FLOWGLASS_DATA", &server.address("two"));
    let going = place.start("run greeter greet --user ada --request r1");
    place.until("its second block", |_| {
        server
            .query("SELECT 1 FROM two.event e JOIN two.path p ON p.n = e.path WHERE p.text LIKE '%wait'")
            .filter(|found| !found.is_empty())
    });
    let format = server.query("SELECT format FROM two.revision").expect("it is there");
    server.query("UPDATE two.revision SET format = format + 1").expect("it can be changed");
    // An abort is the next thing that it writes.
    going.signal("INT");
    let ended = going.ended();
    assert!(ended.stderr.contains("newer Flowglass"), "{ended}");
    let newer = place.run(&["requests"]);
    assert_eq!(newer.code, Some(7), "{newer}");
    assert!(newer.stderr.contains("update Flowglass to open it"), "{newer}");
    server.query(&format!("UPDATE two.revision SET format = {format}")).expect("it can be changed");
    assert_eq!(place.get("check --data")["ok"], true);
    assert_eq!(place.get("show r1")["request"]["status"], "interrupted");
}
