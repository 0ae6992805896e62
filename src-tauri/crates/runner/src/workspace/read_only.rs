//! A workspace whose database cannot be written, or must not be because nobody trusts the folder yet, is read all the
//! same, and nothing of it is run or changed.

use std::path::PathBuf;

use store::{Access, DataPlace, OpenError, Options, Store};

use super::{OpenOptions, Workspace};
use crate::core::fault::Fault;

/// A database, and why it is only read where it is.
pub(super) struct Opened {
    pub(super) store: Store,
    pub(super) unwritable: Option<Fault>,
}

/// Opens the database of a workspace. While nobody trusts the folder it is opened for reading, and one that is not
/// there is not created.
pub(super) fn open_data(
    data: &DataPlace,
    options: &OpenOptions,
    settings: Options,
    untrusted: Option<&Fault>,
) -> Result<Opened, Fault> {
    let Some(untrusted) = untrusted else { return open_store(data, options, settings).map_err(open_fault) };
    let settings = Options { access: Access::ReadOnly, skip_removals: true, ..settings };
    let store = Store::open(data.clone(), settings).map_err(open_fault)?;
    Ok(Opened { store, unwritable: Some(untrusted.clone()) })
}

/// Opens a database; one that cannot be written is opened for reading, and that is told. An empty file, as a crash
/// between the creation of a database and its tables leaves one, is an empty database: it is read and stays empty.
pub(super) fn open_store(data: &DataPlace, options: &OpenOptions, settings: Options) -> Result<Opened, OpenError> {
    let refused = match Store::open(data.clone(), settings.clone()) {
        Ok(store) => return Ok(Opened { store, unwritable: None }),
        Err(refused @ (OpenError::ReadOnly { .. } | OpenError::Unwritable { .. } | OpenError::OnlyReads { .. })) => {
            refused
        }
        Err(OpenError::Missing { .. }) if data.file().is_some_and(|file| file.exists()) => {
            let settings = Options { access: Access::ReadOnly, skip_removals: true, create: true, ..settings };
            return Ok(Opened { store: Store::open(data.clone(), settings)?, unwritable: None });
        }
        Err(other) => return Err(other),
    };
    // Who names a database wants that one, and not an empty one.
    let create = settings.create && options.data.is_none();
    let settings = Options { access: Access::ReadOnly, skip_removals: true, create, ..settings };
    let Ok(store) = Store::open(data.clone(), settings) else { return Err(refused) };
    tracing::warn!(data = %data, "only read");
    if let Some(tell) = options.on_read_only {
        tell(&format!("{data} cannot be written to, so it is only read: nothing can be run or changed"));
    }
    Ok(Opened { store, unwritable: Some(open_fault(refused)) })
}

impl Workspace {
    /// Whether the database is read as it lay when it was opened, and somebody changed it since: told as
    /// [`Notice::Outdated`](crate::Notice::Outdated).
    pub fn is_outdated(&self) -> bool {
        self.store.is_outdated()
    }

    /// The file of the database that was removed or replaced since it was opened: what is read here may not be what
    /// lies there now.
    pub fn removed_database(&self) -> Option<PathBuf> {
        self.store.removed_file()
    }

    /// Refuses what would be written where nothing can be, or where it would be lost with a file that was removed.
    pub(super) fn check_writable(&self) -> Result<(), Fault> {
        self.unwritable.clone().map_or(Ok(()), Err)?;
        self.store.check_files().map_err(Fault::internal)
    }

    /// Why nothing can be written now, as the window shows it. A folder that is not trusted has its own notice.
    pub(super) fn why_only_read(&self) -> Option<String> {
        let opened = self.unwritable.as_ref().filter(|_| self.trusted).map(Fault::to_string);
        opened.or_else(|| self.store.check_files().err().map(|removed| removed.to_string()))
    }
}

/// What is said if the locks of jobs cannot be written beside a database.
pub(super) fn unwritable(data: &DataPlace, folder: &std::path::Path, error: &std::io::Error) -> Fault {
    let why = "make it writable, or name a database elsewhere with --data";
    let of_file = || format!("{} cannot be written to ({error}): {why}", folder.display());
    Fault::Storage { message: data.file().map_or_else(|| error.to_string(), |_| of_file()) }
}

/// What is said of a database that cannot be opened.
pub(super) fn open_fault(error: OpenError) -> Fault {
    match &error {
        refused if refused.is_refusal() => Fault::refused(refused.to_string()),
        OpenError::Missing { .. } | OpenError::NoTables { .. } => Fault::not_found(error.to_string()),
        _ => Fault::Storage { message: error.to_string() },
    }
}
