//! Lists and single rows, as readers ask for them.

use std::path::Path;
use std::sync::Arc;

use engine::data::from_json;
use engine::error::FlowError;
use engine::event::{Event, RequestStatus};
use engine::log::{Record, RequestEvents};
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::error::Error;
use crate::{Store, body, scopes};

/// Which sessions; newest first.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    pub user: Option<String>,
    pub flow: Option<String>,
    pub project: Option<String>,
    pub status: Option<RequestStatus>,
    /// Part of an id, a title, a user's or a flow's name.
    pub search: Option<String>,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
}

/// Which requests; newest first.
#[derive(Clone, Debug, Default)]
pub struct RequestQuery {
    pub session: Option<String>,
    pub status: Option<RequestStatus>,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
}

/// Which events of a request; oldest first. `from` and `to` are inclusive.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    pub from: Option<u64>,
    pub to: Option<u64>,
    pub kind: Option<String>,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
}

/// A session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    pub id: String,
    pub flow: String,
    pub user: String,
    pub project: Option<String>,
    pub title: Option<String>,
    pub requests: u64,
    pub items: u64,
    /// The newest request's status, and the process that runs it.
    pub last_status: RequestStatus,
    pub last_owner: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub forked_from: Option<String>,
}

/// A request's row.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRow {
    pub id: String,
    pub session: String,
    pub flow: String,
    pub action: String,
    pub user: String,
    pub project: Option<String>,
    pub status: RequestStatus,
    /// The name of the lock file of the process that runs it.
    pub owner: String,
    pub mock: Option<String>,
    pub retry_of: Option<String>,
    pub started_at: i64,
    pub finished_at: Option<i64>,
    pub last_seq: u64,
    pub error: Option<FlowError>,
}

/// Sizes and counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub bytes: u64,
    pub events: u64,
    pub items: u64,
    pub sessions: u64,
    pub requests: u64,
    pub payload_bytes: u64,
    pub unique_payload_bytes: u64,
}

const SESSIONS: &str = "SELECT s.id, s.flow, s.user, s.project, s.title, s.requests, s.items, r.status, r.owner,
    s.created_at, s.updated_at, s.forked_from FROM session s JOIN request r ON r.n = s.last_request";
const REQUESTS: &str = "SELECT r.id, s.id, r.flow, r.action, r.user, r.project, r.status, r.owner, r.mock, r.retry_of,
    r.started_at, r.finished_at, r.last_seq, r.error FROM request r JOIN session s ON s.n = r.session";

/// A WHERE clause that grows with what is asked.
#[derive(Default)]
struct Filter {
    clauses: Vec<String>,
    values: Vec<Sql>,
}

impl Filter {
    fn and(&mut self, clause: &str, value: impl Into<Sql>) {
        self.values.push(value.into());
        self.clauses.push(clause.replace('?', &format!("?{}", self.values.len())));
    }

    fn sql(&self, select: &str, order: &str, limit: Option<u64>, offset: Option<u64>) -> String {
        let filter = if self.clauses.is_empty() { String::new() } else { format!(" WHERE {}", self.clauses.join(" AND ")) };
        let limit = limit.map_or(-1, sql);
        format!("{select}{filter} ORDER BY {order} LIMIT {limit} OFFSET {}", sql(offset.unwrap_or(0)))
    }
}

/// A number as SQLite has it; none of ours is near the edge.
fn sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// Sessions, newest first.
    pub fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, Error> {
        let mut filter = Filter::default();
        for (clause, value) in [("s.user = ?", &query.user), ("s.flow = ?", &query.flow), ("s.project = ?", &query.project)] {
            if let Some(value) = value {
                filter.and(clause, value.clone());
            }
        }
        if let Some(status) = query.status {
            filter.and("r.status = ?", status.as_str().to_owned());
        }
        if let Some(search) = &query.search {
            filter.and("instr(lower(s.id || ' ' || s.flow || ' ' || s.user || ' ' || coalesce(s.title, '')), ?) > 0", search.to_lowercase());
        }
        let sql = filter.sql(SESSIONS, "s.updated_at DESC, s.n DESC", query.limit, query.offset);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(session_row(row)?);
            }
            Ok(found)
        })
    }

    /// One session.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{SESSIONS} WHERE s.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(session_row).transpose()
        })
    }

    /// Requests, newest first.
    pub fn requests(&self, query: &RequestQuery) -> Result<Vec<RequestRow>, Error> {
        let mut filter = Filter::default();
        if let Some(session) = &query.session {
            filter.and("s.id = ?", session.clone());
        }
        if let Some(status) = query.status {
            filter.and("r.status = ?", status.as_str().to_owned());
        }
        let sql = filter.sql(REQUESTS, "r.n DESC", query.limit, query.offset);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(request_row(row)?);
            }
            Ok(found)
        })
    }

    /// One request.
    pub fn request(&self, id: &str) -> Result<Option<RequestRow>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{REQUESTS} WHERE r.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(request_row).transpose()
        })
    }

    /// Events of a request, oldest first; none for a request that is not there.
    pub fn events(&self, request: &str, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let mut filter = Filter::default();
        filter.and("request = (SELECT n FROM request WHERE id = ?)", request.to_owned());
        if let Some(from) = query.from {
            filter.and("seq >= ?", sql(from));
        }
        if let Some(to) = query.to {
            filter.and("seq <= ?", sql(to));
        }
        if let Some(kind) = &query.kind {
            filter.and("kind = ?", kind.clone());
        }
        let sql = filter.sql("SELECT seq, at, path, attempt, body FROM event", "seq", query.limit, query.offset);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut paths = Paths::default();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(event_row(connection, row, &mut paths)?);
            }
            Ok(found)
        })
    }

    /// Every scope that has state a request has touched or could see: request, session, user,
    /// project, then sequencers and blocks in order of appearance.
    pub fn scopes_of(&self, request: &str) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.kind, s.id FROM request_scope x JOIN scope s ON s.n = x.scope
                 WHERE x.request = (SELECT n FROM request WHERE id = ?1) ORDER BY s.n",
            )?;
            let mut rows = statement.query((request,))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
                found.push(ScopeKey::new(scopes::kind(&kind)?, id));
            }
            found.sort_by_key(|key: &ScopeKey| key.kind);
            Ok(found)
        })
    }

    /// A scope's state just after an event of a request, as everybody could see it then.
    pub fn state_at(&self, scope: &ScopeKey, request: &str, seq: u64) -> Result<Record, Error> {
        self.read(|connection| {
            let event: Option<i64> = connection
                .prepare_cached("SELECT id FROM event WHERE request = (SELECT n FROM request WHERE id = ?1) AND seq <= ?2 ORDER BY seq DESC LIMIT 1")?
                .query_row((request, seq), |row| row.get(0))
                .optional()?;
            let n: Option<i64> = connection
                .prepare_cached("SELECT n FROM scope WHERE kind = ?1 AND id = ?2")?
                .query_row((scope.kind.as_str(), &*scope.id), |row| row.get(0))
                .optional()?;
            match (n, event) {
                (Some(n), Some(event)) => scopes::at(connection, n, event),
                _ => Ok(Record::default()),
            }
        })
    }

    /// Whether anything ever ran in a scope.
    pub fn exists(&self, scope: &ScopeKey) -> Result<bool, Error> {
        self.read(|connection| {
            let found: Option<i64> = connection
                .prepare_cached("SELECT 1 FROM scope WHERE kind = ?1 AND id = ?2")?
                .query_row((scope.kind.as_str(), &*scope.id), |row| row.get(0))
                .optional()?;
            Ok(found.is_some())
        })
    }

    /// Users that ran something, by name.
    pub fn users(&self) -> Result<Vec<String>, Error> {
        self.ids(ScopeKind::User)
    }

    /// Projects that something ran in, by name.
    pub fn projects(&self) -> Result<Vec<String>, Error> {
        self.ids(ScopeKind::Project)
    }

    fn ids(&self, kind: ScopeKind) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM scope WHERE kind = ?1 ORDER BY id")?;
            let rows = statement.query_map((kind.as_str(),), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Sizes and counts.
    pub fn stats(&self) -> Result<Stats, Error> {
        let mut stats = self.read(|connection| {
            let mut stats = connection.query_row(
                "SELECT events, items, payload_bytes, unique_payload_bytes,
                 (SELECT count(*) FROM session), (SELECT count(*) FROM request) FROM total",
                (),
                |row| {
                    Ok(Stats {
                        events: row.get(0)?,
                        items: row.get(1)?,
                        payload_bytes: row.get(2)?,
                        unique_payload_bytes: row.get(3)?,
                        sessions: row.get(4)?,
                        requests: row.get(5)?,
                        bytes: 0,
                    })
                },
            )?;
            stats.bytes = 0;
            Ok(stats)
        })?;
        for suffix in ["", "-wal"] {
            let mut name = self.file.as_os_str().to_owned();
            name.push(suffix);
            stats.bytes += std::fs::metadata(Path::new(&name)).map_or(0, |metadata| metadata.len());
        }
        Ok(stats)
    }
}

/// One allocation a path, however many events share it.
#[derive(Default)]
struct Paths(std::collections::HashMap<String, Arc<str>>);

impl Paths {
    fn intern(&mut self, path: &str) -> Arc<str> {
        match self.0.get(path) {
            Some(known) => known.clone(),
            None => {
                let shared: Arc<str> = path.into();
                self.0.insert(path.to_owned(), shared.clone());
                shared
            }
        }
    }
}

fn event_row(connection: &Connection, row: &Row<'_>, paths: &mut Paths) -> Result<Event, Error> {
    let path = row.get_ref(2)?.as_str_or_null().map_err(|error| Error::Damaged(error.to_string()))?;
    let text = row.get_ref(4)?.as_str().map_err(|error| Error::Damaged(error.to_string()))?;
    Ok(Event {
        seq: row.get(0)?,
        at: row.get(1)?,
        path: path.map(|path| paths.intern(path)),
        attempt: row.get(3)?,
        kind: body::read(connection, text)?,
    })
}

/// The events of a session's completed requests, oldest first, without one request.
pub(crate) fn session_events(connection: &Connection, session: &str, before: &str) -> Result<Vec<RequestEvents>, Error> {
    let mut requests = connection.prepare_cached(
        "SELECT r.n, r.id FROM request r JOIN session s ON s.n = r.session
         WHERE s.id = ?1 AND r.id <> ?2 AND r.status = 'completed' ORDER BY r.n",
    )?;
    let found: Vec<(i64, String)> =
        requests.query_map((session, before), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut statement =
        connection.prepare_cached("SELECT seq, at, path, attempt, body FROM event WHERE request = ?1 ORDER BY seq")?;
    let mut all = Vec::new();
    for (n, id) in found {
        let mut rows = statement.query((n,))?;
        let mut paths = Paths::default();
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            events.push(event_row(connection, row, &mut paths)?);
        }
        all.push((Arc::from(id), events));
    }
    Ok(all)
}

fn status(text: &str) -> Result<RequestStatus, Error> {
    RequestStatus::parse(text).ok_or_else(|| Error::Damaged(format!("unknown status \"{text}\"")))
}

fn session_row(row: &Row<'_>) -> Result<SessionRow, Error> {
    Ok(SessionRow {
        id: row.get(0)?,
        flow: row.get(1)?,
        user: row.get(2)?,
        project: row.get(3)?,
        title: row.get(4)?,
        requests: row.get(5)?,
        items: row.get(6)?,
        last_status: status(&row.get::<_, String>(7)?)?,
        last_owner: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        forked_from: row.get(11)?,
    })
}

fn request_row(row: &Row<'_>) -> Result<RequestRow, Error> {
    let error: Option<String> = row.get(13)?;
    Ok(RequestRow {
        id: row.get(0)?,
        session: row.get(1)?,
        flow: row.get(2)?,
        action: row.get(3)?,
        user: row.get(4)?,
        project: row.get(5)?,
        status: status(&row.get::<_, String>(6)?)?,
        owner: row.get(7)?,
        mock: row.get(8)?,
        retry_of: row.get(9)?,
        started_at: row.get(10)?,
        finished_at: row.get(11)?,
        last_seq: row.get(12)?,
        error: error.map(|text| from_json(&text)).transpose()?,
    })
}
