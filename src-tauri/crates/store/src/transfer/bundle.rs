//! Requests on their way to another database, with the records they stand on.
//!
//! A bundle is a list of pieces in the order of commits: events, and records as they stood there where
//! somebody else had written them. On arrival its events become rows like any others. The records it
//! brings are keyframes at marks: events of no request, which stand only there. A mark before the
//! bundle's events puts its records in force, one after them puts back what the database had of its
//! own; so every instant of either past reads as it was, and one user may live in both.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use engine::event::Event;
use engine::resource::record;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::Store;
use crate::read::{events, states};
use crate::row::error::Error;
use crate::transfer::{import, stored_code};

/// One piece of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleRecord {
    /// A durable record as it stands here.
    Record {
        /// Which.
        scope: ScopeKey,
        /// Its version.
        version: u64,
        /// Its state.
        state: Map<String, Value>,
    },
    /// The code of a bundle that the events name.
    Code {
        /// The bundle's hash.
        hash: String,
        /// The author's files and the source map.
        code: Value,
    },
    /// The next event of a request.
    Event {
        /// Whose.
        request: Arc<str>,
        /// What happened.
        event: Box<Event>,
    },
}

/// Why a bundle was not taken; nothing of it was kept.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A session or a request of it is there already.
    #[error("{what} \"{id}\" exists already")]
    Exists {
        /// `session` or `request`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Its events do not fit together.
    #[error("the events do not fit together: {0}")]
    Unfit(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<rusqlite::Error> for ImportError {
    fn from(error: rusqlite::Error) -> Self {
        ImportError::Store(error.into())
    }
}

impl Store {
    /// These requests and the records they stand on, from one snapshot.
    pub fn bundle(&self, requests: &[String]) -> Result<Vec<BundleRecord>, Error> {
        let names = serde_json::to_string(requests)?;
        self.read(|connection| {
            let found = events::of_requests(connection, &names)?;
            let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(Vec::new()) };
            let mut scopes = Vec::new();
            for key in scopes_around(connection, &names)? {
                if let Some(n) = states::find(connection, &key)? {
                    scopes.push((written_by_others(connection, n, first.0, last.0, &names)?, key, n));
                } else if key.kind != ScopeKind::Resource {
                    scopes.push((Vec::new(), key, 0));
                }
            }
            let mut pieces = Vec::with_capacity(found.len() + scopes.len());
            let mut before = 0;
            for (id, request, event) in found {
                for (others, key, n) in &scopes {
                    if before == 0 || others.iter().any(|other| before < *other && *other < id) {
                        let record = states::at(connection, *n, id - 1)?;
                        let state = record.state.to_json().as_object().cloned().unwrap_or_default();
                        pieces.push(BundleRecord::Record { scope: key.clone(), version: record.version, state });
                    }
                }
                before = id;
                self.on_damaged.look_at(&request, std::slice::from_ref(&event));
                pieces.push(BundleRecord::Event { request, event: Box::new(event) });
            }
            let mut all = stored_code::pieces(connection, &pieces)?;
            all.extend(pieces);
            Ok(all)
        })
    }

    /// Takes a bundle in: all of it, or nothing.
    pub fn import(&self, pieces: Vec<BundleRecord>) -> Result<(), ImportError> {
        import::import(self, pieces)
    }
}

/// The requests of a bundle and their sessions.
pub(crate) fn names(pieces: &[BundleRecord]) -> Result<Vec<(&'static str, Arc<str>)>, ImportError> {
    let (mut seen, mut sessions, mut names) = (HashSet::new(), HashSet::new(), Vec::new());
    for piece in pieces {
        let BundleRecord::Event { request, event } = piece else { continue };
        if !seen.insert(request) {
            continue;
        }
        let engine::event::EventKind::RequestStarted { session, .. } = &event.kind else {
            return Err(ImportError::Unfit(format!("request \"{request}\" does not begin with its first event")));
        };
        names.push(("request", request.clone()));
        if sessions.insert(session) {
            names.push(("session", session.clone()));
        }
    }
    Ok(names)
}

/// Refuses a bundle whose sessions or requests are there already.
pub(crate) fn refuse_known(connection: &Connection, names: &[(&'static str, Arc<str>)]) -> Result<(), ImportError> {
    for (what, id) in names {
        let sql = format!("SELECT count(*) FROM {what} WHERE id = ?1");
        if connection.prepare_cached(&sql)?.query_row((&**id,), |row| row.get::<_, i64>(0))? > 0 {
            return Err(ImportError::Exists { what, id: id.to_string() });
        }
    }
    Ok(())
}

/// What the database has of its own of the records around a bundle: those that it brings, and the
/// resources of the same owners.
pub(crate) fn own_records(connection: &Connection, brought: &BTreeSet<ScopeKey>) -> Result<Vec<ScopeKey>, Error> {
    let mut own = Vec::new();
    for key in brought {
        if states::find(connection, key)?.is_some() {
            own.push(key.clone());
        }
        if key.kind != ScopeKind::Resource {
            own.extend(resources(connection, key)?.into_iter().filter(|resource| !brought.contains(resource)));
        }
    }
    Ok(own)
}

/// The sessions, users and projects of some requests, and all their resources.
fn scopes_around(connection: &Connection, names: &str) -> Result<Vec<ScopeKey>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT s.id, r.user, r.project, s.forked_from IS NOT NULL
         FROM request r JOIN session s ON s.n = r.session
         WHERE r.id IN (SELECT value FROM json_each(?1)) ORDER BY r.n",
    )?;
    let mut rows = statement.query((names,))?;
    let mut scopes: Vec<ScopeKey> = Vec::new();
    while let Some(row) = rows.next()? {
        let (session, is_fork): (String, bool) = (row.get(0)?, row.get(3)?);
        let of =
            |kind, id: String| if is_fork { ScopeKey::overlay(kind, &id, &session) } else { ScopeKey::new(kind, id) };
        let mut around = vec![of(ScopeKind::User, row.get(1)?)];
        around.extend(row.get::<_, Option<String>>(2)?.map(|project| of(ScopeKind::Project, project)));
        around.insert(0, ScopeKey::new(ScopeKind::Session, session));
        for key in around {
            if !scopes.contains(&key) {
                scopes.extend(resources(connection, &key)?);
                scopes.push(key);
            }
        }
    }
    Ok(scopes)
}

/// Every resource of an owner, the indexes of collections included.
fn resources(connection: &Connection, owner: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';') ORDER BY id",
    )?;
    let rows = statement.query_map((record::prefix(owner),), |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for id in rows {
        found.push(ScopeKey::new(ScopeKind::Resource, id?));
    }
    Ok(found)
}

/// Where, between two events, a scope changed by other requests, deleted ones too, or by what an import brought.
fn written_by_others(
    connection: &Connection,
    scope: i64,
    first: i64,
    last: i64,
    names: &str,
) -> Result<Vec<i64>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT c.event FROM change c JOIN event e ON e.id = c.event JOIN request r ON r.n = e.request
         WHERE c.scope = ?1 AND c.event > ?2 AND c.event < ?3 AND r.id NOT IN (SELECT value FROM json_each(?4))
         UNION
         SELECT k.event FROM keyframe k LEFT JOIN event e ON e.id = k.event
         WHERE k.scope = ?1 AND k.event > ?2 AND k.event < ?3 AND (e.request = 0 OR k.tombstone)",
    )?;
    let rows = statement.query_map((scope, first, last, names), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
