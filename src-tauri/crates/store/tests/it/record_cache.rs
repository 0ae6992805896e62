//! A process always reads the committed state of a record: its own commits, which it applies to cached records, and
//! those of other processes.

use std::time::Duration;

use engine::event::{EventKind, Seq};
use engine::log::{AppendError, AppendMode, Log, Record};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::json;
use store::Store;

use crate::support::*;

fn records() -> Vec<ScopeKey> {
    vec![session_scope(), ScopeKey::new(ScopeKind::User, "ada"), ScopeKey::new(ScopeKind::Project, "apollo")]
}

fn random_operation(chance: &mut Chance) -> Operation {
    match chance.below(4) {
        0 => Operation::Increment { by: object(json!({"count": 1.5})) },
        1 => push("list", json!(chance.noise(8))),
        // Too large for the event itself.
        2 => patch(json!({"long": chance.noise(9_000)})),
        _ => patch(json!({"name": chance.below(5), "odd": -0.0, "text": "\u{0}é"})),
    }
}

/// On a server, a commit of another process becomes visible after a moment.
fn settle() {
    if std::env::var(SERVER).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Writes a record from an assumed version: in one append, or with the operations in an earlier append.
fn write(request: &mut Request, scope: &ScopeKey, from: u64, chance: &mut Chance) -> Result<(), AppendError> {
    let operations: Vec<Operation> = (0..=chance.below(3)).map(|_| random_operation(chance)).collect();
    if chance.below(4) > 0 {
        return request.write(scope, from, &operations);
    }
    let first = request.last + 1;
    let kinds = operations.iter().zip(from + 1..).map(|(op, version)| changed(scope, op.clone(), version)).collect();
    request.append(kinds, AppendMode::Boundary).unwrap();
    let seqs: Vec<Seq> = (first..first + operations.len() as Seq).collect();
    let version = from + operations.len() as u64;
    request.commit(EventKind::Committed { commits: vec![commit(scope, from, version, seqs)] })
}

fn read(store: &Store, scope: &ScopeKey) -> (u64, serde_json::Value) {
    let Record { version, state } = store.record(scope).unwrap();
    (version, state.to_json())
}

#[test]
fn two_processes_and_a_new_one_read_the_same() {
    let bed = bed();
    let other = open_in(&bed.folder);
    let mut chance = Chance(11);
    let mut ours = Request::begin_in(&bed.store, "ours", "ses");
    let mut theirs = Request::begin_in(&other, "theirs", "ses");
    let mut held = Vec::new();
    let (mut refused, mut written) = (0, 0);
    for round in 0..300 {
        let scope = &records()[chance.below(3) as usize];
        // A state that a reader holds must not change, so the writer must copy it.
        if chance.below(3) == 0 {
            let record = bed.store.record(scope).unwrap();
            held.push((record.state.to_json(), record));
        }
        let is_ours = chance.below(3) > 0;
        let (request, store) = if is_ours { (&mut ours, &bed.store) } else { (&mut theirs, &other) };
        // Sometimes the version is too old, so that the commit is refused.
        let from = store.record(scope).unwrap().version.saturating_sub(u64::from(chance.below(8) == 0));
        match write(request, scope, from, &mut chance) {
            Ok(()) => written += 1,
            Err(AppendError::Conflict(scopes)) => {
                refused += 1;
                assert_eq!(&scopes, std::slice::from_ref(scope));
            }
            Err(error) => panic!("{error}"),
        }
        let by_writer = read(store, scope);
        settle();
        if round % 10 == 0 {
            let fresh = open_in(&bed.folder);
            for scope in records() {
                let newest = read(&fresh, &scope);
                assert_eq!(read(&bed.store, &scope), newest);
                assert_eq!(read(&other, &scope), newest);
            }
        }
        assert_eq!(read(&bed.store, scope), by_writer, "round {round}");
        assert_eq!(read(&other, scope), by_writer, "round {round}");
    }
    assert!(written > 150 && refused > 5, "{written} {refused}");
    assert!(held.iter().all(|(before, record)| record.state.to_json() == *before));
}

#[test]
fn a_process_reads_the_defaults_of_its_own_commit() {
    let bed = bed();
    let scope = session_scope();
    let mut request = Request::begin(&bed.store, "r");
    assert_eq!(read(&bed.store, &scope), (0, json!({})));
    let first = request.last + 1;
    let kinds = vec![
        initialized(&scope, json!({"a": 1, "b": 2})),
        changed(&scope, patch(json!({"a": 3})), 1),
        EventKind::Committed { commits: vec![commit(&scope, 0, 1, vec![first, first + 1])] },
    ];
    request.append(kinds, AppendMode::Committed).unwrap();
    assert_eq!(read(&bed.store, &scope), (1, json!({"a": 3, "b": 2})));
    assert_eq!(read(&open_in(&bed.folder), &scope), (1, json!({"a": 3, "b": 2})));
}
