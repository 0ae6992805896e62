//! Compares the rows of sessions and journals with what the events of their requests derive.

use std::collections::{BTreeMap, BTreeSet};

use crate::sql::{Connection, OptionalExtension, without_nul};

use super::lists::check_annotations;
use super::{Checked, debug_difference, difference};
use crate::row::annotation::Subject;
use crate::row::error::Error;

/// A session's row as derived from events, or as stored.
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
    /// Whether it is a fork, which begins with the title of another session.
    pub(super) is_fork: bool,
    /// The id of the event that set the title; 0 if none did.
    pub(super) titled: i64,
    /// The ids of the events of its journal and metadata.
    pub(super) notes: BTreeSet<i64>,
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
        let differences = [
            ("id", debug_difference(&stored.id, &derived.id)),
            ("flow", debug_difference(&stored.flow, &derived.flow)),
            ("user", debug_difference(&stored.user, &derived.user)),
            ("project", debug_difference(&stored.project, &derived.project)),
            ("kind", difference(&stored.ephemeral, &derived.ephemeral)),
            ("title", debug_difference(&stored.title, &derived.title).filter(|_| !is_named_before)),
            ("beginning", difference(&stored.created_at, &derived.created_at)),
            ("last change", difference(&stored.updated_at, &derived.updated_at)),
            ("count of requests", difference(&stored.requests, &derived.requests)),
            ("count of items", difference(&stored.items, &derived.items)),
            ("newest request", debug_difference(&stored.last_request, &derived.last_request)),
            ("journal", debug_difference(&stored.notes, &derived.notes)),
        ];
        for (field, difference) in differences {
            if let Some((stored, derived)) = difference {
                let id = &sessions[n].id;
                found.add(None, None, format!("session \"{id}\": its {field} is {stored}; its events say {derived}"));
            }
        }
        let given: Option<String> = connection
            .prepare_cached("SELECT given_title FROM session WHERE n = ?1")?
            .query_row((n,), |row| row.get(0))?;
        check_annotations(connection, (Subject::Session, *n), given, &mut |what, by, difference| {
            if let Some((stored, derived)) = difference {
                let id = &sessions[n].id;
                let what = format!("session \"{id}\": its {what} is {stored}; its {by} say {derived}");
                found.add(None, None, what);
            }
        })?;
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
            "SELECT id, flow, user, project, ephemeral, flow_title, created_at, updated_at, requests, items,
                 last_request
             FROM session WHERE n = ?1",
        )?
        .query_row((n,), |row| {
            Ok(Expected {
                id: row.get(0)?,
                flow: row.get(1)?,
                user: row.get(2)?,
                project: row.get(3)?,
                ephemeral: row.get(4)?,
                title: row.get::<_, Option<String>>(5)?.map(without_nul),
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
