//! Following a request while it runs.

use engine::event::EventKind;
use store::EventQuery;

use super::Workspace;
use super::news::is_unfinished;
use crate::fault::Fault;
use crate::notice::Notice;
use crate::views::EventRow;

impl Workspace {
    /// Follows a request's committed events until it ends or waits for somebody, from its first, whatever process
    /// runs it.
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
        let mut seen = 0;
        let result = loop {
            let query = EventQuery { from: Some(seen + 1), ..EventQuery::default() };
            let events = match self.store.events(request, &query) {
                Ok(events) => events,
                Err(error) => break Err(Fault::internal(error)),
            };
            let ended = matches!(events.last().map(|event| &event.kind), Some(EventKind::RequestFinished { .. }));
            for event in &events {
                seen = event.seq;
                each(EventRow::new(request, event));
            }
            if ended {
                break Ok(());
            }
            if events.is_empty() {
                match self.request(request) {
                    Ok(row) if row.last_seq == seen && !is_unfinished(row.status) => break Ok(()),
                    Ok(_) => {}
                    Err(fault) => break Err(fault),
                }
            }
            // A lost notice costs a tenth of a second, never an event.
            let _ = news.recv_timeout(std::time::Duration::from_millis(100));
        };
        self.unlisten(id);
        result
    }
}
