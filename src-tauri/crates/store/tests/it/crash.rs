//! A killed process loses no acknowledged append.
//!
//! The test starts itself as a child that writes and prints acknowledged appends, and kills it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use engine::event::{EventKind, Seq};
use engine::log::{AppendMode, Log};
use engine::operation::Operation;
use serde_json::json;
use store::{EventQuery, Options, Store};

use crate::support::*;

const FILE: &str = "STORE_CRASH_FILE";

/// Writes until it is killed, if it is the child.
#[test]
fn child() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let store = Store::open(Path::new(&file), Options { create: true, ..Options::default() }).unwrap();
    let scope = session_scope();
    let mut request = Request::begin(&store, &format!("r{}", std::process::id()));
    let mut version = store.record(&scope).unwrap().version;
    loop {
        request.append(vec![note("evidence")], AppendMode::Evidence).unwrap();
        request.write(&scope, version, &[Operation::Increment { by: object(json!({"n": 1})) }]).unwrap();
        version += 1;
        println!("answered {} {} {version}", request.id, request.last);
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_kill_loses_no_acknowledged_append() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut counted = 0;
    for round in 1..=6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--nocapture"])
            .env(FILE, &file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut answered: Option<(String, Seq, u64)> = None;
        let mut killed = false;
        for line in lines {
            let Some(at) = line.find("answered ") else {
                continue;
            };
            let mut words = line[at..].split(' ').skip(1);
            // The last line may be cut off by the kill.
            if let (Some(id), Some(Ok(seq)), Some(Ok(version))) =
                (words.next(), words.next().map(str::parse), words.next().map(str::parse))
            {
                answered = Some((id.to_owned(), seq, version));
            }
            if !killed && answered.as_ref().is_some_and(|(_, seq, _)| *seq > 150 * round) {
                child.kill().unwrap();
                killed = true;
            }
        }
        child.wait().unwrap();
        let (id, seq, version) = answered.unwrap();
        let store = Store::open(&file, Options::default()).unwrap();
        let events = store.events(&id, &EventQuery::default()).unwrap();
        assert!(events.len() as Seq >= seq, "{} of {seq} answered events", events.len());
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        // Every commit has its operation and its version.
        let commits = events.iter().filter(|event| !event.kind.commits().is_empty()).count() as u64;
        counted += commits;
        let record = store.record(&session_scope()).unwrap();
        assert!(record.version >= version);
        assert_eq!((record.version, record.state.to_json()), (counted, json!({"n": counted})));
        assert_eq!(store.request(&id).unwrap().unwrap().last_seq, events.len() as Seq);
        let torn = events.iter().filter(|event| matches!(event.kind, EventKind::StateChanged { .. })).count() as u64;
        assert_eq!(torn, commits);
        let checked: String = rusqlite::Connection::open(&file)
            .unwrap()
            .query_row("PRAGMA integrity_check", (), |row| row.get(0))
            .unwrap();
        assert_eq!(checked, "ok");
    }
}
