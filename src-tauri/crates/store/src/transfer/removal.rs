//! Works on the queue of removals (table `removal`): rows of what was deleted, or of an import that did not finish.
//!
//! A deletion deletes the rows by which things are found, and queues the rest, which no reader sees; later any process
//! removes it, in slices, each perhaps twice. Row numbers are not used again while they are queued.
//!
//! | kind | what `n` is, and what is removed |
//! |---|---|
//! | `shared` | a scope that stays: tombstones replace its changes by deleted requests |
//! | `scope` | a deleted scope: its changes and keyframes |
//! | `request` | a deleted request, whose id was `name`: its scopes, filters, expectation, annotations and events |
//! | `session` | a deleted session: its journal and annotations |
//! | `payload` | a payload that something deleted referred to: removed unless something else refers to it |
//! | `range` | the id of an import's first boundary event; `last` is that of the second |
//! | `imported_scope` | a scope that stays: the changes and keyframes that the import wrote |
//!
//! They are removed in this order, because changes are read from events, which must exist until then. Rows with
//! `import` belong to an import that may still publish them; if its process is gone they are removed like the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::sql::{Connection, DataPlace, Interrupt, OptionalExtension};

use crate::read::states;
use crate::row::body::{self, Body};
use crate::row::error::Error;
use crate::row::{filter_block, measure, payload, totals};
use crate::transfer::sliced_work::{SlicedWork, TimeSlice, check_rows_deleted};
use crate::transfer::{import, unreferenced_payloads};
use crate::write::{annotations, removal_queue::queue_references, writer::WriterHandle};

/// How many rows one statement deletes, between two looks at the clock.
const ROWS_AT_ONCE: usize = 64;
/// How many changes of a scope are planned at once, and for about how many bytes of tombstones.
const PLANNED_STEPS: usize = 400;
const PLANNED_BYTES: usize = 4 << 20;

/// Selects the deleted requests, without those of unfinished imports.
const REMOVED_REQUESTS: &str = "(SELECT n FROM removal WHERE kind = 'request' AND import = '')";

/// A thread that works on what an earlier process left in the queue.
pub(crate) struct Remover {
    stop: Arc<AtomicBool>,
    reading: Interrupt,
    thread: Option<JoinHandle<()>>,
}

impl Remover {
    pub(crate) fn start(place: &DataPlace, writer: WriterHandle) -> Result<Remover, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let work = SlicedWork::new(place, writer, stop.clone())?;
        let reading = work.interrupt_handle();
        let thread = std::thread::Builder::new()
            .name("store remover".to_owned())
            .stack_size(crate::row::body::THREAD_STACK_BYTES)
            // After an error the rest stays in the queue for the next process.
            .spawn(move || drop(run_queue(&work)))
            .map_err(|error| Error::Open(crate::OpenError::io(place.path(), error)))?;
        Ok(Remover { stop, reading, thread: Some(thread) })
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        // Interrupted repeatedly, because it may begin another long read.
        while !thread.is_finished() {
            self.reading.interrupt();
            std::thread::sleep(Duration::from_millis(1));
        }
        // If it panicked, that was reported when it happened.
        let _ = thread.join();
    }
}

/// Removes everything that is queued, except what belongs to an import whose process is alive.
pub(crate) fn run_queue(work: &SlicedWork) -> Result<(), Error> {
    for (import, first, last) in import::abandoned_imports(work)? {
        undo_import(work, &import, (first, last))?;
    }
    while let Some((kind, n)) = work.read(next_entry)? {
        match kind {
            Kind::SurvivingScope => remove_from_surviving_scope(work, n)?,
            Kind::Payload => unreferenced_payloads::sweep(work)?,
            kind => while work.write(move |connection, slice| remove_slice(connection, slice, kind, n))? {},
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    SurvivingScope,
    Scope,
    Request,
    Session,
    Payload,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::SurvivingScope => "shared",
            Kind::Scope => "scope",
            Kind::Request => "request",
            Kind::Session => "session",
            Kind::Payload => "payload",
        }
    }
}

fn next_entry(connection: &Connection) -> Result<Option<(Kind, i64)>, Error> {
    for kind in [Kind::SurvivingScope, Kind::Scope, Kind::Request, Kind::Session, Kind::Payload] {
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

/// Removes a slice of what one row of the queue stands for. Returns whether there is more.
fn remove_slice(connection: &Connection, slice: &TimeSlice, kind: Kind, n: i64) -> Result<bool, Error> {
    let mut waits = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = ?1 AND n = ?2 AND import = ''")?;
    let mut shared = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'shared' AND import = ''")?;
    if !waits.exists((kind.as_str(), n))? || shared.exists(())? {
        return Ok(false);
    }
    let is_done = match kind {
        Kind::Scope => delete_scope_rows(connection, slice, n)?,
        Kind::Request => delete_request_rows(connection, slice, n)?,
        Kind::Session => annotations::DELETE_SOME_OF_SESSION.iter().try_fold(true, |is_done, sql| {
            delete_rows(connection, slice, sql, n).map(|none_left| is_done && none_left)
        })?,
        Kind::SurvivingScope | Kind::Payload => true,
    };
    if is_done {
        connection.execute("DELETE FROM removal WHERE kind = ?1 AND n = ?2 AND import = ''", (kind.as_str(), n))?;
    }
    Ok(!is_done)
}

/// Runs a statement that deletes a few rows, until none is left or the slice is over. Returns whether none is left.
fn delete_rows(connection: &Connection, slice: &TimeSlice, sql: &str, n: i64) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    while statement.execute((n, ROWS_AT_ONCE))? > 0 {
        if slice.is_over() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the changes, keyframes and rollbacks of a scope, but not its row. Returns whether none is left.
fn delete_scope_rows(connection: &Connection, slice: &TimeSlice, scope: i64) -> Result<bool, Error> {
    Ok(delete_keyframes(connection, slice, scope, (0, i64::MAX))?
        && delete_rows(
            connection,
            slice,
            "DELETE FROM change WHERE scope = ?1 AND event IN (SELECT event FROM change WHERE scope = ?1 LIMIT ?2)",
            scope,
        )?
        && delete_rows(
            connection,
            slice,
            "DELETE FROM attempt_rollback WHERE scope = ?1 AND event IN
                 (SELECT event FROM attempt_rollback WHERE scope = ?1 LIMIT ?2)",
            scope,
        )?)
}

/// Deletes the keyframes of a scope in a range of events, newest first. Returns whether none is left.
fn delete_keyframes(
    connection: &Connection,
    slice: &TimeSlice,
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
            queue_references(connection, body)?;
        }
        let sql = "DELETE FROM keyframe WHERE scope = ?1 AND event BETWEEN ?2 AND ?3";
        check_rows_deleted(connection.prepare_cached(sql)?.execute((scope, begin, last))?)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
}

fn delete_request_rows(connection: &Connection, slice: &TimeSlice, n: i64) -> Result<bool, Error> {
    let mut own = connection.prepare_cached("SELECT n FROM scope WHERE request = ?1 LIMIT 1")?;
    while let Some(scope) = own.query_row((n,), |row| row.get::<_, i64>(0)).optional()? {
        if !delete_scope_rows(connection, slice, scope)? {
            return Ok(false);
        }
        check_rows_deleted(connection.prepare_cached("DELETE FROM scope WHERE n = ?1")?.execute((scope,))?)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
    crate::write::expectations::forget(connection, n)?;
    let some = filter_block::DELETE_SOME.iter().chain(&annotations::DELETE_SOME);
    let mut derived = some.map(|sql| delete_rows(connection, slice, sql, n));
    Ok(derived.try_fold(true, |is_done, deleted| deleted.map(|none_left| is_done && none_left))?
        && delete_events(connection, slice, n)?)
}

fn delete_events(connection: &Connection, slice: &TimeSlice, request: i64) -> Result<bool, Error> {
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
                // A damaged body counts as having no references.
                match queue_references(connection, body) {
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
        check_rows_deleted(gone)?;
        if slice.is_over() {
            return Ok(false);
        }
    }
}

/// A change to delete, and the tombstone at its event, if one is needed there.
struct RemovedStep {
    event: i64,
    tombstone: Option<Tombstone>,
}

struct Tombstone {
    version: u64,
    bytes: usize,
    body: Body,
}

/// Replaces the changes by deleted requests by tombstones: one at the end of each run of consecutive changes after
/// which a remaining event may need the state.
fn remove_from_surviving_scope(work: &SlicedWork, scope: i64) -> Result<(), Error> {
    loop {
        let (count, plan) =
            work.read(|connection| Ok((requeue_count(connection, scope)?, plan(connection, scope)?)))?;
        let Some(count) = count else { return Ok(()) };
        if plan.is_empty() {
            // Unless the scope was queued again since the read.
            let sql = "DELETE FROM removal WHERE kind = 'shared' AND n = ?1 AND import = '' AND coalesce(last, 0) = ?2";
            return work.write(move |connection, _| {
                connection.execute(sql, (scope, count))?;
                Ok(())
            });
        }
        let mut left = plan;
        while !left.is_empty() {
            left = work.write(move |connection, slice| write_tombstones(connection, slice, scope, left))?;
        }
    }
}

/// How often a scope was queued again, `None` if it is not queued.
fn requeue_count(connection: &Connection, scope: i64) -> Result<Option<i64>, Error> {
    let sql = "SELECT coalesce(last, 0) FROM removal WHERE kind = 'shared' AND n = ?1 AND import = ''";
    Ok(connection.prepare_cached(sql)?.query_row((scope,), |row| row.get(0)).optional()?)
}

fn plan(connection: &Connection, scope: i64) -> Result<Vec<RemovedStep>, Error> {
    let mut steps = connection.prepare_cached(&format!(
        "SELECT c.event FROM change c CROSS JOIN event e
         WHERE e.id = c.event AND c.scope = ?1 AND e.request IN {REMOVED_REQUESTS} ORDER BY c.event LIMIT ?2"
    ))?;
    let removed: Vec<i64> = steps.query_map((scope, PLANNED_STEPS + 1), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut others = connection.prepare_cached(&format!(
        "SELECT 1 FROM event WHERE id > ?1 AND id < ?2 AND request NOT IN {REMOVED_REQUESTS} LIMIT 1"
    ))?;
    let mut plan: Vec<RemovedStep> = Vec::new();
    let mut tombstone_bytes = 0;
    let mut known = None;
    for (at, &event) in removed.iter().take(PLANNED_STEPS).enumerate() {
        let next = removed.get(at + 1).copied();
        // The last planned change gets a tombstone, so that the next plan can start from it.
        let is_last = at + 1 == PLANNED_STEPS || tombstone_bytes > PLANNED_BYTES;
        let tombstone = match next {
            Some(next) if !is_last && !others.exists((event, next))? => None,
            _ => {
                let record = match known {
                    Some((since, record)) => states::advance_skipping_damage(connection, scope, since, event, record)?,
                    None => states::at_skipping_damage(connection, scope, event)?,
                };
                known = Some((event, record.clone()));
                let state = record.state.to_json();
                let bytes = measure::json_bytes(&state);
                let body = body::of_state(state)?;
                tombstone_bytes += bytes;
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

/// Carries out a plan until the slice is over, and stops only after a tombstone. Returns the rest of the plan.
fn write_tombstones(
    connection: &Connection,
    slice: &TimeSlice,
    scope: i64,
    plan: Vec<RemovedStep>,
) -> Result<Vec<RemovedStep>, Error> {
    if requeue_count(connection, scope)?.is_none() {
        return Ok(Vec::new());
    }
    let mut new_bytes = 0;
    let mut plan = plan.into_iter();
    for RemovedStep { event, tombstone } in plan.by_ref() {
        let old: Option<String> = connection
            .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event = ?2 RETURNING body")?
            .query_row((scope, event), |row| row.get(0))
            .optional()?;
        if let Some(old) = old {
            queue_references(connection, &old)?;
        }
        connection.prepare_cached("DELETE FROM change WHERE scope = ?1 AND event = ?2")?.execute((scope, event))?;
        let Some(Tombstone { version, bytes, body }) = tombstone else { continue };
        for payload in &body.payloads {
            new_bytes += payload::insert(connection, payload)?;
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
    totals::add_payload_bytes(connection, new_bytes as i64)?;
    Ok(plan.collect())
}

/// Undoes an import whose process is gone: removes what it wrote to scopes that stay, and queues the rest like deleted
/// rows.
fn undo_import(work: &SlicedWork, import: &str, range: (i64, i64)) -> Result<(), Error> {
    let name: Arc<str> = import.into();
    loop {
        let name = name.clone();
        if !work.write(move |connection, slice| undo_import_slice(connection, slice, &name, range))? {
            return Ok(());
        }
    }
}

/// Undoes a slice of an import, if it was not published since its lock was tried. Returns whether there is more.
fn undo_import_slice(
    connection: &Connection,
    slice: &TimeSlice,
    import: &str,
    (first, last): (i64, i64),
) -> Result<bool, Error> {
    if !import::is_queued(connection, import)? {
        return Ok(false);
    }
    let mut scopes =
        connection.prepare_cached("SELECT n FROM removal WHERE kind = 'imported_scope' AND import = ?1 LIMIT 1")?;
    while let Some(scope) = scopes.query_row((import,), |row| row.get::<_, i64>(0)).optional()? {
        // Keyframes before the changes that lead to them. The keyframe at the last boundary, which restores the state
        // before the import, is deleted last.
        let mut steps = connection.prepare_cached(
            "DELETE FROM change WHERE scope = ?1 AND event IN
                 (SELECT event FROM change WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 LIMIT ?4)",
        )?;
        if !delete_keyframes(connection, slice, scope, (first, last - 1))? {
            return Ok(true);
        }
        while steps.execute((scope, first, last, ROWS_AT_ONCE))? > 0 {
            if slice.is_over() {
                return Ok(true);
            }
        }
        delete_keyframes(connection, slice, scope, (last, last))?;
        connection
            .prepare_cached(
                "UPDATE scope SET last = max(coalesce((SELECT max(event) FROM change WHERE scope = ?1), 0),
                     coalesce((SELECT max(k.event) FROM keyframe k WHERE k.scope = ?1 AND (k.tombstone = 1
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
