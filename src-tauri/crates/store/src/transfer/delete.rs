//! Deletes a session, with everything that only it uses.
//!
//! One short transaction deletes the rows that it is found by, and queues the rest for [`crate::transfer::removal`].
//! Records of users and projects keep their states although events that led to them are deleted: keyframes, called
//! tombstones, replace the deleted changes wherever a remaining event may need the state.

use crate::sql::{Connection, OptionalExtension};
use engine::scope::{ScopeKey, ScopeKind};

use crate::Store;
use crate::file::owners::Owners;
use crate::read::states;
use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::row::{body, totals};
use crate::transfer::removal;
use crate::write::removal_queue;

/// The result of a deletion or compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleared<T> {
    /// It is done.
    Done(T),
    /// There is no such session.
    Unknown,
    /// Refused: this request is running or queued.
    Busy(String),
    /// Refused: these sessions are forks of it, oldest first, and show its requests before the fork.
    Needed(Vec<String>),
}

/// The numbers of deleted rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// How many requests.
    pub requests: u64,
    /// How many events.
    pub events: u64,
}

impl Store {
    /// Deletes a session: its requests and their events, its state and resources. It disappears in one transaction;
    /// its rows are removed afterwards in short ones, by this process or, if it ends, by the next one.
    pub fn delete_session(&self, id: &str) -> Result<Cleared<Deleted>, Error> {
        let work = self.sliced_work()?;
        loop {
            let planned = work.read(|connection| plan(connection, &self.owners, id))?;
            let plan = match planned {
                Ok(plan) => plan,
                Err(refusal) => return Ok(refusal),
            };
            let (id, owners) = (id.to_owned(), self.owners.clone());
            if let Some(cleared) = work.write(move |connection, _| detach_session(connection, &owners, &id, &plan))? {
                // After an error the rest stays in the queue, invisible to readers.
                let _ = removal::run_queue(&work);
                return Ok(cleared);
            }
        }
    }
}

/// A request that is running or queued in a living process; of one session, or of any.
pub(crate) fn running_request(
    connection: &Connection,
    owners: &Owners,
    session: Option<i64>,
) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id, owner FROM request
         WHERE (session = ?1 OR ?1 IS NULL) AND status IN ('queued', 'in_progress') ORDER BY n DESC",
    )?;
    let mut rows = statement.query((session,))?;
    while let Some(row) = rows.next()? {
        if owners.is_alive(&row.get::<_, String>(1)?) {
            return Ok(Some(row.get(0)?));
        }
    }
    Ok(None)
}

/// The row number of a session if it can be deleted, else why not.
fn deletable(connection: &Connection, owners: &Owners, id: &str) -> Result<Result<i64, Cleared<Deleted>>, Error> {
    let n: Option<i64> = connection
        .prepare_cached("SELECT n FROM session WHERE id = ?1")?
        .query_row((id,), |row| row.get(0))
        .optional()?;
    let Some(n) = n else { return Ok(Err(Cleared::Unknown)) };
    if let Some(request) = running_request(connection, owners, Some(n))? {
        return Ok(Err(Cleared::Busy(request)));
    }
    let forks = forks_of(connection, n)?;
    Ok(if forks.is_empty() { Ok(n) } else { Err(Cleared::Needed(forks)) })
}

/// The plan of a deletion. It is made in a snapshot, and checked again in the transaction that deletes.
struct Plan {
    requests: RequestSums,
    /// The highest id of an event when the plan was made.
    newest: i64,
    /// The highest id of an event of the session.
    last: i64,
    /// The scopes of the session, without those of its requests.
    own: Vec<i64>,
    /// The scopes of users and projects that it wrote to; they stay.
    surviving: Vec<i64>,
    events: u64,
    /// The totals of its indexed events, to be subtracted.
    indexed: Sums,
    /// Whether one of its events cannot be read.
    is_damaged: bool,
}

/// Sums over the rows of a session's requests. If these are the same and there are no newer events, no row has
/// changed.
#[derive(PartialEq)]
struct RequestSums {
    count: u64,
    /// How many have an unindexed tail, and the sum of `unindexed_from`.
    unindexed: (i64, i64),
}

fn plan(connection: &Connection, owners: &Owners, id: &str) -> Result<Result<Plan, Cleared<Deleted>>, Error> {
    let n = match deletable(connection, owners, id)? {
        Ok(n) => n,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut plan = Plan {
        requests: request_sums(connection, n)?,
        newest: connection.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?,
        last: 0,
        own: own_scopes(connection, n, id)?,
        surviving: Vec::new(),
        events: 0,
        indexed: Sums::default(),
        is_damaged: false,
    };
    let mut writes = connection.prepare_cached(
        "SELECT 1 FROM change c CROSS JOIN event e CROSS JOIN request r
         WHERE e.id = c.event AND r.n = e.request AND c.scope = ?1 AND r.session = ?2 LIMIT 1",
    )?;
    for scope in surviving_scopes(connection, n)? {
        if writes.exists((scope, n))? {
            plan.surviving.push(scope);
        }
    }
    let mut statement = connection.prepare(
        "SELECT e.kind, e.body, r.unindexed_from IS NULL OR e.seq < r.unindexed_from, e.body_checksum, e.id
         FROM event e JOIN request r ON r.n = e.request WHERE r.session = ?1",
    )?;
    let mut rows = statement.query((n,))?;
    while let Some(row) = rows.next()? {
        plan.events += 1;
        plan.last = plan.last.max(row.get(4)?);
        if row.get(2)? {
            let text = body::lossy(row, 1)?;
            let kind = match body::checked_event(connection, &body::lossy(row, 0)?, &text, row.get(3)?) {
                Err(Error::Damaged(_)) => None,
                kind => Some(kind?),
            };
            plan.is_damaged |= kind.is_none();
            plan.indexed += Sums::of_stored(kind.as_ref(), text.len());
        }
    }
    Ok(Ok(plan))
}

fn request_sums(connection: &Connection, session: i64) -> Result<RequestSums, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*), count(unindexed_from), coalesce(sum(unindexed_from), 0) FROM request WHERE session = ?1",
    )?;
    Ok(statement
        .query_row((session,), |row| Ok(RequestSums { count: row.get(0)?, unindexed: (row.get(1)?, row.get(2)?) }))?)
}

/// Whether a session has an event with an id above `newest`.
fn has_newer_events(connection: &Connection, session: i64, newest: i64) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM event e CROSS JOIN request r WHERE r.n = e.request AND e.id > ?2 AND r.session = ?1 LIMIT 1",
    )?;
    Ok(statement.exists((session, newest))?)
}

/// Deletes the rows by which a session is found, and queues the rest. Returns `None` if the plan is out of date. Other
/// writers wait meanwhile, so it must not run statements for each request.
fn detach_session(
    connection: &Connection,
    owners: &Owners,
    id: &str,
    plan: &Plan,
) -> Result<Option<Cleared<Deleted>>, Error> {
    let n = match deletable(connection, owners, id)? {
        Ok(n) => n,
        Err(refusal) => return Ok(Some(refusal)),
    };
    if request_sums(connection, n)? != plan.requests || has_newer_events(connection, n, plan.newest)? {
        return Ok(None);
    }
    for scope in &plan.surviving {
        removal_queue::queue(connection, "shared", *scope, None)?;
    }
    for scope in &plan.own {
        removal_queue::queue(connection, "scope", *scope, None)?;
        connection.prepare_cached("DELETE FROM scope WHERE n = ?1")?.execute((scope,))?;
    }
    // Like `removal_queue::queue`, for all requests in one statement.
    connection.execute(
        "INSERT INTO removal (kind, n, name) SELECT 'request', n, id FROM request WHERE session = ?1
         ON CONFLICT (kind, n, import) DO UPDATE SET last = coalesce(removal.last, 0) + 1",
        (n,),
    )?;
    connection.execute("DELETE FROM ticket WHERE request IN (SELECT n FROM request WHERE session = ?1)", (n,))?;
    connection.execute("DELETE FROM request WHERE session = ?1", (n,))?;
    removal_queue::queue(connection, "session", n, None)?;
    connection.execute("DELETE FROM session WHERE n = ?1", (n,))?;
    let indexed = plan.indexed;
    connection.execute(
        "UPDATE total SET indexed_events = indexed_events - ?1, items = items - ?2, payload_bytes = payload_bytes - ?3,
         unique_payload_bytes = max(0, unique_payload_bytes - ?4), id_floor = max(id_floor, ?5)",
        (indexed.events, indexed.items, indexed.payload_bytes, indexed.unique_bytes, plan.last),
    )?;
    if plan.is_damaged {
        // It is unknown how the damaged events were counted.
        totals::recount(connection)?;
    }
    Ok(Some(Cleared::Done(Deleted { requests: plan.requests.count, events: plan.events })))
}

/// The sessions that are forks of a request of this one, oldest first.
fn forks_of(connection: &Connection, session: i64) -> Result<Vec<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id FROM request r JOIN session s ON s.forked_from = r.id WHERE r.session = ?1 ORDER BY s.n",
    )?;
    let mut rows = statement.query((session,))?;
    let mut forks = Vec::new();
    while let Some(row) = rows.next()? {
        forks.push(row.get(0)?);
    }
    Ok(forks)
}

/// The session's scope, its resources, and, if it is a fork, its copies of users, projects and their resources.
fn own_scopes(connection: &Connection, session: i64, id: &str) -> Result<Vec<i64>, Error> {
    let mut keys = vec![ScopeKey::new(ScopeKind::Session, id)];
    keys.extend(users_and_projects(connection, session)?.iter().map(|key| ScopeKey::overlay(key.kind, &key.id, id)));
    let mut scopes = Vec::new();
    for key in keys {
        scopes.extend(states::find(connection, &key)?);
        scopes.extend(states::resources_of(connection, &key)?);
    }
    Ok(scopes)
}

/// The scopes of users and projects that the session's requests may have written.
fn surviving_scopes(connection: &Connection, session: i64) -> Result<Vec<i64>, Error> {
    let mut scopes = Vec::new();
    for key in users_and_projects(connection, session)? {
        scopes.extend(states::find(connection, &key)?);
        scopes.extend(states::resources_of(connection, &key)?);
    }
    Ok(scopes)
}

/// The users and projects of a session's requests.
fn users_and_projects(connection: &Connection, session: i64) -> Result<Vec<ScopeKey>, Error> {
    let mut found = Vec::new();
    let ids =
        [(ScopeKind::User, "user"), (ScopeKind::User, "user || ':~org:' || project"), (ScopeKind::Project, "project")];
    for (kind, id) in ids {
        let sql = format!("SELECT DISTINCT {id}, flow FROM request WHERE session = ?1 AND {id} IS NOT NULL");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query((session,))?;
        while let Some(row) = rows.next()? {
            let (id, flow): (String, String) = (row.get(0)?, row.get(1)?);
            // Also the state that the flow may isolate; most flows have none.
            for key in [ScopeKey::isolated(kind, &id, &flow), ScopeKey::new(kind, id)] {
                if !found.contains(&key) {
                    found.push(key);
                }
            }
        }
    }
    Ok(found)
}
