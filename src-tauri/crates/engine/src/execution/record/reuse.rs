//! How a resume takes from the log what has ended.

use serde_json::Value;

use crate::execution::record::alignment::Alignment;
use crate::execution::record::cache::recorded_items::RecordedItems;
use crate::model::event::{Event, EventKind};

/// How a resume takes from the log what has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// What has ended stays as it is: nothing of it is recorded again (SEMANTICS §10.2).
    ByReference,
    /// What has ended is recorded again, as memoized: in a replay, which has a log of its own; if operations have other
    /// paths in today's code, or a block that runs others is another one; and if an earlier resume has done so.
    Repeated,
}

impl Reuse {
    /// Returns how a resume of these events takes what has ended.
    pub(crate) fn of(events: &[Event], alignment: &Alignment) -> Reuse {
        let repeats = |event: &Event| matches!(event.kind, EventKind::RequestResumed { keeps_ended: false, .. });
        let keeps_ended = alignment.keeps_paths() && !events.iter().any(repeats);
        if keeps_ended { Reuse::ByReference } else { Reuse::Repeated }
    }
}

/// One execution of a path that the log has.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// Which execution.
    pub(crate) attempt: u32,
    /// The recorded initial value of its own state; `None` if the log has none, and the schema of today gives it.
    pub(crate) own: Option<Value>,
    /// The items of its earlier runs, if it goes on.
    pub(crate) items: RecordedItems,
}

impl Instance {
    /// An execution without an earlier run that goes on.
    pub(crate) fn of(attempt: u32) -> Instance {
        Instance { attempt, own: None, items: RecordedItems::default() }
    }
}
