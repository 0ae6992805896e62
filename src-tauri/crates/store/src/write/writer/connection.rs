//! Transactions: batches together where that works, each alone where it does not; then answers, then listeners.
//!
//! Whoever holds its mutex is the only writer of this process.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::log::{AppendError, Durability, Lease};
use rusqlite::Connection;

use super::wal_checkpoint::WalSize;
use super::{CommitQueue, MAX_BATCH_BYTES, MAX_INLINE_COMMIT, Message, ReadVersion};
use crate::file::identity::Identity;
use crate::file::open::{self, Options};
use crate::row::error::{Error, OpenError};
use crate::row::waiting::{self, BUSY_TIMEOUT, Waiting};
use crate::write::append_batch::AppendBatch;
use crate::write::code::Offers;
use crate::write::live::Memory;
use crate::write::transaction::Transaction;
use crate::{Committed, Listeners};

/// How long what begins its own transactions waits where another process was faster.
const MAX_RUN_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long whoever writes down may wait for another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BusyPolicy {
    /// Not at all: its thread has other things to do.
    GiveUp,
    /// As long as it takes.
    Wait,
}

/// Whether anything was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Nothing,
    Something,
}

/// What a writer needs.
pub(super) struct WritingConnection {
    path: PathBuf,
    pub(super) options: Options,
    pub(super) waiting: Waiting,
    /// The database's own.
    pub(super) id: String,
    pub(super) connection: Connection,
    /// The file as it was opened.
    identity: Identity,
    pub(super) memory: Memory,
    pub(super) listeners: Arc<Mutex<Listeners>>,
    /// Code that events may bring along.
    offers: Offers,
    /// Evidence that could not be kept, until its request's next step boundary hears of it.
    failed: Reasons,
    /// What the disk said when a request last lost something: the gap in its numbers comes of that.
    reasons: Reasons,
    /// SQLite's number for "nobody else has written", as memory knows it.
    seen: Option<i64>,
    pub(super) version: Arc<CommitVersion>,
    pub(super) wal_size: Arc<WalSize>,
}

/// Why something of a request was lost, and under which lease: its next owner has nothing to do with that.
type Reasons = HashMap<Arc<str>, (Option<Lease>, AppendError)>;

fn reason_of<'a>(reasons: &'a Reasons, batch: &AppendBatch) -> Option<&'a AppendError> {
    if reasons.is_empty() {
        return None;
    }
    reasons.get(&batch.request).filter(|(lease, _)| *lease == batch.lease).map(|(_, error)| error)
}

/// What is known of the connection without its mutex.
#[derive(Debug)]
pub(super) struct CommitVersion {
    /// Counts whatever this process did to records that outlive requests.
    changes: AtomicU64,
    /// SQLite's number for what others did, while a transaction keeps them from doing more.
    kept: AtomicI64,
    /// The newest such number that the connection has read.
    newest: AtomicI64,
}

/// No transaction is open.
const FREE: i64 = i64::MIN;

impl CommitVersion {
    fn new() -> CommitVersion {
        CommitVersion { changes: AtomicU64::new(0), kept: AtomicI64::new(FREE), newest: AtomicI64::new(FREE) }
    }

    /// The newest `data_version` that the connection has read.
    pub(super) fn newest(&self) -> i64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// Something was done to records that outlive requests.
    pub(super) fn pass(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The moment in which a transaction is open; its own writes come after it.
    pub(super) fn during(&self) -> Option<ReadVersion> {
        let own = self.changes.load(Ordering::SeqCst);
        let others = self.kept.load(Ordering::SeqCst);
        (others != FREE).then_some(ReadVersion { own, others })
    }
}

impl WritingConnection {
    /// Opens the writing connection.
    pub(super) fn open(
        path: PathBuf,
        options: Options,
        waiting: Waiting,
        (listeners, offers): (Arc<Mutex<Listeners>>, Offers),
    ) -> Result<WritingConnection, OpenError> {
        let wal_size = Arc::new(WalSize::new());
        let connection = connect(&path, &options, &waiting, &wal_size)?;
        let identity = Identity::of(&path);
        let id = connection
            .query_row("SELECT id FROM database", (), |row| row.get(0))
            .map_err(|error| OpenError::from_sqlite(&path, &error))?;
        let connection = WritingConnection {
            path,
            options,
            waiting,
            id,
            connection,
            memory: Memory::default(),
            listeners,
            offers,
            identity,
            failed: HashMap::new(),
            reasons: HashMap::new(),
            seen: None,
            version: Arc::new(CommitVersion::new()),
            wal_size,
        };
        connection.version.newest.store(connection.data_version().unwrap_or(FREE), Ordering::SeqCst);
        Ok(connection)
    }

    /// What stays as it is while nobody, in whatever process, writes a record that outlives requests.
    pub(super) fn read_version(&self) -> Option<ReadVersion> {
        Some(ReadVersion { own: self.version.changes.load(Ordering::SeqCst), others: self.data_version().ok()? })
    }

    /// Does what has waited longest: appends in a row, in one transaction, or one other message. Answers
    /// whether there was anything.
    pub(super) fn serve(&mut self, queue: &CommitQueue) -> bool {
        if self.write_down(queue, BusyPolicy::Wait) != Wrote::Nothing {
            return true;
        }
        let other = queue.next(|_| true);
        let is_any = other.is_some();
        other.into_iter().for_each(|message| self.take(message));
        self.wal_size.look();
        is_any
    }

    /// Writes down the appends that have waited longest, in one transaction. Answers whether there were any. Who
    /// must not wait leaves them in the queue where another process writes.
    pub(super) fn write_down(&mut self, queue: &CommitQueue, on_busy: BusyPolicy) -> Wrote {
        let mut batches = Vec::new();
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Some(Message::Append(batch)) = queue.next(|message| matches!(message, Message::Append(_)))
        {
            bytes += batch.bytes();
            batches.push(batch);
        }
        if batches.is_empty() {
            return Wrote::Nothing;
        }
        let begun = Instant::now();
        let is_open = match on_busy {
            BusyPolicy::Wait => false,
            BusyPolicy::GiveUp => match waiting::begin(&self.connection) {
                Err(error) if waiting::is_busy(&error) => {
                    queue.put_back(batches);
                    return Wrote::Nothing;
                }
                // Any other failure comes again, and is told then.
                begun => begun.is_ok(),
            },
        };
        self.commit(batches, is_open);
        queue.commits_inline.store(begun.elapsed() < MAX_INLINE_COMMIT, Ordering::Relaxed);
        self.wal_size.look();
        Wrote::Something
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Append(batch) => self.commit(vec![batch], false),
            Message::LimitPages(pages) => {
                // A file that is larger already keeps its size.
                let pages = pages.unwrap_or(u32::MAX - 1);
                let _ = self.connection.pragma_update(None, "max_page_count", pages);
            }
            Message::Run(run) => {
                self.run(run);
                self.memory.clear();
                self.version.pass();
            }
        }
    }

    /// Runs something that begins its own transactions, once the database is free: they have nothing to wait for,
    /// unless another process is faster.
    fn run(&self, run: Box<dyn FnOnce(&Connection) + Send>) {
        if self.waiting.begin(&self.connection).is_ok() {
            // Nothing was done in it.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // Where this cannot be set, the transactions wait as appends do.
        let _ = self.connection.busy_timeout(MAX_RUN_WAIT);
        run(&self.connection);
        let _ = self.connection.busy_timeout(BUSY_TIMEOUT);
    }

    /// Commits batches together; if that fails, each alone, so that one cannot fail another. `is_open` says whether
    /// the transaction has begun.
    fn commit(&mut self, mut batches: Vec<AppendBatch>, is_open: bool) {
        match self.write(&mut batches, is_open) {
            Ok(results) => self.deliver(batches, results),
            Err(error) if batches.len() > 1 && !error.is_busy() => {
                for batch in batches {
                    self.commit(vec![batch], false);
                }
            }
            Err(error) => {
                let error = AppendError::from(error);
                let results = batches.iter().map(|_| Err(error.clone())).collect();
                self.deliver(batches, results);
            }
        }
    }

    /// One transaction. Answers, for each batch, whether it was kept.
    fn write(&mut self, batches: &mut [AppendBatch], is_open: bool) -> Result<Vec<Result<(), AppendError>>, Error> {
        let result = self.try_write(batches, is_open);
        self.version.kept.store(FREE, Ordering::SeqCst);
        if result.is_err() {
            self.recover();
        }
        result
    }

    fn try_write(&mut self, batches: &mut [AppendBatch], is_open: bool) -> Result<Vec<Result<(), AppendError>>, Error> {
        if !is_open {
            self.waiting.begin(&self.connection)?;
        }
        let version = self.data_version()?;
        self.version.newest.store(version, Ordering::SeqCst);
        if self.seen.replace(version) != Some(version) {
            self.memory.clear();
        }
        self.version.kept.store(version, Ordering::SeqCst);
        self.memory.trim();
        let mut transaction = Transaction::new(&self.connection, &mut self.memory, &self.options.owners)?;
        let mut results = Vec::with_capacity(batches.len());
        for batch in batches {
            results.push(match reason_of(&self.failed, batch) {
                Some(failure) => Err(failure.clone()),
                None => {
                    let added = transaction.add(batch)?;
                    if added.is_ok() {
                        self.offers.keep(&self.connection, &batch.drafts)?;
                    }
                    added
                }
            });
        }
        let has_records = transaction.close()?;
        if Identity::of(&self.path) != self.identity {
            return Err(Error::Gone(self.path.clone()));
        }
        // From the commit on others may write, and nothing vouches any more for what they have not.
        self.version.kept.store(FREE, Ordering::SeqCst);
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        if has_records {
            self.version.pass();
        }
        Ok(results)
    }

    /// Leaves a spoilt transaction behind, with a new connection where the old one cannot.
    pub(super) fn recover(&mut self) {
        self.version.kept.store(FREE, Ordering::SeqCst);
        self.version.pass();
        self.memory.clear();
        self.seen = None;
        // After some errors SQLite has rolled back already; the check below tells.
        let _ = self.connection.execute_batch("ROLLBACK");
        if !self.connection.is_autocommit()
            && let Ok(fresh) =
                connect(&self.path, &Options { create: false, ..self.options.clone() }, &self.waiting, &self.wal_size)
        {
            self.connection = fresh;
        }
    }

    fn deliver(&mut self, batches: Vec<AppendBatch>, results: Vec<Result<(), AppendError>>) {
        // Before the answers: who listens from now on has not asked for these commits.
        let listeners = crate::lock(&self.listeners).all();
        let mut news = Vec::with_capacity(batches.len());
        for (mut batch, result) in batches.into_iter().zip(results) {
            let is_kept = result.is_ok();
            let result = self.explain(&batch, result);
            let result = match (result, batch.durability) {
                (Ok(()), _) => batch.conflict.take().map_or(Ok(()), |scopes| Err(AppendError::Conflict(scopes))),
                (Err(error), Durability::Soon) => {
                    let reason = (batch.lease.clone(), error.clone());
                    let known = self.failed.entry(batch.request.clone()).or_insert_with(|| reason.clone());
                    if known.0 != reason.0 {
                        *known = reason;
                    }
                    Err(error)
                }
                // What failed first says more than the gap it left.
                (Err(error), Durability::Committed) => {
                    let known = self.failed.remove(&batch.request).filter(|(lease, _)| *lease == batch.lease);
                    Err(known.map_or(error, |(_, error)| error))
                }
            };
            batch.answer(result);
            if is_kept && !batch.drafts.is_empty() {
                let events: Arc<[Event]> = batch.drafts.into_iter().map(|draft| draft.event).collect();
                news.push(Committed { request: batch.request, events });
            }
        }
        for committed in &news {
            for listener in &listeners {
                // A listener's panic has been reported, and must not stop the log.
                let _ = catch_unwind(AssertUnwindSafe(|| listener(committed)));
            }
        }
    }

    /// A gap in the numbers of a request that lost something is told as what it was lost by.
    fn explain(&mut self, batch: &AppendBatch, result: Result<(), AppendError>) -> Result<(), AppendError> {
        match &result {
            Ok(()) if self.reasons.is_empty() => {}
            Ok(()) => drop(self.reasons.remove(&batch.request)),
            Err(reason @ AppendError::Storage(_)) => {
                drop(self.reasons.insert(batch.request.clone(), (batch.lease.clone(), reason.clone())));
            }
            Err(AppendError::OutOfOrder { .. }) => {
                return reason_of(&self.reasons, batch).map_or(result, |reason| Err(reason.clone()));
            }
            Err(_) => {}
        }
        result
    }

    pub(super) fn data_version(&self) -> Result<i64, Error> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))?)
    }
}

/// The writing connection. It reports the size of the write-ahead log, and does not checkpoint by itself.
fn connect(
    path: &Path,
    options: &Options,
    waiting: &Waiting,
    wal_size: &Arc<WalSize>,
) -> Result<Connection, OpenError> {
    let mut connection = open::open(path, options, waiting)?;
    wal_size.follow(&mut connection).map_err(|error| OpenError::from_sqlite(path, &error))?;
    Ok(connection)
}
