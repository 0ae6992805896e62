//! Adds missing `rebased` values to the commits of old logs.
//!
//! The event of a write has the value that its block saw. If another request had committed first, the commit also has
//! the resulting value ([`engine::event::ScopeCommit::rebased`]). Older versions did not record it. It can be derived
//! from the events, so it is added when an old database is migrated or an old export is imported. Must not change any
//! state.

use crate::sql::{Connection, OptionalExtension};
use engine::event::{EventKind, Seq};
use engine::operation::equal;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use serde_json::Value;

use crate::read::states;
use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::row::{body, payload, totals};

/// Adds the missing values to the commits after the event with the id `after`.
pub(crate) fn add_missing(connection: &Connection, after: i64) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT n, kind, id FROM scope WHERE request IS NULL")?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let scopes: Vec<(i64, String, String)> = rows.collect::<Result<_, _>>()?;
    for (n, kind, id) in scopes {
        if let Some(kind) = ScopeKind::parse(&kind) {
            add_missing_of_scope(connection, n, &ScopeKey::new(kind, id), after)?;
        }
    }
    Ok(())
}

/// A committed change of a record: the id of the commit, its request, and the `seq` of its operations.
struct CommittedChange {
    event: i64,
    request: i64,
    operations: Vec<Seq>,
    /// The resulting version.
    version: u64,
}

fn add_missing_of_scope(connection: &Connection, scope: i64, key: &ScopeKey, after: i64) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(
        "SELECT c.event, e.request, e.seq, c.operations, c.version FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.operations IS NOT NULL ORDER BY c.event",
    )?;
    let mut rows = statement.query((scope, after))?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(2)?;
        let back = states::read_operations(row.get_ref(3)?.as_str()?).collect::<Result<Vec<_>, _>>()?;
        let operations = back.into_iter().map(|back| (seq - back).unsigned_abs()).collect();
        changes.push(CommittedChange { event: row.get(0)?, request: row.get(1)?, operations, version: row.get(4)? });
    }
    let mut standalone = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM keyframe k LEFT JOIN event e ON e.id = k.event
             WHERE k.scope = ?1 AND k.event > ?2 AND k.event < ?3 AND (k.tombstone = 1 OR e.request = 0))",
    )?;
    let mut one = connection.prepare_cached("SELECT kind, body FROM event WHERE request = ?1 AND seq = ?2")?;
    let (mut last, mut version, mut state) = (after, 0, State::default());
    for (at, change) in changes.iter().enumerate() {
        // A keyframe without a change: of an import, or a tombstone.
        if at == 0 || standalone.query_row((scope, last, change.event), |row| row.get(0))? {
            let record = states::at(connection, scope, change.event - 1)?;
            (version, state) = (record.version, (*record.state).clone());
        }
        last = change.event;
        let (mut values, mut is_rebased) = (Vec::new(), false);
        for operation in &change.operations {
            let row = one.query_row((change.request, operation), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((name, text)): Option<(String, String)> = row else { return Ok(()) };
            match body::event_if_readable(connection, &name, &text)? {
                Some(EventKind::StateChanged { operation, value, version: recorded, .. }) => {
                    operation.apply(&mut state);
                    version += 1;
                    let sums = operation.sums(&state);
                    let is_same = match (&value, &sums) {
                        (Some(value), Some(sums)) => equal(value, sums),
                        // A write without a value cannot have a wrong one.
                        _ => true,
                    };
                    is_rebased |= recorded != version || !is_same;
                    values.push(sums.unwrap_or_default());
                }
                Some(EventKind::StateInitialized { state: Value::Object(fields), .. }) => {
                    state.fill_in(&fields);
                    values.push(Value::Null);
                }
                // Damaged events are reported by `check`.
                _ => return Ok(()),
            }
        }
        // A fork's records begin at their copied version, which is more than the number of their operations.
        version = change.version;
        if is_rebased {
            write_rebased(connection, change.event, key, values)?;
        }
    }
    Ok(())
}

/// Writes the values into a commit, unless it has some already.
fn write_rebased(connection: &Connection, event: i64, key: &ScopeKey, values: Vec<Value>) -> Result<(), Error> {
    let (name, text, is_covered): (String, String, bool) = connection
        .prepare_cached(
            "SELECT e.kind, e.body, r.unindexed_from IS NULL OR e.seq < r.unindexed_from
             FROM event e JOIN request r ON r.n = e.request WHERE e.id = ?1",
        )?
        .query_row((event,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some(mut kind) = body::event_if_readable(connection, &name, &text)? else { return Ok(()) };
    let before = Sums::of_stored(Some(&kind), text.len());
    let Some(commit) = kind.commits_mut().iter_mut().find(|commit| commit.scope == *key) else { return Ok(()) };
    if !commit.rebased.is_empty() || commit.operations.len() != values.len() {
        return Ok(());
    }
    commit.rebased = values;
    let written = body::of_event(&kind)?;
    let mut stored = 0;
    for payload in &written.payloads {
        stored += payload::insert(connection, payload)? as i64;
    }
    let now = Sums::of_stored(Some(&kind), written.text.len());
    connection.prepare_cached("UPDATE event SET body = ?2, body_checksum = ?3 WHERE id = ?1")?.execute((
        event,
        &written.text,
        body::checksum(&written.text),
    ))?;
    totals::add_payload_bytes(connection, stored)?;
    if is_covered {
        totals::add_indexed(
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
