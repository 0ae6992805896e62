//! Waiting for another process that writes, for as long as it takes.
//!
//! SQLite's own waiting ends after a time and then fails. Nothing here fails because somebody else is busy: the
//! wait ends when the database is free, or when the store is closed. Must not be used while a transaction is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::lock;
use crate::row::error::Error;

/// How long SQLite waits by itself before it is asked again.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_millis(50);
/// After how long somebody is told.
const BUSY_NOTICE_AFTER: Duration = Duration::from_secs(2);
/// How long what SQLite does not wait for by itself rests between two tries.
const BUSY_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// What is called when the database has been busy for a while.
#[derive(Clone)]
pub struct OnBusy(Arc<dyn Fn() + Send + Sync>);

impl OnBusy {
    /// Calls this function, once in each long wait.
    pub fn new(tell: impl Fn() + Send + Sync + 'static) -> OnBusy {
        OnBusy(Arc::new(tell))
    }
}

impl Default for OnBusy {
    fn default() -> Self {
        OnBusy::new(|| {})
    }
}

impl std::fmt::Debug for OnBusy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnBusy")
    }
}

/// How a store waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    is_closed: Arc<AtomicBool>,
    on_busy: OnBusy,
    /// Who told last, and when: several who wait at once are one wait.
    last_notice: Arc<Mutex<Option<Instant>>>,
}

impl Waiting {
    pub(crate) fn new(on_busy: OnBusy) -> Waiting {
        Waiting { on_busy, ..Waiting::default() }
    }

    /// From now on nobody waits.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// Tries until it is not another process that is in the way.
    pub(crate) fn until_free<T>(&self, mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let began = Instant::now();
        let mut is_told = false;
        loop {
            match attempt() {
                Err(error) if is_busy(&error) && !self.is_closed.load(Ordering::SeqCst) => {
                    if !is_told && began.elapsed() >= BUSY_NOTICE_AFTER {
                        is_told = true;
                        self.tell();
                    }
                    std::thread::sleep(BUSY_RETRY_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Begins a transaction that writes, however long that takes.
    pub(crate) fn begin(&self, connection: &Connection) -> Result<(), Error> {
        Ok(self.until_free(|| begin(connection))?)
    }

    fn tell(&self) {
        let mut last_notice = lock(&self.last_notice);
        if last_notice.is_none_or(|last_notice| last_notice.elapsed() >= BUSY_NOTICE_AFTER) {
            *last_notice = Some(Instant::now());
            drop(last_notice);
            (self.on_busy.0)();
        }
    }
}

/// Begins a transaction that writes, unless somebody else is at it.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute(()).map(drop)
}

/// Whether another process was in the way.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
