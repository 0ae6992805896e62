//! View: the edits of a fork, and the values of its origin that they replace.
//!
//! The one rule for which events are edits, and which values of a request come from a fork's edit and from no block
//! (SEMANTICS §10.6). All code that shows, compares or replays a fork uses it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::spans::{PathNumber, Span};
use crate::model::data::Data;
use crate::model::event::{Event, EventKind, ModelEdit, Recorded, Seq};
use crate::model::operation::Operation;

/// What an edit of a fork replaces or adds.
#[derive(Clone, Copy, Debug)]
pub enum ForkEdit<'e> {
    /// The input of the request.
    RequestInput(&'e Recorded),
    /// The input of the block at a path, in each execution that begins after the edit.
    Input(&'e Arc<str>, &'e Recorded),
    /// The output of the step that the fork goes on from, by its path.
    Output(&'e Arc<str>, &'e Recorded),
    /// A write to shared memory, as if the step that the fork goes on from had made it.
    State {
        /// The path of the step; absent if the fork keeps no step.
        step: Option<&'e Arc<str>>,
        /// The path of the block whose state it is; absent for the state of the request.
        of: Option<&'e str>,
        /// The write.
        operation: &'e Operation,
    },
    /// What a generator asks.
    Model(&'e ModelEdit),
}

impl<'e> ForkEdit<'e> {
    /// Returns the edit that an event records, if it records one.
    pub fn of(event: &'e Event) -> Option<ForkEdit<'e>> {
        match (&event.kind, &event.path) {
            (EventKind::InputEdited { input }, None) => Some(ForkEdit::RequestInput(input)),
            (EventKind::InputEdited { input }, Some(path)) => Some(ForkEdit::Input(path, input)),
            (EventKind::OutputEdited { output }, Some(path)) => Some(ForkEdit::Output(path, output)),
            (EventKind::StateEdited { of, operation }, step) => {
                Some(ForkEdit::State { step: step.as_ref(), of: of.as_deref(), operation })
            }
            (EventKind::ModelEdited(edit), _) => Some(ForkEdit::Model(edit)),
            _ => None,
        }
    }

    /// Returns the path of the step that the fork takes from the log as this edit left it.
    pub fn step(&self) -> Option<&'e Arc<str>> {
        match self {
            ForkEdit::Output(path, _) => Some(path),
            ForkEdit::State { step, .. } => *step,
            _ => None,
        }
    }
}

/// Returns whether an event of this kind holds a value that a person gave a fork.
pub fn is_edited_value(kind: &EventKind) -> bool {
    matches!(kind, EventKind::InputEdited { .. } | EventKind::OutputEdited { .. } | EventKind::StateEdited { .. })
}

/// Returns the value that an edit of an input or an output holds.
pub fn edited_value(kind: &EventKind) -> Option<&Recorded> {
    match kind {
        EventKind::InputEdited { input } => Some(input),
        EventKind::OutputEdited { output } => Some(output),
        _ => None,
    }
}

/// Returns the event as of which an edit holds: the first own event of the fork that made it. The log may be that of a
/// fork's fork, which keeps the edits of both.
pub fn holds_from(log: &[Event], edit: Seq) -> Seq {
    let Some(EventKind::RequestStarted { forked_from, kept, .. }) = log.first().map(|event| &event.kind) else {
        return edit;
    };
    let ends = kept.iter().map(|part| part.until).chain(forked_from.as_ref().map(|from| from.seq));
    ends.filter(|end| *end < edit).max().map_or(edit, |end| end + 1)
}

/// The event that gave a fork another input, and with which all ends that the old input led to: what a
/// replay does not do again.
pub fn edited_input(events: &[Event]) -> Option<Seq> {
    let is_edit = |event: &&Event| matches!(ForkEdit::of(event), Some(ForkEdit::RequestInput(_)));
    events.iter().rev().find(is_edit).map(|event| event.seq)
}

/// Returns whether a fork replaces the output of the block at a path.
pub fn has_edited_output(events: &[Event], of: &str) -> bool {
    events.iter().any(|event| matches!(ForkEdit::of(event), Some(ForkEdit::Output(path, _)) if **path == *of))
}

/// The inputs that a fork has instead of those that blocks were given, by path, with their events.
pub(crate) fn edited_block_inputs(events: &[Event]) -> HashMap<Arc<str>, (Seq, Data)> {
    let input = |event: &Event| match ForkEdit::of(event)? {
        ForkEdit::Input(path, Recorded::Value(input)) => Some((path.clone(), (event.seq, Data::from(input.clone())))),
        _ => None,
    };
    events.iter().filter_map(input).collect()
}

/// The steps of a fork that it goes on from as they were edited.
pub(crate) fn edited_steps(events: &[Event]) -> HashSet<Arc<str>> {
    events.iter().filter_map(|event| ForkEdit::of(event)?.step().cloned()).collect()
}

/// Which value of a block a fork gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum EditedPart {
    /// Its input: it ran with that.
    Input,
    /// Its output: it did not run.
    Output,
}

/// An edit of an input or an output, for spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEdit {
    /// The event that records it.
    pub seq: Seq,
    /// The block; absent if the request as a whole got another input.
    pub path: Option<PathNumber>,
    /// Which value it is.
    pub part: EditedPart,
}

impl SpanEdit {
    /// Returns whether the edit is what a span got or gave. `is_root` says whether the span is the root block, which
    /// gets the input of the request.
    pub fn is_of(&self, span: &Span, is_root: bool) -> bool {
        let is_there = match self.path {
            Some(path) => path == span.path,
            None => is_root && !span.is_memoized,
        };
        // The step that was edited has one more execution, which is taken from the log with the edit.
        self.seq < span.seq_start && is_there && (self.part == EditedPart::Input || span.is_memoized)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::event::BlockKind;
    use crate::views::spans::{Fact, SpanEnd, SpanEvent, Spans};

    fn event(seq: Seq, path: Option<&str>, kind: EventKind) -> Event {
        Event { seq, at: 0, path: path.map(Arc::from), attempt: 0, kind }
    }

    #[test]
    fn an_event_is_an_edit_of_one_thing() {
        let value = || Recorded::Value(json!(1));
        let state = |of: Option<&str>| EventKind::StateEdited {
            of: of.map(str::to_owned),
            operation: Operation::Patch { fields: Default::default() },
        };
        let events = [
            event(1, Some("root/a"), EventKind::OutputEdited { output: value() }),
            event(2, Some("root/b"), state(Some("root"))),
            event(3, None, state(None)),
            event(4, Some("root/c"), EventKind::InputEdited { input: value() }),
            event(5, None, EventKind::InputEdited { input: value() }),
            event(6, None, EventKind::ModelEdited(ModelEdit::default())),
            event(7, Some("root/d"), EventKind::BlockInput { input: value() }),
        ];
        let is_edit: Vec<bool> = events.iter().map(|event| ForkEdit::of(event).is_some()).collect();
        assert_eq!(is_edit, [true, true, true, true, true, true, false]);
        let steps: HashSet<Arc<str>> = ["root/a", "root/b"].into_iter().map(Arc::from).collect();
        assert_eq!(edited_steps(&events), steps);
        assert_eq!(edited_input(&events), Some(5));
        assert_eq!(edited_block_inputs(&events).into_keys().collect::<Vec<_>>(), [Arc::from("root/c")]);
        assert!(has_edited_output(&events, "root/a") && !has_edited_output(&events, "root/b"));
    }

    /// A block that ran after an edit of its output was said to have got another input.
    #[test]
    fn an_output_is_edited_where_the_block_did_not_run() {
        let mut spans = Spans::default();
        let mut push = |seq, fact| spans.push(SpanEvent { seq, at: 0, path: Some(0), attempt: seq as u32 / 10, fact });
        for (seq, is_memoized) in [(10, true), (20, false)] {
            push(seq, Fact::Started { name: 0, kind: BlockKind::Handler, parent: None, replaces_failed: false });
            push(seq + 1, Fact::Finished { end: SpanEnd::Completed, is_memoized, is_caught: false });
        }
        let is_of = |part, path, index| SpanEdit { seq: 5, path, part }.is_of(spans.get(index), true);
        assert_eq!([0, 1].map(|index| is_of(EditedPart::Output, Some(0), index)), [true, false]);
        assert_eq!([0, 1].map(|index| is_of(EditedPart::Input, Some(0), index)), [true, true]);
        assert_eq!([0, 1].map(|index| is_of(EditedPart::Input, None, index)), [false, true]);
        assert_eq!([0, 1].map(|index| is_of(EditedPart::Input, Some(1), index)), [false, false]);
    }
}
