//! Forks: requests that share their first events with another (promise 2 of the log).

use engine::event::{Event, ForkedFrom};
use engine::log::{AppendError, AppendMode, Lease, Log};

use crate::Subject;
use crate::writing::*;

/// A request of user `ada` with events 1 to 5, of which the last two write.
fn origin(log: &dyn Log) -> Request<'_> {
    let mut origin = Request::begin(log, "origin");
    origin.append(vec![note("two"), entry("three")]).unwrap();
    origin.increment(&record("s"), 0).unwrap();
    origin.finish();
    origin
}

/// The first event of a fork of `origin`, in a new session, later than all events of `origin`.
fn begins(seq: u64) -> Event {
    let forked_from = Some(ForkedFrom { request_id: "origin".to_owned(), seq });
    let kind = Start { session: "fork", forked_from, ..Start::default() }.event();
    Event { at: BEGAN + 1_000, ..event(1, kind) }
}

fn append(log: &dyn Log, events: Vec<Event>) -> Result<(), AppendError> {
    wait(log.append("fork", &Lease::first(OWNER), events, AppendMode::Committed))
}

/// The append has the first event and those after the fork; the log puts the shared events between them.
pub fn a_fork_has_the_shared_events<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let origin = origin(log);
    let before = Before::of(log, &["origin"], &[record("s")]);
    let own = event(4, note("the fork's own"));
    append(log, vec![begins(3), own.clone()]).unwrap();
    let shared = log.own_events("origin").unwrap();
    assert_eq!(log.own_events("fork").unwrap(), [vec![begins(3)], shared[1..3].to_vec(), vec![own]].concat());
    before.assert_unchanged("a fork");
    let mut fork = Request { last: 4, ..Request::unstarted(log, "fork", OWNER) };
    fork.append(vec![note("goes on")]).unwrap();
    assert_eq!(seqs(log, "fork"), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(log, "origin"), (1..=origin.last).collect::<Vec<_>>());
}

/// The shared events must exist, and the first event after them must have the next number.
pub fn a_fork_without_its_shared_events_is_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let origin = origin(log);
    let before = Before::of(log, &["origin", "fork"], &[record("s")]);
    for seq in [2, 3, 5] {
        let answer = append(log, vec![begins(3), event(seq, note("misplaced"))]);
        assert!(matches!(answer, Err(AppendError::OutOfOrder { .. })), "{answer:?}");
        before.assert_unchanged("a misplaced event");
    }
    let answer = append(log, vec![begins(origin.last + 1)]);
    assert!(matches!(answer, Err(AppendError::Storage(_))), "{answer:?}");
    before.assert_unchanged("events that the other request does not have");
    append(log, vec![begins(3)]).unwrap();
    assert_eq!(seqs(log, "fork"), [1, 2, 3]);
}

/// The owners in the shared events are those of the original request, not of the fork.
pub fn a_fork_has_an_owner_of_its_own<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut origin = Request::begin(log, "origin");
    origin.set_status(engine::event::RequestStatus::Suspended).unwrap();
    origin.resume("database.next-process").unwrap();
    origin.append(vec![note("four")]).unwrap();
    append(log, vec![begins(4)]).unwrap();
    let mut fork = Request { last: 4, ..Request::unstarted(log, "fork", OWNER) };
    fork.append(vec![note("under the first lease")]).unwrap();
    fork.lease = origin.lease.clone();
    let answer = fork.append(vec![note("under that of the other")]);
    assert!(is_fenced(&answer, "fork"), "{answer:?}");
}

/// The session of a fork continues that of the original request: it has the earlier requests and notes.
pub fn the_session_of_a_fork_has_what_was_before_it<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let write_note = |request: &mut Request<'_>, text: &str| {
        let kinds = [block_started(), entry(text), block_finished(engine::event::Outcome::Completed, Vec::new())];
        let numbered = kinds.into_iter().zip(request.last + 1..);
        request.append_events(numbered.map(|(kind, seq)| event_of(seq, "root", 0, kind)).collect()).unwrap();
    };
    let mut earlier = Request::begin(log, "earlier");
    write_note(&mut earlier, "before the other");
    earlier.finish();
    let mut origin = Request::begin(log, "origin");
    write_note(&mut origin, "shared");
    origin.append(vec![note("five")]).unwrap();
    origin.finish();
    let mut later = Request::begin(log, "later");
    write_note(&mut later, "after the other");
    later.finish();
    append(log, vec![begins(5)]).unwrap();
    assert_eq!(journal(log, "fork"), ["before the other", "shared"]);
    let requests = log.session_events("fork", "fork", usize::MAX).unwrap();
    assert_eq!(requests.iter().map(|(id, _)| &**id).collect::<Vec<_>>(), ["earlier"]);
    assert_eq!(journal(log, "s"), ["before the other", "shared", "after the other"]);
}
