//! The SQLite event log and everything read from it.
//!
//! One at a time writes, whoever appends a step or the store's own thread, with group commit;
//! readers have connections of their own and never wait. With [`Durability::Process`] a killed
//! process loses nothing that was answered; with [`Durability::Power`] a lost power supply does not
//! either.
//!
//! | a folder of this crate | holds |
//! |---|---|
//! | `row` | what a row holds and how: lines of events, large values, filters of texts, totals, errors |
//! | `read` | what readers ask: requests, sessions, events, state at any instant, search |
//! | `file` | whose file it is, its tables and format, opening it, also where it cannot be written |
//! | `write` | who writes and when, the transactions, and the rows that follow from events |
//! | `check` | whether all of that is what the events say |
//! | `transfer` | long work in short transactions: export, import, delete, compact |
//!
//! Imports run down this table's order only: `row` names none of the others, `transfer` may name all.
//!
//! Only this crate names rusqlite. It must not decide what an event means beyond the rows it keeps
//! for speed, and it reads no clock: times are those of the events.

mod check;
mod file;
#[cfg(test)]
mod first_event;
mod read;
mod row;
mod transfer;
mod write;

use crate::file::{open, read_only};
use crate::read::events;
use crate::row::attempts;
use crate::write::{turns, writer_queue};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use engine::event::Event;
use engine::log::{AppendError, Lease, Log, NoteKind, Record, RequestEvents};
use engine::scope::ScopeKey;
use futures_channel::oneshot;
use rusqlite::Connection;
use serde_json::Value;

pub use check::{Checked, Problem};
pub use file::open::{Access, Durability, Liveness, OnDamaged, Options, Owners};
pub use read::events::{EventQuery, Step};
pub use read::requests::{RequestQuery, RequestRow};
pub use read::search::{Hit, SearchQuery};
pub use read::sessions::{Note, SessionQuery, SessionRow};
pub use read::stats::Stats;
pub use read::writes::{LastWrite, Write};
pub use row::error::{Error, OpenError};
pub use row::waiting::OnBusy;
pub use transfer::bundle::{BundleRecord, ImportError};
pub use transfer::compact::Compacted;
pub use transfer::delete::{Cleared, Deleted};
pub use write::code::CodeOffer;

use file::read_only::Readable;
use transfer::pieces::Pieces;
use transfer::removal::Remover;
use write::append_batch::AppendBatch;
use write::code::Offers;
use write::records::Records;
use write::writer::{ReadVersion, Writer};

/// Idle connections beyond this many are closed.
const READERS: usize = 8;

/// Events that were just committed, in order.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Whose.
    pub request: Arc<str>,
    /// At least one. A commit that lost the race for a record is `commit_refused` here as in the log.
    pub events: Arc<[Event]>,
}

/// Names a listener, to take it away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(u64);

type Listener = Arc<dyn Fn(&Committed) + Send + Sync>;

#[derive(Default)]
struct Listeners {
    last: u64,
    known: Vec<(ListenerId, Listener)>,
}

impl Listeners {
    fn all(&self) -> Vec<Listener> {
        self.known.iter().map(|(_, listener)| listener.clone()).collect()
    }
}

/// An open database. Dropping it writes what waits.
pub struct Store {
    path: PathBuf,
    /// Of the connections that read.
    access: Access,
    id: String,
    owners: Owners,
    readers: Mutex<Vec<Connection>>,
    on_damaged: OnDamaged,
    records: Records,
    unfinished: Mutex<Option<attempts::Unfinished>>,
    listeners: Arc<Mutex<Listeners>>,
    offers: Offers,
    /// Ends before the writer does.
    _remover: Option<Remover>,
    writer: Writer,
    /// The folder of the copy that is read in place of a database that cannot be; gone last.
    _copy: Option<tempfile::TempDir>,
}

impl Store {
    /// Opens a database, or makes one. A file that is refused is left exactly as it was.
    ///
    /// With [`Access::ReadOnly`] nothing is made or changed where it lies; what it costs is a copy of the file where a
    /// log lies beside it that cannot be shared, or its format is an older one.
    pub fn open(path: &Path, options: Options) -> Result<Store, OpenError> {
        if options.access == Access::ReadWrite {
            return Store::open_here(path, options);
        }
        match read_only::readable(path, options.create)? {
            Readable::Here => Store::open_here(path, options),
            Readable::Copy(copy, folder) => {
                let options = Options { access: Access::ReadWrite, create: true, ..options };
                let mut store = Store::open_here(&copy, options)?;
                store._copy = Some(folder);
                Ok(store)
            }
        }
    }

    fn open_here(path: &Path, options: Options) -> Result<Store, OpenError> {
        let listeners: Arc<Mutex<Listeners>> = Arc::default();
        let owners = options.owners.clone();
        let (only_look, access) = (options.only_look, options.access);
        let on_damaged = options.on_damaged.clone();
        let offers = Offers::default();
        let writer = Writer::start(path.to_owned(), options, listeners.clone(), offers.clone())?;
        let remover = if writer.has_removals() && !only_look && access == Access::ReadWrite {
            // Where it cannot begin, the next who deletes goes on.
            Remover::start(path, writer.handle()).ok()
        } else {
            None
        };
        Ok(Store {
            path: path.to_owned(),
            access,
            id: writer.id().to_owned(),
            owners,
            readers: Mutex::default(),
            on_damaged,
            records: Records::default(),
            unfinished: Mutex::default(),
            listeners,
            offers,
            _remover: remover,
            writer,
            _copy: None,
        })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database's own id, which is in the names of the owners of its requests.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the job lives that a request names as its owner.
    pub fn liveness(&self, owner: &str) -> Liveness {
        self.owners.liveness(owner)
    }

    /// Calls `listener` after every commit of this process, on the writing thread: be quick.
    pub fn listen(&self, listener: impl Fn(&Committed) + Send + Sync + 'static) -> ListenerId {
        let mut listeners = lock(&self.listeners);
        listeners.last += 1;
        let id = ListenerId(listeners.last);
        listeners.known.push((id, Arc::new(listener)));
        id
    }

    /// Stops calling a listener; a call under way ends.
    pub fn unlisten(&self, id: ListenerId) {
        lock(&self.listeners).known.retain(|(known, _)| *known != id);
    }

    /// Lets the file grow to so many pages and no further, as a full disk does; `None` lifts it.
    pub fn limit_pages(&self, pages: Option<u32>) {
        self.writer.limit_pages(pages);
    }

    /// Whether another process has committed since this was asked last.
    pub fn changed_elsewhere(&self) -> Result<bool, Error> {
        self.writer.changed_elsewhere()
    }

    /// Reads on a connection that nobody else uses meanwhile, from one snapshot.
    fn read<R>(&self, read: impl FnOnce(&Connection) -> Result<R, Error>) -> Result<R, Error> {
        let connection = self.reader()?;
        let snapshot = connection.unchecked_transaction()?;
        let result = read(&snapshot);
        snapshot.finish()?;
        // After a failure the next reader begins with a connection of its own.
        if result.is_ok() {
            self.give_back(connection);
        }
        result
    }

    /// The newest of a record; `stamp` is of this moment, where it is known.
    fn newest(&self, scope: &ScopeKey, stamp: Option<ReadVersion>) -> Result<Record, AppendError> {
        if let Some(record) = stamp.and_then(|stamp| self.records.known(scope, stamp)) {
            return Ok(record);
        }
        // One statement in the usual case: a snapshot of its own is enough, and cheaper.
        let connection = self.reader()?;
        let record = self.records.newest(&connection, scope, stamp);
        self.give_back(connection);
        Ok(record?)
    }

    /// For work that takes long.
    fn pieces(&self) -> Result<Pieces, Error> {
        Ok(Pieces::new(&self.path, self.writer.handle(), Arc::default())?)
    }

    fn reader(&self) -> Result<Connection, Error> {
        match lock(&self.readers).pop() {
            Some(idle) => Ok(idle),
            None => Ok(open::reader(&self.path, self.access)?),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(connection);
        }
    }
}

impl Log for Store {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        durability: engine::log::Durability,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        match AppendBatch::new(request, Some(lease.clone()), events, durability) {
            Ok(batch) => self.writer.append(AppendBatch { answer: Some(answer), ..batch }),
            // The caller may have dropped its end already.
            Err(error) => drop(answer.send(Err(error.into()))),
        }
        receiver
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.newest(scope, self.writer.read_version())
    }

    fn records(&self, scopes: &[ScopeKey]) -> Result<Vec<Record>, AppendError> {
        let stamp = self.writer.read_version();
        scopes.iter().map(|scope| self.newest(scope, stamp)).collect()
    }

    fn take_ticket(&self, request: &str, scopes: &[ScopeKey], at: i64) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        let (request, scopes) = (request.to_owned(), scopes.to_vec());
        self.writer.run_later(move |connection| {
            let taken = writer_queue::take(connection, &request, &scopes, at);
            // A request that was given up hears nothing.
            let _ = answer.send(taken.map_err(AppendError::from));
        });
        receiver
    }

    fn is_first(&self, request: &str, at: i64) -> Result<bool, AppendError> {
        Ok(self.read(|connection| writer_queue::is_first(connection, request, at, &self.owners))?)
    }

    fn leave_ticket(&self, request: &str) {
        let request = request.to_owned();
        // One that could not be given up counts until it is too old.
        self.writer.run_later(move |connection| drop(writer_queue::leave_by_id(connection, &request)));
    }

    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        Ok(self.read(|connection| turns::may_leave_queue(connection, request, &self.owners))?)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        Ok(self.read(|connection| events::of_session(connection, session, before, newest))?)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind) -> Result<Vec<Value>, AppendError> {
        let notes = self.notes_of(session, kind)?;
        Ok(notes.into_iter().filter(|note| &*note.request != before).map(|note| note.entry).collect())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The last connection to close checkpoints the write-ahead log, and a reader cannot.
        lock(&self.readers).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
