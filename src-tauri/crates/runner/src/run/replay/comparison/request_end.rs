//! Compares how a request ended: its status, and its output or its error.
//!
//! A request ends as the root block of its action does, so code that does otherwise differs there first. The end alone
//! differs if a person has edited it in a file. An aborted request is not compared: where it was aborted is chance. Nor
//! is a fork that has an edit in place of what the root block returned.

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::operation::equal;
use engine::path::ROOT;
use engine::redaction::Redaction;
use engine::views::fork_edits::has_edited_output;
use engine::views::trace::end_of_request;
use serde_json::Value;

use super::divergence;
use crate::views::Divergence;

/// Whether the end of a recording is compared. `is_to_its_end` tells whether the recording came to one.
pub(super) fn is_compared(recorded: &[Event], is_to_its_end: bool) -> bool {
    let is_end = |last: &Event| matches!(last.kind, EventKind::RequestFinished { .. });
    is_to_its_end && recorded.last().is_some_and(is_end) && !has_edited_output(recorded, ROOT)
}

/// Why nothing of a recording was compared.
pub(super) fn why_nothing(recorded: &[Event]) -> &'static str {
    if has_edited_output(recorded, ROOT) {
        "nothing was compared: the fork has an edit in place of all that it would do"
    } else {
        "nothing was compared: it was stopped before its first block ended"
    }
}

/// How the end of a replay differs from the recorded one. `None` if one of them has no end: then blocks differ.
pub(super) fn first_difference(recorded: &[Event], replayed: &[Event], redaction: &Redaction) -> Option<Divergence> {
    if has_edited_output(recorded, ROOT) {
        return None;
    }
    let ((seq, status, mut was), (_, status_now, mut is)) = (end(recorded, redaction)?, end(replayed, redaction)?);
    if status != status_now {
        was["status"] = status.as_str().into();
        is["status"] = status_now.as_str().into();
    }
    (!equal(&was, &is)).then(|| divergence(seq, ROOT, was, is))
}

/// The last event, its status, and the output or the error; `None` if it ends no request.
fn end(events: &[Event], redaction: &Redaction) -> Option<(Seq, RequestStatus, Value)> {
    let last = events.last()?;
    let EventKind::RequestFinished { status, .. } = &last.kind else { return None };
    let mut told = end_of_request(events)?;
    redaction.known(&mut told);
    Some((last.seq, *status, told))
}

#[cfg(test)]
mod tests {
    use engine::event::Recorded;
    use serde_json::json;

    use super::*;

    fn ended(status: RequestStatus, output: Option<Recorded>) -> Vec<Event> {
        let kind = EventKind::RequestFinished { status, output, error: None };
        vec![Event { seq: 1, at: 0, path: None, attempt: 0, kind }]
    }

    #[test]
    fn another_output_or_status_of_a_request_is_a_difference() {
        let completed = |output| ended(RequestStatus::Completed, Some(Recorded::Value(output)));
        let found = |was: &[Event], is: &[Event]| {
            let found = first_difference(was, is, &Redaction::default());
            found.map(|found| (found.path, found.recorded.0, found.found.0))
        };
        let at_root = |was, is| Some((ROOT.to_owned(), was, is));
        assert_eq!(found(&completed(json!(1)), &completed(json!(1))), None);
        let (was, is) = (json!({ "output": 1 }), json!({ "output": 2 }));
        assert_eq!(found(&completed(json!(1)), &completed(json!(2))), at_root(was, is));
        let other = ended(RequestStatus::Incomplete, Some(Recorded::Value(json!(1))));
        let (was, is) = (json!({ "output": 1, "status": "incomplete" }), json!({ "output": 1, "status": "completed" }));
        assert_eq!(found(&other, &completed(json!(1))), at_root(was, is));
        let nothing = ended(RequestStatus::Completed, Some(Recorded::Undefined));
        assert!(found(&completed(json!(null)), &nothing).is_some(), "undefined is not null");
        assert_eq!(found(&completed(json!(1)), &[]), None);
    }
}
