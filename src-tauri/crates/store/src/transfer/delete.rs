//! Taking a session out of the database, with everything that only it needs.
//!
//! One short transaction takes out what others look it up by, and leaves the rest to [`crate::transfer::removal`].
//! Records of users and projects stay as they are, though events that made them go: a keyframe takes the place of what
//! is deleted, wherever something that stays may look. It is the truth from then on.

use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::{Connection, OptionalExtension};

use crate::Store;
use crate::file::open::Owners;
use crate::read::states;
use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::row::{body, totals};
use crate::transfer::removal;
use crate::write::removal_queue;

/// What became of a wish to delete or to compact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleared<T> {
    /// It is done.
    Done(T),
    /// There is no such session.
    Unknown,
    /// This request runs, or waits for its turn.
    Busy(String),
    /// This session was forked from it, and reads what came before the fork from here.
    Needed(String),
}

/// What was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Requests of the session.
    pub requests: u64,
    /// Their events.
    pub events: u64,
}

impl Store {
    /// Deletes a session: its requests, their events and what they hold, its state and resources. It is gone all
    /// at once; the room it took is cleared while others write, by this process or by the next.
    pub fn delete_session(&self, id: &str) -> Result<Cleared<Deleted>, Error> {
        let pieces = self.pieces()?;
        loop {
            let planned = pieces.read(|connection| plan(connection, &self.owners, id))?;
            let plan = match planned {
                Ok(plan) => plan,
                Err(refusal) => return Ok(refusal),
            };
            let (id, owners) = (id.to_owned(), self.owners.clone());
            if let Some(cleared) = pieces.write(move |connection, _| take_out(connection, &owners, &id, &plan))? {
                // What is left undone here waits in the queue, and nobody sees it.
                let _ = removal::work(&pieces);
                return Ok(cleared);
            }
        }
    }
}

/// A request that a living process runs or keeps waiting; of one session, or of any.
pub(crate) fn busy(connection: &Connection, owners: &Owners, session: Option<i64>) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id, owner FROM request
         WHERE (?1 IS NULL OR session = ?1) AND status IN ('queued', 'in_progress') ORDER BY n DESC",
    )?;
    let mut rows = statement.query((session,))?;
    while let Some(row) = rows.next()? {
        if owners.is_alive(&row.get::<_, String>(1)?) {
            return Ok(Some(row.get(0)?));
        }
    }
    Ok(None)
}

/// A session that can be deleted, by its number.
fn deletable(connection: &Connection, owners: &Owners, id: &str) -> Result<Result<i64, Cleared<Deleted>>, Error> {
    let n: Option<i64> = connection
        .prepare_cached("SELECT n FROM session WHERE id = ?1")?
        .query_row((id,), |row| row.get(0))
        .optional()?;
    let Some(n) = n else { return Ok(Err(Cleared::Unknown)) };
    if let Some(request) = busy(connection, owners, Some(n))? {
        return Ok(Err(Cleared::Busy(request)));
    }
    if let Some(fork) = fork_of(connection, n)? {
        return Ok(Err(Cleared::Needed(fork)));
    }
    Ok(Ok(n))
}

/// What goes with a session.
struct Plan {
    requests: Requests,
    /// The newest event of all when it was made.
    newest: i64,
    /// The newest event that goes.
    last: i64,
    /// The scopes that only the session has; those of its requests go with these.
    own: Vec<i64>,
    /// Scopes of others that it wrote to.
    shared: Vec<i64>,
    events: u64,
    /// As far as the running totals count them.
    covered: Sums,
    /// Whether an event of it cannot be read.
    is_damaged: bool,
}

/// What the rows of a session's requests come to. Where that, and their events, are as before, each of them is.
#[derive(PartialEq)]
struct Requests {
    count: u64,
    /// How many have events that no filter covers, and the sum of the first ones of those.
    unindexed: (i64, i64),
}

fn plan(connection: &Connection, owners: &Owners, id: &str) -> Result<Result<Plan, Cleared<Deleted>>, Error> {
    let n = match deletable(connection, owners, id)? {
        Ok(n) => n,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut plan = Plan {
        requests: requests(connection, n)?,
        newest: connection.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?,
        last: 0,
        own: own_scopes(connection, n, id)?,
        shared: Vec::new(),
        events: 0,
        covered: Sums::default(),
        is_damaged: false,
    };
    let mut writes = connection.prepare_cached(
        "SELECT 1 FROM change c CROSS JOIN event e ON e.id = c.event CROSS JOIN request r ON r.n = e.request
         WHERE c.scope = ?1 AND r.session = ?2 LIMIT 1",
    )?;
    for scope in shared_scopes(connection, n)? {
        if writes.exists((scope, n))? {
            plan.shared.push(scope);
        }
    }
    let mut statement = connection.prepare(
        "SELECT e.kind, e.body, r.unindexed_from IS NULL OR e.seq < r.unindexed_from, e.sum, e.id
         FROM event e JOIN request r ON r.n = e.request WHERE r.session = ?1",
    )?;
    let mut rows = statement.query((n,))?;
    while let Some(row) = rows.next()? {
        plan.events += 1;
        plan.last = plan.last.max(row.get(4)?);
        if row.get(2)? {
            let text = body::lossy(row, 1)?;
            let kind = match body::whole_event(connection, &body::lossy(row, 0)?, &text, row.get(3)?) {
                Err(Error::Damaged(_)) => None,
                kind => Some(kind?),
            };
            plan.is_damaged |= kind.is_none();
            plan.covered += Sums::read(kind.as_ref(), text.len());
        }
    }
    Ok(Ok(plan))
}

fn requests(connection: &Connection, session: i64) -> Result<Requests, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*), count(unindexed_from), coalesce(sum(unindexed_from), 0) FROM request WHERE session = ?1",
    )?;
    Ok(statement
        .query_row((session,), |row| Ok(Requests { count: row.get(0)?, unindexed: (row.get(1)?, row.get(2)?) }))?)
}

/// Whether a session has an event after this one.
fn has_gone_on(connection: &Connection, session: i64, newest: i64) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM event e CROSS JOIN request r ON r.n = e.request WHERE e.id > ?2 AND r.session = ?1 LIMIT 1",
    )?;
    Ok(statement.exists((session, newest))?)
}

/// Takes out the rows by which a session is found. Answers nothing where the plan does not hold any more. Others wait
/// meanwhile, so that nothing is looked at for each request.
fn take_out(
    connection: &Connection,
    owners: &Owners,
    id: &str,
    plan: &Plan,
) -> Result<Option<Cleared<Deleted>>, Error> {
    let n = match deletable(connection, owners, id)? {
        Ok(n) => n,
        Err(refusal) => return Ok(Some(refusal)),
    };
    if requests(connection, n)? != plan.requests || has_gone_on(connection, n, plan.newest)? {
        return Ok(None);
    }
    for scope in &plan.shared {
        removal_queue::queue(connection, "shared", *scope, None)?;
    }
    for scope in &plan.own {
        removal_queue::queue(connection, "scope", *scope, None)?;
        connection.prepare_cached("DELETE FROM scope WHERE n = ?1")?.execute((scope,))?;
    }
    // As `removal_queue::queue` does it, of all at once.
    connection.execute(
        "INSERT INTO removal (kind, n, name) SELECT 'request', n, id FROM request WHERE session = ?1
         ON CONFLICT DO UPDATE SET last = coalesce(last, 0) + 1",
        (n,),
    )?;
    connection.execute("DELETE FROM ticket WHERE request IN (SELECT n FROM request WHERE session = ?1)", (n,))?;
    connection.execute("DELETE FROM request WHERE session = ?1", (n,))?;
    removal_queue::queue(connection, "session", n, None)?;
    connection.execute("DELETE FROM session WHERE n = ?1", (n,))?;
    let covered = plan.covered;
    connection.execute(
        "UPDATE total SET indexed_events = indexed_events - ?1, items = items - ?2, payload_bytes = payload_bytes - ?3,
         unique_payload_bytes = max(0, unique_payload_bytes - ?4), id_floor = max(id_floor, ?5)",
        (covered.events, covered.items, covered.payload_bytes, covered.unique_bytes, plan.last),
    )?;
    if plan.is_damaged {
        // What the damaged events were counted as, nobody knows any more.
        totals::count_again(connection)?;
    }
    Ok(Some(Cleared::Done(Deleted { requests: plan.requests.count, events: plan.events })))
}

/// A session that was forked from one.
fn fork_of(connection: &Connection, session: i64) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id FROM request r JOIN session s ON s.forked_from = r.id WHERE r.session = ?1 ORDER BY s.n LIMIT 1",
    )?;
    Ok(statement.query_row((session,), |row| row.get(0)).optional()?)
}

/// The session's own scope, its resources, and, of a fork, its copies of what belongs to users and projects.
fn own_scopes(connection: &Connection, session: i64, id: &str) -> Result<Vec<i64>, Error> {
    let mut keys = vec![ScopeKey::new(ScopeKind::Session, id)];
    keys.extend(identities(connection, session)?.iter().map(|key| ScopeKey::overlay(key.kind, &key.id, id)));
    let mut scopes = Vec::new();
    for key in keys {
        scopes.extend(states::find(connection, &key)?);
        scopes.extend(states::resources_of(connection, &key)?);
    }
    Ok(scopes)
}

/// The scopes of users and projects that the session's requests may have written.
fn shared_scopes(connection: &Connection, session: i64) -> Result<Vec<i64>, Error> {
    let mut scopes = Vec::new();
    for key in identities(connection, session)? {
        scopes.extend(states::find(connection, &key)?);
        scopes.extend(states::resources_of(connection, &key)?);
    }
    Ok(scopes)
}

/// The users and projects of a session's requests.
fn identities(connection: &Connection, session: i64) -> Result<Vec<ScopeKey>, Error> {
    let mut found = Vec::new();
    for (kind, column) in [(ScopeKind::User, "user"), (ScopeKind::Project, "project")] {
        let sql = format!("SELECT DISTINCT {column} FROM request WHERE session = ?1 AND {column} IS NOT NULL");
        let mut statement = connection.prepare_cached(&sql)?;
        for id in statement.query_map((session,), |row| row.get::<_, String>(0))? {
            found.push(ScopeKey::new(kind, id?));
        }
    }
    Ok(found)
}
