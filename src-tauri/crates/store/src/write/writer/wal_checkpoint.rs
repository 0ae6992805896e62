//! WAL checkpoints, on a thread and a connection of their own.
//!
//! SQLite's automatic checkpoint would make the commit that reaches the limit wait until the whole log is in the
//! file. Here commits continue during passive checkpoints. The writing connection is held only for the last one, of
//! the few pages that were written meanwhile: with the whole log checkpointed, the next commit restarts it.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use super::CommitQueue;
use crate::lock;
use crate::row::error::OpenError;

/// The size of the log, in pages of 4 KiB, from which on it is checkpointed.
const CHECKPOINT_PAGES: u32 = 2_000;
/// From this many pages on, writers wait for the checkpoint.
const MAX_WAL_PAGES: u32 = 4 * CHECKPOINT_PAGES;
/// From this many pages on, each commit waits while a checkpoint is under way: the disk may be so slow that the log
/// would grow by more than is checkpointed.
const FAR_TOO_MANY_PAGES: u32 = 2 * MAX_WAL_PAGES;
/// How long they wait for readers that use old pages, and a commit for a checkpoint that is under way.
const READER_WAIT: Duration = Duration::from_millis(25);
/// The pause before a lock is asked for again.
const LOCK_PAUSE: Duration = Duration::from_micros(500);
/// How long the thread waits for another connection's checkpoint.
const MAX_OTHER_WAIT: Duration = Duration::from_secs(10);
/// The pause before writers are made to wait again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// With at most this many pages left, the writing connection is held for the rest.
const MAX_LEFT_PAGES: u32 = 200;
/// Each round has to copy only what was written during the one before, so rounds get shorter.
const MAX_PASSIVE_ROUNDS: usize = 4;

/// The size of the log, and the pending request to checkpoint it.
#[derive(Debug)]
pub(super) struct WalSize {
    /// In pages, as the last commit left it.
    pages: AtomicU32,
    /// In pages: from this size on a checkpoint is requested.
    threshold: AtomicU32,
    /// When a checkpoint last left pages in the log; none if the last one was complete.
    incomplete_at: Mutex<Option<Instant>>,
    work: Mutex<Work>,
    wake: Condvar,
    ended: Condvar,
}

/// What the thread is asked for, and what it does.
#[derive(Debug)]
enum Work {
    None,
    Requested,
    Running,
    /// Requested again while one is under way.
    RunningAndRequested,
    Stop,
}

impl WalSize {
    pub(super) fn new() -> WalSize {
        let (pages, threshold) = (AtomicU32::new(0), AtomicU32::new(CHECKPOINT_PAGES));
        WalSize {
            pages,
            threshold,
            incomplete_at: Mutex::default(),
            work: Mutex::new(Work::None),
            wake: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    /// Installs a WAL hook that records the size after each commit. It replaces SQLite's automatic checkpoint.
    pub(super) fn install_hook(self: &Arc<WalSize>, connection: &mut Connection) -> rusqlite::Result<()> {
        let wal_size = self.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages: i32| {
            wal_size.pages.store(pages.try_into().unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Requests a checkpoint if the log is too long.
    pub(super) fn request_if_due(&self) {
        let is_retry_due = || lock(&self.incomplete_at).is_some_and(|at| at.elapsed() > RETRY_PAUSE);
        if self.pages.load(Ordering::Relaxed) >= self.threshold.load(Ordering::Relaxed)
            || self.is_over_limit() && is_retry_due()
        {
            let mut work = lock(&self.work);
            match *work {
                Work::None => *work = Work::Requested,
                Work::Running => *work = Work::RunningAndRequested,
                Work::Requested | Work::RunningAndRequested | Work::Stop => return,
            }
            self.wake.notify_one();
        }
    }

    fn stop(&self) {
        *lock(&self.work) = Work::Stop;
        self.wake.notify_one();
        self.ended.notify_all();
    }

    /// Blocks until a checkpoint is requested. Returns whether to run it; `false` ends the thread.
    fn wait_for_request(&self) -> bool {
        let work = lock(&self.work);
        let mut work = self
            .wake
            .wait_while(work, |work| matches!(work, Work::None))
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_stopped = matches!(*work, Work::Stop);
        if !is_stopped {
            *work = Work::Running;
        }
        !is_stopped
    }

    /// Whether a commit has to wait: the log is far too long, and a checkpoint of it is requested or under way.
    pub(super) fn is_far_too_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= FAR_TOO_MANY_PAGES && is_under_way(&mut lock(&self.work))
    }

    /// Waits for a checkpoint if the log [is far too long](Self::is_far_too_long), but not for long.
    pub(super) fn wait_if_far_too_long(&self) {
        if self.is_far_too_long() {
            let _ = self.ended.wait_timeout_while(lock(&self.work), READER_WAIT, is_under_way);
        }
    }

    fn is_over_limit(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= MAX_WAL_PAGES
    }

    /// Records the end of a checkpoint. If readers of old pages kept it from completing, the next one is due when the
    /// log has grown by [`CHECKPOINT_PAGES`] again, or, above [`MAX_WAL_PAGES`], after [`RETRY_PAUSE`]; not with
    /// every commit.
    fn record_result(&self, is_complete: bool) {
        let pages = if is_complete { 0 } else { self.pages.load(Ordering::Relaxed) };
        let threshold = if pages >= MAX_WAL_PAGES { u32::MAX } else { pages + CHECKPOINT_PAGES };
        *lock(&self.incomplete_at) = (!is_complete).then(Instant::now);
        self.pages.store(pages, Ordering::Relaxed);
        self.threshold.store(threshold, Ordering::Relaxed);
        let mut work = lock(&self.work);
        match *work {
            Work::Running => *work = Work::None,
            Work::RunningAndRequested => *work = Work::Requested,
            Work::None | Work::Requested | Work::Stop => {}
        }
        self.ended.notify_all();
    }
}

fn is_under_way(work: &mut Work) -> bool {
    !matches!(work, Work::None | Work::Stop)
}

/// Owns the thread. Dropping it waits for the checkpoint that is running.
pub(super) struct WalCheckpointer {
    wal_size: Arc<WalSize>,
    thread: Option<JoinHandle<()>>,
}

impl WalCheckpointer {
    pub(super) fn start(
        path: &Path,
        wal_size: Arc<WalSize>,
        queue: Arc<CommitQueue>,
    ) -> Result<WalCheckpointer, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .and_then(|mut connection| connection.busy_handler(Some(wait_for_lock)).map(|()| connection))
            .map_err(|error| OpenError::from_sqlite(path, &error))?;
        let size = wal_size.clone();
        let thread = std::thread::Builder::new()
            .name("store checkpointer".to_owned())
            .spawn(move || {
                while size.wait_for_request() {
                    size.record_result(checkpoint(&connection, &queue, &size).unwrap_or(false));
                }
            })
            .map_err(|error| OpenError::io(path, error))?;
        Ok(WalCheckpointer { wal_size, thread: Some(thread) })
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.wal_size.stop();
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Checkpoints the log, so that the next commit restarts it. Returns whether all of it is in the file; the rest stays
/// in the log for a later checkpoint.
fn checkpoint(connection: &Connection, queue: &CommitQueue, wal_size: &WalSize) -> rusqlite::Result<bool> {
    for _ in 0..MAX_PASSIVE_ROUNDS {
        match checkpoint_passively(connection)? {
            // Over the limit the log grows faster than rounds get shorter.
            Some(left) if left <= MAX_LEFT_PAGES || wal_size.is_over_limit() => break,
            Some(_) => {}
            None => wait_for_other(connection, wal_size)?,
        }
    }
    let turn = lock(&queue.turn);
    // No other thread of this process writes while this is held.
    let writing = lock(&queue.connection);
    drop(turn);
    // If other processes write without a pause, a passive checkpoint never completes.
    if wal_size.is_over_limit() {
        checkpoint_and_restart(connection)
    } else {
        match writing.connection.sqlite() {
            Some(connection) => checkpoint_passively(connection).map(|left| left == Some(0)),
            None => Ok(true),
        }
    }
}

/// Checkpoints the whole log with all writers blocked; the next commit restarts it. The caller keeps the writers of
/// this process waiting; while another process checkpoints, they go on waiting, so that it gets the write lock.
fn checkpoint_and_restart(connection: &Connection) -> rusqlite::Result<bool> {
    let begun = Instant::now();
    loop {
        let result = connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |row| Ok(row.get::<_, i64>(0)? == 0));
        // SQLite does not wait for the lock of another checkpoint.
        if matches!(result, Ok(true)) || begun.elapsed() > READER_WAIT {
            return result;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// Waits for the write lock and for readers of old pages. Writers that never pause leave the lock free only for a
/// moment at a time, so it is asked for often.
fn wait_for_lock(asked: i32) -> bool {
    std::thread::sleep(LOCK_PAUSE);
    LOCK_PAUSE * asked.unsigned_abs() < READER_WAIT
}

/// Waits for another connection's checkpoint if the log is far too long, so that the writers of this process wait, too.
fn wait_for_other(connection: &Connection, wal_size: &WalSize) -> rusqlite::Result<()> {
    let begun = Instant::now();
    while wal_size.is_far_too_long() && begun.elapsed() < MAX_OTHER_WAIT {
        std::thread::sleep(READER_WAIT);
        if checkpoint_passively(connection)?.is_some() {
            break;
        }
    }
    Ok(())
}

/// Checkpoints the pages that no reader needs. Returns how many are left; nothing if another connection is
/// checkpointing.
fn checkpoint_passively(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| {
        let (busy, wal_size, checkpointed): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((busy == 0).then(|| u32::try_from(wal_size - checkpointed).unwrap_or(0)))
    })
}
