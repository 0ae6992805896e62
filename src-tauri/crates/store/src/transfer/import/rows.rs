//! Copies the rows of an import, a few in every transaction.

use super::BYTES_AT_ONCE;
use super::Copy;
use super::ROWS_AT_ONCE;
use crate::row::body::Body;
use crate::row::error::Error;
use crate::row::payload::Packed;
use crate::row::{body, payload};
use crate::transfer::bundle::BundleRecord;
use crate::write::{code, import_marks};
use blake3::Hash;
use rusqlite::Connection;
use rusqlite::OptionalExtension;
use rusqlite::params;
use rusqlite::types::Value as Column;
use std::collections::HashSet;
use std::sync::Arc;

/// An event on its way.
struct Line {
    id: i64,
    /// None of a mark.
    request: Option<i64>,
    seq: i64,
    at: i64,
    kind: String,
    path: Option<Arc<str>>,
    attempt: i64,
    body: String,
    payloads: Vec<Packed>,
}

/// A keyframe on its way.
struct Kept {
    scope: i64,
    event: i64,
    version: i64,
    bytes: i64,
    body: String,
    tombstone: bool,
    payloads: Vec<Packed>,
}

impl Copy<'_> {
    /// Keeps the code that requests ran. Where the import fails, no event names it, and it goes with the next
    /// compaction.
    pub(super) fn code(&self, pieces: Vec<BundleRecord>) -> Result<(), Error> {
        let mut rows = Vec::new();
        for piece in pieces {
            if let BundleRecord::Code { hash, code } = piece {
                rows.push((hash, body::of_state(code)?));
            }
        }
        self.slices(rows, |connection, (hash, body)| code::keep(connection, &hash, &body).map(|()| 0))
    }

    pub(super) fn events(&self) -> Result<(), Error> {
        let connection = &self.built.connection;
        let mut statement = connection.prepare(
            "SELECT e.id, e.request, e.seq, e.at, e.kind, p.text, e.attempt, e.body FROM event e
             LEFT JOIN path p ON p.n = e.path WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
        )?;
        let (mut after, mut sent) = (self.built.seed.event, HashSet::new());
        loop {
            let mut rows = statement.query((after, ROWS_AT_ONCE))?;
            let (mut lines, mut bytes) = (Vec::new(), 0);
            while bytes < BYTES_AT_ONCE
                && let Some(row) = rows.next()?
            {
                after = row.get(0)?;
                let body: String = row.get(7)?;
                let payloads = named(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(Packed::len).sum::<usize>();
                let request = match row.get(1)? {
                    0 => None,
                    n => Some(self.request(n)?),
                };
                lines.push(Line {
                    id: self.event(after),
                    request,
                    seq: row.get(2)?,
                    at: row.get(3)?,
                    kind: row.get(4)?,
                    path: row.get(5)?,
                    attempt: row.get(6)?,
                    body,
                    payloads,
                });
            }
            drop(rows);
            if lines.is_empty() {
                return Ok(());
            }
            self.slices(lines, event)?;
        }
    }

    pub(super) fn keyframes(&self) -> Result<(), Error> {
        let connection = &self.built.connection;
        let mut statement = connection.prepare(
            "SELECT scope, event, version, bytes, body, tombstone FROM keyframe
             WHERE (scope, event) > (?1, ?2) AND event > ?3 ORDER BY scope, event LIMIT ?4",
        )?;
        let (mut after, mut sent) = ((0_i64, 0_i64), HashSet::new());
        loop {
            let mut rows = statement.query((after.0, after.1, self.built.seed.event, ROWS_AT_ONCE))?;
            let (mut keyframes, mut bytes) = (Vec::new(), 0);
            while bytes < BYTES_AT_ONCE
                && let Some(row) = rows.next()?
            {
                after = (row.get(0)?, row.get(1)?);
                let body: String = row.get(4)?;
                let payloads = named(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(Packed::len).sum::<usize>();
                keyframes.push(Kept {
                    scope: self.scope(after.0)?,
                    event: self.event(after.1),
                    version: row.get(2)?,
                    bytes: row.get(3)?,
                    body,
                    tombstone: row.get(5)?,
                    payloads,
                });
            }
            drop(rows);
            if keyframes.is_empty() {
                return Ok(());
            }
            self.slices(keyframes, |connection, kept| {
                let mut bytes = 0;
                for payload in &kept.payloads {
                    bytes += payload::keep_packed(connection, payload)?;
                }
                connection
                    .prepare_cached(
                        "INSERT INTO keyframe (scope, event, version, bytes, body, tombstone)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute((kept.scope, kept.event, kept.version, kept.bytes, kept.body, kept.tombstone))?;
                Ok(bytes)
            })?;
        }
    }

    /// Steps, attempts that came to nothing, filters and the journal: rows of numbers.
    pub(super) fn plain_rows(&self) -> Result<(), Error> {
        let (connection, seed) = (&self.built.connection, &self.built.seed);
        let mut statement =
            connection.prepare("SELECT scope, event, version, bytes, operations FROM change WHERE event > ?1")?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event) = (self.scope(row.get(0)?)?, self.event(row.get(1)?));
            found.push((scope, event, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Option<String>>(4)?));
        }
        self.slices(found, |connection, row| {
            connection
                .prepare_cached(
                    "INSERT INTO change (scope, event, version, bytes, operations) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(row)?;
            Ok(0)
        })?;
        let mut statement = connection.prepare(
            "SELECT a.scope, a.event, p.text, a.attempt, a.first FROM attempt_rollback a JOIN path p ON p.n = a.path
             WHERE a.event > ?1",
        )?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event, path) = (self.scope(row.get(0)?)?, self.event(row.get(1)?), row.get::<_, String>(2)?);
            found.push((scope, event, path, row.get::<_, i64>(3)?, self.event(row.get(4)?)));
        }
        self.slices(found, |connection, (scope, event, path, attempt, first)| {
            let path = number_of(connection, &path)?;
            connection
                .prepare_cached(
                    "INSERT INTO attempt_rollback (scope, event, path, attempt, first) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((scope, event, path, attempt, first))?;
            Ok(0)
        })?;
        let mut statement = connection.prepare("SELECT session, event FROM journal WHERE event > ?1")?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let session = self.maps.sessions.get(&row.get(0)?).copied().unwrap_or_default();
            found.push((session, self.event(row.get(1)?)));
        }
        self.slices(found, |connection, row| {
            connection.prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?.execute(row)?;
            Ok(0)
        })?;
        let mut statement = connection.prepare(
            "SELECT n, request, first, last, trigrams FROM filter_block
             WHERE request > ?1 AND n > ?2 ORDER BY n LIMIT ?3",
        )?;
        let mut after = 0;
        loop {
            let mut rows = statement.query((seed.request, after, ROWS_AT_ONCE))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                let request = self.request(row.get(1)?)?;
                found.push((request, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Vec<u8>>(4)?));
            }
            drop(rows);
            if found.is_empty() {
                return Ok(());
            }
            self.slices(found, |connection, row| {
                connection
                    .prepare_cached(
                        "INSERT INTO filter_block (request, first, last, trigrams) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(row)?;
                Ok(0)
            })?;
        }
    }

    /// The rows of a table of requests or sessions, with the numbers of this database, and what inserts one.
    pub(super) fn table(&self, table: &str, after: i64) -> Result<(String, Vec<Vec<Column>>), Error> {
        let mut statement = self.built.connection.prepare(&format!("SELECT * FROM {table} WHERE n > ?1 ORDER BY n"))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let insert = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "));
        let is_session = table == "session";
        let mut rows = statement.query((after,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let mut values = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let value: Column = row.get(at)?;
                let numbers = match column.as_str() {
                    "n" if is_session => &self.maps.sessions,
                    "n" | "last_request" => &self.maps.requests,
                    "session" => &self.maps.sessions,
                    _ => {
                        values.push(value);
                        continue;
                    }
                };
                let value = match value {
                    Column::Integer(n) => numbers.get(&n).map_or(Column::Null, |n| Column::Integer(*n)),
                    other => other,
                };
                values.push(value);
            }
            found.push(values);
        }
        Ok((insert, found))
    }
}

/// An import whose rows others took for left behind must not go on.
pub(super) fn need(connection: &Connection, import: &str) -> Result<(), Error> {
    let mut range = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'range' AND import = ?1")?;
    if range.exists((import,))? {
        return Ok(());
    }
    Err(Error::Damaged("the import was taken for dead by another process, and undone".to_owned()))
}

/// The payloads that a line names, and those that these name, unless they were sent before.
fn named(connection: &Connection, line: &str, sent: &mut HashSet<Hash>) -> Result<Vec<Packed>, Error> {
    let mut found = Vec::new();
    let mut waiting = body::names(line)?;
    while let Some(name) = waiting.pop() {
        let hash = Hash::from_hex(&name).map_err(|_| Error::Damaged(format!("\"{name}\" names no payload")))?;
        if sent.insert(hash) {
            waiting.extend(body::names(&payload::load(connection, &name)?)?);
            found.push(payload::packed(connection, hash)?);
        }
    }
    Ok(found)
}

fn event(connection: &Connection, line: Line) -> Result<usize, Error> {
    let Some(request) = line.request else {
        import_marks::mark(connection, line.id)?;
        return Ok(0);
    };
    let mut bytes = 0;
    for payload in &line.payloads {
        bytes += payload::keep_packed(connection, payload)?;
    }
    let path = line.path.as_deref().map(|path| number_of(connection, path)).transpose()?;
    let sum = body::sum(&line.body);
    connection
        .prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![line.id, request, line.seq, line.at, line.kind, path, line.attempt, line.body, sum])?;
    Ok(bytes)
}

pub(super) fn keyframe(
    connection: &Connection,
    (scope, event): (i64, i64),
    version: u64,
    bytes: usize,
    body: &Body,
) -> Result<usize, Error> {
    let mut kept = 0;
    for payload in &body.payloads {
        kept += payload::keep(connection, payload)?;
    }
    connection
        .prepare_cached("INSERT INTO keyframe (scope, event, version, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((scope, event, version, bytes, &body.text))?;
    Ok(kept)
}

/// The number of a path.
pub(super) fn number_of(connection: &Connection, path: &str) -> Result<i64, Error> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT n FROM path WHERE text = ?1")?
        .query_row((path,), |row| row.get(0))
        .optional()?;
    match known {
        Some(n) => Ok(n),
        None => {
            connection.prepare_cached("INSERT INTO path (text) VALUES (?1)")?.execute((path,))?;
            Ok(connection.last_insert_rowid())
        }
    }
}
