//! Dropping the payloads that nothing names any more.

use std::collections::HashSet;

use blake3::Hash;
use rusqlite::{Connection, OptionalExtension};

use crate::row::error::Error;
use crate::row::references::References;
use crate::row::{body, payload};
use crate::transfer::pieces::Pieces;
use crate::write::removal_queue;

/// Puts every payload that nothing names into the queue of removals.
pub(crate) fn queue_unnamed(pieces: &Pieces) -> Result<(), Error> {
    let unnamed: Vec<i64> = pieces.read(|connection| {
        let named = References::all(connection)?;
        let mut statement = connection.prepare("SELECT n, hash FROM payload")?;
        let mut rows = statement.query(())?;
        let mut unnamed = Vec::new();
        while let Some(row) = rows.next()? {
            if !named.0.contains(&Hash::from_bytes(row.get(1)?)) {
                unnamed.push(row.get(0)?);
            }
        }
        Ok(unnamed)
    })?;
    in_slices(pieces, unnamed, removal_queue::queue_payload)
}

/// Drops the payloads that wait to be removed, unless something names them.
///
/// What names one from now on takes it out of the queue ([`payload::keep`]), so a look at everything that is
/// named, which keeps nobody from writing, tells for sure of those that still wait afterwards, untouched.
pub(crate) fn sweep(pieces: &Pieces) -> Result<(), Error> {
    let token: i64 =
        pieces.read(|connection| Ok(connection.query_row("SELECT random() >> 1", (), |row| row.get(0))?))?;
    let mut seen: HashSet<i64> = HashSet::new();
    loop {
        let (fresh, inner) = pieces.read(|connection| waiting(connection, &seen))?;
        if fresh.is_empty() {
            break;
        }
        seen.extend(&fresh);
        in_slices(pieces, inner, removal_queue::queue_payload)?;
        in_slices(pieces, fresh, move |connection, n| {
            connection
                .prepare_cached("UPDATE removal SET last = ?2 WHERE kind = 'payload' AND n = ?1 AND import = ''")?
                .execute((n, token))?;
            Ok(())
        })?;
    }
    let (named, unnamed): (Vec<i64>, Vec<i64>) = pieces.read(|connection| {
        let named = References::all(connection)?;
        let mut statement = connection
            .prepare("SELECT r.n, p.hash FROM removal r LEFT JOIN payload p ON p.n = r.n WHERE r.kind = 'payload'")?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get::<_, Option<[u8; 32]>>(1)?)))?;
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for row in rows {
            let (n, hash) = row?;
            match hash {
                Some(hash) if !named.0.contains(&Hash::from_bytes(hash)) => gone.push(n),
                _ => kept.push(n),
            }
        }
        Ok((kept, gone))
    })?;
    in_slices(pieces, unnamed, move |connection, n| {
        if settle(connection, n, token)? {
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
    in_slices(pieces, named, move |connection, n| settle(connection, n, token).map(drop))
}

/// Takes a payload out of the queue if it has waited there untouched since the token was put on it.
fn settle(connection: &Connection, n: i64, token: i64) -> Result<bool, Error> {
    let settled = connection
        .prepare_cached("DELETE FROM removal WHERE kind = 'payload' AND n = ?1 AND import = '' AND last = ?2")?
        .execute((n, token))?;
    Ok(settled > 0)
}

/// Payloads in the queue besides those that were seen, and what they name.
fn waiting(connection: &Connection, seen: &HashSet<i64>) -> Result<(Vec<i64>, Vec<i64>), Error> {
    let mut statement = connection.prepare("SELECT n FROM removal WHERE kind = 'payload'")?;
    let rows = statement.query_map((), |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?;
    let fresh: Vec<i64> = rows.into_iter().filter(|n| !seen.contains(n)).collect();
    let mut inner = Vec::new();
    let mut hash = connection.prepare_cached("SELECT hash FROM payload WHERE n = ?1")?;
    let mut number = connection.prepare_cached("SELECT n FROM payload WHERE hash = ?1")?;
    for n in &fresh {
        let Some(hash) = hash.query_row((n,), |row| row.get::<_, [u8; 32]>(0)).optional()? else { continue };
        let name = Hash::from_bytes(hash).to_hex();
        // What is damaged names nothing.
        let Ok(text) = payload::load(connection, &name) else { continue };
        for name in body::names(&text).unwrap_or_default() {
            let Ok(hash) = Hash::from_hex(&name) else { continue };
            inner.extend(number.query_row((hash.as_bytes(),), |row| row.get::<_, i64>(0)).optional()?);
        }
    }
    let known: HashSet<i64> = fresh.iter().copied().collect();
    inner.retain(|n| !seen.contains(n) && !known.contains(n));
    Ok((fresh, inner))
}

/// Does something with each of some numbers, in as many transactions as that takes.
fn in_slices(
    pieces: &Pieces,
    numbers: Vec<i64>,
    each: impl Fn(&Connection, i64) -> Result<(), Error> + Clone + Send + 'static,
) -> Result<(), Error> {
    let mut left = numbers;
    while !left.is_empty() {
        let each = each.clone();
        left = pieces.write(move |connection, slice| {
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
