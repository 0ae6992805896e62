//! Bundles: requests to copy to another database, with the durable records that they use.
//!
//! A bundle is a list in the order of commits: events, and snapshots of records wherever requests outside the bundle
//! had written them. An import stores its events like any others. Its snapshots become keyframes at `records_imported`
//! events, which belong to no request. Such an event before the bundle's events sets the records to the bundle's
//! snapshots; one after them sets them back to the database's own states. So the state as of any event, imported or
//! not, is what it was where the event happened, and the same user can exist in both databases.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{Event, Seq};
use engine::resource::record;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Map, Value};

use crate::Store;
use crate::read::{events, owners, states};
use crate::row::annotation::{self, Annotation, Subject};
use crate::row::error::{AtFile, Error};
use crate::transfer::{import, stored_code};

/// An entry of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleRecord {
    /// The state of a durable record at this point.
    Record {
        /// The record's scope.
        scope: ScopeKey,
        /// Its version.
        version: u64,
        /// Its state.
        state: Map<String, Value>,
    },
    /// The code that events in the bundle name. (A *code bundle* is the output of the bundler.)
    Code {
        /// The hash of the code bundle.
        hash: String,
        /// The author's files and the source map.
        code: Value,
    },
    /// The next event of a request.
    Event {
        /// The id of the request.
        request: Arc<str>,
        /// The event.
        event: Box<Event>,
    },
    /// What a person added to a request or a session of the bundle; after its events.
    Annotation {
        /// To which of the two.
        subject: Subject,
        /// The id of the request or the session.
        id: Arc<str>,
        /// What was added.
        annotation: Annotation,
    },
}

/// What of a bundle does not fit, and where that is, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfit {
    /// What is wrong, for people.
    pub what: String,
    /// The event that it is at.
    pub event: Option<(Arc<str>, Seq)>,
    /// The record, and its version, that it is at.
    pub record: Option<(ScopeKey, u64)>,
}

impl Unfit {
    /// What is wrong somewhere.
    pub(crate) fn new(what: String) -> Unfit {
        Unfit { what, ..Unfit::default() }
    }

    /// What is wrong with an event of a request.
    pub(crate) fn at(request: &Arc<str>, seq: Seq, what: String) -> Unfit {
        Unfit { what, event: Some((request.clone(), seq)), record: None }
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Why a bundle was not imported. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A session or a request with its id exists already.
    #[error("{what} \"{id}\" exists already")]
    Exists {
        /// `session` or `request`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Another import, which has not ended, brings a request with its id.
    #[error("request \"{id}\" is being imported by another process")]
    Reserved {
        /// Its id.
        id: String,
    },
    /// Its events are inconsistent.
    #[error("the events do not fit together: {0}")]
    Unfit(Unfit),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<crate::sql::Error> for ImportError {
    fn from(error: crate::sql::Error) -> Self {
        ImportError::Store(error.into())
    }
}

impl AtFile for ImportError {
    fn at_file(self, path: &Path) -> Self {
        match self {
            ImportError::Store(error) => ImportError::Store(error.at(path)),
            other => other,
        }
    }
}

impl Store {
    /// Exports these requests, and the durable records that they use, from one snapshot. Holds all of it in memory.
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
            let mut records = Vec::with_capacity(found.len() + scopes.len());
            let mut before = 0;
            for (id, request, event) in found {
                for (others, key, n) in &scopes {
                    if before == 0 || others.iter().any(|other| before < *other && *other < id) {
                        let state_record = states::at(connection, *n, id - 1)?;
                        let state = state_record.state.to_json().as_object().cloned().unwrap_or_default();
                        records.push(BundleRecord::Record { scope: key.clone(), version: state_record.version, state });
                    }
                }
                before = id;
                self.on_damaged.report_damaged(&request, std::slice::from_ref(&event));
                records.push(BundleRecord::Event { request, event: Box::new(event) });
            }
            let mut all = stored_code::bundled_code(connection, &records)?;
            all.extend(records);
            all.extend(annotations_of(connection, &names)?);
            Ok(all)
        })
    }

    /// Whether an import, in any process, has reserved the id of a request and not ended. If its process has died, the
    /// next import ends it.
    pub fn is_being_imported(&self, request: &str) -> Result<bool, Error> {
        self.read(|connection| is_reserved(connection, request))
    }

    /// Imports a bundle: all of it, or nothing. Blocks until it is done; other threads and processes can write
    /// meanwhile.
    pub fn import(&self, records: Vec<BundleRecord>) -> Result<(), ImportError> {
        import::import(self, records)
    }

    /// Replaces everything in a database that was opened with [`Durability::Scratch`](crate::Durability::Scratch) by a
    /// bundle: all of it, or nothing. Any other database is refused. No listener is called.
    pub fn replace_all(&self, records: Vec<BundleRecord>) -> Result<(), ImportError> {
        import::replace_all(self, records)
    }
}

/// What people added to the requests, and to those of their sessions of which the bundle has all requests.
fn annotations_of(connection: &Connection, names: &str) -> Result<Vec<BundleRecord>, Error> {
    let requests = "SELECT n, id FROM request WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY n";
    let sessions = "SELECT s.n, s.id FROM session s
         JOIN request r ON r.session = s.n AND r.id IN (SELECT value FROM json_each(?1))
         GROUP BY s.n HAVING count(*) = s.requests ORDER BY s.n";
    let mut found = Vec::new();
    for (subject, sql) in [(Subject::Request, requests), (Subject::Session, sessions)] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query((names,))?;
        while let Some(row) = rows.next()? {
            let id: Arc<str> = row.get(1)?;
            let added = annotation::all_of(connection, subject, row.get(0)?)?;
            let records =
                added.into_iter().map(|annotation| BundleRecord::Annotation { subject, id: id.clone(), annotation });
            found.extend(records);
        }
    }
    Ok(found)
}

/// The ids of a bundle's requests and sessions, each after the word `request` or `session`.
pub(crate) fn names(records: &[BundleRecord]) -> Result<Vec<(&'static str, Arc<str>)>, ImportError> {
    let (mut seen, mut sessions, mut names) = (HashSet::new(), HashSet::new(), Vec::new());
    for record in records {
        let BundleRecord::Event { request, event } = record else { continue };
        if !seen.insert(request) {
            continue;
        }
        let engine::event::EventKind::RequestStarted { session, .. } = &event.kind else {
            let what = format!("request \"{request}\" does not begin with its first event");
            return Err(ImportError::Unfit(Unfit::at(request, event.seq, what)));
        };
        names.push(("request", request.clone()));
        if sessions.insert(session) {
            names.push(("session", session.clone()));
        }
    }
    Ok(names)
}

/// Refuses a bundle if another import, which has not ended, brings one of its requests.
pub(crate) fn refuse_reserved(connection: &Connection, names: &[(&'static str, Arc<str>)]) -> Result<(), ImportError> {
    for (_, id) in names.iter().filter(|(what, _)| *what == "request") {
        if is_reserved(connection, id)? {
            return Err(ImportError::Reserved { id: id.to_string() });
        }
    }
    Ok(())
}

fn is_reserved(connection: &Connection, request: &str) -> Result<bool, Error> {
    let sql = "SELECT count(*) FROM removal WHERE kind = 'request' AND name = ?1 AND import <> ''";
    Ok(connection.prepare_cached(sql)?.query_row((request,), |row| row.get::<_, i64>(0))? > 0)
}

/// Refuses a bundle if one of its sessions or requests exists already.
pub(crate) fn refuse_known(connection: &Connection, names: &[(&'static str, Arc<str>)]) -> Result<(), ImportError> {
    for (what, id) in names {
        let sql = format!("SELECT count(*) FROM {what} WHERE id = ?1");
        if connection.prepare_cached(&sql)?.query_row((&**id,), |row| row.get::<_, i64>(0))? > 0 {
            return Err(ImportError::Exists { what, id: id.to_string() });
        }
    }
    Ok(())
}

/// The records of this database that an import hides or replaces: those that the bundle brings, and all resources of
/// the same owners.
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

/// The scopes of the sessions, users and projects of some requests, and all their resources.
fn scopes_around(connection: &Connection, names: &str) -> Result<Vec<ScopeKey>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM request WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY n")?;
    let mut rows = statement.query((names,))?;
    let (mut scopes, mut keys): (Vec<ScopeKey>, _) = (Vec::new(), BTreeSet::new());
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let mut owners = owners::of_request(connection, &id)?.map(|(_, owners)| owners).unwrap_or_default();
        // The session, which is last, first.
        owners.reverse();
        for owner in owners {
            // A user's requests may keep state apart or not, by the flow they ran; the resources come once.
            if keys.insert(owner.key.clone()) {
                scopes.extend(resources(connection, &owner.key)?);
            }
            // State that is kept apart comes without what other flows share.
            if !scopes.contains(&owner.state) {
                scopes.push(owner.state);
            }
        }
    }
    Ok(scopes)
}

/// All resources of a scope, and the indexes of its collections.
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

/// The events between `first` and `last` at which a scope was changed by requests outside the bundle, deleted ones
/// included, or by an import.
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
         WHERE k.scope = ?1 AND k.event > ?2 AND k.event < ?3 AND (e.request = 0 OR k.tombstone = 1)",
    )?;
    let rows = statement.query_map((scope, first, last, names), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
