//! Waits without limit while another process holds the write lock.
//!
//! SQLite's busy timeout ends with an error. Here a wait ends only when the lock is free, or when the store is closed.
//! Must not be used while a transaction is open: the other process might wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::sql::Connection;

use crate::lock;
use crate::row::error::Error;

/// SQLite's busy timeout, after which the statement is tried again.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_millis(50);
/// After how long a wait is reported.
const BUSY_NOTICE_AFTER: Duration = Duration::from_secs(2);
/// The pause between two tries, for statements that SQLite's busy timeout does not apply to.
const BUSY_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Who keeps the database locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockedBy {
    /// Other processes of Flowglass, which write in turn.
    Flowglass,
    /// Another program, or an unknown one.
    Unknown,
}

/// A function that is called when the database has been busy for two seconds.
#[derive(Clone)]
pub struct OnBusy(Arc<dyn Fn(LockedBy) + Send + Sync>);

impl OnBusy {
    /// Calls `tell` once in each long wait, on the waiting thread.
    pub fn new(tell: impl Fn(LockedBy) + Send + Sync + 'static) -> OnBusy {
        OnBusy(Arc::new(tell))
    }
}

impl Default for OnBusy {
    fn default() -> Self {
        OnBusy::new(|_| {})
    }
}

impl std::fmt::Debug for OnBusy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnBusy")
    }
}

/// The state of a store's waits, shared by its threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    is_closed: Arc<AtomicBool>,
    on_busy: OnBusy,
    /// When a wait was last reported: threads that wait at the same time report once.
    last_notice: Arc<Mutex<Option<Instant>>>,
}

impl Waiting {
    pub(crate) fn new(on_busy: OnBusy) -> Waiting {
        Waiting { on_busy, ..Waiting::default() }
    }

    /// Ends all waits, and makes later ones fail immediately.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// Calls `attempt` until its error is not that another process holds the lock.
    pub(crate) fn until_free<T>(&self, attempt: impl FnMut() -> crate::sql::Result<T>) -> crate::sql::Result<T> {
        self.until_free_of(attempt, || LockedBy::Unknown)
    }

    fn until_free_of<T>(
        &self,
        mut attempt: impl FnMut() -> crate::sql::Result<T>,
        locked_by: impl Fn() -> LockedBy,
    ) -> crate::sql::Result<T> {
        let began = Instant::now();
        let mut is_told = false;
        loop {
            match attempt() {
                Err(error) if error.is_busy() && !self.is_closed.load(Ordering::SeqCst) => {
                    if !is_told && began.elapsed() >= BUSY_NOTICE_AFTER {
                        is_told = true;
                        self.tell(&locked_by);
                    }
                    std::thread::sleep(BUSY_RETRY_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Begins a write transaction, waiting without limit.
    pub(crate) fn begin(&self, connection: &Connection) -> Result<(), Error> {
        let locked_by = || if connection.is_locked_by_flowglass() { LockedBy::Flowglass } else { LockedBy::Unknown };
        Ok(self.until_free_of(|| connection.begin(), locked_by)?)
    }

    fn tell(&self, locked_by: impl Fn() -> LockedBy) {
        let mut last_notice = lock(&self.last_notice);
        if last_notice.is_none_or(|last_notice| last_notice.elapsed() >= BUSY_NOTICE_AFTER) {
            *last_notice = Some(Instant::now());
            drop(last_notice);
            (self.on_busy.0)(locked_by());
        }
    }
}
