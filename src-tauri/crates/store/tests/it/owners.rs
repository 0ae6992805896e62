//! Owners that may live, that panic when they are asked for, and databases that another process holds. `promises.rs` tests
//! promises 7 and 8 of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::event::EventKind;
use engine::log::{AppendError, AppendMode, Log};
use store::{Liveness, OnBusy, Options, Owners, Store};

use crate::support::*;

fn resumed(owner: &str) -> EventKind {
    EventKind::RequestResumed {
        owner: owner.to_owned(),
        epoch: 0,
        code_hash: "c".to_owned(),
        mock: None,
        keeps_ended: false,
    }
}

fn open_with(path: &std::path::Path, owners: Owners) -> Store {
    Store::open(path, Options { create: true, owners, ..Options::default() }).unwrap()
}

#[test]
fn an_owner_that_may_live_is_not_taken_over() {
    let bed = bed();
    let request = Request::begin(&bed, "r");
    let other = open_with(bed.path(), Owners::new(|_| Liveness::Unknown));
    let mut taker = Request { store: &other, id: "r".to_owned(), last: 1, lease: request.lease.clone() };
    let answer = taker.append(vec![resumed("process-2")], AppendMode::Committed);
    assert!(matches!(answer, Err(AppendError::Fenced { .. })), "{answer:?}");
    assert_eq!(bed.last_seq("r").unwrap(), 1);
}

#[test]
fn a_check_finds_owners_and_users_that_the_events_do_not_name() {
    let bed = bed();
    Request::begin(&bed, "r");
    let path = bed.path().to_owned();
    let change = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let problems = || -> Vec<String> { bed.check().unwrap().problems.into_iter().map(|one| one.what).collect() };
    assert!(problems().is_empty());
    change("UPDATE request SET epoch = 3");
    assert!(problems().iter().any(|what| what == "its epoch is 3; its events say 1"), "{:?}", problems());
    change("UPDATE request SET epoch = 1");
    // As a race between two users left it in older versions.
    let other = started("second").name().to_owned();
    Request::begin_in(&bed, "second", "second");
    change(&format!(
        "UPDATE event SET body_checksum = NULL;
         UPDATE event SET body = replace(body, '\"session\":\"second\"', '\"session\":\"ses\"') WHERE kind = '{other}';
         UPDATE event SET body = json_set(body, '$.user', 'bob') WHERE id = (SELECT max(id) FROM event);
         UPDATE request SET session = 1, user = 'bob'"
    ));
    assert!(problems().iter().any(|what| what.contains("its user is \"bob\"")), "{:?}", problems());
}

#[test]
fn a_panic_on_the_thread_that_appends_is_the_end_of_one_step_only() {
    let bed = bed();
    let is_odd = Arc::new(AtomicBool::new(true));
    let odd = is_odd.clone();
    let owners =
        Owners::new(move |_| if odd.load(Ordering::SeqCst) { panic!("an owner of the test") } else { Liveness::Alive });
    let store = open_with(bed.path(), owners);
    let mut request = Request { store: &store, id: "r".to_owned(), last: 0, lease: first() };
    request.commit(started("ses")).unwrap();
    let mut taker = Request { store: &store, id: "r".to_owned(), last: 1, lease: first() };
    let lease = taker.lease.next("process-2");
    let events = vec![event(2, None, 0, EventKind::RequestAdopted { owner: "process-2".to_owned(), epoch: 2 })];
    assert!(wait(store.append("r", &lease, events, AppendMode::Committed)).is_err(), "nobody answers");
    is_odd.store(false, Ordering::SeqCst);
    // Nothing of it stays, and everybody goes on.
    request.commit(note("on")).unwrap();
    taker.last = 2;
    assert!(matches!(taker.append(vec![resumed("process-2")], AppendMode::Committed), Err(AppendError::Fenced { .. })));
    Request::begin(&store, "other").finish();
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn a_busy_database_is_waited_for_and_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (sender, notified) = std::sync::mpsc::channel();
    let on_busy = OnBusy::new(move |_| {
        let _ = sender.send(());
    });
    let store = Store::open(&path, Options { create: true, on_busy, ..Options::default() }).unwrap();
    let mut request = Request::begin(&store, "r");
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The lock is not given back before the append has answered.
    let answer = store.append("r", &first(), vec![event(2, None, 0, note("step"))], AppendMode::Committed);
    notified.recv_timeout(Duration::from_secs(10)).expect("somebody is told");
    assert_eq!(store.request("r").unwrap().unwrap().last_seq, 1, "readers do not wait");
    std::thread::sleep(Duration::from_secs(4));
    assert!(notified.try_recv().is_err(), "it is told once");
    holder.execute_batch("ROLLBACK").unwrap();
    wait(answer).unwrap().unwrap();
    request.last = 2;
    request.finish();
}

#[test]
fn a_store_that_is_closed_waits_for_nobody() {
    let bed = bed();
    Request::begin(&bed, "r");
    let holder = rusqlite::Connection::open(bed.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = bed.append("r", &first(), vec![event(2, None, 0, note("step"))], AppendMode::Committed);
    drop(bed.store);
    assert!(!matches!(wait(answer), Ok(Ok(()))));
}
