//! The rows of sessions and their journals, compared with what the events of their requests come to.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};

use super::Checked;
use crate::row::error::Error;

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

pub(super) fn check(
    connection: &Connection,
    found: &mut Checked,
    sessions: &BTreeMap<i64, Expected>,
) -> Result<(), Error> {
    for (n, made) in sessions {
        let told = read(connection, *n)?;
        let Some(told) = told else {
            found.add(None, None, format!("session \"{}\" has no row", made.id));
            continue;
        };
        let told = Expected { titled: made.titled, notes: notes(connection, *n)?, ..told };
        let is_named_before = made.is_fork && made.titled == 0;
        for (field, differs, told, made) in [
            ("id", told.id != made.id, format!("{:?}", told.id), format!("{:?}", made.id)),
            ("flow", told.flow != made.flow, format!("{:?}", told.flow), format!("{:?}", made.flow)),
            ("user", told.user != made.user, format!("{:?}", told.user), format!("{:?}", made.user)),
            ("project", told.project != made.project, format!("{:?}", told.project), format!("{:?}", made.project)),
            ("kind", told.ephemeral != made.ephemeral, told.ephemeral.to_string(), made.ephemeral.to_string()),
            (
                "title",
                told.title != made.title && !is_named_before,
                format!("{:?}", told.title),
                format!("{:?}", made.title),
            ),
            ("beginning", told.created_at != made.created_at, told.created_at.to_string(), made.created_at.to_string()),
            (
                "last change",
                told.updated_at != made.updated_at,
                told.updated_at.to_string(),
                made.updated_at.to_string(),
            ),
            ("count of requests", told.requests != made.requests, told.requests.to_string(), made.requests.to_string()),
            ("count of items", told.items != made.items, told.items.to_string(), made.items.to_string()),
            (
                "newest request",
                told.last_request != made.last_request,
                format!("{:?}", told.last_request),
                format!("{:?}", made.last_request),
            ),
            ("journal", told.notes != made.notes, format!("{:?}", told.notes), format!("{:?}", made.notes)),
        ] {
            if differs {
                let id = &sessions[n].id;
                found.add(None, None, format!("session \"{id}\": its {field} is {told}; its events say {made}"));
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
