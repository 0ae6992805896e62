//! Imports: what does not fit is refused whole, and what others do while one is under way neither breaks it nor is
//! broken by it.

use std::time::{Duration, Instant};

use engine::event::{EventKind, ForkedFrom};
use engine::log::{AppendError, AppendMode, Log};
use rusqlite::Connection;
use serde_json::json;
use store::{BundleRecord, Cleared, EventQuery, ImportError, Store};

use crate::support::*;

/// So many notes: an import of them takes a while.
const MANY: u64 = 6_000;

/// Goes on with a request until it has many events, and ends it.
fn fill(request: &mut Request<'_>) {
    let mut chance = Chance(7);
    for _ in 0..MANY / 500 {
        let notes = (0..500).map(|_| note(chance.noise(200))).collect();
        request.append(notes, AppendMode::Committed).unwrap();
    }
    request.finish();
}

fn bundle(store: &Store, requests: &[&str]) -> Vec<BundleRecord> {
    store.bundle(&requests.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// Does something while an import is under way that has its numbers, and answers what became of both. `is_within` says
/// whether the import must last longer than that.
fn during<T>(
    store: &Store,
    bundle: Vec<BundleRecord>,
    is_within: bool,
    work: impl FnOnce() -> T,
) -> (Result<(), ImportError>, T) {
    let looking = Connection::open(store.path()).unwrap();
    let is_under_way = || {
        let sql = "SELECT EXISTS (SELECT 1 FROM removal WHERE kind = 'request' AND import <> '')
             AND EXISTS (SELECT 1 FROM event WHERE kind = 'noted')";
        looking.query_row(sql, (), |row| row.get::<_, bool>(0)).unwrap()
    };
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| store.import(bundle));
        let began = Instant::now();
        while !is_under_way() {
            assert!(!importing.is_finished(), "it was over before it was seen");
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
        let done = work();
        assert!(!is_within || !importing.is_finished(), "it was over before the work was");
        (importing.join().unwrap(), done)
    })
}

#[test]
fn a_request_does_not_begin_under_a_name_that_an_import_brings() {
    let (here, there) = (bed(), bed());
    fill(&mut Request::begin_in(&here, "r", "theirs"));
    let brought = bundle(&here, &["r"]);
    let (imported, begun) = during(&there.store, brought.clone(), true, || {
        // In a session of its own, and in the one that the import brings.
        ["mine", "theirs"].map(|session| {
            let first = event(1, None, 0, started(session));
            wait(there.append("r", &crate::support::first(), vec![first], AppendMode::Committed)).unwrap()
        })
    });
    assert!(begun.iter().all(|begun| matches!(begun, Err(AppendError::Exists))), "{begun:?}");
    imported.unwrap();
    assert_eq!(bundle(&there, &["r"]), brought);
    assert!(there.session("mine").unwrap().is_none(), "nothing is left of what was refused");
    assert_eq!(there.check().unwrap().problems, Vec::new());
}

#[test]
fn a_fork_does_not_come_in_whose_origin_is_deleted_meanwhile() {
    let (here, there) = (bed(), bed());
    Request::begin_in(&here, "origin", "before").finish();
    let mut kind = started("after");
    if let EventKind::RequestStarted { forked_from, .. } = &mut kind {
        *forked_from = Some(ForkedFrom { request_id: "origin".into(), seq: 1 });
    }
    let mut fork = Request { store: &here, id: "fork".to_owned(), last: 0, lease: first() };
    fork.commit(kind).unwrap();
    fill(&mut fork);
    there.import(bundle(&here, &["origin"])).unwrap();
    let brought = bundle(&here, &["fork"]);
    let (imported, deleted) = during(&there.store, brought.clone(), true, || there.delete_session("before").unwrap());
    assert!(matches!(deleted, Cleared::Done(_)), "{deleted:?}");
    let Err(ImportError::Unfit(why)) = imported else { panic!("{imported:?}") };
    assert!(why.what.contains("deleted meanwhile"), "{why}");
    assert!(there.request("fork").unwrap().is_none() && there.session("after").unwrap().is_none());
    assert_eq!(there.check().unwrap().problems, Vec::new());
    // With its origin it comes in as before.
    there.import(bundle(&here, &["origin"])).unwrap();
    there.import(brought.clone()).unwrap();
    assert_eq!(bundle(&there, &["fork"]), brought);
}

/// The code of a bundle is here before the events that name it: nobody may think that nothing does.
#[test]
fn a_compact_leaves_the_code_that_an_import_is_about_to_name() {
    let (here, there) = (later_bed(), bed());
    let code = json!({ "files": { "main.ts": "source ".repeat(2_000) } });
    here.keep_code("late", code.clone()).unwrap();
    // The event that names it is one of the last to come.
    let mut request = Request::begin_in(&here, "r", "theirs");
    fill(&mut request);
    request.commit(resumed("process-2", "late")).unwrap();
    request.finish();
    let (imported, compacted) = during(&there.store, bundle(&here, &["r"]), false, || {
        there.keep_code("unnamed", code.clone()).unwrap();
        // What nothing names is dropped first of all.
        there.compact().unwrap()
    });
    assert!(matches!(compacted, Cleared::Done(_)), "{compacted:?}");
    imported.unwrap();
    assert_eq!(there.code("late").unwrap().as_ref(), Some(&code));
    assert_eq!(there.check().unwrap().problems, Vec::new());
    // Once no import is under way, what nothing names goes.
    there.compact().unwrap();
    assert!(!there.has_code("unnamed").unwrap());
    assert_eq!(there.code("late").unwrap(), Some(code));
}

/// Code is kept before the request that runs it begins: until then a compact in another process drops it.
#[test]
fn a_request_brings_its_code_along_where_a_compact_has_dropped_it() {
    let bed = bed();
    let code = json!({ "files": { "main.ts": "source ".repeat(2_000) } });
    let make = code.clone();
    let offer = bed.offer_code("c0de", move || make.clone());
    bed.keep_code("c0de", code.clone()).unwrap();
    open_in(&bed.folder).compact().unwrap();
    assert!(!bed.has_code("c0de").unwrap(), "nothing names it yet");
    let mut request = Request::begin(&bed, "r");
    drop(offer);
    assert_eq!(bed.code("c0de").unwrap().as_ref(), Some(&code));
    bed.compact().unwrap();
    assert_eq!(bed.code("c0de").unwrap(), Some(code));
    request.finish();
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    // An offer is for whoever begins while it stands.
    bed.delete_session("ses").unwrap();
    bed.compact().unwrap();
    Request::begin(&bed, "later");
    assert!(!bed.has_code("c0de").unwrap());
}

/// Another process takes a request over, and runs this code.
fn resumed(owner: &str, code: &str) -> EventKind {
    EventKind::RequestResumed {
        owner: owner.to_owned(),
        epoch: 0,
        code_hash: code.to_owned(),
        mock: None,
        keeps_ended: false,
    }
}

/// A request that another process took over, and that has two attempts of a block.
fn taken_over() -> Bed {
    let bed = later_bed();
    let mut request = Request::begin(&bed, "r");
    request.commit_at("root", 0, block_started("root"));
    request.commit(resumed("process-2", "c0de")).unwrap();
    request.commit(resumed("process-3", "c0de")).unwrap();
    request.commit_at("root", 1, block_started("root"));
    request.finish();
    bed
}

/// Tries to import a request with other events than it had.
fn import(bed: &Bed, edit: impl Fn(&mut engine::event::Event)) -> Result<(), String> {
    let mut changed = bundle(bed, &["r"]);
    for piece in &mut changed {
        if let BundleRecord::Event { event, .. } = piece {
            edit(event);
        }
    }
    let there = crate::support::bed();
    let imported = there.import(changed.clone());
    assert_eq!(there.check().unwrap().problems, Vec::new());
    match imported {
        Ok(()) => {
            assert_eq!(bundle(&there, &["r"]), changed);
            Ok(())
        }
        Err(ImportError::Unfit(why)) => {
            assert!(there.request("r").unwrap().is_none());
            assert!(there.events("r", &EventQuery::default()).unwrap().is_empty());
            Err(why.what)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn owners_that_an_import_brings_follow_each_other() {
    let bed = taken_over();
    let with_epochs = |epochs: [u64; 2]| {
        import(&bed, |event| {
            if let EventKind::RequestResumed { owner, epoch, .. } = &mut event.kind {
                *epoch = if owner == "process-2" { epochs[0] } else { epochs[1] };
            }
        })
    };
    with_epochs([2, 3]).unwrap();
    for (epochs, message) in [
        ([1, 2], "with epoch 1 after epoch 1"),
        ([2, 2], "with epoch 2 after epoch 2"),
        ([2, 4], "with epoch 4 after epoch 2"),
        ([u64::MAX >> 1, 1], "with epoch 9223372036854775807 after epoch 1"),
    ] {
        let why = with_epochs(epochs).unwrap_err();
        assert!(why.contains(message), "{epochs:?}: {why}");
    }
}

#[test]
fn dates_and_attempts_that_an_import_brings_are_some() {
    let bed = taken_over();
    let latest = 8_640_000_000_000_000;
    for at in [latest, -latest, 0] {
        import(&bed, |event| event.at = at).unwrap();
    }
    for at in [latest + 1, -latest - 1, i64::MAX, i64::MIN] {
        let why = import(&bed, |event| event.at = at).unwrap_err();
        assert!(why.contains("no date"), "{at}: {why}");
    }
    let with_attempt = |attempt: u32| {
        import(&bed, |event| {
            if event.attempt == 1 {
                event.attempt = attempt;
            }
        })
    };
    with_attempt(1 << 31).unwrap();
    for attempt in [(1 << 31) + 1, u32::MAX] {
        let why = with_attempt(attempt).unwrap_err();
        assert!(why.contains(&format!("attempt {attempt}")), "{why}");
    }
}
