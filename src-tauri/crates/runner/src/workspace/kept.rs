//! What a session and a request keep for others: journal, checkpoints, items.

use std::sync::Arc;

use engine::event::RequestStatus;
use engine::log::NoteKind;
use engine::views::Events;
use engine::views::history::{self, Limit, Query};
use engine::views::items::{Audience, items};
use engine::views::snapshots::snapshots;
use serde_json::Value;
use store::{EventQuery, RequestQuery};

use super::Workspace;
use crate::fault::Fault;
use crate::views::*;

impl Workspace {
    /// The journal of a session, oldest first; with a tag, the entries that carry it.
    pub fn journal(&self, session: &str, tag: Option<&str>) -> Result<Vec<Json>, Fault> {
        self.session(session)?;
        let notes = self.store.notes_of(session, NoteKind::Journal).map_err(Fault::internal)?;
        let tagged = |entry: &Value| {
            let tags = entry["tags"].as_array();
            tag.is_none_or(|tag| tags.is_some_and(|tags| tags.iter().any(|own| own == tag)))
        };
        Ok(notes.into_iter().map(|note| note.entry).filter(tagged).map(Json).collect())
    }

    /// The checkpoints of a request: the latest of every durable sequencer instance, oldest first.
    pub fn checkpoints(&self, request: &str) -> Result<Vec<CheckpointRow>, Fault> {
        let (_, events) = self.log_of(request)?;
        let mut found: Vec<_> = snapshots(Events::new(&events)).into_iter().filter(|(_, one)| one.durable).collect();
        found.sort_by_key(|(seq, _)| *seq);
        let rows = found.into_iter().map(|(_, one)| CheckpointRow {
            block_instance_id: one.instance.to_string(),
            path: one.path.to_string(),
            state: Json(one.state.to_json()),
            version: one.version,
            step_name: one.step_name.to_string(),
            terminal: one.terminal,
            created_at: one.at,
        });
        Ok(rows.collect())
    }

    /// The items of a request or a session, as an audience sees them, oldest first. A limit cuts off
    /// the oldest, as it does for a flow; the history of a session is that of its completed requests.
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
                let query = RequestQuery { session: Some(session.to_owned()), ..RequestQuery::default() };
                let mut rows = self.requests(query)?;
                rows.reverse();
                if audience == Audience::History {
                    rows.retain(|row| row.status == RequestStatus::Completed);
                }
                rows
            }
            (None, None) => return Err(Fault::invalid("name a session or a request")),
        };
        let mut turns = Vec::new();
        for request in requests {
            let events = self.store.events(&request.id, &EventQuery::default()).map_err(Fault::internal)?;
            let id: Arc<str> = request.id.into();
            turns.push(items(&id, Events::new(&events), !request.status.is_terminal()));
        }
        let lasting = matches!(audience, Audience::Client | Audience::History);
        let query = Query { limit, include_transient: !lasting, ..Query::default() };
        Ok(history::select(turns, Vec::new(), audience, &query).into_iter().map(ItemRow::from).collect())
    }
}
