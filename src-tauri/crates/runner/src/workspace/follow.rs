//! Following a request while it runs.

use engine::event::EventKind;
use engine::views::asked::Requests;
use store::EventQuery;

use super::Workspace;
use crate::fault::Fault;
use crate::notice::Notice;
use crate::views::EventRow;

impl Workspace {
    /// Follows a request's committed events until it ends, from its first.
    pub fn follow(&self, request: &str, mut each: impl FnMut(EventRow)) -> Result<(), Fault> {
        let (sender, news) = std::sync::mpsc::channel();
        let wanted = request.to_owned();
        let id = self.listen(move |notice| {
            if let Notice::Request { request_id, .. } = notice
                && *request_id == wanted
            {
                // The follower may have seen the end already.
                let _ = sender.send(());
            }
        });
        let (mut seen, mut requests) = (0, Requests::default());
        let result = loop {
            let query = EventQuery { from: Some(seen + 1), ..EventQuery::default() };
            let events = match self.store.events(request, &query) {
                Ok(events) => events,
                Err(error) => break Err(Fault::internal(error)),
            };
            let ended = events.iter().any(|event| matches!(event.kind, EventKind::RequestFinished { .. }));
            for event in &events {
                seen = event.seq;
                requests.read(event);
                each(EventRow::new(request, requests.resolve(event).as_ref().unwrap_or(event)));
            }
            if ended || !self.runs_here(request) && events.is_empty() {
                break Ok(());
            }
            // A lost notice costs a tenth of a second, never an event.
            let _ = news.recv_timeout(std::time::Duration::from_millis(100));
        };
        self.unlisten(id);
        result
    }
}
