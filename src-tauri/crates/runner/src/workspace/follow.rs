//! Follows a request while it runs.
//!
//! Events are passed on in order, as they are committed. A write to a durable record becomes final with the commit that
//! names it, so it and later events are held back for it, for a short time at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use engine::event::{Event, EventKind};
use engine::views::in_force::{put_in_force, waits_for_commit};
use engine::views::model_requests::Requests;
use store::EventQuery;

use super::Workspace;
use super::news::is_unfinished;
use crate::core::fault::Fault;
use crate::core::notice::Notice;
use crate::views::EventRow;

/// How long a write is held back for the commit with its final value and version. After that it is passed on with the
/// value that its block saw.
const MAX_HOLD: Duration = Duration::from_millis(250);
/// How long to wait for a notice. A lost notice costs this time, but never an event.
const MAX_SILENCE: Duration = Duration::from_millis(100);

impl Workspace {
    /// Follows a request's committed events from the first one until it ends or waits for an answer. Any process may
    /// run it.
    pub fn follow(&self, request: &str, mut each: impl FnMut(EventRow)) -> Result<(), Fault> {
        let (sender, news) = std::sync::mpsc::channel();
        let wanted = request.to_owned();
        let id = self.listen(move |notice| {
            if let Notice::Request { request_id, .. } = notice
                && *request_id == wanted
            {
                // Ignore a follower that has already seen the end.
                let _ = sender.send(());
            }
        });
        let (mut seen, mut held, mut requests) = (0, Held::default(), Requests::default());
        let result = loop {
            let query = EventQuery { from: Some(seen + 1), ..EventQuery::default() };
            let events = match self.store.events(request, &query) {
                Ok(events) => events,
                Err(error) => break Err(Fault::internal(error)),
            };
            seen = events.last().map_or(seen, |event| event.seq);
            let ended = matches!(events.last().map(|event| &event.kind), Some(EventKind::RequestFinished { .. }));
            let is_over = ended
                || events.is_empty()
                    && match self.request(request) {
                        Ok(row) => row.last_seq == seen && !is_unfinished(row.status),
                        Err(fault) => break Err(fault),
                    };
            events.iter().for_each(|event| requests.read(event));
            held.add(events);
            while let Some(event) = held.next(is_over) {
                each(EventRow::new(request, requests.resolve(&event).as_ref().unwrap_or(&event)));
            }
            if is_over {
                break Ok(());
            }
            // Read the events even without a notice.
            let _ = news.recv_timeout(held.until_due().map_or(MAX_SILENCE, |due| due.min(MAX_SILENCE)));
        };
        self.unlisten(id);
        result
    }
}

/// Events that were not passed on yet.
#[derive(Default)]
struct Held {
    events: VecDeque<(Instant, Event)>,
}

impl Held {
    fn add(&mut self, events: Vec<Event>) {
        let now = Instant::now();
        self.events.extend(events.into_iter().map(|event| (now, event)));
    }

    /// The next event that can be passed on; any event if no more will come.
    fn next(&mut self, is_over: bool) -> Option<Event> {
        let (since, first) = self.events.front()?;
        if waits_for_commit(first) {
            let first_seq = first.seq;
            let commits = self.events.iter().flat_map(|(_, event)| event.kind.commits());
            let commit = commits.into_iter().find(|commit| commit.operations.contains(&first_seq)).cloned();
            let has_ended = self.events.iter().any(|(_, event)| {
                matches!(event.kind, EventKind::BlockFinished { .. })
                    && (&event.path, event.attempt) == (&first.path, first.attempt)
            });
            if commit.is_none() && !has_ended && !is_over && since.elapsed() < MAX_HOLD {
                return None;
            }
            let (_, mut event) = self.events.pop_front()?;
            commit.iter().for_each(|commit| put_in_force(&mut event, commit));
            return Some(event);
        }
        self.events.pop_front().map(|(_, event)| event)
    }

    /// How long the first event may still be held back.
    fn until_due(&self) -> Option<Duration> {
        self.events.front().map(|(since, _)| MAX_HOLD.saturating_sub(since.elapsed()))
    }
}
