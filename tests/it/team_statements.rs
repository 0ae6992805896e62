//! How many statements a commit to a server takes while other processes write, too: all others wait meanwhile.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use std::collections::HashMap;

use tests::bench::{Place, chain};
use tests::postgres::Postgres;

/// What a transaction that writes asked while it had the lock.
struct Transaction {
    process: String,
    queries: Vec<String>,
}

/// The transactions that were committed, in their order.
fn transactions(log: &str) -> Vec<Transaction> {
    let mut open: HashMap<&str, Vec<String>> = HashMap::new();
    let mut committed = Vec::new();
    for line in log.lines() {
        let Some((process, said)) = line.split_once(" LOG:  ") else { continue };
        let Some((_, sql)) = said.split_once(": ").filter(|(what, _)| what.starts_with(['e', 's'])) else { continue };
        if sql.starts_with("UPDATE revision") {
            open.insert(process, Vec::new());
        } else if sql.starts_with("ROLLBACK") {
            open.remove(process);
        } else if sql.starts_with("COMMIT") {
            let process = process.to_owned();
            committed.extend(open.remove(&*process).map(|queries| Transaction { process, queries }));
        } else if let Some(queries) = open.get_mut(process) {
            queries.extend(sql.trim_start().starts_with("SELECT").then(|| sql.to_owned()));
        }
    }
    committed
}

/// Three processes write by turns: a step of each asks the server once what the others wrote, whatever that was.
#[test]
fn a_step_asks_once_what_others_wrote() {
    let settings = [
        "log_statement=all",
        "log_line_prefix=%p",
        "logging_collector=on",
        "log_directory=statements",
        "log_filename=all",
        "log_rotation_size=0",
    ];
    let Some(server) = Postgres::start_with(&settings) else { return };
    let slow = "await new Promise((done) => setTimeout(done, 20));";
    let place = Place::with_flow(&chain(40, slow)).variable("FLOWGLASS_DATA", &server.address("steps"));
    place.get("requests");
    let before = server.statements().len();
    let users = ["ada", "bob", "cem"];
    let all = users.map(|user| place.start(&format!("run main go --user {user} --request {user} --input 1")));
    for going in all {
        let ended = going.ended();
        assert_eq!(ended.code, Some(0), "{ended}");
    }
    let log = server.statements();
    let transactions = transactions(&log[before..]);
    let turns = transactions.windows(2).filter(|pair| pair[0].process != pair[1].process).count();
    assert!(turns > 20, "they wrote by turns {turns} times in {} transactions", transactions.len());
    // A name is asked for once, and what is new is looked for where it would be: both are of the step itself.
    let is_own = |sql: &&String| ["FROM path", "FROM payload"].iter().any(|table| sql.contains(table));
    let counts = transactions.iter().map(|one| one.queries.iter().filter(|sql| !is_own(sql)).count());
    let asked_more: Vec<usize> = counts.filter(|count| *count > 1).collect();
    // The first and the last step of a request have rows of their own to look for.
    assert!(asked_more.len() <= 6 * users.len(), "{asked_more:?} of {}", transactions.len());
    // A request is read as a whole only by a process that has not written it.
    let whole = transactions.iter().flat_map(|one| &one.queries);
    let whole = whole.filter(|sql| sql.starts_with("SELECT n, session, owner, epoch")).count();
    assert!(whole <= users.len(), "{whole} times a request was read as a whole");
}
