//! Promise 4 (durability) for a log in which each step boundary waits for its commit.

use engine::log::AppendMode;

use crate::Durable;
use crate::writing::*;

/// A step boundary that was acknowledged survives a kill, with the evidence before it.
pub fn a_boundary_completes_after_its_commit<S: Durable>() {
    let subject = S::create();
    let mut request = Request::begin(subject.log(), "r");
    for _ in 0..12 {
        drop(request.send(vec![note("evidence")], AppendMode::Evidence));
        wait(request.send(vec![note("step")], AppendMode::Boundary)).unwrap();
        let left = subject.killed();
        assert_eq!(seqs(left.log(), "r"), (1..=request.last).collect::<Vec<_>>());
    }
}

/// The append of a boundary that cannot be stored returns the error itself; no later append has to report it.
pub fn a_lost_boundary_is_reported_by_itself<S: Durable>() {
    let subject = S::create();
    let mut request = Request::begin(subject.log(), "r");
    let lost = wait(subject.log().append("r", &request.lease, vec![event(3, note("lost"))], AppendMode::Boundary));
    assert!(matches!(lost, Err(engine::log::AppendError::OutOfOrder { last: 1, found: 3 })), "{lost:?}");
    request.append(vec![note("again")]).unwrap();
}
