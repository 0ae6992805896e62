//! Deletes what nothing refers to any more and frees pages of the file, while other connections can write.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::sql::Connection;
use rusqlite::OpenFlags;

use crate::Store;
use crate::file::{migrate, server};
use crate::read::stats;
use crate::row::error::Error;
use crate::transfer::delete::{Cleared, running_request};
use crate::transfer::sliced_work::SlicedWork;
use crate::transfer::{removal, stored_code, unreferenced_payloads};

/// How many pages one incremental vacuum frees, between two looks at the clock.
const PAGES_PER_CALL: u32 = 8;
/// For how long truncating the write-ahead log is tried.
const TRUNCATE_WAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one try may keep writers waiting for readers.
const READER_WAIT: Duration = Duration::from_millis(20);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The size of a database before and after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// In bytes.
    pub before: u64,
    /// In bytes.
    pub after: u64,
}

impl Store {
    /// Deletes what nothing refers to and frees pages, in short transactions, so requests can run meanwhile. Returns
    /// [`Cleared::Busy`] only if a request runs and the file was created by an old version without incremental vacuum:
    /// then the whole file must be rewritten, in one transaction.
    pub fn compact(&self) -> Result<Cleared<Compacted>, Error> {
        let work = self.sliced_work()?;
        let before = work.read(stats::bytes)?;
        removal::run_queue(&work)?;
        stored_code::drop_unreferenced(&work)?;
        unreferenced_payloads::queue_unreferenced(&work)?;
        removal::run_queue(&work)?;
        delete_unused_paths(&work)?;
        if self.place.file().is_none() {
            work.run(vacuum_server)?;
        } else if work.read(|connection| pragma(connection, "auto_vacuum"))? == INCREMENTAL {
            while work.write(|connection, slice| {
                while !slice.is_over() {
                    if pragma(connection, "freelist_count")? == 0 {
                        return Ok::<_, Error>(false);
                    }
                    free_pages(connection)?;
                }
                Ok(true)
            })? {}
        } else {
            if let Some(request) = work.read(|connection| running_request(connection, &self.owners, None))? {
                return Ok(Cleared::Busy(request));
            }
            work.run(|connection| Ok(migrate::vacuum_incremental(connection)?))?;
        }
        self.truncate_wal()?;
        let after = work.read(stats::bytes)?;
        Ok(Cleared::Done(Compacted { before, after }))
    }

    /// Checkpoints the write-ahead log, and truncates it when no other connection reads or writes; gives up after
    /// [`TRUNCATE_WAL_TIMEOUT`].
    fn truncate_wal(&self) -> Result<(), Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Some(path) = self.place.file() else { return Ok(()) };
        let connection = Connection::Sqlite(rusqlite::Connection::open_with_flags(path, flags)?);
        // While it waits for readers, writers wait for it.
        connection.busy_timeout(READER_WAIT)?;
        let asked = Instant::now();
        let mut seen = pragma(&connection, "data_version")?;
        loop {
            // A passive checkpoint blocks no writer, and lets the file shrink.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?;
            let now = pragma(&connection, "data_version")?;
            // If no one has written since, nothing is left to checkpoint, so this holds the lock only briefly.
            let is_truncated = now == seen
                && connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0))? == 0;
            if is_truncated || asked.elapsed() > TRUNCATE_WAL_TIMEOUT {
                return Ok(());
            }
            seen = now;
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

/// Gives the room of what was deleted back to the disk if no other process is connected, who would have to wait for
/// each table; else the server uses it for what is stored next.
fn vacuum_server(connection: &Connection) -> Result<(), Error> {
    for table in server::tables() {
        let options = if is_alone(connection)? { "FULL, ANALYZE" } else { "ANALYZE" };
        connection.execute_batch(&format!("VACUUM ({options}) \"{table}\""))?;
    }
    Ok(())
}

/// Whether only this process has connections to the database. One that has just ended may still count.
fn is_alone(connection: &Connection) -> Result<bool, Error> {
    let sql = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'";
    let connected: i64 = connection.query_row(sql, (), |row| row.get(0))?;
    Ok(connection.server().is_some_and(|session| connected <= session.own_connections() as i64))
}

/// The value of `PRAGMA auto_vacuum` for INCREMENTAL.
const INCREMENTAL: i64 = 2;

fn pragma(connection: &Connection, name: &str) -> Result<i64, Error> {
    Ok(connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get(0))?)
}

fn free_pages(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES_PER_CALL})"))?;
    // The statement frees one page for each row that is stepped to.
    let mut rows = statement.query(())?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Deletes the paths that no event has any more.
fn delete_unused_paths(work: &SlicedWork) -> Result<(), Error> {
    // Newer events may use a path that was found unused, so those are checked again below. An unfinished import writes
    // events with lower ids than the newest, so nothing is deleted during one.
    const IMPORTS: &str = "SELECT EXISTS (SELECT 1 FROM removal WHERE import <> '')";
    let (unused, newest) = work.read(|connection| {
        if connection.query_row(IMPORTS, (), |row| row.get(0))? {
            return Ok((Vec::new(), 0));
        }
        let mut statement = connection.prepare(
            "SELECT n FROM path WHERE n NOT IN
                 (SELECT path FROM event WHERE path IS NOT NULL UNION SELECT path FROM attempt_rollback)",
        )?;
        let unused = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        let newest: i64 = connection.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?;
        Ok((unused, newest))
    })?;
    let mut left = unused;
    while !left.is_empty() {
        left = work.write(move |connection, slice| {
            if connection.query_row(IMPORTS, (), |row| row.get(0))? {
                return Ok(Vec::new());
            }
            let mut statement =
                connection.prepare_cached("SELECT DISTINCT path FROM event WHERE id > ?1 AND path IS NOT NULL")?;
            let used = statement.query_map((newest,), |row| row.get(0))?.collect::<Result<HashSet<i64>, _>>()?;
            let mut paths = left.into_iter();
            for path in paths.by_ref().filter(|path| !used.contains(path)) {
                connection.prepare_cached("DELETE FROM path WHERE n = ?1")?.execute((path,))?;
                if slice.is_over() {
                    break;
                }
            }
            Ok::<_, Error>(paths.collect())
        })?;
    }
    Ok(())
}
