//! What is read of the log itself: events, and the steps and instants of state.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, ScopeCommit, Seq};
use engine::log::{Record, RequestEvents};
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::in_force::{put_in_force, waits_for_commit};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::read::sessions::LINEAGE;
use crate::read::states;
use crate::row::attempts::{Attempts, RolledBackAttempt, Unfinished};
use crate::row::body;
use crate::row::error::Error;
use crate::row::query::{Filter, number};
use crate::{Store, lock};

/// Which events of a request; oldest first.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// From this one on.
    pub from: Option<Seq>,
    /// Up to this one, itself included.
    pub to: Option<Seq>,
    /// Only of this kind, as [`EventKind::name`] has it.
    pub kind: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
    /// After this many.
    pub offset: Option<u64>,
}

/// One operation in the history of a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The request that wrote it.
    pub request: Arc<str>,
    /// The `state_changed` or `state_initialized` event.
    pub event: Event,
    /// The event that put it in force: itself, or the commit that names it.
    pub committed: Seq,
    /// The version that its commit (or, in shared memory, itself) made.
    pub version: u64,
}

/// Events of a request, oldest first.
pub(crate) fn of_request(connection: &Connection, request: &str, query: &EventQuery) -> Result<Vec<Event>, Error> {
    let mut filter = Filter::default();
    filter.and("e.request = (SELECT n FROM request WHERE id = ?)", Some(request.to_owned()));
    filter.and("e.seq >= ?", number(query.from));
    filter.and("e.seq <= ?", number(query.to));
    filter.and("e.kind = ?", query.kind.clone());
    let sql = filter.select(EVENTS, "e.seq", query.limit, query.offset);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&filter.values))?;
    collect(connection, &mut rows)
}

pub(crate) const EVENTS: &str =
    "SELECT e.seq, e.at, p.text, e.attempt, e.kind, e.body, e.sum FROM event e LEFT JOIN path p ON p.n = e.path";

impl Store {
    /// Events of a request, oldest first.
    pub fn events(&self, request: &str, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let events = self.read(|connection| of_request(connection, request, query))?;
        self.on_damaged.look_at(request, &events);
        Ok(events)
    }

    /// Puts the values and versions that came into force over the writes to durable records among these events
    /// of a request.
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
            writes.into_iter().try_for_each(|(scope, writes)| follow_commits(connection, request, &scope, writes))
        })
    }

    /// One event.
    pub fn event_at(&self, request: &str, seq: Seq) -> Result<Option<Event>, Error> {
        let query = EventQuery { from: Some(seq), to: Some(seq), ..EventQuery::default() };
        Ok(self.events(request, &query)?.pop())
    }

    /// A request's newest event; 0 if there is no such request.
    pub fn last_seq(&self, request: &str) -> Result<Seq, Error> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT coalesce(max(seq), 0) FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)",
                )?
                .query_row((request,), |row| row.get(0))?)
        })
    }

    /// A scope's state just after an event of a request, as everybody could see it then; just before
    /// the request at event 0.
    pub fn state_at(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::instant(connection, request, seq)?) {
            (Some(scope), Some(instant)) => states::at(connection, scope, instant),
            _ => Ok(Record::default()),
        })
    }

    /// Whether a scope had state by an event of a request.
    pub fn had_begun(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<bool, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::instant(connection, request, seq)?) {
            (Some(scope), Some(instant)) => Ok(connection
                .prepare_cached("SELECT 1 FROM change WHERE scope = ?1 AND event <= ?2 LIMIT 1")?
                .exists((scope, instant))?),
            _ => Ok(false),
        })
    }

    /// As [`state_at`](Self::state_at), at the newest event of a request that nobody runs: what attempts wrote to
    /// shared memory that have not ended is without effect.
    pub fn state_at_rest(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::instant(connection, request, seq)?) {
            (Some(scope), Some(instant)) => {
                states::at_rest(connection, scope, instant, &self.unfinished(connection, request, instant)?)
            }
            _ => Ok(Record::default()),
        })
    }

    /// The attempts of a request that have not ended by an instant. Kept for one request, because a view asks
    /// for each of its scopes.
    pub(crate) fn unfinished(
        &self,
        connection: &Connection,
        request: &str,
        instant: i64,
    ) -> Result<Arc<Vec<RolledBackAttempt>>, Error> {
        let known = lock(&self.unfinished).clone();
        if let Some(known) = known.filter(|known| &*known.request == request && known.instant == instant) {
            return Ok(known.attempts);
        }
        let n: Option<i64> = connection
            .prepare_cached("SELECT n FROM request WHERE id = ?1")?
            .query_row((request,), |row| row.get(0))
            .optional()?;
        let attempts = match n {
            Some(n) => Arc::new(Attempts::load(connection, n, instant)?.open()),
            None => Arc::default(),
        };
        *lock(&self.unfinished) = Some(Unfinished { request: request.into(), instant, attempts: attempts.clone() });
        Ok(attempts)
    }

    /// A durable record as a block saw it that began with this event: at that version, though others may
    /// have written between its look and its line in the log.
    pub fn state_seen(&self, scope: &ScopeKey, request: &str, seq: Seq, version: u64) -> Result<Record, Error> {
        self.read(|connection| match (states::find(connection, scope)?, states::instant(connection, request, seq)?) {
            (Some(scope), Some(instant)) => states::seen(connection, scope, instant, version),
            _ => Ok(Record::default()),
        })
    }

    /// Every operation that made a scope what it is, in the order they came into force; of one
    /// request alone if asked. RolledBackAttempt attempts are included: their writes were seen.
    pub fn state_history(&self, scope: &ScopeKey, request: Option<&str>) -> Result<Vec<Step>, Error> {
        self.read(|connection| {
            let Some(scope) = states::find(connection, scope)? else {
                return Ok(Vec::new());
            };
            let mut statement = connection.prepare_cached(
                "SELECT r.id, c.version, c.operations, e.seq, e.request FROM change c
                 JOIN event e ON e.id = c.event JOIN request r ON r.n = e.request
                 WHERE c.scope = ?1 AND (?2 IS NULL OR r.id = ?2) ORDER BY c.event",
            )?;
            let mut operation = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
            let mut rows = statement.query((scope, request))?;
            let mut paths = Paths::default();
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

    /// Whether anything ever ran in a scope, with state or without.
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
            Some(_) => self.records.newest(connection, scope, None).map(Some),
            None => Ok(None),
        })
    }
}

/// The events of the newest completed requests of a session, oldest first, without those of `before`.
pub(crate) fn of_session(
    connection: &Connection,
    session: &str,
    before: &str,
    newest: usize,
) -> Result<Vec<RequestEvents>, Error> {
    let newest = i64::try_from(newest).unwrap_or(i64::MAX);
    let mut requests = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT r.id, r.n FROM line JOIN request r ON r.session = line.session AND r.n < line.before
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

/// The events of some requests, named by a JSON list, in the order of their commits: each with its
/// global id and its request. What a fork has in common with the request it comes from is left out.
pub(crate) fn of_requests(connection: &Connection, names: &str) -> Result<Vec<(i64, Arc<str>, Event)>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT e.seq, e.at, p.text, e.attempt, e.kind, e.body, e.sum, e.id, r.id FROM event e
         JOIN request r ON r.n = e.request LEFT JOIN path p ON p.n = e.path
         WHERE r.id IN (SELECT value FROM json_each(?1))
         AND NOT (r.forked_at IS NOT NULL AND e.seq BETWEEN 2 AND r.forked_at) ORDER BY e.id",
    )?;
    let mut rows = statement.query((names,))?;
    let (mut paths, mut requests) = (Paths::default(), Paths::default());
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let request = requests.share(&row.get::<_, String>(8)?);
        found.push((row.get(7)?, request, event(connection, row, &mut paths)?));
    }
    Ok(found)
}

/// What a request's events of one kind say, in their order.
pub(crate) fn of_kind(connection: &Connection, request: i64, kind: &str) -> Result<Vec<EventKind>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT body FROM event WHERE request = ?1 AND kind = ?2 ORDER BY seq")?;
    let mut rows = statement.query((request, kind))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(body::readable(connection, kind, &body::lossy(row, 0)?)?);
    }
    Ok(found)
}

fn collect(connection: &Connection, rows: &mut rusqlite::Rows<'_>) -> Result<Vec<Event>, Error> {
    let mut paths = Paths::default();
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event(connection, row, &mut paths)?);
    }
    Ok(events)
}

/// One allocation a path, however many events share it.
#[derive(Default)]
pub(crate) struct Paths(HashMap<String, Arc<str>>);

impl Paths {
    fn share(&mut self, path: &str) -> Arc<str> {
        if let Some(shared) = self.0.get(path) {
            return shared.clone();
        }
        let shared: Arc<str> = path.into();
        self.0.insert(path.to_owned(), shared.clone());
        shared
    }
}

/// An event of the columns of [`EVENTS`]. One that is damaged is there, and says so: what is whole of a request can
/// be looked at all the same.
pub(crate) fn event(connection: &Connection, row: &Row<'_>, paths: &mut Paths) -> Result<Event, Error> {
    let damaged = |error: rusqlite::types::FromSqlError| Error::Damaged(error.to_string());
    let path = row.get_ref(2)?.as_str_or_null().map_err(damaged)?;
    let (name, text) = (row.get_ref(4)?.as_bytes().map_err(damaged)?, row.get_ref(5)?.as_bytes().map_err(damaged)?);
    let read = || -> Result<EventKind, Error> {
        let utf8 = |bytes| std::str::from_utf8(bytes).map_err(|error| Error::Damaged(error.to_string()));
        body::whole_event(connection, utf8(name)?, utf8(text)?, row.get(6)?)
    };
    let kind = match read() {
        Err(Error::Damaged(why)) => EventKind::damaged(&String::from_utf8_lossy(name), &why),
        kind => kind?,
    };
    Ok(Event {
        seq: row.get(0)?,
        at: row.get(1)?,
        path: path.map(|path| paths.share(path)),
        attempt: row.get(3)?,
        kind,
    })
}

/// Goes through a request's commits of a record from its first of these writes on, until each has its commit.
fn follow_commits(
    connection: &Connection,
    request: &str,
    scope: &ScopeKey,
    mut writes: Vec<&mut Event>,
) -> Result<(), Error> {
    let (Some(n), Some(first)) = (states::find(connection, scope)?, writes.iter().map(|event| event.seq).min()) else {
        return Ok(());
    };
    let Some(first) = states::instant(connection, request, first)? else { return Ok(()) };
    let mut commits = connection.prepare_cached(
        "SELECT c.version, c.operations, e.seq, e.kind, e.body FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND e.request = (SELECT n FROM request WHERE id = ?3) ORDER BY c.event",
    )?;
    let mut rows = commits.query((n, first, request))?;
    while !writes.is_empty()
        && let Some(row) = rows.next()?
    {
        let (version, operations, seq): (u64, Option<String>, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let back = states::read_operations(operations.as_deref().unwrap_or_default());
        let operations = back.map(|back| Ok((seq - back?).unsigned_abs())).collect::<Result<Vec<Seq>, Error>>()?;
        let rebased = Vec::new();
        let mut commit = ScopeCommit { scope: scope.clone(), from: 0, version, operations, rebased };
        let mut is_whole = false;
        let mut left = Vec::new();
        for event in writes {
            let EventKind::StateChanged { version: recorded, .. } = &event.kind else { continue };
            match commit.in_force(event.seq) {
                None => left.push(event),
                Some((in_force, _)) if in_force == *recorded => {}
                Some(_) => {
                    // Only a write that was put onto another record needs the values of its commit.
                    if !is_whole {
                        // Where the commit is damaged the write stays as its block saw it.
                        let Some(kind) = body::readable(connection, &body::lossy(row, 3)?, &body::lossy(row, 4)?)?
                        else {
                            continue;
                        };
                        let known = kind.commits().iter().find(|known| known.scope == *scope);
                        commit.rebased = known.map(|known| known.rebased.clone()).unwrap_or_default();
                        is_whole = true;
                    }
                    put_in_force(event, &commit);
                }
            }
        }
        writes = left;
    }
    if writes.is_empty() {
        return Ok(());
    }
    // What a fork has in common with another request made no step of its own.
    let mut commits = connection.prepare_cached(
        "SELECT e.kind, e.body FROM event e JOIN request r ON r.n = e.request
         WHERE r.id = ?1 AND r.forked_from IS NOT NULL AND e.seq <= r.forked_at AND e.id > ?2
             AND e.kind IN ('block_finished', 'callback_returned', 'committed') ORDER BY e.seq",
    )?;
    let mut rows = commits.query((request, first))?;
    while let Some(row) = rows.next()? {
        let kind = body::readable(connection, &body::lossy(row, 0)?, &body::lossy(row, 1)?)?;
        for commit in kind.iter().flat_map(EventKind::commits) {
            writes.iter_mut().for_each(|event| put_in_force(event, commit));
        }
    }
    Ok(())
}
