//! The SQLite event log and everything read from it.
//!
//! One thread writes, with group commit; readers have connections of their own and never wait for
//! it. With [`Durability::Process`] a killed process loses nothing that was answered; with
//! [`Durability::Power`] a lost power supply does not either. Only this crate names rusqlite. It
//! must not decide what an event means beyond the rows it keeps for speed.

mod append;
mod body;
mod error;
mod open;
mod reads;
mod scopes;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::event::Event;
use engine::log::{AppendError, Log, Record, RequestEvents};
use engine::scope::ScopeKey;
use futures_channel::oneshot;
use rusqlite::Connection;

pub use error::{Error, OpenError};
pub use open::Options;
pub use reads::{EventQuery, RequestQuery, RequestRow, SessionQuery, SessionRow, Stats};

/// What an answered commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A killed process (`synchronous` NORMAL).
    #[default]
    Process,
    /// A lost power supply (`synchronous` FULL).
    Power,
}

/// Events that were just committed, in order.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Whose.
    pub request: Arc<str>,
    /// At least one.
    pub events: Arc<[Event]>,
}

pub(crate) type Listener = Box<dyn Fn(&Committed) + Send + Sync>;

/// An open database.
///
/// The readers close before the writer: the last connection puts the write-ahead log back into the
/// file, and one that only reads cannot.
pub struct Store {
    readers: Mutex<Vec<Connection>>,
    writer: writer::Writer,
    file: std::path::PathBuf,
    records: Arc<scopes::Records>,
    listeners: Arc<Mutex<Vec<Listener>>>,
}

impl Store {
    /// Opens a database, or makes one; a file that is not ours is refused and left untouched.
    pub fn open(file: &Path, options: Options) -> Result<Store, OpenError> {
        let connection = open::open(file, &options)?;
        let records = Arc::new(scopes::Records::default());
        let listeners: Arc<Mutex<Vec<Listener>>> = Arc::default();
        let writer = writer::Writer::start(connection, records.clone(), listeners.clone());
        Ok(Store { writer, readers: Mutex::default(), file: file.to_owned(), records, listeners })
    }

    /// Hears every commit of this process, from the writing thread: be quick.
    pub fn listen(&self, listener: impl Fn(&Committed) + Send + Sync + 'static) {
        lock(&self.listeners).push(Box::new(listener));
    }

    /// Lets the file grow to so many pages and no further, as a full disk does; `None` lifts it.
    pub fn limit_pages(&self, pages: Option<u32>) {
        self.writer.limit_pages(pages.unwrap_or(u32::MAX - 1));
    }

    /// Reads on a connection of its own.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Connection) -> Result<R, Error>) -> Result<R, Error> {
        let pooled = lock(&self.readers).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open::reader(&self.file)?,
        };
        let result = read(&connection);
        lock(&self.readers).push(connection);
        result
    }
}

impl Log for Store {
    fn append(
        &self,
        request: &str,
        events: Vec<Event>,
        durability: engine::log::Durability,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        self.writer.append(request.into(), events, durability)
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        let read = self.read(|connection| self.records.newest(connection, scope));
        read.map_err(|error| AppendError::Storage(error.to_string()))
    }

    fn session_events(&self, session: &str, before: &str) -> Result<Vec<RequestEvents>, AppendError> {
        let read = self.read(|connection| reads::session_events(connection, session, before));
        read.map_err(|error| AppendError::Storage(error.to_string()))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
