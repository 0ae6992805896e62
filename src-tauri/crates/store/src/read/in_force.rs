//! What writes to records came to, where an old log does not tell it.
//!
//! The event of a write says what its block saw. Where another writer came first, its commit says what came into
//! force ([`engine::event::ScopeCommit::rebased`]), which versions before did not write down. It follows from the
//! events, so it is added to the commits of an old database when that is migrated, and to those of an old export
//! when it is imported. Must not change what came into force.

use engine::event::{EventKind, Seq};
use engine::operation::equal;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::read::states;
use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::row::{body, payload, totals};

/// Adds what is missing to the commits after an event.
pub(crate) fn complete(connection: &Connection, after: i64) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT n, kind, id FROM scope WHERE request IS NULL")?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let scopes: Vec<(i64, String, String)> = rows.collect::<Result<_, _>>()?;
    for (n, kind, id) in scopes {
        if let Some(kind) = ScopeKind::parse(&kind) {
            scope(connection, n, &ScopeKey::new(kind, id), after)?;
        }
    }
    Ok(())
}

/// A step of a record: the event that put it in force, and the request and the numbers of its operations.
struct Step {
    event: i64,
    request: i64,
    operations: Vec<Seq>,
    /// The version that it made.
    version: u64,
}

fn scope(connection: &Connection, scope: i64, key: &ScopeKey, after: i64) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(
        "SELECT c.event, e.request, e.seq, c.operations, c.version FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.operations IS NOT NULL ORDER BY c.event",
    )?;
    let mut rows = statement.query((scope, after))?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(2)?;
        let back = states::read_operations(row.get_ref(3)?.as_str()?).collect::<Result<Vec<_>, _>>()?;
        let operations = back.into_iter().map(|back| (seq - back).unsigned_abs()).collect();
        steps.push(Step { event: row.get(0)?, request: row.get(1)?, operations, version: row.get(4)? });
    }
    let mut truths = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM keyframe k LEFT JOIN event e ON e.id = k.event
             WHERE k.scope = ?1 AND k.event > ?2 AND k.event < ?3 AND (k.tombstone OR e.request = 0))",
    )?;
    let mut one = connection.prepare_cached("SELECT kind, body FROM event WHERE request = ?1 AND seq = ?2")?;
    let (mut last, mut version, mut state) = (after, 0, State::default());
    for (at, step) in steps.iter().enumerate() {
        // What no step led to: an import, or a session that was deleted.
        if at == 0 || truths.query_row((scope, last, step.event), |row| row.get(0))? {
            let record = states::at(connection, scope, step.event - 1)?;
            (version, state) = (record.version, (*record.state).clone());
        }
        last = step.event;
        let (mut values, mut is_news) = (Vec::new(), false);
        for operation in &step.operations {
            let row = one.query_row((step.request, operation), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((name, text)): Option<(String, String)> = row else { return Ok(()) };
            match body::readable(connection, &name, &text)? {
                Some(EventKind::StateChanged { operation, value, version: recorded, .. }) => {
                    operation.apply(&mut state);
                    version += 1;
                    let sums = operation.sums(&state);
                    let is_same = match (&value, &sums) {
                        (Some(value), Some(sums)) => equal(value, sums),
                        // One that tells nothing tells nothing wrong.
                        _ => true,
                    };
                    is_news |= recorded != version || !is_same;
                    values.push(sums.unwrap_or_default());
                }
                Some(EventKind::StateInitialized { state: Value::Object(fields), .. }) => {
                    state.fill_in(&fields);
                    values.push(Value::Null);
                }
                // What is damaged is told by a check.
                _ => return Ok(()),
            }
        }
        // A fork begins at the version that its record has elsewhere.
        version = step.version;
        if is_news {
            tell(connection, step.event, key, values)?;
        }
    }
    Ok(())
}

/// Writes into a commit what came of its operations, unless it tells already.
fn tell(connection: &Connection, event: i64, key: &ScopeKey, values: Vec<Value>) -> Result<(), Error> {
    let (name, line, is_covered): (String, String, bool) = connection
        .prepare_cached(
            "SELECT e.kind, e.body, r.unindexed_from IS NULL OR e.seq < r.unindexed_from
             FROM event e JOIN request r ON r.n = e.request WHERE e.id = ?1",
        )?
        .query_row((event,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some(mut kind) = body::readable(connection, &name, &line)? else { return Ok(()) };
    let before = Sums::read(Some(&kind), line.len());
    let Some(commit) = kind.commits_mut().iter_mut().find(|commit| commit.scope == *key) else { return Ok(()) };
    if !commit.rebased.is_empty() || commit.operations.len() != values.len() {
        return Ok(());
    }
    commit.rebased = values;
    let written = body::of_event(&kind)?;
    let mut stored = 0;
    for payload in &written.payloads {
        stored += payload::keep(connection, payload)? as i64;
    }
    let now = Sums::read(Some(&kind), written.text.len());
    connection.prepare_cached("UPDATE event SET body = ?2, sum = ?3 WHERE id = ?1")?.execute((
        event,
        &written.text,
        body::sum(&written.text),
    ))?;
    totals::store(connection, stored)?;
    if is_covered {
        totals::cover(
            connection,
            Sums {
                events: 0,
                items: 0,
                payload_bytes: now.payload_bytes - before.payload_bytes,
                unique_bytes: now.unique_bytes - before.unique_bytes,
            },
        )?;
    }
    Ok(())
}
