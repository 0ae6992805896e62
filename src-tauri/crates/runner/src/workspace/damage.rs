//! Requests with damaged events: the other events are shown, exported and deleted as usual, but nothing can run from
//! such a log.

use engine::event::{Event, EventKind};
use serde_json::Value;
use store::OnDamaged;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::RequestRow;

impl Workspace {
    /// Returns a request of a flow and all its events. Refuses a request with a damaged event.
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

/// Calls `tell` with the request, the number and a description of each damaged event.
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
