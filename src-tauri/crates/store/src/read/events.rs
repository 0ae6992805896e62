//! Queries for events, and for the state and history of scopes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension, Row, params_from_iter};
use engine::event::{Event, EventKind, Seq};
use engine::log::{Record, RequestEvents};
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::in_force::waits_for_commit;

use crate::read::commits;
use crate::read::event_query::EventQuery;
use crate::read::sessions::LINEAGE;
use crate::read::{spans, states};
use crate::row::attempts::{Attempts, RolledBackAttempt, UnfinishedAttempts};
use crate::row::body;
use crate::row::error::Error;
use crate::row::query::{Filter, to_sql_integer};
use crate::{Store, lock};

/// One operation in the history of a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The request that wrote it.
    pub request: Arc<str>,
    /// The `state_changed` or `state_initialized` event.
    pub event: Event,
    /// The `seq` of the event that made it effective: itself, or the commit that lists it.
    pub committed: Seq,
    /// The version after its commit (in shared memory, after itself).
    pub version: u64,
}

/// Events of a request, oldest first.
pub(crate) fn of_request(connection: &Connection, request: &str, query: &EventQuery) -> Result<Vec<Event>, Error> {
    let mut filter = Filter::default();
    filter.and("e.request = (SELECT n FROM request WHERE id = ?)", Some(request.to_owned()));
    filter.and("e.seq >= ?", to_sql_integer(query.from));
    filter.and("e.seq <= ?", to_sql_integer(query.to));
    filter.and("e.kind = ?", query.kind.clone());
    if let Some(path) = &query.path {
        // One list is bound, whatever its length.
        let seqs = spans::seqs_of_path(connection, request, path)?;
        filter.and("e.seq IN (SELECT CAST(value AS bigint) FROM json_each(?))", Some(serde_json::to_string(&seqs)?));
    }
    let sql = filter.select(EVENTS, "e.seq", query.limit, query.offset);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&filter.values))?;
    collect(connection, &mut rows)
}

/// Events of a request by their numbers, oldest first.
pub(crate) fn with_seqs(connection: &Connection, request: &str, seqs: &[Seq]) -> Result<Vec<Event>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "{EVENTS} WHERE e.request = (SELECT n FROM request WHERE id = ?1)
         AND e.seq IN (SELECT CAST(value AS bigint) FROM json_each(?2)) ORDER BY e.seq"
    ))?;
    let mut rows = statement.query((request, serde_json::to_string(seqs)?))?;
    collect(connection, &mut rows)
}

pub(crate) const EVENTS: &str = "SELECT e.seq, e.at, p.text, e.attempt, e.kind, e.body, e.body_checksum
    FROM event e LEFT JOIN path p ON p.n = e.path";

const TIME: &str = "SELECT at FROM event WHERE request = (SELECT n FROM request WHERE id = ?1) AND seq = ?2";

impl Store {
    /// Events of a request, oldest first.
    pub fn events(&self, request: &str, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let events = self.read(|connection| of_request(connection, request, query))?;
        self.on_damaged.report_damaged(request, &events);
        Ok(events)
    }

    /// Replaces the values and versions that blocks saw, in those of these events that write durable records, by the
    /// ones that their commits made.
    pub fn put_in_force(&self, request: &str, events: &mut [Event]) -> Result<(), Error> {
        let mut writes: HashMap<ScopeKey, Vec<&mut Event>> = HashMap::new();
        for event in events.iter_mut().filter(|event| waits_for_commit(event)) {
            if let EventKind::StateChanged { scope, .. } = &event.kind {
                writes.entry(scope.clone()).or_default().push(event);
            }
        }
        if writes.is_empty() {
            return Ok(());
        }
        self.read(|connection| {
            writes.into_iter().try_for_each(|(scope, writes)| commits::apply(connection, request, &scope, writes))
        })
    }

    /// One event.
    pub fn event_at(&self, request: &str, seq: Seq) -> Result<Option<Event>, Error> {
        let query = EventQuery { from: Some(seq), to: Some(seq), ..EventQuery::default() };
        Ok(self.events(request, &query)?.pop())
    }

    /// When an event of a request was.
    pub fn time_of(&self, request: &str, seq: Seq) -> Result<Option<i64>, Error> {
        self.read(|connection| {
            Ok(connection.prepare_cached(TIME)?.query_row((request, seq), |row| row.get(0)).optional()?)
        })
    }

    /// The last one of the events after `from`, up to `to`, that was at or before a time; `from` if there is none. It
    /// bisects: it reads as many rows as the logarithm of their number. Where a clock was put back, one that fits.
    pub fn seq_at(&self, request: &str, (from, to): (Seq, Seq), time: i64) -> Result<Seq, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(TIME)?;
            let (mut first, mut last) = (from, to);
            while first < last {
                let middle = last - (last - first) / 2;
                let at: Option<i64> = statement.query_row((request, middle), |row| row.get(0)).optional()?;
                if at.is_some_and(|at| at <= time) { first = middle } else { last = middle - 1 }
            }
            Ok(first)
        })
    }

    /// The `seq` of a request's newest event; 0 if there is no such request.
    pub fn last_seq(&self, request: &str) -> Result<Seq, Error> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT coalesce(max(seq), 0) FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)",
                )?
                .query_row((request,), |row| row.get(0))?)
        })
    }

    /// A scope's committed state just after an event of a request; just before the request if `seq` is 0. Empty and at
    /// version 0 if there is no such scope or request.
    pub fn state_at(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::event_id(connection, request, seq)?) {
            (Some(scope), Some(as_of)) => states::at(connection, scope, as_of),
            _ => Ok(Record::default()),
        })
    }

    /// Whether a scope had any changes as of an event of a request.
    pub fn had_begun(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<bool, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::event_id(connection, request, seq)?) {
            (Some(scope), Some(as_of)) => Ok(connection
                .prepare_cached("SELECT 1 FROM change WHERE scope = ?1 AND event <= ?2 LIMIT 1")?
                .exists((scope, as_of))?),
            _ => Ok(false),
        })
    }

    /// The event with which a request first changed a scope, or committed a change of it.
    pub fn first_change(&self, scope: &ScopeKey, request: &str) -> Result<Option<Seq>, Error> {
        self.read(|connection| {
            let Some(scope) = states::find(connection, scope)? else { return Ok(None) };
            Ok(connection
                .prepare_cached(
                    "SELECT e.seq FROM change c JOIN event e ON e.id = c.event WHERE c.scope = ?1
                     AND e.request = (SELECT n FROM request WHERE id = ?2) ORDER BY c.event LIMIT 1",
                )?
                .query_row((scope, request), |row| row.get(0))
                .optional()?)
        })
    }

    /// As [`state_at`](Self::state_at), for the newest event of a request that no process runs: what unfinished
    /// attempts wrote to shared memory does not count.
    pub fn state_at_rest(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::event_id(connection, request, seq)?) {
            (Some(scope), Some(as_of)) => {
                states::at_rest(connection, scope, as_of, &self.unfinished(connection, request, as_of)?)
            }
            _ => Ok(Record::default()),
        })
    }

    /// The unfinished attempts of a request as of an event. The last result is cached: views ask once for each scope.
    pub(crate) fn unfinished(
        &self,
        connection: &Connection,
        request: &str,
        as_of: i64,
    ) -> Result<Arc<Vec<RolledBackAttempt>>, Error> {
        let known = lock(&self.unfinished).clone();
        if let Some(known) = known.filter(|known| &*known.request == request && known.as_of == as_of) {
            return Ok(known.attempts);
        }
        let n: Option<i64> = connection
            .prepare_cached("SELECT n FROM request WHERE id = ?1")?
            .query_row((request,), |row| row.get(0))
            .optional()?;
        let attempts = match n {
            Some(n) => Arc::new(Attempts::load(connection, n, as_of)?.take_unfinished()),
            None => Arc::default(),
        };
        *lock(&self.unfinished) =
            Some(UnfinishedAttempts { request: request.into(), as_of, attempts: attempts.clone() });
        Ok(attempts)
    }

    /// A durable record as a block read it: `seq` is the block's first event, `version` the version that it read. What
    /// other requests committed between the read and that event is left out.
    pub fn state_seen(&self, scope: &ScopeKey, request: &str, seq: Seq, version: u64) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::event_id(connection, request, seq)?) {
            (Some(scope), Some(as_of)) => states::at_version(connection, scope, as_of, version),
            _ => Ok(Record::default()),
        })
    }

    /// All operations on a scope in the order they took effect, or only those of one request. Those of rolled-back
    /// attempts are included, because the request saw them.
    pub fn state_history(&self, scope: &ScopeKey, request: Option<&str>) -> Result<Vec<Step>, Error> {
        self.read(|connection| {
            let Some(scope) = states::find(connection, scope)? else {
                return Ok(Vec::new());
            };
            let mut statement = connection.prepare_cached(
                "SELECT r.id, c.version, c.operations, e.seq, e.request FROM change c
                 JOIN event e ON e.id = c.event JOIN request r ON r.n = e.request
                 WHERE c.scope = ?1 AND (r.id = ?2 OR ?2 IS NULL) ORDER BY c.event",
            )?;
            let mut operation = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
            let mut rows = statement.query((scope, request))?;
            let mut paths = Interner::default();
            let mut steps = Vec::new();
            while let Some(row) = rows.next()? {
                let (by, version): (Arc<str>, u64) = (row.get(0)?, row.get(1)?);
                let operations: Option<String> = row.get(2)?;
                let (seq, n): (i64, i64) = (row.get(3)?, row.get(4)?);
                for back in states::read_operations(operations.as_deref().unwrap_or("0")) {
                    let mut found = operation.query((n, seq - back?))?;
                    let row = found.next()?.ok_or_else(|| Error::Damaged("a commit names no event".to_owned()))?;
                    let event = event(connection, row, &mut paths)?;
                    steps.push(Step { request: by.clone(), event, committed: seq.unsigned_abs(), version });
                }
            }
            Ok(steps)
        })
    }

    /// Whether a scope exists: something ran in it, or it has state.
    pub fn exists(&self, scope: &ScopeKey) -> Result<bool, Error> {
        let sql = match scope.kind {
            ScopeKind::Session => "SELECT 1 FROM session WHERE id = ?1",
            ScopeKind::User => {
                "SELECT 1 FROM request WHERE user = ?1 UNION ALL SELECT 1 FROM scope WHERE kind = 'user' AND id = ?1"
            }
            ScopeKind::Project => {
                "SELECT 1 FROM request WHERE project = ?1
                 UNION ALL SELECT 1 FROM scope WHERE kind = 'project' AND id = ?1"
            }
            ScopeKind::Request => "SELECT 1 FROM request WHERE id = ?1",
            ScopeKind::Sequencer => "SELECT 1 FROM scope WHERE kind = 'sequencer' AND id = ?1",
            ScopeKind::Block => "SELECT 1 FROM scope WHERE kind = 'block' AND id = ?1",
            ScopeKind::Resource => "SELECT 1 FROM scope WHERE kind = 'resource' AND id = ?1",
        };
        self.read(|connection| {
            let found: Option<i64> =
                connection.prepare_cached(sql)?.query_row((&*scope.id,), |row| row.get(0)).optional()?;
            Ok(found.is_some())
        })
    }

    /// The newest committed state of a scope, if it ever had any.
    pub fn record_of(&self, scope: &ScopeKey) -> Result<Option<Record>, Error> {
        self.read(|connection| match states::find(connection, scope)? {
            Some(_) => self.record_cache.newest(connection, scope, None).map(Some),
            None => Ok(None),
        })
    }
}

/// The events of the `newest` completed requests of a session, oldest first, without the request `before`.
pub(crate) fn of_session(
    connection: &Connection,
    session: &str,
    before: &str,
    newest: usize,
) -> Result<Vec<RequestEvents>, Error> {
    let newest = i64::try_from(newest).unwrap_or(i64::MAX);
    let mut requests = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT r.id, r.n FROM lineage JOIN request r ON r.session = lineage.session AND r.n < lineage.before
         WHERE r.id <> ?2 AND r.status = 'completed' ORDER BY r.n DESC LIMIT ?3"
    ))?;
    let mut statement = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 ORDER BY e.seq"))?;
    let mut found = requests.query((session, before, newest))?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        let mut rows = statement.query((row.get::<_, i64>(1)?,))?;
        all.push((row.get(0)?, collect(connection, &mut rows)?));
    }
    all.reverse();
    Ok(all)
}

/// The events of the requests in a JSON list of ids: each with its global id, by which they are ordered, and its
/// request. Events that a fork copied are left out.
pub(crate) fn of_requests(connection: &Connection, names: &str) -> Result<Vec<(i64, Arc<str>, Event)>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT e.seq, e.at, p.text, e.attempt, e.kind, e.body, e.body_checksum, e.id, r.id FROM event e
         JOIN request r ON r.n = e.request LEFT JOIN path p ON p.n = e.path
         WHERE r.id IN (SELECT value FROM json_each(?1))
         AND NOT (r.forked_at IS NOT NULL AND e.seq BETWEEN 2 AND r.forked_at) ORDER BY e.id",
    )?;
    let mut rows = statement.query((names,))?;
    let (mut paths, mut requests) = (Interner::default(), Interner::default());
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let request = requests.intern(&row.get::<_, String>(8)?);
        found.push((row.get(7)?, request, event(connection, row, &mut paths)?));
    }
    Ok(found)
}

/// A request's events of one kind, by `seq`; damaged ones are left out.
pub(crate) fn of_kind(connection: &Connection, request: i64, kind: &str) -> Result<Vec<EventKind>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT body FROM event WHERE request = ?1 AND kind = ?2 ORDER BY seq")?;
    let mut rows = statement.query((request, kind))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(body::event_if_readable(connection, kind, &body::lossy(row, 0)?)?);
    }
    Ok(found)
}

/// The last event that gave a fork another input, if there is one and it can be read.
pub(crate) fn last_edited_input(connection: &Connection, request: i64) -> Result<Option<EventKind>, Error> {
    const KIND: &str = "input_edited";
    let mut statement = connection.prepare_cached(
        "SELECT body FROM event WHERE request = ?1 AND kind = ?2 AND path IS NULL ORDER BY seq DESC LIMIT 1",
    )?;
    let mut rows = statement.query((request, KIND))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    body::event_if_readable(connection, KIND, &body::lossy(row, 0)?)
}

fn collect(connection: &Connection, rows: &mut crate::sql::Rows<'_>) -> Result<Vec<Event>, Error> {
    let mut paths = Interner::default();
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event(connection, row, &mut paths)?);
    }
    Ok(events)
}

/// Shares one allocation among equal strings.
#[derive(Default)]
pub(crate) struct Interner(HashMap<String, Arc<str>>);

impl Interner {
    fn intern(&mut self, path: &str) -> Arc<str> {
        if let Some(shared) = self.0.get(path) {
            return shared.clone();
        }
        let shared: Arc<str> = path.into();
        self.0.insert(path.to_owned(), shared.clone());
        shared
    }
}

/// Reads an event from the columns of [`EVENTS`]. A damaged one becomes [`EventKind::damaged`], so that the other
/// events of its request can be shown.
pub(crate) fn event(connection: &Connection, row: Row<'_>, paths: &mut Interner) -> Result<Event, Error> {
    let damaged = |error: crate::sql::FromSqlError| Error::Damaged(error.to_string());
    let path = row.get_ref(2)?.as_str_or_null().map_err(damaged)?;
    let (name, text) = (row.get_ref(4)?.as_bytes().map_err(damaged)?, row.get_ref(5)?.as_bytes().map_err(damaged)?);
    let kind = decoded(name, text, row.get(6)?, |kind, text| body::event(connection, kind, text))?;
    Ok(Event {
        seq: row.get(0)?,
        at: row.get(1)?,
        path: path.map(|path| paths.intern(path)),
        attempt: row.get(3)?,
        kind,
    })
}

/// What a body says, after comparing its checksum, if there is one. A damaged one becomes [`EventKind::damaged`].
pub(crate) fn decoded(
    name: &[u8],
    text: &[u8],
    sum: Option<i64>,
    decode: impl FnOnce(&str, &str) -> Result<EventKind, Error>,
) -> Result<EventKind, Error> {
    let read = || -> Result<EventKind, Error> {
        let utf8 = |bytes| std::str::from_utf8(bytes).map_err(|error| Error::Damaged(error.to_string()));
        let (name, text) = (utf8(name)?, utf8(text)?);
        body::compare_checksum(text, sum)?;
        decode(name, text)
    };
    match read() {
        Err(Error::Damaged(why)) => Ok(EventKind::damaged(&String::from_utf8_lossy(name), &why)),
        kind => kind,
    }
}
