//! Copies the rows of an import from the staging database, in slices.

use super::BYTES_AT_ONCE;
use super::BundleCopy;
use super::ROWS_AT_ONCE;
use crate::row::body::Body;
use crate::row::error::Error;
use crate::row::payload::PackedPayload;
use crate::row::{body, payload};
use crate::sql::OptionalExtension;
use crate::sql::{Connection, params};
use crate::transfer::bundle::BundleRecord;
use crate::write::{code, import_boundaries};
use blake3::Hash;

use crate::sql::Value as Column;
use std::collections::HashSet;
use std::sync::Arc;

/// An event to copy, with the row numbers of this database.
struct EventRow {
    id: i64,
    /// None for a boundary event.
    request: Option<i64>,
    seq: i64,
    at: i64,
    kind: String,
    path: Option<Arc<str>>,
    attempt: i64,
    body: String,
    payloads: Vec<PackedPayload>,
}

/// A keyframe to copy, with the row numbers of this database.
struct KeyframeRow {
    scope: i64,
    event: i64,
    version: i64,
    bytes: i64,
    body: String,
    tombstone: bool,
    payloads: Vec<PackedPayload>,
}

impl BundleCopy<'_> {
    /// Stores the code that the bundle brings. If the import fails, no event names it, and the next compaction deletes
    /// it.
    pub(super) fn copy_code(&self, records: Vec<BundleRecord>) -> Result<(), Error> {
        let mut rows = Vec::new();
        for record in records {
            if let BundleRecord::Code { hash, code } = record {
                rows.push((hash, body::of_state(code)?));
            }
        }
        self.copy_rows(rows, |connection, (hash, body)| code::insert(connection, &hash, &body).map(|()| 0))
    }

    pub(super) fn copy_events(&self) -> Result<(), Error> {
        let connection = &self.staged.connection;
        let mut statement = connection.prepare(
            "SELECT e.id, e.request, e.seq, e.at, e.kind, p.text, e.attempt, e.body FROM event e
             LEFT JOIN path p ON p.n = e.path WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
        )?;
        let (mut after, mut sent) = (self.staged.origin_end.event, HashSet::new());
        loop {
            let mut rows = statement.query((after, ROWS_AT_ONCE))?;
            let (mut events, mut bytes) = (Vec::new(), 0);
            while bytes < BYTES_AT_ONCE
                && let Some(row) = rows.next()?
            {
                after = row.get(0)?;
                let body: String = row.get(7)?;
                let payloads = unsent_payloads(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(PackedPayload::len).sum::<usize>();
                let request = match row.get(1)? {
                    0 => None,
                    n => Some(self.request_row(n)?),
                };
                events.push(EventRow {
                    id: self.event_id(after),
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
            if events.is_empty() {
                return Ok(());
            }
            self.copy_rows(events, insert_event)?;
        }
    }

    pub(super) fn copy_keyframes(&self) -> Result<(), Error> {
        let connection = &self.staged.connection;
        let mut statement = connection.prepare(
            "SELECT scope, event, version, bytes, body, tombstone FROM keyframe
             WHERE (scope, event) > (?1, ?2) AND event > ?3 ORDER BY scope, event LIMIT ?4",
        )?;
        let (mut after, mut sent) = ((0_i64, 0_i64), HashSet::new());
        loop {
            let mut rows = statement.query((after.0, after.1, self.staged.origin_end.event, ROWS_AT_ONCE))?;
            let (mut keyframes, mut bytes) = (Vec::new(), 0);
            while bytes < BYTES_AT_ONCE
                && let Some(row) = rows.next()?
            {
                after = (row.get(0)?, row.get(1)?);
                let body: String = row.get(4)?;
                let payloads = unsent_payloads(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(PackedPayload::len).sum::<usize>();
                keyframes.push(KeyframeRow {
                    scope: self.scope_row(after.0)?,
                    event: self.event_id(after.1),
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
            self.copy_rows(keyframes, |connection, keyframe| {
                let mut bytes = 0;
                for payload in &keyframe.payloads {
                    bytes += payload::insert_packed(connection, payload)?;
                }
                connection
                    .prepare_cached(
                        "INSERT INTO keyframe (scope, event, version, bytes, body, tombstone)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute((
                        keyframe.scope,
                        keyframe.event,
                        keyframe.version,
                        keyframe.bytes,
                        keyframe.body,
                        keyframe.tombstone,
                    ))?;
                Ok(bytes)
            })?;
        }
    }

    /// Copies the rows without large values: changes, rollbacks, journals and filters.
    pub(super) fn copy_plain_rows(&self) -> Result<(), Error> {
        let (connection, origin_end) = (&self.staged.connection, &self.staged.origin_end);
        let mut statement =
            connection.prepare("SELECT scope, event, version, bytes, operations FROM change WHERE event > ?1")?;
        let mut rows = statement.query((origin_end.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event) = (self.scope_row(row.get(0)?)?, self.event_id(row.get(1)?));
            found.push((scope, event, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Option<String>>(4)?));
        }
        self.copy_rows(found, |connection, row| {
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
        let mut rows = statement.query((origin_end.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event, path) =
                (self.scope_row(row.get(0)?)?, self.event_id(row.get(1)?), row.get::<_, String>(2)?);
            found.push((scope, event, path, row.get::<_, i64>(3)?, self.event_id(row.get(4)?)));
        }
        self.copy_rows(found, |connection, (scope, event, path, attempt, first)| {
            let path = path_row(connection, &path)?;
            connection
                .prepare_cached(
                    "INSERT INTO attempt_rollback (scope, event, path, attempt, first) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((scope, event, path, attempt, first))?;
            Ok(0)
        })?;
        let mut statement = connection.prepare("SELECT session, event FROM journal WHERE event > ?1")?;
        let mut rows = statement.query((origin_end.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let session = self.maps.sessions.get(&row.get(0)?).copied().unwrap_or_default();
            found.push((session, self.event_id(row.get(1)?)));
        }
        self.copy_rows(found, |connection, row| {
            connection.prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?.execute(row)?;
            Ok(0)
        })?;
        self.copy_filters()?;
        self.copy_span_pages()?;
        self.copy_path_events()?;
        self.copy_lists()
    }

    fn copy_filters(&self) -> Result<(), Error> {
        let (connection, origin_end) = (&self.staged.connection, &self.staged.origin_end);
        let mut statement = connection.prepare(
            "SELECT n, request, first, last, trigram_filter FROM filter_block
             WHERE request > ?1 AND n > ?2 ORDER BY n LIMIT ?3",
        )?;
        let mut after = 0;
        loop {
            let mut rows = statement.query((origin_end.request, after, ROWS_AT_ONCE))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                let request = self.request_row(row.get(1)?)?;
                found.push((request, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Vec<u8>>(4)?));
            }
            drop(rows);
            if found.is_empty() {
                return Ok(());
            }
            self.copy_rows(found, |connection, row| {
                connection
                    .prepare_cached(
                        "INSERT INTO filter_block (request, first, last, trigram_filter) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(row)?;
                Ok(0)
            })?;
        }
    }

    /// The INSERT statement for a row of `session` or `request`, and the rows with the row numbers of this database.
    pub(super) fn table(&self, table: &str, after: i64) -> Result<(String, Vec<Vec<Column>>), Error> {
        let mut statement =
            self.staged.connection.prepare(&format!("SELECT * FROM {table} WHERE n > ?1 ORDER BY n"))?;
        let columns: Vec<String> = statement.column_names()?;
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

/// Whether an import is neither published nor undone.
pub(crate) fn is_queued(connection: &Connection, import: &str) -> Result<bool, Error> {
    Ok(connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'range' AND import = ?1")?.exists((import,))?)
}

/// Fails if another process has undone the import because it took this process for dead.
pub(super) fn ensure_not_undone(connection: &Connection, import: &str) -> Result<(), Error> {
    if is_queued(connection, import)? {
        return Ok(());
    }
    Err(Error::Damaged("the import was taken for dead by another process, and undone".to_owned()))
}

/// The payloads that a body refers to, directly or through others, without those in `sent`, where they are added.
fn unsent_payloads(connection: &Connection, row: &str, sent: &mut HashSet<Hash>) -> Result<Vec<PackedPayload>, Error> {
    let mut found = Vec::new();
    let mut waiting = body::referenced_payloads(row)?;
    while let Some(name) = waiting.pop() {
        let hash = Hash::from_hex(&name).map_err(|_| Error::Damaged(format!("\"{name}\" names no payload")))?;
        if sent.insert(hash) {
            waiting.extend(body::referenced_payloads(&payload::load(connection, &name)?)?);
            found.push(payload::load_packed(connection, hash)?);
        }
    }
    Ok(found)
}

fn insert_event(connection: &Connection, row: EventRow) -> Result<usize, Error> {
    let Some(request) = row.request else {
        import_boundaries::insert(connection, row.id)?;
        return Ok(0);
    };
    let mut bytes = 0;
    for payload in &row.payloads {
        bytes += payload::insert_packed(connection, payload)?;
    }
    let path = row.path.as_deref().map(|path| path_row(connection, path)).transpose()?;
    let sum = body::checksum(&row.body);
    connection
        .prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, body_checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![row.id, request, row.seq, row.at, row.kind, path, row.attempt, row.body, sum])?;
    Ok(bytes)
}

pub(super) fn insert_keyframe(
    connection: &Connection,
    (scope, event): (i64, i64),
    version: u64,
    bytes: usize,
    body: &Body,
) -> Result<usize, Error> {
    let mut bytes_stored = 0;
    for payload in &body.payloads {
        bytes_stored += payload::insert(connection, payload)?;
    }
    connection
        .prepare_cached("INSERT INTO keyframe (scope, event, version, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((scope, event, version, bytes, &body.text))?;
    Ok(bytes_stored)
}

/// The row number of a path, which is inserted if it is new.
pub(super) fn path_row(connection: &Connection, path: &str) -> Result<i64, Error> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT n FROM path WHERE text = ?1")?
        .query_row((path,), |row| row.get(0))
        .optional()?;
    match known {
        Some(n) => Ok(n),
        None => {
            let sql = "INSERT INTO path (text) VALUES (?1) RETURNING n";
            Ok(connection.prepare_cached(sql)?.query_row((path,), |row| row.get(0))?)
        }
    }
}
