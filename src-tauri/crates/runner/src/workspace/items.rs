//! The items of a session or a request, as an audience sees them.

mod conversation;

use std::sync::Arc;

use engine::event::RequestStatus;
use engine::retention::Retention;
use engine::views::Events;
use engine::views::history::{self, Limit, Query};
use engine::views::items::{Audience, Item, items};
use engine::views::retention::Past;
use store::EventQuery;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::ItemRow;

impl Workspace {
    /// The items of a request or a session, as an audience sees them, oldest first. A limit cuts off the oldest, as for
    /// a flow. The history of a session has only its completed requests.
    pub fn items(
        &self,
        session: Option<&str>,
        request: Option<&str>,
        audience: Audience,
        limit: Option<Limit>,
    ) -> Result<Vec<ItemRow>, Fault> {
        let requests = match (session, request) {
            (_, Some(request)) => vec![self.request(request)?],
            (Some(session), None) => {
                self.session(session)?;
                let rows = self.store.requests_of(session).map_err(Fault::internal)?;
                let mut rows: Vec<_> = rows.into_iter().map(|row| self.request_row(row)).collect();
                if audience == Audience::History {
                    rows.retain(|row| row.status == RequestStatus::Completed);
                }
                rows
            }
            (None, None) => return Err(Fault::invalid("name a session or a request")),
        };
        let mut turns = Vec::new();
        let mut past = Vec::new();
        let mut retention = None;
        for request in requests {
            let events = self.store.events(&request.id, &EventQuery::default()).map_err(Fault::internal)?;
            let id: Arc<str> = request.id.into();
            let mut turn = items(&id, Events::new(&events), !request.status.is_terminal());
            if is_left_out_of_history(request.status) {
                turn.iter_mut().for_each(|item| item.visibility.history = false);
            }
            // The retention at the start of the newest request counts.
            retention = Retention::recorded(&events);
            if request.status == RequestStatus::Completed {
                let lasting = turn.iter().filter(|item| !item.transient).count();
                past.push((turns.len(), Past::of(&events, lasting)));
            }
            turns.push(turn);
        }
        if let Some((retention, now)) = retention.filter(|_| session.is_some()) {
            forget(&mut turns, past, &retention, now);
        }
        let lasting = matches!(audience, Audience::Client | Audience::History);
        let query = Query { limit, include_transient: !lasting, ..Query::default() };
        let seen = history::select(turns, Vec::new(), audience, &query).into_iter();
        Ok(seen.map(|item| as_seen(ItemRow::from(item), audience)).collect())
    }
}

/// An item as an audience sees it. A client does not see the written value of a state change, only what the scope
/// exposes (SEMANTICS §7.4).
pub(super) fn as_seen(mut item: ItemRow, audience: Audience) -> ItemRow {
    if matches!(audience, Audience::Client | Audience::History) && item.item_type == "state_change" {
        item.payload.retain(|field, _| field != "delta" && field != "value");
    }
    item
}

/// Whether later model calls leave out the items of a request, because it ended without completing (SEMANTICS §7.4).
pub(super) fn is_left_out_of_history(status: RequestStatus) -> bool {
    status.is_terminal() && status != RequestStatus::Completed
}

/// Removes the turns of completed requests that the session's retention no longer keeps.
fn forget(turns: &mut Vec<Vec<Item>>, past: Vec<(usize, Past)>, retention: &Retention, now: i64) {
    let requests: Vec<Past> = past.iter().map(|(_, past)| *past).collect();
    let gone: Vec<usize> = past[..retention.evicts(&requests, now)].iter().map(|(at, _)| *at).collect();
    let mut at = 0;
    turns.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}
