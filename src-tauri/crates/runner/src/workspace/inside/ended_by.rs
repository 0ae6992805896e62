//! Limits of memory and time that ended a replay, or the recording. Code with probes has more of both, so the two do
//! not end at the same place.

use engine::error::FlowError;
use engine::event::{Event, EventKind};
use script::Execution;

use crate::run::replay::Replayed;

/// The code of an error that says that a limit was reached.
const LIMIT: &str = "limit_exceeded";

/// Whether an error says that a limit was reached.
pub(super) fn is_limit(error: &FlowError) -> bool {
    error.code.as_deref() == Some(LIMIT)
}

/// Whether the recording of an execution was ended by a limit: what its replay ran up to a limit is a trace then.
pub(super) fn is_ended_by_limit(recorded: &[Event], execution: &Execution) -> bool {
    recorded.iter().any(|event| match &event.kind {
        EventKind::BlockFinished { error: Some(error), .. } => {
            is_limit(error) && event.path.as_ref() == Some(&execution.path) && event.attempt == execution.attempt
        }
        _ => false,
    })
}

/// Says which limit ended a replay. `None` if none did, or one that ended the recording in the same way.
pub(super) fn ended_by(recorded: &[Event], replayed: &[Event]) -> Option<String> {
    let (path, limit) = limits(replayed).find(|limit| !limits(recorded).any(|known| known == *limit))?;
    let was = limits(recorded).find(|(known, _)| *known == path);
    Some(match was {
        None => format!("the replay was ended by a limit: {limit}; the hits before that are right"),
        Some((_, was)) => format!(
            "the request was ended by a limit ({was}); its replay has a larger limit and reached that, too: {limit}; \
             the last hits may lie after the end of the request"
        ),
    })
}

/// Says that the recording was ended by a limit that its replay did not reach.
pub(super) fn went_further(recorded: &[Event], replayed: &Replayed) -> Option<String> {
    let divergence = &replayed.result.first.as_ref()?.divergence;
    let (_, limit) = limits(recorded).find(|(path, _)| *path == divergence.path)?;
    Some(format!(
        "the request was ended by a limit: {limit}; its replay has larger limits and went further, so the last hits \
         may lie after the end of the request"
    ))
}

/// The blocks that a limit ended, with the messages of their errors.
fn limits(events: &[Event]) -> impl Iterator<Item = (&str, &str)> {
    events.iter().filter_map(|event| match &event.kind {
        EventKind::BlockFinished { error: Some(error), .. } | EventKind::RequestFinished { error: Some(error), .. }
            if is_limit(error) =>
        {
            Some((event.path.as_deref().unwrap_or_default(), error.message.as_str()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(path: &str, message: &str) -> Event {
        let kind = serde_json::json!({
            "kind": "block_finished", "outcome": "failed",
            "error": { "name": "LimitError", "message": message, "code": LIMIT },
        });
        let mut event: serde_json::Value = serde_json::json!({ "seq": 4, "at": 0, "path": path, "attempt": 0 });
        event.as_object_mut().expect("fields").extend(kind.as_object().expect("fields").clone());
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn a_limit_that_only_the_replay_reached_is_said() {
        let said = |recorded: &[Event], replayed: &[Event]| ended_by(recorded, replayed).unwrap_or_default();
        let (small, large) = ([failed("root", "64 MB")], [failed("root", "128 MB")]);
        let found = said(&[], &large);
        assert_eq!(found, "the replay was ended by a limit: 128 MB; the hits before that are right");
        assert!(said(&small, &large).starts_with("the request was ended by a limit (64 MB); its replay"));
        assert_eq!(ended_by(&small, &small), None);
        assert_eq!(ended_by(&small, &[]), None);
    }
}
