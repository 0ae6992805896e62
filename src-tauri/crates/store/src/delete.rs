//! Taking a session out of the database, with everything that only it needs.
//!
//! Records of users and projects stay as they are, though events that made them go: a keyframe takes the
//! place of what is deleted, wherever something that stays may look. It is the truth from then on.

use engine::log::Record;
use engine::resource::record;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::error::Error;
use crate::open::Owners;
use crate::references::References;
use crate::totals::Sums;
use crate::{Store, body, measure, payload, states};

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

/// The requests of a session.
const GONE: &str = "(SELECT n FROM request WHERE session = ?1)";

impl Store {
    /// Deletes a session: its requests, their events and what they hold, its state and resources. All of
    /// it, or nothing.
    pub fn delete_session(&self, id: &str) -> Result<Cleared<Deleted>, Error> {
        let (id, owners) = (id.to_owned(), self.owners.clone());
        self.writer.run(move |connection| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let cleared = session(&transaction, &owners, &id)?;
            transaction.commit()?;
            Ok(cleared)
        })
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

fn session(connection: &Connection, owners: &Owners, id: &str) -> Result<Cleared<Deleted>, Error> {
    let n: Option<i64> = connection
        .prepare_cached("SELECT n FROM session WHERE id = ?1")?
        .query_row((id,), |row| row.get(0))
        .optional()?;
    let Some(n) = n else { return Ok(Cleared::Unknown) };
    if let Some(request) = busy(connection, owners, Some(n))? {
        return Ok(Cleared::Busy(request));
    }
    if let Some(fork) = fork_of(connection, n)? {
        return Ok(Cleared::Needed(fork));
    }
    let mut going = Going::weigh(connection, n)?;
    for scope in own_scopes(connection, n, id)? {
        going.scope(connection, scope)?;
    }
    for scope in shared_scopes(connection, n)? {
        going.kept += stand_in(connection, n, scope)? as i64;
    }
    let requests: u64 =
        connection.query_row("SELECT count(*) FROM request WHERE session = ?1", (n,), |row| row.get(0))?;
    for sql in [
        &format!("DELETE FROM event WHERE request IN {GONE}"),
        &format!("DELETE FROM filter_block WHERE request IN {GONE}"),
        "DELETE FROM journal WHERE session = ?1",
        "DELETE FROM request WHERE session = ?1",
        "DELETE FROM session WHERE n = ?1",
    ] {
        connection.execute(sql, (n,))?;
    }
    let dropped = match going.payloads.is_empty() {
        true => 0,
        false => going.payloads.drop_unnamed(connection)?,
    };
    let Going { covered, kept, .. } = going;
    connection.execute(
        "UPDATE total SET indexed_events = indexed_events - ?1, items = items - ?2, payload_bytes = payload_bytes - ?3,
         unique_payload_bytes = max(0, unique_payload_bytes - ?4), id_floor = max(id_floor, ?5)",
        (covered.events, covered.items, covered.payload_bytes, covered.unique_bytes + dropped - kept, going.last),
    )?;
    Ok(Cleared::Done(Deleted { requests, events: going.events }))
}

/// A session that was forked from one.
fn fork_of(connection: &Connection, session: i64) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id FROM request r JOIN session s ON s.forked_from = r.id WHERE r.session = ?1 ORDER BY s.n LIMIT 1",
    )?;
    Ok(statement.query_row((session,), |row| row.get(0)).optional()?)
}

/// What goes.
#[derive(Default)]
struct Going {
    events: u64,
    /// As far as the running totals count it.
    covered: Sums,
    /// Bytes of JSON that keyframes keep which stand in for it.
    kept: i64,
    last: i64,
    payloads: References,
}

impl Going {
    fn weigh(connection: &Connection, session: i64) -> Result<Going, Error> {
        let mut going = Going::default();
        let mut statement = connection.prepare(
            "SELECT e.id, e.kind, e.body, r.unindexed_from IS NULL OR e.seq < r.unindexed_from FROM event e JOIN request r ON r.n = e.request
             WHERE r.session = ?1",
        )?;
        let mut rows = statement.query((session,))?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(2)?;
            let kind = body::event(connection, &row.get::<_, String>(1)?, &text)?;
            going.events += 1;
            if row.get(3)? {
                going.covered += Sums::read(Some(&kind), text.len());
            }
            going.last = going.last.max(row.get(0)?);
            going.payloads.add(connection, &text)?;
        }
        Ok(going)
    }

    /// Takes out a scope that only the session has.
    fn scope(&mut self, connection: &Connection, scope: i64) -> Result<(), Error> {
        let mut bodies = connection.prepare_cached("SELECT body FROM keyframe WHERE scope = ?1")?;
        let mut rows = bodies.query((scope,))?;
        while let Some(row) = rows.next()? {
            self.payloads.add(connection, &row.get::<_, String>(0)?)?;
        }
        for sql in [
            "DELETE FROM change WHERE scope = ?1",
            "DELETE FROM keyframe WHERE scope = ?1",
            "DELETE FROM attempt_rollback WHERE scope = ?1",
            "DELETE FROM scope WHERE n = ?1",
        ] {
            connection.prepare_cached(sql)?.execute((scope,))?;
        }
        Ok(())
    }
}

/// The scopes of the session's requests, its own, and its resources.
fn own_scopes(connection: &Connection, session: i64, id: &str) -> Result<Vec<i64>, Error> {
    let key = ScopeKey::new(ScopeKind::Session, id);
    let mut statement = connection.prepare(&format!(
        "SELECT n FROM scope WHERE request IN {GONE} UNION SELECT n FROM scope WHERE kind = 'session' AND id = ?2"
    ))?;
    let mut scopes: Vec<i64> = statement.query_map((session, id), |row| row.get(0))?.collect::<Result<_, _>>()?;
    scopes.extend(resources_of(connection, &key)?);
    Ok(scopes)
}

/// The scopes of users and projects that the session's requests may have written.
fn shared_scopes(connection: &Connection, session: i64) -> Result<Vec<i64>, Error> {
    let mut statement = connection.prepare(
        "SELECT DISTINCT 'user', user FROM request WHERE session = ?1
         UNION SELECT DISTINCT 'project', project FROM request WHERE session = ?1 AND project IS NOT NULL",
    )?;
    let mut rows = statement.query((session,))?;
    let mut scopes = Vec::new();
    while let Some(row) = rows.next()? {
        let kind = match row.get_ref(0)?.as_str() {
            Ok("user") => ScopeKind::User,
            _ => ScopeKind::Project,
        };
        let key = ScopeKey::new(kind, row.get::<_, String>(1)?);
        scopes.extend(states::find(connection, &key)?);
        scopes.extend(resources_of(connection, &key)?);
    }
    Ok(scopes)
}

/// Every resource of a scope, and the indexes of its collections.
fn resources_of(connection: &Connection, scope: &ScopeKey) -> Result<Vec<i64>, Error> {
    // After an owner comes `/` and a path, or `:` and a flow; each range ends at the next character.
    let mut statement = connection.prepare_cached(
        "SELECT n FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';')",
    )?;
    let rows = statement.query_map((record::prefix(scope),), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Puts a keyframe in the place of the steps that go: after every run of them that something which stays
/// may have seen the end of. Answers how many bytes of JSON they keep that nothing else kept.
fn stand_in(connection: &Connection, session: i64, scope: i64) -> Result<usize, Error> {
    let mut steps = connection.prepare_cached(
        "SELECT c.event FROM change c JOIN event e ON e.id = c.event JOIN request r ON r.n = e.request
         WHERE c.scope = ?1 AND r.session = ?2 ORDER BY c.event",
    )?;
    let going: Vec<i64> = steps.query_map((scope, session), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut others = connection.prepare_cached(
        "SELECT 1 FROM event e WHERE e.id > ?1 AND e.id < ?2
         AND e.request NOT IN (SELECT n FROM request WHERE session = ?3) LIMIT 1",
    )?;
    let mut stand_ins: Vec<(i64, Record)> = Vec::new();
    for (at, step) in going.iter().enumerate() {
        let next = going.get(at + 1).copied().unwrap_or(i64::MAX);
        if next == i64::MAX || others.exists((step, next, session))? {
            stand_ins.push((*step, states::at(connection, scope, *step)?));
        }
    }
    for step in &going {
        connection.prepare_cached("DELETE FROM change WHERE scope = ?1 AND event = ?2")?.execute((scope, step))?;
        connection.prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event = ?2")?.execute((scope, step))?;
    }
    let mut kept = 0;
    for (step, record) in stand_ins {
        let state = record.state.to_json();
        let bytes = measure::json_bytes(&state);
        let body = body::of_state(state)?;
        for payload in &body.payloads {
            kept += payload::keep(connection, payload)?;
        }
        connection
            .prepare_cached(
                "INSERT INTO keyframe (scope, event, version, bytes, body, tombstone) VALUES (?1, ?2, ?3, ?4, ?5, 1)",
            )?
            .execute((scope, step, record.version, bytes, body.text))?;
    }
    Ok(kept)
}
