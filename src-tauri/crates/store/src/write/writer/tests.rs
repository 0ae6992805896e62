//! The writing connection: a full disk, group commit, answers, listeners, threads that append at once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc::channel;

use engine::event::{EventKind, RequestStatus};
use engine::log::{AppendError, Lease, Log};

use super::inbox::Message;
use crate::first_event::request_started;
use crate::{EventQuery, Options, Store};
use engine::event::Event;
use engine::log::AppendMode;

fn store() -> (tempfile::TempDir, Store) {
    store_with(crate::Durability::Process)
}

fn store_with(durability: crate::Durability) -> (tempfile::TempDir, Store) {
    let checkpointer = tempfile::tempdir().unwrap();
    let options = Options { create: true, durability, ..Options::default() };
    let store = Store::open(checkpointer.path().join("log.db"), options).unwrap();
    (checkpointer, store)
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq, at: seq as i64, path: None, attempt: 0, kind }
}

fn note(seq: u64, text: &str) -> Event {
    event(seq, EventKind::Noted { text: text.to_owned() })
}

fn started() -> Event {
    event(1, request_started())
}

fn append(store: &Store, request: &str, events: Vec<Event>, mode: AppendMode) -> Result<(), AppendError> {
    wait(store.append(request, &Lease::first("o"), events, mode))
}

fn wait(answer: futures_channel::oneshot::Receiver<Result<(), AppendError>>) -> Result<(), AppendError> {
    futures_executor::block_on(answer).unwrap()
}

/// Text that neither compresses nor repeats.
fn noise(bytes: usize, mut seed: u64) -> String {
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}", seed ^ seed >> 29));
    }
    text
}

/// Lets the database grow by so many pages, and no more.
fn limit_pages(store: &Store, more: Option<u32>) {
    let pages = (store.stats().unwrap().bytes / 4096) as u32;
    store.limit_pages(more.map(|more| pages + more));
}

fn seqs(store: &Store, request: &str) -> Vec<u64> {
    store.events(request, &EventQuery::default()).unwrap().iter().map(|event| event.seq).collect()
}

#[test]
fn a_full_disk_refuses_the_step_and_the_next_one_works_when_there_is_room() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    limit_pages(&store, Some(4));
    let refused = append(&store, "r", vec![note(2, &noise(200_000, 1))], AppendMode::Committed);
    let Err(AppendError::Storage(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("log.db: the disk is full; nothing after the last stored step was kept"), "{message}");
    assert!(message.ends_with("free space on it, then try again"), "{message}");
    assert_eq!(seqs(&store, "r"), [1]);
    // A step that fits is kept although the disk is nearly full.
    append(&store, "r", vec![note(2, "small")], AppendMode::Committed).unwrap();
    limit_pages(&store, None);
    append(&store, "r", vec![note(3, &noise(200_000, 2))], AppendMode::Committed).unwrap();
    assert_eq!(seqs(&store, "r"), [1, 2, 3]);
    assert_eq!(store.stats().unwrap().events, 3);
}

#[test]
fn a_unit_that_does_not_fit_takes_no_other_with_it() {
    // Where the disk is waited for, the store's own thread writes.
    let (_folder, store) = store_with(crate::Durability::Power);
    for request in ["big", "small"] {
        append(&store, request, vec![started()], AppendMode::Committed).unwrap();
    }
    limit_pages(&store, Some(8));
    // Both are queued while the thread is held, so they share a transaction.
    let (hold, held) = channel::<()>();
    store.writer.queue.push(Message::Run(Box::new(move |_| held.recv().unwrap())));
    let big = store.append("big", &Lease::first("o"), vec![note(2, &noise(200_000, 3))], AppendMode::Committed);
    let small = store.append("small", &Lease::first("o"), vec![note(2, "fits")], AppendMode::Committed);
    hold.send(()).unwrap();
    assert!(matches!(wait(big), Err(AppendError::Storage(_))));
    wait(small).unwrap();
    assert_eq!(seqs(&store, "big"), [1]);
    assert_eq!(seqs(&store, "small"), [1, 2]);
}

#[test]
fn evidence_that_was_lost_is_told_to_the_next_step_boundary() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    limit_pages(&store, Some(2));
    let lost = store.append("r", &Lease::first("o"), vec![note(2, &noise(200_000, 4))], AppendMode::Evidence);
    let boundary = append(&store, "r", vec![note(3, "boundary")], AppendMode::Committed);
    let Err(AppendError::Storage(message)) = boundary else { panic!("{boundary:?}") };
    assert!(message.contains("the disk is full"), "{message}");
    wait(lost).expect("nobody waits for evidence");
    assert_eq!(seqs(&store, "r"), [1]);
    limit_pages(&store, None);
    append(&store, "r", vec![note(2, "again")], AppendMode::Committed).unwrap();
}

#[test]
fn units_that_queue_up_share_a_transaction() {
    // Where the disk is waited for, the store's own thread writes.
    let (_folder, store) = store_with(crate::Durability::Power);
    let (hold, held) = channel::<()>();
    store.writer.queue.push(Message::Run(Box::new(move |_| held.recv().unwrap())));
    let answers: Vec<_> = (0..50)
        .map(|n| {
            let status = event(2, EventKind::RequestStatus { status: RequestStatus::InProgress });
            store.append(&format!("r{n}"), &Lease::first("o"), vec![started(), status], AppendMode::Committed)
        })
        .collect();
    let (sender, versions) = channel();
    let reader = crate::file::open::reader(store.place(), crate::Access::ReadWrite).unwrap();
    let version = |connection: &crate::sql::Connection| -> i64 {
        connection.query_row("PRAGMA data_version", (), |row| row.get(0)).unwrap()
    };
    let before = version(&reader);
    hold.send(()).unwrap();
    for answer in answers {
        wait(answer).unwrap();
    }
    // One change of the database, as any other connection sees it.
    sender.send(version(&reader)).unwrap();
    assert_eq!(versions.recv().unwrap(), before + 1);
    assert_eq!(store.stats().unwrap().requests, 50);
}

#[test]
fn a_listener_that_panics_does_not_stop_the_log() {
    let (_folder, store) = store();
    store.listen(|_| panic!("a listener of the test"));
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    append(&store, "r", vec![note(2, "on")], AppendMode::Committed).unwrap();
}

/// Keeps the thread from writing, until the sender is used.
fn hold(store: &Store) -> std::sync::mpsc::Sender<()> {
    let (hold, held) = channel::<()>();
    store.writer.queue.push(Message::Run(Box::new(move |_| held.recv().unwrap())));
    hold
}

fn boundary(store: &Store, event: Event) -> futures_channel::oneshot::Receiver<Result<(), AppendError>> {
    store.append("r", &Lease::first("o"), vec![event], AppendMode::Boundary)
}

#[test]
fn a_boundary_is_answered_before_it_is_written_and_what_is_waited_for_brings_it_along() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    let hold = hold(&store);
    let mut answer = boundary(&store, note(2, "step"));
    assert!(matches!(answer.try_recv(), Ok(Some(Ok(())))), "nobody was waited for");
    assert_eq!(seqs(&store, "r"), [1], "nothing is shown before its commit");
    let waited = store.append("r", &Lease::first("o"), vec![note(3, "seen")], AppendMode::Committed);
    hold.send(()).unwrap();
    wait(waited).unwrap();
    assert_eq!(seqs(&store, "r"), [1, 2, 3]);
}

#[test]
fn a_boundary_that_nobody_waits_for_is_written_soon() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    wait(boundary(&store, note(2, "step"))).unwrap();
    let begun = std::time::Instant::now();
    while seqs(&store, "r") != [1, 2] {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it is never written");
        std::thread::yield_now();
    }
}

#[test]
fn each_boundary_waits_where_that_is_wanted() {
    let (_folder, store) = store_with(crate::Durability::Each);
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    let hold = hold(&store);
    let mut answer = boundary(&store, note(2, "step"));
    assert!(matches!(answer.try_recv(), Ok(None)), "it is not written yet");
    hold.send(()).unwrap();
    wait(answer).unwrap();
    assert_eq!(seqs(&store, "r"), [1, 2]);
}

#[test]
fn a_queue_without_room_lets_boundaries_wait() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    let hold = hold(&store);
    let megabyte = "n".repeat(1 << 20);
    let answers: Vec<_> = (2..20).map(|seq| boundary(&store, note(seq, &megabyte))).collect();
    let mut early = answers.into_iter().map(|mut answer| match answer.try_recv() {
        Ok(Some(result)) => Ok(result),
        _ => Err(answer),
    });
    let (early, late): (Vec<_>, Vec<_>) = early.by_ref().partition(|answer| answer.is_ok());
    assert!((8..10).contains(&early.len()), "{} megabytes were taken", early.len());
    hold.send(()).unwrap();
    for answer in late {
        wait(answer.unwrap_err()).unwrap();
    }
    assert_eq!(seqs(&store, "r"), (1..20).collect::<Vec<u64>>());
}

#[test]
fn a_request_hears_of_a_boundary_that_was_lost_at_the_next_one() {
    let (_folder, store) = store();
    append(&store, "r", vec![started()], AppendMode::Committed).unwrap();
    limit_pages(&store, Some(2));
    wait(boundary(&store, note(2, &noise(200_000, 5)))).expect("it was answered before it was written");
    append(&store, "other", vec![started()], AppendMode::Committed).unwrap();
    let refused = wait(boundary(&store, note(3, "behind it")));
    let Err(AppendError::Storage(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("the disk is full"), "{message}");
    assert_eq!(seqs(&store, "r"), [1]);
    limit_pages(&store, None);
    append(&store, "r", vec![note(2, "again")], AppendMode::Committed).unwrap();
}
