//! What writes to durable records came to when their blocks committed them.

use crate::sql::Connection;
use engine::event::{Event, EventKind, ScopeCommit, Seq};
use engine::scope::ScopeKey;
use engine::views::in_force::put_in_force;

use crate::read::states;
use crate::row::body;
use crate::row::error::Error;

/// Updates writes to one record from the commits of their request, until each write has found its commit.
pub(crate) fn apply(
    connection: &Connection,
    request: &str,
    scope: &ScopeKey,
    mut writes: Vec<&mut Event>,
) -> Result<(), Error> {
    let (Some(n), Some(first)) = (states::find(connection, scope)?, writes.iter().map(|event| event.seq).min()) else {
        return Ok(());
    };
    let Some(first) = states::event_id(connection, request, first)? else { return Ok(()) };
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
        let mut is_loaded = false;
        let mut left = Vec::new();
        for event in writes {
            let EventKind::StateChanged { version: recorded, .. } = &event.kind else { continue };
            match commit.in_force(event.seq) {
                None => left.push(event),
                Some((in_force, _)) if in_force == *recorded => {}
                Some(_) => {
                    // The commit's body is read only if a write was applied to another version than its block saw.
                    if !is_loaded {
                        // If the commit is damaged, the write keeps the value that its block saw.
                        let Some(kind) =
                            body::event_if_readable(connection, &body::lossy(row, 3)?, &body::lossy(row, 4)?)?
                        else {
                            continue;
                        };
                        let known = kind.commits().iter().find(|known| known.scope == *scope);
                        commit.rebased = known.map(|known| known.rebased.clone()).unwrap_or_default();
                        is_loaded = true;
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
    // Events that a fork copied have no rows in `change`; their commits are read from the events.
    let mut commits = connection.prepare_cached(
        "SELECT e.kind, e.body FROM event e JOIN request r ON r.n = e.request
         WHERE r.id = ?1 AND r.forked_from IS NOT NULL AND e.seq <= r.forked_at AND e.id > ?2
             AND e.kind IN ('block_finished', 'callback_returned', 'committed') ORDER BY e.seq",
    )?;
    let mut rows = commits.query((request, first))?;
    while let Some(row) = rows.next()? {
        let kind = body::event_if_readable(connection, &body::lossy(row, 0)?, &body::lossy(row, 1)?)?;
        for commit in kind.iter().flat_map(EventKind::commits) {
            writes.iter_mut().for_each(|event| put_in_force(event, commit));
        }
    }
    Ok(())
}
