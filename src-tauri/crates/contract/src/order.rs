//! Promise 2: the events of a request are numbered from 1 without gaps, in the order in which they were appended.

use engine::log::{AppendError, AppendMode, Lease};

use crate::Subject;
use crate::writing::*;

/// How many threads append at the same time.
const THREADS: usize = 6;

/// An append whose first event is not the next one is refused, with both numbers.
pub fn a_gap_between_appends_is_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    request.append(vec![note("two"), note("three")]).unwrap();
    let before = Before::of(log, &["r"], &[]);
    for seq in [0, 1, 2, 3, 5, 6, u64::from(u32::MAX)] {
        let answer = request.append_events(vec![event(seq, note("misplaced"))]);
        let is_named = matches!(answer, Err(AppendError::OutOfOrder { last: 3, found }) if found == seq);
        assert!(is_named, "{seq}: {answer:?}");
        before.assert_unchanged("a misplaced event");
    }
    request.append_events(vec![event(4, note("four"))]).unwrap();
    assert_eq!(seqs(log, "r"), [1, 2, 3, 4]);
}

/// Each event of an append must follow the one before it.
pub fn a_gap_inside_an_append_is_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let before = Before::of(log, &["r"], &[]);
    for (last, found, numbers) in [(2, 4, vec![2, 4]), (3, 3, vec![2, 3, 3]), (2, 1, vec![2, 1])] {
        let events = numbers.into_iter().map(|seq| event(seq, note("one of several"))).collect();
        let answer = request.append_events(events);
        let is_named = matches!(answer, Err(AppendError::OutOfOrder { last: l, found: f }) if (l, f) == (last, found));
        assert!(is_named, "{answer:?}");
        before.assert_unchanged("a gap inside an append");
    }
    let begins_late = vec![event(2, Start::default().event())];
    let answer = wait(log.append("late", &request.lease, begins_late, AppendMode::Committed));
    assert!(matches!(answer, Err(AppendError::OutOfOrder { last: 0, found: 2 })), "{answer:?}");
    Request::begin(log, "late");
}

/// A request begins with `request_started`; until then its id is unknown.
pub fn an_append_to_a_request_that_never_started_is_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut unknown = Request::unstarted(log, "unknown", OWNER);
    for seq in [1, 2] {
        unknown.last = seq - 1;
        let answer = unknown.append(vec![note("nothing before it")]);
        assert!(matches!(answer, Err(AppendError::Storage(_))), "{answer:?}");
        assert_eq!(seqs(log, "unknown"), Vec::<u64>::new());
    }
    Request::begin(log, "unknown").finish();
}

/// An id belongs to one request forever.
pub fn a_request_id_is_used_once<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let again = || Request::start(log, "r", Start::in_session("other"));
    assert!(matches!(again().map(drop), Err(AppendError::Exists)));
    request.finish();
    assert!(matches!(again().map(drop), Err(AppendError::Exists)));
    assert_eq!(kinds(log, "r"), ["request_started", "request_finished"]);
}

/// Ids are compared byte by byte, and no character has a special meaning.
pub fn ids_are_compared_exactly<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let ids =
        ["r", "R", "r ", " r", "r%", "r_", "r'", "r\"", "r\\", "r\n", "é", "e\u{301}", "ß", "ss", "日本", "0", "00"];
    for (n, id) in ids.into_iter().enumerate() {
        let mut request = Request::begin(log, id);
        request.append(vec![note(id)]).unwrap();
        request.increment(&record(id), 0).unwrap();
        request.append((0..n).map(|_| note("more")).collect()).unwrap();
    }
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(seqs(log, id), (1..=4 + n as u64).collect::<Vec<_>>(), "{id:?}");
        assert_eq!(log.own_events(id).unwrap()[1].kind, note(id), "{id:?}");
        assert_eq!(version(log, &record(id)), 1, "{id:?}");
    }
}

/// Appends are stored in call order, in every mode, even if no result is awaited in between.
pub fn appends_are_stored_in_call_order<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let mut answers = Vec::new();
    for n in 0..300 {
        answers.push(request.send(vec![note(format!("{n} a")), note(format!("{n} b"))], MODES[n % 3]));
    }
    request.append(vec![note("last")]).unwrap();
    for answer in answers {
        wait(answer).unwrap();
    }
    let events = log.own_events("r").unwrap();
    assert_eq!(events.len() as u64, request.last);
    for (at, seen) in events[1..601].iter().enumerate() {
        assert_eq!((seen.seq, &seen.kind), (at as u64 + 2, &note(format!("{} {}", at / 2, ["a", "b"][at % 2]))));
    }
}

/// Dropping the receiver of a result does not undo the append.
pub fn an_append_whose_result_is_dropped_is_stored<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    for mode in MODES {
        drop(request.send(vec![note("on its own")], mode));
    }
    assert_eq!(seqs(log, "r"), [1, 2, 3, 4]);
}

/// A step boundary or evidence that cannot be stored is reported, at the latest to the next append that waits for its
/// commit. No later append of the request is stored before that; other requests are not affected.
pub fn nothing_is_stored_after_a_lost_append<S: Subject>() {
    for mode in [AppendMode::Boundary, AppendMode::Evidence] {
        let subject = S::create();
        let log = subject.log();
        let mut request = Request::begin(log, "r");
        let mut other = Request::begin(log, "other");
        let before = Before::of(log, &["r"], &[record("s")]);
        let lost = wait(log.append("r", &request.lease, vec![event(3, note("lost"))], mode));
        let behind = log.append("r", &request.lease, vec![event(4, note("behind it"))], mode);
        other.append(vec![note("goes on")]).unwrap();
        // The loss is reported to whichever append is answered after it.
        let reported = match lost.and_then(|()| wait(behind)) {
            Err(error) => error,
            // This append has the next number, but follows the lost one.
            Ok(()) => request.increment(&record("s"), 0).expect_err("an earlier append is lost"),
        };
        assert!(matches!(reported, AppendError::OutOfOrder { last: 1, .. }), "{mode:?}: {reported:?}");
        before.assert_unchanged("a lost append");
        // After the report the request continues at its last stored event.
        request.append(vec![note("again")]).or_else(|_| request.append(vec![note("again")])).unwrap();
        assert_eq!(seqs(log, "r"), [1, 2]);
        assert_eq!(seqs(log, "other"), [1, 2]);
    }
}

/// Each thread appends to its own request.
pub fn threads_that_append_at_once_lose_nothing<S: Subject>() {
    let subject = S::create();
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let log = subject.log();
            scope.spawn(move || {
                let owner = Lease::first(OWNER);
                let mut request = Request::begin(log, &format!("r{n}"));
                assert_eq!(request.lease, owner);
                for _ in 0..60 {
                    drop(request.send(vec![note("evidence")], AppendMode::Evidence));
                    request.append(vec![note("step")]).unwrap();
                }
            });
        }
    });
    for n in 0..THREADS {
        assert_eq!(seqs(subject.log(), &format!("r{n}")), (1..=121).collect::<Vec<_>>());
    }
}
