//! The temporary databases in which `.run` files are replayed.
//!
//! A worker of a batch uses one for all its files, one after another: creating and opening a database takes longer than
//! replaying a short file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::{OpenOptions, Workspace};
use crate::catalogue::trust::Consent;
use crate::core::config::Durability;
use crate::core::fault::Fault;
use crate::core::scratch::Scratch;
use crate::core::sync::lock;

/// The temporary databases of a batch.
#[derive(Default)]
pub(super) struct TemporaryDatabases {
    idle: Mutex<Vec<TemporaryDatabase>>,
    opened: AtomicUsize,
}

/// The workspace with its own database, in a folder that is removed after the database is closed.
struct TemporaryDatabase {
    workspace: Arc<Workspace>,
    _folder: Scratch,
}

impl TemporaryDatabases {
    /// Calls `with` with a workspace whose database no other thread uses meanwhile. The database may hold the run of an
    /// earlier call, and whoever fills it replaces that.
    pub(super) fn with<R>(
        &self,
        workspace: &Workspace,
        with: impl FnOnce(&Workspace) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let idle = lock(&self.idle).pop();
        let database = idle.map_or_else(|| self.open(workspace), Ok)?;
        let result = with(&database.workspace);
        // After an error the database itself may be the reason.
        if result.is_ok() {
            lock(&self.idle).push(database);
        }
        result
    }

    fn open(&self, workspace: &Workspace) -> Result<TemporaryDatabase, Fault> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = Scratch::new().map_err(Fault::internal)?;
        let workspace = Workspace::open(OpenOptions {
            dir: workspace.dir.clone(),
            data: Some(folder.path().join("run.db").into()),
            durability: Some(Durability::Scratch),
            consent: Consent::Given,
            ..OpenOptions::default()
        })?;
        Ok(TemporaryDatabase { workspace, _folder: folder })
    }

    /// How many databases were opened.
    #[cfg(test)]
    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}
