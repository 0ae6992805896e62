//! The queue of writers: whoever took a ticket first writes first, and nothing waits for ever.

use engine::log::{AppendError, Log, TICKET_MS};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::json;
use store::{Liveness, Options, Owners, Store};

use crate::support::{Bed, Request, bed, finished, wait};

/// The time of the events of these tests, or a little later.
const NOW: i64 = 1_700_000_000_100;

fn scope(id: &str) -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, id)
}

fn inc() -> Operation {
    Operation::Increment { by: json!({ "n": 1 }).as_object().cloned().unwrap() }
}

fn take(bed: &Bed, request: &str, scopes: &[&str], at: i64) {
    let scopes: Vec<ScopeKey> = scopes.iter().map(|id| scope(id)).collect();
    wait(bed.take_ticket(request, &scopes, at)).unwrap().unwrap();
}

fn is_first(bed: &Bed, request: &str) -> bool {
    bed.is_first(request, NOW).unwrap()
}

/// Whether an append was refused for one record.
fn is_refused(answer: &Result<(), AppendError>, id: &str) -> bool {
    matches!(answer, Err(AppendError::Conflict(scopes)) if *scopes == [scope(id)])
}

#[test]
fn who_waits_longest_writes_first() {
    let bed = bed();
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|id| Request::begin(&bed, id));
    take(&bed, "a", &["s"], NOW);
    take(&bed, "b", &["s"], NOW);
    assert!(is_first(&bed, "a") && !is_first(&bed, "b"));
    // Neither one with a later ticket nor one without any comes before; records nobody waits for are free.
    assert!(is_refused(&b.write(&scope("s"), 0, &[inc()]), "s"));
    assert!(is_refused(&c.write(&scope("s"), 0, &[inc()]), "s"));
    c.write(&scope("other"), 0, &[inc()]).unwrap();
    // The commit takes the ticket along.
    a.write(&scope("s"), 0, &[inc()]).unwrap();
    assert!(is_first(&bed, "b"));
    assert!(is_refused(&a.write(&scope("s"), 1, &[inc()]), "s"));
    b.write(&scope("s"), 1, &[inc()]).unwrap();
    a.write(&scope("s"), 2, &[inc()]).unwrap();
    assert_eq!(bed.record(&scope("s")).unwrap().version, 3);
    assert!(bed.check().unwrap().problems.is_empty());
}

/// A request has one number for all records: of two that wait for both, one is first at both.
#[test]
fn nobody_waits_for_each_other() {
    let bed = bed();
    let [mut a, _b] = ["a", "b"].map(|id| Request::begin(&bed, id));
    take(&bed, "a", &["one"], NOW);
    take(&bed, "b", &["two"], NOW);
    assert!(is_first(&bed, "a") && is_first(&bed, "b"));
    take(&bed, "b", &["one"], NOW);
    take(&bed, "a", &["two"], NOW);
    assert!(is_first(&bed, "a") && !is_first(&bed, "b"));
    a.write(&scope("two"), 0, &[inc()]).unwrap();
    assert!(is_first(&bed, "b"));
}

#[test]
fn a_ticket_leaves_with_its_request_and_when_it_is_too_old() {
    let bed = bed();
    let [mut a, _b, mut c] = ["a", "b", "c"].map(|id| Request::begin(&bed, id));
    take(&bed, "a", &["s"], NOW);
    take(&bed, "b", &["s"], NOW);
    bed.leave_ticket("a");
    take(&bed, "c", &["other"], NOW);
    assert!(is_first(&bed, "b"));
    // One that ended waits no more.
    take(&bed, "a", &["third"], NOW);
    a.commit(finished(engine::event::RequestStatus::Completed)).unwrap();
    c.write(&scope("third"), 0, &[inc()]).unwrap();
    // Nor one that was taken too long ago.
    take(&bed, "c", &["s"], NOW + TICKET_MS - 1);
    assert!(!bed.is_first("c", NOW + TICKET_MS - 1).unwrap());
    assert!(bed.is_first("c", NOW + TICKET_MS).unwrap());
}

#[test]
fn the_dead_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let owners = Owners::new(|owner| if owner == "process-1" { Liveness::Dead } else { Liveness::Alive });
    let options = Options { create: true, owners, ..Options::default() };
    let store = Store::open(&folder.path().join("log.db"), options).unwrap();
    let bed = Bed { folder, store };
    let [_dead, mut living] = ["dead", "living"].map(|id| Request::begin(&bed, id));
    take(&bed, "dead", &["s"], NOW);
    take(&bed, "living", &["s"], NOW);
    assert!(is_first(&bed, "living"));
    living.write(&scope("s"), 0, &[inc()]).unwrap();
}
