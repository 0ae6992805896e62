//! Giving back the room that nothing needs any more, while others write.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::Store;
use crate::file::migrate;
use crate::read::stats;
use crate::row::error::Error;
use crate::transfer::delete::{Cleared, busy};
use crate::transfer::pieces::Pieces;
use crate::transfer::{removal, stored_code, unnamed_payloads};

/// Pages that are given back between two looks at the clock.
const PAGES_AT_ONCE: u32 = 8;
/// How long a moment is looked for in which the log can be emptied.
const EMPTY_WAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long writers may be kept waiting for readers each time.
const READER_WAIT: Duration = Duration::from_millis(20);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The size of a database before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// In bytes.
    pub before: u64,
    /// In bytes.
    pub after: u64,
}

impl Store {
    /// Drops what nothing needs and gives free pages back, in pieces: requests may run meanwhile. Refused
    /// only while one runs in a database that an old version made and that could not be rewritten since.
    pub fn compact(&self) -> Result<Cleared<Compacted>, Error> {
        let pieces = self.pieces()?;
        let before = pieces.read(stats::bytes)?;
        removal::work(&pieces)?;
        stored_code::drop_unnamed(&pieces)?;
        unnamed_payloads::queue_unnamed(&pieces)?;
        removal::work(&pieces)?;
        drop_paths(&pieces)?;
        if pieces.read(|connection| pragma(connection, "auto_vacuum"))? == INCREMENTAL {
            while pieces.write(|connection, slice| {
                while !slice.is_over() {
                    if pragma(connection, "freelist_count")? == 0 {
                        return Ok::<_, Error>(false);
                    }
                    give_back(connection)?;
                }
                Ok(true)
            })? {}
        } else {
            if let Some(request) = pieces.read(|connection| busy(connection, &self.owners, None))? {
                return Ok(Cleared::Busy(request));
            }
            pieces.run(|connection| Ok(migrate::rewrite(connection)?))?;
        }
        self.empty_log()?;
        let after = pieces.read(stats::bytes)?;
        Ok(Cleared::Done(Compacted { before, after }))
    }

    /// Checkpoints the write-ahead log, and truncates it once nobody else reads or writes.
    fn empty_log(&self) -> Result<(), Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        // It would keep writers waiting while it waits itself.
        connection.busy_timeout(READER_WAIT)?;
        let asked = Instant::now();
        let mut seen = pragma(&connection, "data_version")?;
        loop {
            // This keeps nobody waiting, and makes the file as short as it can be.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?;
            let now = pragma(&connection, "data_version")?;
            // With nothing left to checkpoint it takes no time.
            let is_empty = now == seen
                && connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0))? == 0;
            if is_empty || asked.elapsed() > EMPTY_WAL_TIMEOUT {
                return Ok(());
            }
            seen = now;
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

/// SQLite's number for a file that gives its free pages back when asked.
const INCREMENTAL: i64 = 2;

fn pragma(connection: &Connection, name: &str) -> Result<i64, Error> {
    Ok(connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get(0))?)
}

fn give_back(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))?;
    // Each row is a page.
    let mut rows = statement.query(())?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Drops the paths that no event walks any more.
fn drop_paths(pieces: &Pieces) -> Result<(), Error> {
    // What was written since the look may walk them, and an import under way writes events older than the newest.
    const IMPORTS: &str = "SELECT EXISTS (SELECT 1 FROM removal WHERE import <> '')";
    let (unused, newest) = pieces.read(|connection| {
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
        left = pieces.write(move |connection, slice| {
            if connection.query_row(IMPORTS, (), |row| row.get(0))? {
                return Ok(Vec::new());
            }
            let mut statement =
                connection.prepare_cached("SELECT DISTINCT path FROM event WHERE id > ?1 AND path IS NOT NULL")?;
            let walked = statement.query_map((newest,), |row| row.get(0))?.collect::<Result<HashSet<i64>, _>>()?;
            let mut paths = left.into_iter();
            for path in paths.by_ref().filter(|path| !walked.contains(path)) {
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
