//! Promise 5: a reader sees an append completely and after its commit, or not at all.

use engine::log::AppendMode;

use crate::Subject;
use crate::meanwhile::read_meanwhile;
use crate::writing::*;

/// How many events each append of these tests has: an operation, notes, and the commit.
const EVENTS: usize = 5;

/// Events and the record that they commit become visible together, whenever a reader reads.
pub fn readers_never_see_part_of_an_append<S: Subject>() {
    let subject = S::create();
    let scope = record("s");
    let mut request = Request::begin(subject.log(), "r");
    let look = || {
        let log = subject.log();
        let before = version(log, &scope);
        let events = log.own_events("r").unwrap();
        let after = version(log, &scope);
        assert_eq!((events.len() - 1) % EVENTS, 0, "{} events", events.len());
        let committed = events.iter().filter(|event| event.kind.name() == "committed").count() as u64;
        assert!((before..=after).contains(&committed), "{before} {committed} {after}");
    };
    read_meanwhile(look, || {
        for turn in 0..150 {
            let mut kinds = vec![note("a"), note("b"), note("c")];
            kinds.extend(write(request.last + 3, &scope, turn, &[increment()]));
            wait(request.send(kinds, MODES[turn as usize % 3])).unwrap();
        }
        request.append(Vec::new()).unwrap();
    });
    assert_eq!(version(subject.log(), &scope), 150);
}

/// The events of a refused append are never visible, not even for a moment.
pub fn readers_never_see_what_is_refused<S: Subject>() {
    let subject = S::create();
    let scope = record("s");
    let mut request = Request::begin(subject.log(), "r");
    request.increment(&scope, 0).unwrap();
    let look = || {
        let log = subject.log();
        assert_eq!(version(log, &scope), 1);
        let events = log.own_events("r").unwrap();
        let wrong = events.iter().find(|event| event.kind == note("lost"));
        assert_eq!(wrong, None);
    };
    read_meanwhile(look, || {
        for _ in 0..100 {
            let mut events = request.next(vec![note("lost"), note("lost")]);
            events[1].seq += 1;
            assert!(request.append_events(events).is_err());
            assert!(is_conflict(&request.increment(&scope, 0), std::slice::from_ref(&scope)));
        }
    });
}

/// When a committed append completes, it and all earlier appends, of any request, can be read at once.
pub fn what_is_committed_can_be_read_at_once<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let (mut a, mut b) = (Request::begin(log, "a"), Request::begin(log, "b"));
    for turn in 0..50 {
        let kinds = write(a.last, &scope, turn, &[increment()]);
        drop(a.send(kinds, AppendMode::Evidence));
        b.append(vec![note("waited for")]).unwrap();
        assert_eq!(version(log, &scope), turn + 1);
    }
}
