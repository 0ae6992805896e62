//! Deletes the payloads that nothing refers to any more.

use std::collections::HashSet;

use crate::sql::{Connection, OptionalExtension};
use blake3::Hash;

use crate::row::error::Error;
use crate::row::references::References;
use crate::row::{body, payload};
use crate::transfer::sliced_work::SlicedWork;
use crate::write::removal_queue;

/// Queues all payloads that nothing refers to. Reads all bodies that have references.
pub(crate) fn queue_unreferenced(work: &SlicedWork) -> Result<(), Error> {
    let unreferenced: Vec<i64> = work.read(|connection| {
        let referenced = References::all(connection)?;
        let mut statement = connection.prepare("SELECT n, hash FROM payload")?;
        let mut rows = statement.query(())?;
        let mut unreferenced = Vec::new();
        while let Some(row) = rows.next()? {
            if !referenced.0.contains(&Hash::from_bytes(row.get(1)?)) {
                unreferenced.push(row.get(0)?);
            }
        }
        Ok(unreferenced)
    })?;
    in_slices(work, unreferenced, removal_queue::queue_payload)
}

/// Deletes the queued payloads that nothing refers to, and takes the others out of the queue.
///
/// First marks the queued rows with a random token, then collects all references in a snapshot, without blocking
/// writers. A new reference takes its payload out of the queue ([`payload::insert`]), and queueing a payload again
/// clears the token, so for rows that still have the token afterwards the result of the snapshot is valid.
pub(crate) fn sweep(work: &SlicedWork) -> Result<(), Error> {
    let token = (std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), work.place().path()) >> 1) as i64;
    let mut seen: HashSet<i64> = HashSet::new();
    loop {
        let (fresh, inner) = work.read(|connection| queued_payloads(connection, &seen))?;
        if fresh.is_empty() {
            break;
        }
        seen.extend(&fresh);
        in_slices(work, inner, removal_queue::queue_payload)?;
        in_slices(work, fresh, move |connection, n| {
            connection
                .prepare_cached("UPDATE removal SET last = ?2 WHERE kind = 'payload' AND n = ?1 AND import = ''")?
                .execute((n, token))?;
            Ok(())
        })?;
    }
    let (referenced, unreferenced): (Vec<i64>, Vec<i64>) = work.read(|connection| {
        let referenced = References::all(connection)?;
        let mut statement = connection
            .prepare("SELECT r.n, p.hash FROM removal r LEFT JOIN payload p ON p.n = r.n WHERE r.kind = 'payload'")?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get::<_, Option<[u8; 32]>>(1)?)))?;
        let (mut kept, mut unreferenced) = (Vec::new(), Vec::new());
        for row in rows {
            let (n, hash) = row?;
            match hash {
                Some(hash) if !referenced.0.contains(&Hash::from_bytes(hash)) => unreferenced.push(n),
                _ => kept.push(n),
            }
        }
        Ok((kept, unreferenced))
    })?;
    in_slices(work, unreferenced, move |connection, n| {
        if dequeue_if_untouched(connection, n, token)? {
            let bytes: Option<i64> = connection
                .prepare_cached("DELETE FROM payload WHERE n = ?1 RETURNING bytes")?
                .query_row((n,), |row| row.get(0))
                .optional()?;
            connection
                .prepare_cached("UPDATE total SET unique_payload_bytes = max(0, unique_payload_bytes - ?1)")?
                .execute((bytes.unwrap_or(0),))?;
        }
        Ok(())
    })?;
    in_slices(work, referenced, move |connection, n| dequeue_if_untouched(connection, n, token).map(drop))
}

/// Takes a payload out of the queue if it still has the token. Returns whether it had.
fn dequeue_if_untouched(connection: &Connection, n: i64, token: i64) -> Result<bool, Error> {
    let removed = connection
        .prepare_cached("DELETE FROM removal WHERE kind = 'payload' AND n = ?1 AND import = '' AND last = ?2")?
        .execute((n, token))?;
    Ok(removed > 0)
}

/// The queued payloads that are not in `seen`, and the payloads that they refer to which are not queued.
fn queued_payloads(connection: &Connection, seen: &HashSet<i64>) -> Result<(Vec<i64>, Vec<i64>), Error> {
    let mut statement = connection.prepare("SELECT n FROM removal WHERE kind = 'payload'")?;
    let rows = statement.query_map((), |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?;
    let fresh: Vec<i64> = rows.into_iter().filter(|n| !seen.contains(n)).collect();
    let mut inner = Vec::new();
    let mut hash = connection.prepare_cached("SELECT hash FROM payload WHERE n = ?1")?;
    let mut number = connection.prepare_cached("SELECT n FROM payload WHERE hash = ?1")?;
    for n in &fresh {
        let Some(hash) = hash.query_row((n,), |row| row.get::<_, [u8; 32]>(0)).optional()? else { continue };
        let name = Hash::from_bytes(hash).to_hex();
        // A damaged payload counts as having no references.
        let Ok(text) = payload::load(connection, &name) else { continue };
        for name in body::referenced_payloads(&text).unwrap_or_default() {
            let Ok(hash) = Hash::from_hex(&name) else { continue };
            inner.extend(number.query_row((hash.as_bytes(),), |row| row.get::<_, i64>(0)).optional()?);
        }
    }
    let known: HashSet<i64> = fresh.iter().copied().collect();
    inner.retain(|n| !seen.contains(n) && !known.contains(n));
    Ok((fresh, inner))
}

/// Calls `each` for each row number, in as many slices as necessary.
fn in_slices(
    work: &SlicedWork,
    numbers: Vec<i64>,
    each: impl Fn(&Connection, i64) -> Result<(), Error> + Clone + Send + 'static,
) -> Result<(), Error> {
    let mut left = numbers;
    while !left.is_empty() {
        let each = each.clone();
        left = work.write(move |connection, slice| {
            let mut numbers = left.into_iter();
            for n in numbers.by_ref() {
                each(connection, n)?;
                if slice.is_over() {
                    break;
                }
            }
            Ok::<_, Error>(numbers.collect())
        })?;
    }
    Ok(())
}
