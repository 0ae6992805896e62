//! What is deleted, or was brought by an import that came to nothing, and lies in the tables still.
//!
//! The table `removal` is a queue of it. Whoever deletes takes the rows out that others look things up by, and
//! leaves the rest here; it is then removed in pieces, by whoever finds it. Each piece can be done twice, and by
//! two processes at once. What is in the queue must not be seen: no reader finds a row of a request, a session or
//! a scope whose own row is gone, and no number is given again while it is here.
//!
//! | kind | what `n` is, and what is to be done |
//! |---|---|
//! | `shared` | a scope that stays: its steps by removed requests go, tombstones take their place |
//! | `scope` | a scope that is gone: its steps and keyframes go |
//! | `request` | a request that is gone, called `name`: its scopes, filters and events go |
//! | `session` | a session that is gone: its journal goes |
//! | `payload` | a value that something named which is gone: it goes unless something else names it |
//! | `range` | the first number of an import's events, to `last` |
//! | `imported_scope` | a scope that stays, and that the import wrote to |
//!
//! In this order: who reads an event must have done so before it goes. Rows with `import` are of an import that
//! may still put them in force; once its process is gone they are removed like the others.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle, OptionalExtension};

use crate::read::states;
use crate::row::body::{self, Body};
use crate::row::error::Error;
use crate::row::{measure, payload, totals};
use crate::transfer::pieces::{Pieces, Slice, check_progress};
use crate::transfer::{import, unnamed_payloads};
use crate::write::removal_queue::queue_names;
use crate::write::writer::Handle;

/// Rows that are taken at once, between two looks at the clock.
const ROWS_AT_ONCE: usize = 64;
/// Steps of a scope that are planned at once, and about how many bytes of tombstones.
const PLANNED_STEPS: usize = 400;
const PLANNED_BYTES: usize = 4 << 20;

/// Requests that are deleted; those of an import under way are not among them.
const GONE: &str = "(SELECT n FROM removal WHERE kind = 'request' AND import = '')";

/// A thread that removes what an earlier process left in the queue.
pub(crate) struct Remover {
    stop: Arc<AtomicBool>,
    reading: InterruptHandle,
    thread: Option<JoinHandle<()>>,
}

impl Remover {
    pub(crate) fn start(path: &Path, writer: Handle) -> Result<Remover, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let pieces = Pieces::new(path, writer, stop.clone())?;
        let reading = pieces.interrupt_handle();
        let thread = std::thread::Builder::new()
            .name("store remover".to_owned())
            .stack_size(crate::write::writer::THREAD_STACK_BYTES)
            // What fails here is tried again by the next who finds it.
            .spawn(move || drop(work(&pieces)))
            .map_err(|error| Error::Open(crate::OpenError::io(path, error)))?;
        Ok(Remover { stop, reading, thread: Some(thread) })
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        // It may be in the middle of reading all there is.
        while !thread.is_finished() {
            self.reading.interrupt();
            std::thread::sleep(Duration::from_millis(1));
        }
        // If it panicked, that was reported when it happened.
        let _ = thread.join();
    }
}

/// Removes all that waits. An import that is under way is left alone.
pub(crate) fn work(pieces: &Pieces) -> Result<(), Error> {
    for (import, first, last) in import::dead(pieces)? {
        undo(pieces, &import, (first, last))?;
    }
    while let Some((kind, n)) = pieces.read(next)? {
        match kind {
            Kind::Shared => shared(pieces, n)?,
            Kind::Payload => unnamed_payloads::sweep(pieces)?,
            kind => while pieces.write(move |connection, slice| one(connection, slice, kind, n))? {},
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shared,
    Scope,
    Request,
    Session,
    Payload,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Shared => "shared",
            Kind::Scope => "scope",
            Kind::Request => "request",
            Kind::Session => "session",
            Kind::Payload => "payload",
        }
    }
}

fn next(connection: &Connection) -> Result<Option<(Kind, i64)>, Error> {
    for kind in [Kind::Shared, Kind::Scope, Kind::Request, Kind::Session, Kind::Payload] {
        let n = connection
            .prepare_cached("SELECT n FROM removal WHERE kind = ?1 AND import = '' LIMIT 1")?
            .query_row((kind.as_str(),), |row| row.get(0))
            .optional()?;
        if let Some(n) = n {
            return Ok(Some((kind, n)));
        }
    }
    Ok(None)
}

/// A piece of one row of the queue. Answers whether there is more of it.
fn one(connection: &Connection, slice: &Slice, kind: Kind, n: i64) -> Result<bool, Error> {
    let mut waits = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = ?1 AND n = ?2 AND import = ''")?;
    let mut shared = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'shared' AND import = ''")?;
    if !waits.exists((kind.as_str(), n))? || shared.exists(())? {
        return Ok(false);
    }
    let is_done = match kind {
        Kind::Scope => clear_scope(connection, slice, n)?,
        Kind::Request => clear_request(connection, slice, n)?,
        Kind::Session => {
            let sql = "DELETE FROM journal WHERE session = ?1 AND event IN
                 (SELECT event FROM journal WHERE session = ?1 LIMIT ?2)";
            clear(connection, slice, sql, n)?
        }
        Kind::Shared | Kind::Payload => true,
    };
    if is_done {
        connection.execute("DELETE FROM removal WHERE kind = ?1 AND n = ?2 AND import = ''", (kind.as_str(), n))?;
    }
    Ok(!is_done)
}

/// Runs a statement that deletes a few rows of something until none is left, or the time is over. Answers
/// whether none is left.
fn clear(connection: &Connection, slice: &Slice, sql: &str, n: i64) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    while statement.execute((n, ROWS_AT_ONCE))? > 0 {
        if slice.is_over() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What steps and keyframes a scope has; its row is another matter.
fn clear_scope(connection: &Connection, slice: &Slice, scope: i64) -> Result<bool, Error> {
    Ok(clear_keyframes(connection, slice, scope, (0, i64::MAX))?
        && clear(
            connection,
            slice,
            "DELETE FROM change WHERE scope = ?1 AND event IN (SELECT event FROM change WHERE scope = ?1 LIMIT ?2)",
            scope,
        )?
        && clear(
            connection,
            slice,
            "DELETE FROM attempt_rollback WHERE scope = ?1 AND event IN
                 (SELECT event FROM attempt_rollback WHERE scope = ?1 LIMIT ?2)",
            scope,
        )?)
}

/// The keyframes of a scope in a range of events, the newest first.
fn clear_keyframes(
    connection: &Connection,
    slice: &Slice,
    scope: i64,
    (first, last): (i64, i64),
) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT event, body FROM keyframe WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 ORDER BY event DESC LIMIT ?4",
    )?;
    loop {
        let rows = statement.query_map((scope, first, last, ROWS_AT_ONCE), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
        let Some((begin, _)) = found.last() else { return Ok(true) };
        for (_, body) in &found {
            queue_names(connection, body)?;
        }
        let sql = "DELETE FROM keyframe WHERE scope = ?1 AND event BETWEEN ?2 AND ?3";
        check_progress(connection.prepare_cached(sql)?.execute((scope, begin, last))?)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
}

fn clear_request(connection: &Connection, slice: &Slice, n: i64) -> Result<bool, Error> {
    let mut own = connection.prepare_cached("SELECT n FROM scope WHERE request = ?1 LIMIT 1")?;
    while let Some(scope) = own.query_row((n,), |row| row.get::<_, i64>(0)).optional()? {
        if !clear_scope(connection, slice, scope)? {
            return Ok(false);
        }
        check_progress(connection.prepare_cached("DELETE FROM scope WHERE n = ?1")?.execute((scope,))?)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
    let filters = "DELETE FROM filter_block WHERE n IN (SELECT n FROM filter_block WHERE request = ?1 LIMIT ?2)";
    Ok(clear(connection, slice, filters, n)? && clear_events(connection, slice, n)?)
}

fn clear_events(connection: &Connection, slice: &Slice, request: i64) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, CASE WHEN instr(body, '\"$pa') > 0 THEN body END FROM event
         WHERE request = ?1 ORDER BY seq LIMIT ?2",
    )?;
    loop {
        let mut last: Option<i64> = None;
        let mut rows = statement.query((request, ROWS_AT_ONCE))?;
        while let Some(row) = rows.next()? {
            last = Some(row.get(0)?);
            if let Some(body) = row.get_ref(1)?.as_str_or_null()? {
                // A line that cannot be read names nothing.
                match queue_names(connection, body) {
                    Err(Error::Damaged(_)) => {}
                    result => result?,
                }
            }
        }
        drop(rows);
        let Some(last) = last else { return Ok(true) };
        let gone = connection
            .prepare_cached("DELETE FROM event WHERE request = ?1 AND seq <= ?2")?
            .execute((request, last))?;
        check_progress(gone)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
}

/// A step that goes, and what takes its place.
struct RemovedStep {
    event: i64,
    tombstone: Option<Tombstone>,
}

struct Tombstone {
    version: u64,
    bytes: usize,
    body: Body,
}

/// Puts tombstones in the place of the steps that go: after every run of them that something which stays may
/// have seen the end of. They are the truth from then on.
fn shared(pieces: &Pieces, scope: i64) -> Result<(), Error> {
    loop {
        let (progress, plan) =
            pieces.read(|connection| Ok((progress(connection, scope)?, plan(connection, scope)?)))?;
        let Some(progress) = progress else { return Ok(()) };
        if plan.is_empty() {
            // Unless more was queued since the look.
            let sql = "DELETE FROM removal WHERE kind = 'shared' AND n = ?1 AND import = '' AND coalesce(last, 0) = ?2";
            return pieces.write(move |connection, _| {
                connection.execute(sql, (scope, progress))?;
                Ok(())
            });
        }
        let mut left = plan;
        while !left.is_empty() {
            left = pieces.write(move |connection, slice| write_tombstones(connection, slice, scope, left))?;
        }
    }
}

/// How often a scope was queued, if it is.
fn progress(connection: &Connection, scope: i64) -> Result<Option<i64>, Error> {
    let sql = "SELECT coalesce(last, 0) FROM removal WHERE kind = 'shared' AND n = ?1 AND import = ''";
    Ok(connection.prepare_cached(sql)?.query_row((scope,), |row| row.get(0)).optional()?)
}

fn plan(connection: &Connection, scope: i64) -> Result<Vec<RemovedStep>, Error> {
    let mut steps = connection.prepare_cached(&format!(
        "SELECT c.event FROM change c CROSS JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND e.request IN {GONE} ORDER BY c.event LIMIT ?2"
    ))?;
    let going: Vec<i64> = steps.query_map((scope, PLANNED_STEPS + 1), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut others = connection
        .prepare_cached(&format!("SELECT 1 FROM event WHERE id > ?1 AND id < ?2 AND request NOT IN {GONE} LIMIT 1"))?;
    let mut plan: Vec<RemovedStep> = Vec::new();
    let mut much = 0;
    let mut known = None;
    for (at, &event) in going.iter().take(PLANNED_STEPS).enumerate() {
        let next = going.get(at + 1).copied();
        // The next piece of work begins after a tombstone, too.
        let is_last = at + 1 == PLANNED_STEPS || much > PLANNED_BYTES;
        let tombstone = match next {
            Some(next) if !is_last && !others.exists((event, next))? => None,
            _ => {
                let record = match known {
                    Some((since, record)) => states::forward_without_damage(connection, scope, since, event, record)?,
                    None => states::at_without_damage(connection, scope, event)?,
                };
                known = Some((event, record.clone()));
                let state = record.state.to_json();
                let bytes = measure::json_bytes(&state);
                let body = body::of_state(state)?;
                much += bytes;
                Some(Tombstone { version: record.version, bytes, body })
            }
        };
        plan.push(RemovedStep { event, tombstone });
        if is_last {
            break;
        }
    }
    Ok(plan)
}

/// Carries out as much of a plan as there is time for, up to a tombstone, and answers the rest.
fn write_tombstones(
    connection: &Connection,
    slice: &Slice,
    scope: i64,
    plan: Vec<RemovedStep>,
) -> Result<Vec<RemovedStep>, Error> {
    if progress(connection, scope)?.is_none() {
        return Ok(Vec::new());
    }
    let mut kept = 0;
    let mut plan = plan.into_iter();
    for RemovedStep { event, tombstone } in plan.by_ref() {
        let old: Option<String> = connection
            .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event = ?2 RETURNING body")?
            .query_row((scope, event), |row| row.get(0))
            .optional()?;
        if let Some(old) = old {
            queue_names(connection, &old)?;
        }
        connection.prepare_cached("DELETE FROM change WHERE scope = ?1 AND event = ?2")?.execute((scope, event))?;
        let Some(Tombstone { version, bytes, body }) = tombstone else { continue };
        for payload in &body.payloads {
            kept += payload::keep(connection, payload)?;
        }
        connection
            .prepare_cached(
                "INSERT INTO keyframe (scope, event, version, bytes, body, tombstone) VALUES (?1, ?2, ?3, ?4, ?5, 1)",
            )?
            .execute((scope, event, version, bytes, body.text))?;
        if slice.is_over() {
            break;
        }
    }
    totals::store(connection, kept as i64)?;
    Ok(plan.collect())
}

/// Takes away what an import brought whose process is gone: first what it did to scopes that stay, then what else
/// it wrote goes the way of what is deleted.
fn undo(pieces: &Pieces, import: &str, range: (i64, i64)) -> Result<(), Error> {
    let name: Arc<str> = import.into();
    loop {
        let name = name.clone();
        if !pieces.write(move |connection, slice| take_back(connection, slice, &name, range))? {
            return Ok(());
        }
    }
}

/// Answers whether there is more.
fn take_back(connection: &Connection, slice: &Slice, import: &str, (first, last): (i64, i64)) -> Result<bool, Error> {
    let mut scopes =
        connection.prepare_cached("SELECT n FROM removal WHERE kind = 'imported_scope' AND import = ?1 LIMIT 1")?;
    while let Some(scope) = scopes.query_row((import,), |row| row.get::<_, i64>(0)).optional()? {
        // Keyframes before the steps that lead to them; and the one at the end, which puts back what was in force
        // before, goes last.
        let mut steps = connection.prepare_cached(
            "DELETE FROM change WHERE scope = ?1 AND event IN
                 (SELECT event FROM change WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 LIMIT ?4)",
        )?;
        if !clear_keyframes(connection, slice, scope, (first, last - 1))? {
            return Ok(true);
        }
        while steps.execute((scope, first, last, ROWS_AT_ONCE))? > 0 {
            if slice.is_over() {
                return Ok(true);
            }
        }
        clear_keyframes(connection, slice, scope, (last, last))?;
        connection
            .prepare_cached(
                "UPDATE scope SET last = max(coalesce((SELECT max(event) FROM change WHERE scope = ?1), 0),
                     coalesce((SELECT max(k.event) FROM keyframe k WHERE k.scope = ?1 AND (k.tombstone
                         OR EXISTS (SELECT 1 FROM event e WHERE e.id = k.event AND e.request = 0))), 0))
                 WHERE n = ?1 AND last BETWEEN ?2 AND ?3",
            )?
            .execute((scope, first, last))?;
        connection
            .prepare_cached("DELETE FROM removal WHERE kind = 'imported_scope' AND n = ?1 AND import = ?2")?
            .execute((scope, import))?;
        if slice.is_over() {
            return Ok(true);
        }
    }
    let mut marks = connection.prepare_cached(
        "DELETE FROM event WHERE id IN
             (SELECT id FROM event WHERE request = 0 AND id BETWEEN ?1 AND ?2 LIMIT ?3)",
    )?;
    while marks.execute((first, last, ROWS_AT_ONCE))? > 0 {
        if slice.is_over() {
            return Ok(true);
        }
    }
    connection.execute("DELETE FROM removal WHERE kind = 'range' AND import = ?1", (import,))?;
    connection.execute("UPDATE removal SET import = '' WHERE import = ?1", (import,))?;
    Ok(false)
}
