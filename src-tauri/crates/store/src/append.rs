//! From events to rows: what one append changes, inside the writer's transaction.
//!
//! Everything but the event rows themselves is derived here and nowhere else.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, RequestStatus, ScopeCommit};
use engine::log::AppendError;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::{Connection, OptionalExtension};

use crate::body::{self, Weight};
use crate::error::Error;
use crate::scopes::{Live, Records, immediate};

/// What the writer remembers of a request while it runs.
#[derive(Default)]
pub(crate) struct Known {
    n: i64,
    last: u64,
    session: i64,
    /// Global ids of events that a later commit may name, by `seq`.
    operations: HashMap<u64, (i64, EventKind)>,
    scopes: HashMap<ScopeKey, Live>,
}

/// All requests that run, as the writer knows them.
pub(crate) type Requests = HashMap<Arc<str>, Known>;

/// Applies one append. An `Err` inside means it was refused and wrote nothing (or, for a conflict,
/// only its evidence); an `Err` outside means the transaction is spoilt.
pub(crate) fn append(
    connection: &Connection,
    requests: &mut Requests,
    request: &Arc<str>,
    events: &mut [Event],
    records: &mut Vec<(ScopeKey, engine::log::Record)>,
) -> Result<Result<(), AppendError>, Error> {
    let Some(first) = events.first() else { return Ok(Ok(())) };
    if !requests.contains_key(request) {
        match find(connection, request)? {
            Some(_) if first.seq == 1 => return Ok(Err(AppendError::Exists)),
            Some(known) => drop(requests.insert(request.clone(), known)),
            None if matches!(first.kind, EventKind::RequestStarted { .. }) => {
                let known = create(connection, request, first)?;
                requests.insert(request.clone(), known);
            }
            None => return Ok(Err(AppendError::Storage(format!("request \"{request}\" was never started")))),
        }
    } else if matches!(first.kind, EventKind::RequestStarted { .. }) {
        return Ok(Err(AppendError::Exists));
    }
    let Some(known) = requests.get_mut(request) else { return Ok(Ok(())) };
    if first.seq != known.last + 1 {
        return Ok(Err(AppendError::OutOfOrder { last: known.last, found: first.seq }));
    }
    let lost = conflicts(connection, events)?;
    if !lost.is_empty() {
        for event in events.iter_mut().filter(|event| !event.kind.commits().is_empty()) {
            event.kind = EventKind::CommitRefused { scopes: lost.clone() };
        }
    }
    let mut weight = Weight::default();
    let mut items = 0;
    for event in events.iter() {
        let text = body::write(connection, &event.kind, &mut weight)?;
        connection
            .prepare_cached(
                "INSERT INTO event (request, seq, at, kind, path, attempt, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((known.n, event.seq, event.at, event.kind.name(), event.path.as_deref(), event.attempt, text))?;
        let id = connection.last_insert_rowid();
        known.last = event.seq;
        derive(connection, known, event, id, records)?;
        if matches!(&event.kind, EventKind::ItemAdded { item } if !item.transient) {
            items += 1;
        }
    }
    let at = events.last().map_or(0, |event| event.at);
    connection
        .prepare_cached("UPDATE request SET last_seq = ?2 WHERE n = ?1")?
        .execute((known.n, known.last))?;
    connection
        .prepare_cached("UPDATE session SET updated_at = max(updated_at, ?2), items = items + ?3 WHERE n = ?1")?
        .execute((known.session, at, items))?;
    connection
        .prepare_cached(
            "UPDATE total SET events = events + ?1, items = items + ?2, payload_bytes = payload_bytes + ?3,
             unique_payload_bytes = unique_payload_bytes + ?4",
        )?
        .execute((events.len() as i64, items, weight.bytes, weight.unique))?;
    if matches!(events.last().map(|event| &event.kind), Some(EventKind::RequestFinished { .. })) {
        requests.remove(request);
    }
    Ok(if lost.is_empty() { Ok(()) } else { Err(AppendError::Conflict(lost)) })
}

fn find(connection: &Connection, request: &str) -> Result<Option<Known>, Error> {
    let found = connection
        .prepare_cached("SELECT n, last_seq, session FROM request WHERE id = ?1")?
        .query_row((request,), |row| {
            Ok(Known { n: row.get(0)?, last: row.get(1)?, session: row.get(2)?, ..Known::default() })
        })
        .optional()?;
    Ok(found)
}

fn create(connection: &Connection, request: &str, event: &Event) -> Result<Known, Error> {
    let EventKind::RequestStarted { flow, action, session, user, project, mock, retry_of, owner, .. } = &event.kind else {
        return Err(Error::Damaged("a request begins with request_started".to_owned()));
    };
    connection
        .prepare_cached(
            "INSERT INTO session (id, flow, user, project, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute((&**session, flow, &**user, project.as_deref(), event.at))?;
    let session_n: i64 = connection
        .prepare_cached("SELECT n FROM session WHERE id = ?1")?
        .query_row((&**session,), |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO request (id, session, flow, action, user, project, status, owner, mock, retry_of, started_at, last_seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'in_progress', ?7, ?8, ?9, ?10, 0)",
        )?
        .execute(rusqlite::params![
            request,
            session_n,
            flow,
            action,
            &**user,
            project.as_deref(),
            owner,
            mock,
            retry_of,
            event.at
        ])?;
    let n = connection.last_insert_rowid();
    connection
        .prepare_cached("UPDATE session SET requests = requests + 1, last_request = ?2 WHERE n = ?1")?
        .execute((session_n, n))?;
    let mut known = Known { n, last: 0, session: session_n, ..Known::default() };
    let durable = [
        Some(ScopeKey::new(ScopeKind::Session, session.clone())),
        Some(ScopeKey::new(ScopeKind::User, user.clone())),
        project.clone().map(|id| ScopeKey::new(ScopeKind::Project, id)),
    ];
    for key in durable.into_iter().flatten() {
        attach(connection, &mut known, &key)?;
    }
    attach(connection, &mut known, &ScopeKey::new(ScopeKind::Request, request))?;
    Ok(known)
}

/// Opens a scope for a request and notes that the request shows it.
fn attach<'a>(connection: &Connection, known: &'a mut Known, key: &ScopeKey) -> Result<&'a mut Live, Error> {
    if !known.scopes.contains_key(key) {
        let live = Live::open(connection, key)?;
        connection
            .prepare_cached("INSERT OR IGNORE INTO request_scope (request, scope) VALUES (?1, ?2)")?
            .execute((known.n, live.n))?;
        known.scopes.insert(key.clone(), live);
    }
    known.scopes.get_mut(key).ok_or_else(|| Error::Damaged("a scope vanished".to_owned()))
}

/// The durable records that are no longer at the version these events commit from.
fn conflicts(connection: &Connection, events: &[Event]) -> Result<Vec<ScopeKey>, Error> {
    let mut lost = Vec::new();
    for commit in events.iter().flat_map(|event| event.kind.commits()) {
        let version: Option<u64> = connection
            .prepare_cached("SELECT version FROM scope WHERE kind = ?1 AND id = ?2")?
            .query_row((commit.scope.kind.as_str(), &*commit.scope.id), |row| row.get(0))
            .optional()?;
        if version.unwrap_or(0) != commit.from && !lost.contains(&commit.scope) {
            lost.push(commit.scope.clone());
        }
    }
    Ok(lost)
}

fn derive(
    connection: &Connection,
    known: &mut Known,
    event: &Event,
    id: i64,
    records: &mut Vec<(ScopeKey, engine::log::Record)>,
) -> Result<(), Error> {
    match &event.kind {
        EventKind::StateChanged { scope, .. } | EventKind::StateInitialized { scope, .. } if scope.kind.is_durable() => {
            known.operations.insert(event.seq, (id, event.kind.clone()));
        }
        EventKind::RequestStatus { status } => set_status(connection, known, *status, None, None)?,
        EventKind::RequestResumed { owner, .. } => {
            set_status(connection, known, RequestStatus::InProgress, None, None)?;
            connection
                .prepare_cached("UPDATE request SET owner = ?2 WHERE n = ?1")?
                .execute((known.n, owner))?;
        }
        EventKind::RequestFinished { status, error, .. } => {
            let error = error.as_ref().map(serde_json::to_string).transpose()?;
            set_status(connection, known, *status, Some(event.at), error)?;
        }
        EventKind::MetadataSet { metadata } => {
            if let Some(title) = metadata.get("title").and_then(|title| title.as_str()) {
                connection
                    .prepare_cached("UPDATE session SET title = ?2 WHERE n = ?1")?
                    .execute((known.session, title))?;
            }
        }
        _ => {}
    }
    if let Some(key) = immediate(event) {
        let version = match &event.kind {
            EventKind::StateChanged { version, .. } => *version,
            _ => 0,
        };
        let live = attach(connection, known, &key.clone())?;
        live.step(connection, id, version, None, &[&event.kind])?;
    }
    for commit in event.kind.commits() {
        records.push(commit_step(connection, known, commit, id)?);
    }
    Ok(())
}

fn commit_step(
    connection: &Connection,
    known: &mut Known,
    commit: &ScopeCommit,
    id: i64,
) -> Result<(ScopeKey, engine::log::Record), Error> {
    let mut ids = Vec::new();
    let mut kinds = Vec::new();
    for seq in &commit.operations {
        let (id, kind) = match known.operations.remove(seq) {
            Some(found) => found,
            None => find_operation(connection, known.n, *seq)?,
        };
        ids.push(id);
        kinds.push(kind);
    }
    let live = attach(connection, known, &commit.scope)?;
    if live.record.version != commit.from {
        // Another request moved it on since this one last looked.
        *live = Live::open(connection, &commit.scope)?;
    }
    let kinds: Vec<&EventKind> = kinds.iter().collect();
    live.step(connection, id, commit.version, Some(&ids), &kinds)?;
    Ok((commit.scope.clone(), live.record.clone()))
}

fn find_operation(connection: &Connection, request: i64, seq: u64) -> Result<(i64, EventKind), Error> {
    let (id, text): (i64, String) = connection
        .prepare_cached("SELECT id, body FROM event WHERE request = ?1 AND seq = ?2")?
        .query_row((request, seq), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((id, body::read(connection, &text)?))
}

fn set_status(
    connection: &Connection,
    known: &Known,
    status: RequestStatus,
    finished_at: Option<i64>,
    error: Option<String>,
) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE request SET status = ?2, finished_at = ?3, error = ?4 WHERE n = ?1")?
        .execute((known.n, status.as_str(), finished_at, error))?;
    Ok(())
}

/// Makes what a commit changed known to readers of this process.
pub(crate) fn publish(records: &Records, changed: Vec<(ScopeKey, engine::log::Record)>) {
    for (key, record) in changed {
        records.put(key, record);
    }
}
