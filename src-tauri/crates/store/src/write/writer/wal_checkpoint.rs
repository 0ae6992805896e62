//! The write-ahead log is folded into the file beside whoever writes.
//!
//! SQLite would let the commit that makes the log long wait until all of it is on the disk. A thread of its
//! own does that with a connection of its own, while commits go on behind it; only for the rest, which
//! came meanwhile, it sits down at the desk: once everything is in the file, the log begins anew.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use super::Office;
use crate::lock;
use crate::row::error::OpenError;

/// At about this many pages of 4 KiB the log is folded.
const LONG: u32 = 2_000;
/// At so many everybody who writes has to wait until it is.
const TOO_LONG: u32 = 4 * LONG;
/// How long they wait for those who still read what is old.
const GRACE: Duration = Duration::from_millis(25);
/// How long they are left alone when that was not enough.
const REST: Duration = Duration::from_millis(250);
/// So many take no time worth mentioning.
const FEW: u32 = 200;
/// Each round leaves what came during the one before it, which is less and less.
const ROUNDS: usize = 4;

/// How long the log is, and whether it has to be folded.
#[derive(Debug)]
pub(super) struct Length {
    /// In pages, as the last commit left it.
    now: AtomicU32,
    /// From where on it is too long.
    most: AtomicU32,
    /// When a fold last left some of it.
    left: Mutex<Option<Instant>>,
    wish: Mutex<Wish>,
    bell: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
enum Wish {
    None,
    Fold,
    End,
}

impl Length {
    pub(super) fn new() -> Length {
        let (now, most) = (AtomicU32::new(0), AtomicU32::new(LONG));
        Length { now, most, left: Mutex::default(), wish: Mutex::new(Wish::None), bell: Condvar::new() }
    }

    /// Has it told by a connection, which from then on folds nothing by itself.
    pub(super) fn follow(self: &Arc<Length>, connection: &mut Connection) -> rusqlite::Result<()> {
        let length = self.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages: i32| {
            length.now.store(pages.try_into().unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Asks for a fold where the log is too long.
    pub(super) fn look(&self) {
        let is_again = || lock(&self.left).is_some_and(|left| left.elapsed() > REST);
        if self.now.load(Ordering::Relaxed) >= self.most.load(Ordering::Relaxed) || self.is_too_long() && is_again() {
            self.ask(Wish::Fold);
        }
    }

    fn ask(&self, wish: Wish) {
        let mut asked = lock(&self.wish);
        if *asked == Wish::None || wish == Wish::End {
            *asked = wish;
            self.bell.notify_one();
        }
    }

    /// Whether to fold now; returns when there is something to do.
    fn is_wanted(&self) -> bool {
        let mut asked = lock(&self.wish);
        loop {
            match *asked {
                Wish::None => asked = self.bell.wait(asked).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Wish::Fold => {
                    *asked = Wish::None;
                    return true;
                }
                Wish::End => return false,
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.now.load(Ordering::Relaxed) >= TOO_LONG
    }

    /// What a fold left. Where somebody reads what is old, it is not tried again with every commit: only when
    /// the log is longer by as much again, or, once everybody waits for it, after a while.
    fn folded(&self, is_whole: bool) {
        let now = if is_whole { 0 } else { self.now.load(Ordering::Relaxed) };
        let most = if now >= TOO_LONG { u32::MAX } else { now + LONG };
        *lock(&self.left) = (!is_whole).then(Instant::now);
        self.now.store(now, Ordering::Relaxed);
        self.most.store(most, Ordering::Relaxed);
    }
}

/// The handle of the thread; dropping it waits for the fold that is under way.
pub(super) struct Folder {
    length: Arc<Length>,
    thread: Option<JoinHandle<()>>,
}

impl Folder {
    pub(super) fn start(path: &Path, length: Arc<Length>, office: Arc<Office>) -> Result<Folder, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(path, flags).map_err(|error| OpenError::from_sqlite(path, &error))?;
        let asked = length.clone();
        let thread = std::thread::Builder::new()
            .name("store folder".to_owned())
            .spawn(move || {
                while asked.is_wanted() {
                    asked.folded(fold(&connection, &office, &asked).unwrap_or(false));
                }
            })
            .map_err(|error| OpenError::io(path, error))?;
        Ok(Folder { length, thread: Some(thread) })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.length.ask(Wish::End);
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Folds what is in the log, and has it begin anew. Answers whether all of it is in the file; what is not is
/// safe where it is, and tried again later.
fn fold(connection: &Connection, office: &Office, length: &Length) -> rusqlite::Result<bool> {
    for _ in 0..ROUNDS {
        if passively(connection)? <= FEW {
            break;
        }
    }
    let desk = lock(&office.desk);
    // The log of several processes that write without a pause is never whole by itself.
    match length.is_too_long() {
        true => restart(connection),
        false => passively(&desk.connection).map(|rest| rest == 0),
    }
}

/// Folds the whole log while nobody writes, and lets the next who does begin it anew.
fn restart(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(GRACE)?;
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |row| Ok(row.get::<_, i64>(0)? == 0))
}

/// Folds what nobody is in the way of, and answers how many pages that leaves.
fn passively(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| {
        let (busy, length, folded): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Whoever else is at it will do it.
        Ok(if busy != 0 { LONG } else { u32::try_from(length - folded).unwrap_or(0) })
    })
}
