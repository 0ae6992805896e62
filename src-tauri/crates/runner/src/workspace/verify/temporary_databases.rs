//! The temporary databases in which `.run` files are replayed.
//!
//! A worker of a batch uses one for all its files, one after another: creating and opening a database takes longer than
//! replaying a short file.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::core::fault::Fault;
use crate::core::scratch::Scratch;
use crate::core::sync::lock;

/// The temporary databases of a batch, each opened as a `W`.
pub(super) struct TemporaryDatabases<W> {
    idle: Mutex<Vec<TemporaryDatabase<W>>>,
    opened: AtomicUsize,
}

/// An opened database, in a folder that is removed after the database is closed.
struct TemporaryDatabase<W> {
    database: Arc<W>,
    _folder: Scratch,
}

impl<W> Default for TemporaryDatabases<W> {
    fn default() -> TemporaryDatabases<W> {
        TemporaryDatabases { idle: Mutex::default(), opened: AtomicUsize::default() }
    }
}

impl<W> TemporaryDatabases<W> {
    /// Calls `with` with a database that no other thread uses meanwhile. It may hold the run of an earlier call, and
    /// whoever fills it replaces that. `open` opens one at a path if none is idle.
    pub(super) fn with<R>(
        &self,
        open: impl FnOnce(&Path) -> Result<Arc<W>, Fault>,
        with: impl FnOnce(&W) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let idle = lock(&self.idle).pop();
        let temporary = idle.map_or_else(|| self.open(open), Ok)?;
        let result = with(&temporary.database);
        // After an error the database itself may be the reason.
        if result.is_ok() {
            lock(&self.idle).push(temporary);
        }
        result
    }

    fn open(&self, open: impl FnOnce(&Path) -> Result<Arc<W>, Fault>) -> Result<TemporaryDatabase<W>, Fault> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = Scratch::new().map_err(Fault::internal)?;
        Ok(TemporaryDatabase { database: open(&folder.path().join("run.db"))?, _folder: folder })
    }

    /// How many databases were opened.
    #[cfg(test)]
    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}
