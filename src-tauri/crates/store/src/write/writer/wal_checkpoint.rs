//! WAL checkpoints, on a thread and a connection of their own.
//!
//! SQLite's automatic checkpoint would make the commit that reaches the limit wait until the whole log is in the
//! file. Here commits go on beside a passive checkpoint. Only for the rest, which came meanwhile, the writing
//! connection is held: with all of it in the file, the next commit begins the log anew.

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

/// At about this many pages of 4 KiB a checkpoint begins.
const CHECKPOINT_PAGES: u32 = 2_000;
/// At so many pages writers wait for it.
const MAX_WAL_PAGES: u32 = 4 * CHECKPOINT_PAGES;
/// How long they wait for readers of old pages.
const READER_WAIT: Duration = Duration::from_millis(25);
/// How long writers go on before the next such wait.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// With so few pages left, the writing connection is held for the rest.
const MAX_LEFT_PAGES: u32 = 200;
/// Each round leaves what came during the one before it, which is less and less.
const MAX_PASSIVE_ROUNDS: usize = 4;

/// How long the log is, and whether it has to be checkpointed.
#[derive(Debug)]
pub(super) struct WalSize {
    /// In pages, as the last commit left it.
    now: AtomicU32,
    /// From where on it is too long.
    most: AtomicU32,
    /// When a checkpoint last left some of it.
    left: Mutex<Option<Instant>>,
    request: Mutex<WalCheckpointRequest>,
    wake: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
enum WalCheckpointRequest {
    None,
    Run,
    End,
}

impl WalSize {
    pub(super) fn new() -> WalSize {
        let (now, most) = (AtomicU32::new(0), AtomicU32::new(CHECKPOINT_PAGES));
        WalSize {
            now,
            most,
            left: Mutex::default(),
            request: Mutex::new(WalCheckpointRequest::None),
            wake: Condvar::new(),
        }
    }

    /// Has a connection report it, which from then on does no automatic checkpoint.
    pub(super) fn follow(self: &Arc<WalSize>, connection: &mut Connection) -> rusqlite::Result<()> {
        let wal_size = self.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages: i32| {
            wal_size.now.store(pages.try_into().unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Asks for a checkpoint where the log is too long.
    pub(super) fn look(&self) {
        let is_again = || lock(&self.left).is_some_and(|left| left.elapsed() > RETRY_PAUSE);
        if self.now.load(Ordering::Relaxed) >= self.most.load(Ordering::Relaxed) || self.is_over_limit() && is_again() {
            self.ask(WalCheckpointRequest::Run);
        }
    }

    fn ask(&self, request: WalCheckpointRequest) {
        let mut pending = lock(&self.request);
        if *pending == WalCheckpointRequest::None || request == WalCheckpointRequest::End {
            *pending = request;
            self.wake.notify_one();
        }
    }

    /// Whether to checkpoint now; returns when there is something to do.
    fn is_wanted(&self) -> bool {
        let mut pending = lock(&self.request);
        loop {
            match *pending {
                WalCheckpointRequest::None => {
                    pending = self.wake.wait(pending).unwrap_or_else(|poisoned| poisoned.into_inner())
                }
                WalCheckpointRequest::Run => {
                    *pending = WalCheckpointRequest::None;
                    return true;
                }
                WalCheckpointRequest::End => return false,
            }
        }
    }

    fn is_over_limit(&self) -> bool {
        self.now.load(Ordering::Relaxed) >= MAX_WAL_PAGES
    }

    /// What a checkpoint left. Where somebody reads what is old, it is not tried again with every commit: only when
    /// the log is longer by as much again, or, once everybody waits for it, after a while.
    fn checkpointed(&self, is_whole: bool) {
        let now = if is_whole { 0 } else { self.now.load(Ordering::Relaxed) };
        let most = if now >= MAX_WAL_PAGES { u32::MAX } else { now + CHECKPOINT_PAGES };
        *lock(&self.left) = (!is_whole).then(Instant::now);
        self.now.store(now, Ordering::Relaxed);
        self.most.store(most, Ordering::Relaxed);
    }
}

/// The handle of the thread; dropping it waits for the checkpoint that is under way.
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
                while size.is_wanted() {
                    size.checkpointed(checkpoint(&connection, &queue, &size).unwrap_or(false));
                }
            })
            .map_err(|error| OpenError::io(path, error))?;
        Ok(WalCheckpointer { wal_size, thread: Some(thread) })
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.wal_size.ask(WalCheckpointRequest::End);
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Checkpoints the log and has it begin anew. Answers whether all of it is in the file; what is not is safe in
/// the log, and tried again later.
fn checkpoint(connection: &Connection, queue: &CommitQueue, wal_size: &WalSize) -> rusqlite::Result<bool> {
    for _ in 0..MAX_PASSIVE_ROUNDS {
        if checkpoint_passively(connection)? <= MAX_LEFT_PAGES {
            break;
        }
    }
    // Nobody of this process writes while this is held.
    let writing = lock(&queue.connection);
    // Several processes that write without a pause never leave a moment in which the log is empty.
    if wal_size.is_over_limit() {
        checkpoint_and_restart(connection)
    } else {
        checkpoint_passively(&writing.connection).map(|rest| rest == 0)
    }
}

/// Checkpoints the whole log while nobody writes; the next commit begins it anew.
fn checkpoint_and_restart(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(READER_WAIT)?;
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |row| Ok(row.get::<_, i64>(0)? == 0))
}

/// Checkpoints what no reader keeps, and answers how many pages that leaves.
fn checkpoint_passively(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| {
        let (busy, wal_size, checkpointed): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Whoever else is at it will do it.
        Ok(if busy != 0 { CHECKPOINT_PAGES } else { u32::try_from(wal_size - checkpointed).unwrap_or(0) })
    })
}
