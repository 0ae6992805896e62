//! Events that cannot be read any more: what is whole of their requests is shown, exported and deleted as ever, but
//! nothing runs on from a log that has holes.

use engine::event::{Event, EventKind};
use serde_json::Value;
use store::OnDamaged;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::RequestRow;

impl Workspace {
    /// A request of a flow and all its events, none of them damaged.
    pub(super) fn whole_log_of(&self, request: &str) -> Result<(RequestRow, Vec<Event>), Fault> {
        let (row, events) = self.log_of(request)?;
        self.known_samples.count_whole_log();
        Self::check_not_foreign(&row)?;
        match events.iter().find(|event| event.kind.is_damaged()) {
            None => Ok((row, events)),
            Some(event) => Err(Fault::refused(format!(
                "event {} of request \"{request}\" is damaged ({}): the request can be looked at, exported and \
                 deleted, but nothing can run from it",
                event.seq,
                why(event)
            ))),
        }
    }
}

/// Passes damaged events on to somebody who is told of them in words.
pub(super) fn listener(tell: Option<fn(&str, u64, &str)>) -> OnDamaged {
    match tell {
        None => OnDamaged::default(),
        Some(tell) => OnDamaged::new(move |request, event| tell(request, event.seq, &why(event))),
    }
}

fn why(event: &Event) -> String {
    let EventKind::Unknown { fields, .. } = &event.kind else { return String::new() };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}", text("kind"), text("why"))
}
