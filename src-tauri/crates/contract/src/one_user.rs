//! Promise 8: a session belongs to the user of its first request.

use engine::log::AppendError;

use crate::Subject;
use crate::writing::*;

/// The session keeps its user after that request has ended. A refused request leaves no rows, and its id stays free.
pub fn a_session_belongs_to_its_first_user<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    for has_ended in [false, true] {
        let before = Before::of(log, &["r", "other"], &[]);
        let answer = Request::start(log, "other", Start { user: "grace", ..Start::default() }).map(drop);
        match answer {
            Err(AppendError::NotYours { session, user }) => assert_eq!((&*session, &*user), ("s", "ada")),
            answer => panic!("{answer:?}"),
        }
        before.assert_unchanged("another user");
        if !has_ended {
            request.finish();
        }
    }
    Request::start(log, "other", Start { user: "grace", session: "hers", ..Start::default() }).unwrap();
    Request::begin(log, "of the same user");
}

/// The session of a request that was refused has no user yet.
pub fn a_refused_request_gives_its_session_no_user<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let begin = vec![event(1, Start::in_session("new").event()), event(3, note("a gap"))];
    let mut request = Request::unstarted(log, "r", OWNER);
    assert!(matches!(request.append_events(begin), Err(AppendError::OutOfOrder { .. })));
    Request::start(log, "r", Start { user: "grace", session: "new", ..Start::default() }).unwrap();
}
