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
/// How long they wait for readers that use old pages.
const READER_WAIT: Duration = Duration::from_millis(25);
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
    pending: Mutex<WalCheckpointRequest>,
    wake: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
enum WalCheckpointRequest {
    None,
    Run,
    Stop,
}

impl WalSize {
    pub(super) fn new() -> WalSize {
        let (pages, threshold) = (AtomicU32::new(0), AtomicU32::new(CHECKPOINT_PAGES));
        WalSize {
            pages,
            threshold,
            incomplete_at: Mutex::default(),
            pending: Mutex::new(WalCheckpointRequest::None),
            wake: Condvar::new(),
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
            self.request(WalCheckpointRequest::Run);
        }
    }

    fn request(&self, request: WalCheckpointRequest) {
        let mut pending = lock(&self.pending);
        if *pending == WalCheckpointRequest::None || request == WalCheckpointRequest::Stop {
            *pending = request;
            self.wake.notify_one();
        }
    }

    /// Blocks until there is a request. Returns whether to checkpoint; `false` ends the thread.
    fn wait_for_request(&self) -> bool {
        let mut pending = lock(&self.pending);
        loop {
            match *pending {
                WalCheckpointRequest::None => {
                    pending = self.wake.wait(pending).unwrap_or_else(|poisoned| poisoned.into_inner())
                }
                WalCheckpointRequest::Run => {
                    *pending = WalCheckpointRequest::None;
                    return true;
                }
                WalCheckpointRequest::Stop => return false,
            }
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
    }
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
        let connection =
            Connection::open_with_flags(path, flags).map_err(|error| OpenError::from_sqlite(path, &error))?;
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
        self.wal_size.request(WalCheckpointRequest::Stop);
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
        if checkpoint_passively(connection)? <= MAX_LEFT_PAGES {
            break;
        }
    }
    // No other thread of this process writes while this is held.
    let writing = lock(&queue.connection);
    // If other processes write without a pause, a passive checkpoint never completes.
    if wal_size.is_over_limit() {
        checkpoint_and_restart(connection)
    } else {
        match writing.connection.sqlite() {
            Some(connection) => checkpoint_passively(connection).map(|left| left == 0),
            None => Ok(true),
        }
    }
}

/// Checkpoints the whole log with all writers blocked; the next commit restarts it.
fn checkpoint_and_restart(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(READER_WAIT)?;
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |row| Ok(row.get::<_, i64>(0)? == 0))
}

/// Checkpoints the pages that no reader needs. Returns how many are left.
fn checkpoint_passively(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| {
        let (busy, wal_size, checkpointed): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Another connection is checkpointing.
        Ok(if busy != 0 { CHECKPOINT_PAGES } else { u32::try_from(wal_size - checkpointed).unwrap_or(0) })
    })
}
