//! The rows of sessions and their journals, compared with what the events of their requests come to.

use std::collections::{BTreeMap, BTreeSet};

use engine::event::EventKind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use super::Checked;
use crate::row::error::Error;
use crate::row::totals;
use crate::write::rows;

/// What a session's row must say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expected {
    pub(super) id: String,
    pub(super) flow: String,
    pub(super) user: String,
    pub(super) project: Option<String>,
    pub(super) ephemeral: bool,
    pub(super) title: Option<String>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) requests: i64,
    pub(super) items: i64,
    pub(super) last_request: Option<i64>,
    /// Whether it began with the title that another session had.
    pub(super) is_fork: bool,
    /// The event that set the title.
    pub(super) titled: i64,
    /// The events of its journal and its metadata.
    pub(super) notes: BTreeSet<i64>,
}

impl Expected {
    /// Follows an event of one of its requests: `request` is that one's number, `event` the event's own.
    pub(super) fn follow(&mut self, request: i64, event: i64, at: i64, kind: &EventKind) {
        if let EventKind::RequestStarted { session: id, flow, user, project, ephemeral, forked_from, .. } = kind {
            // Rows are made in the order of their first events.
            if self.last_request.is_none() {
                self.id = id.to_string();
                self.flow.clone_from(flow);
                self.user = user.to_string();
                self.project = project.as_ref().map(ToString::to_string);
                self.ephemeral = *ephemeral;
                self.is_fork = forked_from.is_some();
                self.created_at = at;
                self.updated_at = at;
            }
            self.last_request = Some(request);
        }
        if rows::is_of_request(kind) || totals::items(kind) > 0 {
            self.updated_at = self.updated_at.max(at);
        }
        self.items += totals::items(kind);
        if matches!(kind, EventKind::MetadataSet { .. } | EventKind::JournalAppended { .. }) {
            self.notes.insert(event);
        }
        if let EventKind::MetadataSet { metadata } = kind
            && let Some(title) = metadata.get("title").and_then(Value::as_str)
            && event > self.titled
        {
            (self.title, self.titled) = (Some(title.to_owned()), event);
        }
    }
}

pub(super) fn check(
    connection: &Connection,
    found: &mut Checked,
    sessions: &BTreeMap<i64, Expected>,
) -> Result<(), Error> {
    for (n, derived) in sessions {
        let stored = read(connection, *n)?;
        let Some(stored) = stored else {
            found.add(None, None, format!("session \"{}\" has no row", derived.id));
            continue;
        };
        let stored = Expected { titled: derived.titled, notes: notes(connection, *n)?, ..stored };
        let is_named_before = derived.is_fork && derived.titled == 0;
        for (field, differs, stored, derived) in [
            ("id", stored.id != derived.id, format!("{:?}", stored.id), format!("{:?}", derived.id)),
            ("flow", stored.flow != derived.flow, format!("{:?}", stored.flow), format!("{:?}", derived.flow)),
            ("user", stored.user != derived.user, format!("{:?}", stored.user), format!("{:?}", derived.user)),
            (
                "project",
                stored.project != derived.project,
                format!("{:?}", stored.project),
                format!("{:?}", derived.project),
            ),
            (
                "kind",
                stored.ephemeral != derived.ephemeral,
                stored.ephemeral.to_string(),
                derived.ephemeral.to_string(),
            ),
            (
                "title",
                stored.title != derived.title && !is_named_before,
                format!("{:?}", stored.title),
                format!("{:?}", derived.title),
            ),
            (
                "beginning",
                stored.created_at != derived.created_at,
                stored.created_at.to_string(),
                derived.created_at.to_string(),
            ),
            (
                "last change",
                stored.updated_at != derived.updated_at,
                stored.updated_at.to_string(),
                derived.updated_at.to_string(),
            ),
            (
                "count of requests",
                stored.requests != derived.requests,
                stored.requests.to_string(),
                derived.requests.to_string(),
            ),
            ("count of items", stored.items != derived.items, stored.items.to_string(), derived.items.to_string()),
            (
                "newest request",
                stored.last_request != derived.last_request,
                format!("{:?}", stored.last_request),
                format!("{:?}", derived.last_request),
            ),
            ("journal", stored.notes != derived.notes, format!("{:?}", stored.notes), format!("{:?}", derived.notes)),
        ] {
            if differs {
                let id = &sessions[n].id;
                found.add(None, None, format!("session \"{id}\": its {field} is {stored}; its events say {derived}"));
            }
        }
    }
    let mut statement = connection.prepare("SELECT n, id FROM session")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        if !sessions.contains_key(&row.get(0)?) {
            found.add(None, None, format!("session \"{}\" has no requests", row.get::<_, String>(1)?));
        }
    }
    Ok(())
}

fn read(connection: &Connection, n: i64) -> Result<Option<Expected>, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT id, flow, user, project, ephemeral, title, created_at, updated_at, requests, items, last_request
             FROM session WHERE n = ?1",
        )?
        .query_row((n,), |row| {
            Ok(Expected {
                id: row.get(0)?,
                flow: row.get(1)?,
                user: row.get(2)?,
                project: row.get(3)?,
                ephemeral: row.get(4)?,
                title: row.get(5)?,
                created_at: row.get(6)?,
                updated_at: row.get(7)?,
                requests: row.get(8)?,
                items: row.get(9)?,
                last_request: row.get(10)?,
                ..Expected::default()
            })
        })
        .optional()?)
}

fn notes(connection: &Connection, session: i64) -> Result<BTreeSet<i64>, Error> {
    let mut statement = connection.prepare_cached("SELECT event FROM journal WHERE session = ?1")?;
    let rows = statement.query_map((session,), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
