//! The event log, in SQLite or on a PostgreSQL server, and everything read from it.
//!
//! One connection writes, with group commit: the thread that appends a step uses it, or the store's own
//! thread. Readers have connections of their own and never wait. With [`Durability::Process`] a killed
//! process loses no commit that was reported to its caller; with [`Durability::Power`] a power failure does not
//! either. [`Durability::Scratch`] is for a temporary database.
//!
//! | a folder of this crate | holds |
//! |---|---|
//! | `sql` | one way to speak to either database, a file or a server |
//! | `row` | how columns are encoded: bodies of events, large values, search filters, totals; errors |
//! | `read` | queries: requests, sessions, events, state as of any event, search |
//! | `file` | the database file: its identity, schema, format migrations, opening it, read-only places |
//! | `write` | the writing connection, its queue and transactions, and the rows derived from events |
//! | `check` | verification of all derived rows against the events |
//! | `transfer` | long work in short transactions: export, import, delete, compact |
//!
//! A folder may use only itself and the folders above it in this table: `sql` uses no other, `transfer` may use all.
//!
//! Words of this crate: `n` is the number of a row in this file, an `id` is what the rest of the program uses. A
//! *change* is a row of `change`: one or more operations that took a scope from one version to the next. *As of* an
//! event (`as_of`, a global event id) means after everything that was committed up to and including it.
//!
//! Only this crate names rusqlite and tokio-postgres. It must not decide what an event means beyond the rows it keeps
//! for speed, and it reads no clock: times are those of the events.

mod check;
mod file;
#[cfg(test)]
mod first_event;
#[cfg(test)]
mod journal_tests;
mod read;
mod row;
mod sql;
mod transfer;
mod write;

use crate::file::{open, read_only};
use crate::read::events;
use crate::row::attempts;
use crate::sql::Connection;
use crate::write::{claims, writer_queue};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use engine::event::Event;
use engine::log::{AppendError, Lease, Log, NoteKind, Record, RequestEvents};
use engine::scope::ScopeKey;
use futures_channel::oneshot;
use serde_json::Value;

pub use check::{Checked, Problem};
pub use file::open::{Access, Durability, OnDamaged, Options};
pub use file::owners::{Liveness, Owners};
pub use read::conversation::ForkNode;
pub use read::digests::Digests;
pub use read::event_query::EventQuery;
pub use read::events::Step;
pub use read::item_facts::ItemEvent;
pub use read::journal::{Note, NoteQuery};
pub use read::owners::Owner;
pub use read::request_order::RequestOrder;
pub use read::requests::{RequestQuery, RequestRow};
pub use read::run_filter::{Comparison, ModelPrice, RunCondition, RunFilter, RunTerm, TRILLIONTHS};
pub use read::run_order::RunOrder;
pub use read::runs::{ModelName, RunDay, RunQuery, RunRow, RunsSummary};
pub use read::samples::Samples;
pub use read::search::{Hit, SearchQuery};
pub use read::sessions::{SessionOrder, SessionQuery, SessionRow};
pub use read::state_steps::StateStep;
pub use read::stats::Stats;
pub use read::used_models::ModelUsed;
pub use read::writes::{LastWrite, Write};
pub use row::annotation::{Annotated, Annotation, AnnotationKind, Subject};
pub use row::error::{Error, OpenError};
pub use row::waiting::{LockedBy, OnBusy};
pub use sql::place::{DataPlace, Server};
pub use transfer::bundle::{BundleRecord, ImportError, Unfit};
pub use transfer::compact::Compacted;
pub use transfer::delete::{Cleared, Deleted};
pub use write::annotations::Annotating;
pub use write::code::CodeOffer;
pub use write::expectations::RanCode;
pub use write::experiments::{ExperimentRow, SampleRow};
pub use write::leases::Leases;
pub use write::received::Received;
pub use write::replacement::Replacement;

use file::identity::{OpenFiles, Replaced};
use file::read_only::{Readable, Stamp, Unwatched};
use transfer::removal::Remover;
use transfer::sliced_work::SlicedWork;
use write::append_batch::QueuedAppend;
use write::code::CodeOffers;
use write::record_cache::RecordCache;
use write::writer::{ReadVersion, Writer};

/// Reading connections that are kept open while idle; more than this many are closed.
const MAX_IDLE_READERS: usize = 8;

/// Events that were just committed, in order.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The id of their request.
    pub request: Arc<str>,
    /// At least one, as stored: a commit that lost the race for a record is `commit_refused`.
    pub events: Arc<[Event]>,
}

/// Identifies a listener, for [`Store::unlisten`].
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

/// An open database. Dropping it commits what is queued and waits for that.
pub struct Store {
    place: DataPlace,
    /// How reading connections are opened.
    access: Access,
    id: String,
    owners: Owners,
    readers: Mutex<Vec<Connection>>,
    on_damaged: OnDamaged,
    record_cache: Arc<RecordCache>,
    unfinished: Mutex<Option<attempts::UnfinishedAttempts>>,
    listeners: Arc<Mutex<Listeners>>,
    code_offers: CodeOffers,
    /// Declared before `writer`, so that its thread has ended when the writer is dropped.
    _remover: Option<Remover>,
    writer: Writer,
    /// Which files the database had when it was opened; none if it is opened with [`Access::ReadOnly`].
    files: Option<OpenFiles>,
    unwatched: Option<Unwatched>,
    /// The temporary folder of a copy that is read instead of the original; declared last, so deleted last.
    _copy: Option<tempfile::TempDir>,
}

impl Store {
    /// Opens a database, or creates one. A file that is refused is not changed.
    ///
    /// With [`Access::ReadOnly`] nothing is created or changed in the database's folder. Where the file cannot be read
    /// there (a write-ahead log without a usable `-shm` file, or an older format) it is copied to a temporary folder
    /// first, which costs time and space proportional to its size.
    pub fn open(place: impl Into<DataPlace>, options: Options) -> Result<Store, OpenError> {
        let place = place.into();
        place.set_time_zone(options.time_zone.as_deref());
        let Some(path) = place.file().filter(|_| options.access == Access::ReadOnly) else {
            return Store::open_here(&place, options);
        };
        let before = Stamp::of(path);
        let readable = read_only::readable(path, options.create)?;
        let unwatched = Some(Unwatched::new(path, before, &readable));
        let mut store = match readable {
            Readable::Here => Store::open_here(&place, options)?,
            Readable::Copy(copy, folder) => {
                let options = Options { access: Access::ReadWrite, create: true, ..options };
                let mut store = Store::open_here(&copy.into(), options)?;
                store._copy = Some(folder);
                store
            }
        };
        store.unwatched = unwatched;
        Ok(store)
    }

    fn open_here(place: &DataPlace, options: Options) -> Result<Store, OpenError> {
        let listeners: Arc<Mutex<Listeners>> = Arc::default();
        let owners = options.owners.clone();
        let (skip_removals, access) = (options.skip_removals, options.access);
        let on_damaged = options.on_damaged.clone();
        let code_offers = CodeOffers::default();
        let record_cache = Arc::new(RecordCache::default());
        let writer =
            Writer::start(place.clone(), options, listeners.clone(), code_offers.clone(), record_cache.clone())?;
        let remover = if writer.has_removals() && !skip_removals && access == Access::ReadWrite {
            // If the thread cannot start, the next deletion or compaction works on the queue.
            Remover::start(place, writer.handle()).ok()
        } else {
            None
        };
        Ok(Store {
            place: place.clone(),
            access,
            id: writer.id().to_owned(),
            owners,
            readers: Mutex::default(),
            on_damaged,
            record_cache,
            unfinished: Mutex::default(),
            listeners,
            code_offers,
            _remover: remover,
            writer,
            files: (access == Access::ReadWrite).then(|| OpenFiles::of(place.path())),
            unwatched: None,
            _copy: None,
        })
    }

    /// Where the database is.
    pub fn place(&self) -> &DataPlace {
        &self.place
    }

    /// The file of the database, or the address of its server as it may be shown.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The database's own id, which is in the names of the owners of its requests.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the job that a request names as its owner is alive.
    pub fn liveness(&self, owner: &str) -> Liveness {
        self.owners.liveness(owner)
    }

    /// Calls `listener` after every commit of this process, on the thread that committed, with the writing connection
    /// held: it must return quickly and must not append.
    pub fn listen(&self, listener: impl Fn(&Committed) + Send + Sync + 'static) -> ListenerId {
        let mut listeners = lock(&self.listeners);
        listeners.last += 1;
        let id = ListenerId(listeners.last);
        listeners.known.push((id, Arc::new(listener)));
        id
    }

    /// Stops calling a listener. A call that has begun is not interrupted.
    pub fn unlisten(&self, id: ListenerId) {
        lock(&self.listeners).known.retain(|(known, _)| *known != id);
    }

    /// Limits the size of the file (`max_page_count`), to test what happens when the disk is full; `None` removes the
    /// limit.
    pub fn limit_pages(&self, pages: Option<u32>) {
        self.writer.limit_pages(pages);
    }

    /// Whether somebody changed what was opened with [`Access::ReadOnly`] and is read without SQLite's notice of
    /// changes (as immutable, as a copy, as empty where there was none): it must be opened again to be read as it is.
    pub fn is_outdated(&self) -> bool {
        self.unwatched.as_ref().is_some_and(Unwatched::is_outdated)
    }

    /// Whether another process has committed since the last call of this method.
    pub fn changed_elsewhere(&self) -> Result<bool, Error> {
        self.writer.changed_elsewhere()
    }

    /// Runs `read` on a reading connection, in one read transaction.
    fn read<R>(&self, read: impl FnOnce(&Connection) -> Result<R, Error>) -> Result<R, Error> {
        let connection = self.reader()?;
        let in_snapshot = |connection: &Connection| -> Result<R, Error> {
            let snapshot = connection.snapshot()?;
            let result = read(&snapshot)?;
            snapshot.finish()?;
            Ok(result)
        };
        let result = in_snapshot(&connection).map_err(|error| error.at(self.path()))?;
        // A connection that failed is not reused.
        self.return_reader(connection);
        Ok(result)
    }

    /// The newest committed state of a record. `version` is the current read version if it is known; with it a cached
    /// record costs no query.
    fn newest_record(&self, scope: &ScopeKey, version: Option<ReadVersion>) -> Result<Record, AppendError> {
        if let Some(record) = version.and_then(|version| self.record_cache.get_if_current(scope, version)) {
            return Ok(record);
        }
        // Usually one statement, which has a snapshot of its own: no explicit transaction is needed.
        let connection = self.reader()?;
        let record = self.record_cache.newest(&connection, scope, version);
        self.return_reader(connection);
        Ok(record?)
    }

    /// Connections for long work in short transactions.
    fn sliced_work(&self) -> Result<SlicedWork, Error> {
        self.check_files()?;
        Ok(SlicedWork::new(&self.place, self.writer.handle(), Arc::default())?)
    }

    /// Returns the database, its log or the index of its log, if that file was removed or replaced since the database
    /// was opened: what is read here may not be what lies there now. `None` with [`Access::ReadOnly`], where
    /// [`is_outdated`](Self::is_outdated) tells. Costs three calls of the system.
    pub fn removed_file(&self) -> Option<PathBuf> {
        self.files.as_ref()?.replaced().map(Replaced::into_path)
    }

    /// An error if [`removed_file`](Self::removed_file) has one: a new connection would open another file.
    pub fn check_files(&self) -> Result<(), Error> {
        self.files.as_ref().map_or(Ok(()), OpenFiles::check)
    }

    fn reader(&self) -> Result<Connection, Error> {
        let idle = lock(&self.readers).pop();
        idle.map_or_else(|| self.check_files().and_then(|()| Ok(open::reader(&self.place, self.access)?)), Ok)
    }

    fn return_reader(&self, connection: Connection) {
        let mut readers = lock(&self.readers);
        if readers.len() < MAX_IDLE_READERS {
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
        mode: engine::log::AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        self.writer.append(QueuedAppend::new(request, lease, events, mode, answer));
        receiver
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.newest_record(scope, self.writer.read_version())
    }

    fn records(&self, scopes: &[ScopeKey]) -> Result<Vec<Record>, AppendError> {
        let version = self.writer.read_version();
        scopes.iter().map(|scope| self.newest_record(scope, version)).collect()
    }

    fn take_ticket(&self, request: &str, scopes: &[ScopeKey], at: i64) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        let (request, scopes) = (request.to_owned(), scopes.to_vec());
        self.writer.run_later(move |connection| {
            let taken = connection.and_then(|connection| writer_queue::take(connection, &request, &scopes, at));
            // Sending fails if the request was cancelled and dropped the receiver.
            let _ = answer.send(taken.map_err(AppendError::from));
        });
        receiver
    }

    fn is_first(&self, request: &str, at: i64) -> Result<bool, AppendError> {
        Ok(self.read(|connection| writer_queue::is_first(connection, request, at, &self.owners))?)
    }

    fn leave_ticket(&self, request: &str) {
        let request = request.to_owned();
        // If this fails, the ticket is ignored once it is older than `TICKET_MS`.
        self.writer.run_later(move |connection| {
            drop(connection.and_then(|connection| writer_queue::leave_by_id(connection, &request)));
        });
    }

    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        Ok(self.read(|connection| claims::can_start(connection, request, &self.owners))?)
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.writer.wait()?;
        Ok(self.read(|connection| events::of_request(connection, request, &EventQuery::default()))?)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        Ok(self.read(|connection| events::of_session(connection, session, before, newest))?)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        let query = NoteQuery { except: Some(before), newest: Some(newest), ..NoteQuery::default() };
        Ok(self.notes_of(session, kind, query)?.into_iter().map(|note| note.entry).collect())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The last connection that closes checkpoints and deletes the write-ahead log; a read-only one cannot, so
        // the writing connection must close last.
        lock(&self.readers).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
