//! Promise 3: a commit from another than the record's version is refused; its evidence and its event number stay.

use engine::event::{EventKind, Outcome, ScopeCommit};
use engine::log::AppendError;
use serde_json::{Value, json};

use crate::Subject;
use crate::writing::*;

/// How many threads write one record at the same time.
const THREADS: usize = 4;
/// How often each thread writes.
const TURNS: u64 = 25;

/// The operations stay in the log and can be committed again, from the newer version.
pub fn a_commit_from_an_old_version_keeps_its_evidence_and_its_place<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let (mut a, mut b) = (Request::begin(log, "a"), Request::begin(log, "b"));
    a.write(&scope, 0, &[patch(json!({ "by": "a", "kept": true }))]).unwrap();
    let answer = b.write(&scope, 0, &[patch(json!({ "by": "b" }))]);
    assert!(is_conflict(&answer, std::slice::from_ref(&scope)), "{answer:?}");
    assert_eq!(kinds(log, "b"), ["request_started", "state_changed", "commit_refused"]);
    let refused = EventKind::CommitRefused { scopes: vec![scope.clone()] };
    assert_eq!(log.own_events("b").unwrap()[2], event(3, refused));
    assert_eq!((version(log, &scope), state(log, &scope)), (1, json!({ "by": "a", "kept": true })));
    let again = ScopeCommit { rebased: vec![Value::Null], ..commit(&scope, 1, vec![2]) };
    b.append(vec![EventKind::Committed { commits: vec![again] }]).unwrap();
    assert_eq!((version(log, &scope), state(log, &scope)), (2, json!({ "by": "b", "kept": true })));
    assert_eq!(seqs(log, "b"), [1, 2, 3, 4]);
}

/// A version that a record has not reached yet is refused, too.
pub fn a_commit_from_a_future_version_is_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut request = Request::begin(log, "r");
    assert!(is_conflict(&request.increment(&scope, 1), std::slice::from_ref(&scope)));
    request.increment(&scope, 0).unwrap();
    assert!(is_conflict(&request.increment(&scope, 2), std::slice::from_ref(&scope)));
    assert_eq!((version(log, &scope), state(log, &scope)), (1, json!({ "n": 1 })));
}

/// A conflict names each changed record once, in the order in which the append commits them, and no other record.
pub fn a_conflict_names_its_records_in_their_order<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let stale: Vec<_> = (0..12).map(|n| record(&format!("stale {}", n * 7 % 12))).collect();
    let mut first = Request::begin(log, "first");
    for scope in &stale {
        first.increment(scope, 0).unwrap();
    }
    let mut request = Request::begin(log, "r");
    let mut seen = stale.clone();
    seen.insert(5, record("fresh"));
    // One of them twice.
    seen.push(stale[3].clone());
    let mut kinds: Vec<EventKind> = seen.iter().map(|scope| changed(scope, increment(), 1)).collect();
    let commits = seen.iter().zip(2..).map(|(scope, seq)| commit(scope, 0, vec![seq])).collect();
    kinds.push(EventKind::Committed { commits });
    let answer = request.append(kinds);
    assert!(is_conflict(&answer, &stale), "{answer:?}");
    let events = log.own_events("r").unwrap();
    assert_eq!(events.last().unwrap().kind, EventKind::CommitRefused { scopes: stale });
}

/// If one record of an append has changed, none of its records is committed, whichever of its events names them.
pub fn a_conflict_refuses_every_commit_of_its_append<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let (stale, fresh) = (record("stale"), record("fresh"));
    Request::begin(log, "first").increment(&stale, 0).unwrap();
    let mut request = Request::begin(log, "r");
    let kinds = vec![
        block_started(),
        changed(&fresh, increment(), 1),
        callback_returned(vec![3], vec![commit(&fresh, 0, vec![3])]),
        changed(&stale, increment(), 1),
        note("between"),
        block_finished(Outcome::Completed, vec![commit(&stale, 0, vec![5])]),
        callback_returned(vec![3], Vec::new()),
    ];
    let mut events = request.next(kinds);
    events.iter_mut().for_each(|one| *one = event_of(one.seq, "root", 0, one.kind.clone()));
    let answer = request.append_events(events);
    assert!(is_conflict(&answer, std::slice::from_ref(&stale)), "{answer:?}");
    let left = ["block_started", "state_changed", "commit_refused", "state_changed", "noted", "commit_refused"];
    assert_eq!(kinds_after_first(&request), [&left[..], &["callback_returned"]].concat());
    assert_eq!((version(log, &stale), version(log, &fresh)), (1, 0));
    request.increment(&fresh, 0).unwrap();
    assert_eq!(state(log, &fresh), json!({ "n": 1 }));
}

fn kinds_after_first(request: &Request<'_>) -> Vec<String> {
    kinds(request.log, &request.id).split_off(1)
}

/// The second commit begins where the first one ends.
pub fn one_append_may_commit_a_record_twice<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut request = Request::begin(log, "r");
    let mut kinds = write(1, &scope, 0, &[increment(), increment()]);
    kinds.extend(write(4, &scope, 2, &[increment()]));
    request.append(kinds).unwrap();
    assert_eq!((version(log, &scope), state(log, &scope)), (3, json!({ "n": 3 })));
    let mut kinds = write(request.last, &scope, 3, &[increment()]);
    kinds.extend(write(request.last + 2, &scope, 3, &[increment()]));
    assert!(is_conflict(&request.append(kinds), std::slice::from_ref(&scope)));
    assert_eq!(version(log, &scope), 3);
}

/// Records differ by their kind and their id.
pub fn records_are_independent<S: Subject>() {
    use engine::scope::{ScopeKey, ScopeKind};
    let subject = S::create();
    let log = subject.log();
    let kinds = [ScopeKind::Session, ScopeKind::User, ScopeKind::Project, ScopeKind::Resource];
    let mut request = Request::begin(log, "r");
    for (n, kind) in (1..).zip(kinds) {
        let scope = ScopeKey::new(kind, "ada");
        let operations: Vec<_> = (0..n).map(|_| increment()).collect();
        request.write(&scope, 0, &operations).unwrap();
        assert_eq!((version(log, &scope), state(log, &scope)), (n, json!({ "n": n })));
    }
}

/// Of several commits from one version at the same time only one succeeds, so the numbers add up.
pub fn writers_that_race_lose_no_update<S: Subject>() {
    let subject = S::create();
    let scope = record("s");
    let refused: u64 = std::thread::scope(|threads| {
        let count = |n: usize| {
            let (log, scope) = (subject.log(), &scope);
            move || {
                let mut request = Request::begin(log, &format!("r{n}"));
                let (mut done, mut refused) = (0, 0);
                while done < TURNS {
                    match request.increment(scope, version(log, scope)) {
                        Ok(()) => done += 1,
                        Err(AppendError::Conflict(_)) => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
                assert_eq!(seqs(log, &request.id), (1..=request.last).collect::<Vec<_>>());
                refused
            }
        };
        let running: Vec<_> = (0..THREADS).map(|n| threads.spawn(count(n))).collect();
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    let all = THREADS as u64 * TURNS;
    assert_eq!((version(subject.log(), &scope), state(subject.log(), &scope)), (all, json!({ "n": all })));
    let refusals = (0..THREADS).flat_map(|n| kinds(subject.log(), &format!("r{n}")));
    assert_eq!(refusals.filter(|kind| kind == "commit_refused").count() as u64, refused);
}
