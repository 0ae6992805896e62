//! View: which executions wait for an answer although they have ended.
//!
//! A refused answer ends the blocks that it let go on, without effect. The request waits again: the question stays, and
//! the next answer lets the same blocks go on. Rows of a timeline and blocks of a log both ask here.

use super::Events;
use super::blocks::BlockStatus;
use crate::model::event::{Event, EventKind, RequestStatus, Seq};

/// A request that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedAgain {
    /// The event with which the request was last taken up; 0 if it never was.
    pub(super) taken_up: Seq,
}

impl AskedAgain {
    /// Reads a log. `None` if its request does not wait at the end of the log.
    pub(super) fn read(events: Events<'_>) -> Option<AskedAgain> {
        let mut of_request = events.0.iter().rev().filter(|event| event.path.is_none());
        let waits = of_request.find_map(|event| match event.kind {
            EventKind::RequestStatus { status } => Some(status == RequestStatus::Suspended),
            EventKind::RequestResumed { .. } | EventKind::RequestFinished { .. } => Some(false),
            _ => None,
        });
        let resumed = |event: &&Event| matches!(event.kind, EventKind::RequestResumed { .. });
        (waits == Some(true)).then(|| AskedAgain { taken_up: of_request.find(resumed).map_or(0, |event| event.seq) })
    }

    /// Returns whether an execution waits that ended so with an event. `is_newest` says whether its path has no later
    /// execution.
    pub(super) fn waits(self, ended: (BlockStatus, Seq), is_newest: bool) -> bool {
        let (status, seq) = ended;
        status == BlockStatus::Abandoned && self.taken_up < seq && is_newest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::event::Outcome;
    use crate::views::blocks::blocks;
    use crate::views::spans::{SpanEvent, Spans, fact};

    /// The events of a request that was answered, refused the answer, and then is so.
    fn refused(then: &[EventKind]) -> Vec<Event> {
        let kind = |value: serde_json::Value| -> EventKind { serde_json::from_value(value).expect("an event") };
        let started = |name: &str, parent: Option<&str>| {
            let input = json!({ "value": 1 });
            let block = json!({ "kind": "block_started", "name": name, "block": "handler", "input": input });
            let mut block = kind(block);
            if let EventKind::BlockStarted { parent: around, .. } = &mut block {
                *around = parent.map(Arc::from);
            }
            block
        };
        let ended = |outcome: Outcome| kind(json!({ "kind": "block_finished", "outcome": outcome }));
        let status = |status: RequestStatus| EventKind::RequestStatus { status };
        let resumed = || kind(json!({ "kind": "request_resumed", "owner": "o", "epoch": 2, "codeHash": "h" }));
        let mut told = vec![
            (Some("root"), started("root", None)),
            (Some("root/a"), started("a", Some("root:0"))),
            (Some("root/a"), ended(Outcome::Suspended)),
            (Some("root"), ended(Outcome::Suspended)),
            (None, status(RequestStatus::Suspended)),
            (None, resumed()),
            (Some("root"), kind(json!({ "kind": "block_resumed", "epoch": 2 }))),
            (Some("root"), ended(Outcome::Abandoned)),
        ];
        told.extend(then.iter().cloned().map(|kind| (None, kind)));
        let event = |(seq, (path, kind)): (u64, (Option<&str>, EventKind))| Event {
            seq,
            at: seq as i64,
            path: path.map(Arc::from),
            attempt: 0,
            kind,
        };
        (1..).zip(told).map(event).collect()
    }

    /// What both say of the root block. Only a request that waits has a process that may still run it.
    fn said(events: &[Event], waits: bool) -> (BlockStatus, BlockStatus) {
        let mut spans = Spans::default();
        let mut paths: HashMap<String, u32> = HashMap::new();
        for event in events {
            let mut number = |path: &str| {
                let next = paths.len() as u32;
                *paths.entry(path.to_owned()).or_insert(next)
            };
            let path = event.path.as_deref().map(&mut number);
            if let Some(fact) = fact(&event.kind, |_| 0, |path| Some(number(path))) {
                spans.push(SpanEvent { seq: event.seq, at: event.at, path, attempt: event.attempt, fact });
            }
        }
        spans.set_waiting(waits);
        let of_log = blocks(Events::new(events), waits).first().map(|block| block.status);
        (of_log.expect("it began"), spans.status(0, waits))
    }

    #[test]
    fn rows_and_blocks_agree_on_what_a_refused_answer_left() {
        let waits = refused(&[EventKind::RequestStatus { status: RequestStatus::Suspended }]);
        assert_eq!(said(&waits, true), (BlockStatus::Suspended, BlockStatus::Suspended));
        let interrupted = refused(&[EventKind::RequestStatus { status: RequestStatus::Interrupted }]);
        assert_eq!(said(&interrupted, false), (BlockStatus::Abandoned, BlockStatus::Abandoned));
    }
}
