//! Commits batches: all of them in one transaction, or each in its own if that fails. Then answers the callers, then
//! calls the listeners.
//!
//! The thread that holds the connection's mutex is the only writer of this process.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::log::{AppendError, Lease};

use super::ReadVersion;
use super::inbox::{Message, Work};
use super::wal_checkpoint::WalSize;
use crate::Listeners;
use crate::file::identity::{OpenFiles, Replaced};
use crate::file::open::{self, Options};
use crate::row::error::{Error, OpenError};
use crate::row::filter_block::{self, FilterBlock};
use crate::row::waiting::{BUSY_TIMEOUT, Waiting};
use crate::sql::{Connection, DataPlace};
use crate::write::append_batch::AppendBatch;
use crate::write::code::CodeOffers;
use crate::write::record_cache::{ChangedRecord, RecordCache};
use crate::write::transaction::TransactionRows;
use crate::write::writer_cache::WriterCache;

/// The busy timeout for work that begins its own transactions; in effect, without limit.
const MAX_RUN_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a transaction is tried again that a server did not finish.
const MAX_RETRIES: u32 = 3;

/// The writing connection, with what must be known to commit on it.
pub(super) struct WritingConnection {
    place: DataPlace,
    pub(super) options: Options,
    pub(super) waiting: Waiting,
    /// The id of the database.
    pub(super) id: String,
    pub(super) connection: Connection,
    /// Which files it had when it was opened.
    files: OpenFiles,
    pub(super) cache: WriterCache,
    pub(super) listeners: Arc<Mutex<Listeners>>,
    /// Code to store with the events that name it.
    code_offers: CodeOffers,
    /// Requests with events that were answered and then could not be stored, until their next append that somebody
    /// waits for fails with that error.
    unreported: Losses,
    /// Whether there are any.
    pub(super) has_losses: Arc<AtomicBool>,
    /// The last storage error of each request: a later gap in its `seq` is a consequence, and is reported as this.
    losses: Losses,
    /// The `data_version` that `cache` was filled at; when it changes, another process has written.
    cache_data_version: Option<i64>,
    pub(super) commit_version: Arc<CommitVersion>,
    pub(super) wal_size: Arc<WalSize>,
}

/// What a transaction did.
struct Written {
    /// For each batch.
    results: Vec<Result<(), AppendError>>,
    changed: Vec<ChangedRecord>,
    /// The `data_version` that it began at.
    data_version: i64,
}

/// Why events of a request were lost, and under which lease: a later owner does not get the error.
type Losses = HashMap<Arc<str>, (Option<Lease>, AppendError)>;

fn loss_of<'a>(losses: &'a Losses, batch: &AppendBatch) -> Option<&'a AppendError> {
    if losses.is_empty() {
        return None;
    }
    losses.get(&batch.request).filter(|(lease, _)| *lease == batch.lease).map(|(_, error)| error)
}

/// What other threads can know of the writing connection without its mutex.
pub(super) struct CommitVersion {
    /// The records as committed.
    records: Arc<RecordCache>,
    /// `data_version` while a write transaction is open, so that no other process can commit; else
    /// [`NO_TRANSACTION`].
    open_data_version: AtomicI64,
    /// The newest `data_version` that the connection has read.
    newest: AtomicI64,
}

/// The value of `open_data_version` while no transaction is open.
const NO_TRANSACTION: i64 = i64::MIN;

impl CommitVersion {
    fn new(records: Arc<RecordCache>) -> CommitVersion {
        CommitVersion {
            records,
            open_data_version: AtomicI64::new(NO_TRANSACTION),
            newest: AtomicI64::new(NO_TRANSACTION),
        }
    }

    /// The newest `data_version` that the connection has read.
    pub(super) fn newest(&self) -> i64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// The read version before the transaction that is open, or none if none is open.
    pub(super) fn version_if_open(&self) -> Option<ReadVersion> {
        let own = self.records.commits();
        let others = self.open_data_version.load(Ordering::SeqCst);
        (others != NO_TRANSACTION).then_some(ReadVersion { own, others })
    }
}

impl WritingConnection {
    /// Opens the writing connection.
    pub(super) fn open(
        place: DataPlace,
        options: Options,
        waiting: Waiting,
        (listeners, code_offers, records): (Arc<Mutex<Listeners>>, CodeOffers, Arc<RecordCache>),
    ) -> Result<WritingConnection, OpenError> {
        let wal_size = Arc::new(WalSize::new());
        let connection = connect(&place, &options, &waiting, &wal_size)?;
        let id = connection
            .query_row("SELECT id FROM database", (), |row| row.get(0))
            .map_err(|error| OpenError::from_sql(place.path(), &error))?;
        let files = OpenFiles::of(place.path());
        let connection = WritingConnection {
            place,
            options,
            waiting,
            id,
            connection,
            cache: WriterCache::default(),
            listeners,
            code_offers,
            files,
            unreported: HashMap::new(),
            has_losses: Arc::default(),
            losses: HashMap::new(),
            cache_data_version: None,
            commit_version: Arc::new(CommitVersion::new(records)),
            wal_size,
        };
        connection.commit_version.newest.store(connection.data_version().unwrap_or(NO_TRANSACTION), Ordering::SeqCst);
        Ok(connection)
    }

    /// The current read version, or none if it cannot be read.
    pub(super) fn read_version(&self) -> Option<ReadVersion> {
        Some(ReadVersion { own: self.commit_version.records.commits(), others: self.data_version().ok()? })
    }

    /// Begins a transaction, unless another process holds the write lock. Any other error comes up again when
    /// [`commit`](Self::commit) begins, and is reported there.
    pub(super) fn begin_if_free(&self) -> bool {
        self.connection.begin().is_ok()
    }

    /// Handles a message by itself.
    pub(super) fn handle(&mut self, message: Message) {
        match message {
            Message::Append(append) => self.commit(vec![append.prepare()], false),
            Message::LimitPages(pages) => {
                // SQLite does not go below the current size of the file.
                let pages = pages.unwrap_or(u32::MAX - 1);
                let _ = self.connection.set_pragma("max_page_count", pages);
            }
            Message::Index { blocks, answer } => {
                let result = self.store_filters(&blocks);
                // The indexer has ended.
                let _ = answer.send(result);
            }
            // Whoever waits has ended, if this fails.
            Message::Wait(answer) => drop(answer.send(())),
            Message::RunUncached(run) => self.run(run),
            Message::Run(run) => {
                self.run(run);
                self.cache.clear();
                self.commit_version.records.forget_all();
            }
        }
    }

    /// Stores filters in a transaction of their own. Does not wait for another process that writes.
    fn store_filters(&mut self, blocks: &[FilterBlock]) -> Result<(), Error> {
        if blocks.is_empty() || self.files.replaced().is_some() || !self.begin_if_free() {
            return Ok(());
        }
        let stored = filter_block::insert_all(&self.connection, blocks).and_then(|()| Ok(self.connection.commit()?));
        if let Err(error) = stored {
            self.recover();
            return Err(error);
        }
        Ok(())
    }

    /// Runs work that begins its own transactions. Waits for the write lock first, so that its transactions begin
    /// immediately unless another process takes the lock in between. What would be written to a file that was removed
    /// or replaced is refused.
    fn run(&self, run: Work) {
        if self.waiting.begin(&self.connection).is_ok() {
            // The transaction was empty.
            let _ = self.connection.roll_back();
        }
        if let Some(replaced) = self.files.replaced() {
            return run(Err(self.refuse_to_commit(replaced)));
        }
        // If setting it fails, the usual busy timeout applies.
        let _ = self.connection.busy_timeout(MAX_RUN_WAIT);
        run(Ok(&self.connection));
        let _ = self.connection.busy_timeout(BUSY_TIMEOUT);
    }

    /// Commits batches in one transaction. If that fails, commits each in its own, so that one cannot fail another.
    /// `is_open` says whether the transaction has begun.
    pub(super) fn commit(&mut self, batches: Vec<AppendBatch>, is_open: bool) {
        self.try_commit(batches, is_open, MAX_RETRIES);
    }

    fn try_commit(&mut self, mut batches: Vec<AppendBatch>, is_open: bool, tries_left: u32) {
        match self.write(&mut batches, is_open) {
            Ok(written) => self.publish(batches, written),
            // Nothing was stored, and the session connects again.
            Err(error) if error.is_cut_off() && tries_left > 0 => self.try_commit(batches, false, tries_left - 1),
            Err(error) if batches.len() > 1 && !error.is_busy() && !error.is_unknown_commit() => {
                for batch in batches {
                    self.commit(vec![batch], false);
                }
            }
            Err(error) => {
                let error = AppendError::from(error.at(self.place.path()));
                let results = batches.iter().map(|_| Err(error.clone())).collect();
                self.publish(batches, Written { results, changed: Vec::new(), data_version: NO_TRANSACTION });
            }
        }
    }

    /// Runs one transaction. Returns what it did, or an error if nothing was stored.
    fn write(&mut self, batches: &mut [AppendBatch], is_open: bool) -> Result<Written, Error> {
        let result = self.try_write(batches, is_open);
        self.commit_version.open_data_version.store(NO_TRANSACTION, Ordering::SeqCst);
        if result.is_err() {
            self.recover();
        }
        result
    }

    fn try_write(&mut self, batches: &mut [AppendBatch], is_open: bool) -> Result<Written, Error> {
        if !is_open {
            self.waiting.begin(&self.connection)?;
        }
        let data_version = self.data_version()?;
        self.commit_version.newest.store(data_version, Ordering::SeqCst);
        if self.cache_data_version.replace(data_version) != Some(data_version) {
            self.cache.clear();
        }
        self.commit_version.open_data_version.store(data_version, Ordering::SeqCst);
        self.cache.trim();
        let mut transaction = TransactionRows::new(&self.connection, &mut self.cache, &self.options.owners)?;
        let mut results = Vec::with_capacity(batches.len());
        for batch in batches {
            results.push(match batch.unwritable.as_ref().or_else(|| loss_of(&self.unreported, batch)) {
                Some(failure) => Err(failure.clone()),
                None => {
                    let added = transaction.add(batch)?;
                    if added.is_ok() {
                        self.code_offers.insert_missing(&self.connection, &batch.drafts)?;
                    }
                    added
                }
            });
        }
        let changed = transaction.finish()?;
        if let Some(replaced) = self.files.replaced() {
            return Err(self.refuse_to_commit(replaced));
        }
        // After the commit other processes may write, so `data_version` is no longer fixed.
        self.commit_version.open_data_version.store(NO_TRANSACTION, Ordering::SeqCst);
        self.connection.commit()?;
        Ok(Written { results, changed, data_version })
    }

    /// Ends the transaction because one of the files was removed or replaced. Without its log the database lacks what
    /// was committed since the last checkpoint, so that is written into it: this process still has the log open.
    fn refuse_to_commit(&self, replaced: Replaced) -> Error {
        match replaced {
            Replaced::Database(file) => Error::Gone(file),
            Replaced::Log(file) => {
                // If either fails, the last connection of this process does it when it closes.
                let _ = self.connection.roll_back();
                let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
                Error::LogGone(file)
            }
        }
    }

    /// Rolls back after an error or a panic, and reconnects if the connection cannot roll back.
    pub(super) fn recover(&mut self) {
        self.commit_version.open_data_version.store(NO_TRANSACTION, Ordering::SeqCst);
        self.commit_version.records.forget_all();
        self.cache.clear();
        self.cache_data_version = None;
        // After some errors SQLite has rolled back by itself, and this fails; the check below tells.
        let _ = self.connection.roll_back();
        if !self.connection.is_autocommit()
            && let Ok(fresh) =
                connect(&self.place, &Options { create: false, ..self.options.clone() }, &self.waiting, &self.wal_size)
        {
            self.connection = fresh;
        }
    }

    fn publish(&mut self, batches: Vec<AppendBatch>, written: Written) {
        let Written { results, changed, data_version } = written;
        // Taken before callers are answered: a listener that a caller adds afterwards must not get these commits.
        let listeners = crate::lock(&self.listeners).all();
        let mut committed = Vec::with_capacity(batches.len());
        let mut answers = Vec::with_capacity(batches.len());
        for (mut batch, result) in batches.into_iter().zip(results) {
            let is_kept = result.is_ok();
            let result = self.explain(&batch, result);
            let result = match result {
                Ok(()) => batch.conflict.take().map_or(Ok(()), |scopes| Err(AppendError::Conflict(scopes))),
                // The next append of the request that somebody waits for reports it.
                Err(error) if batch.answer.is_none() => {
                    let reason = (batch.lease.clone(), error.clone());
                    let known = self.unreported.entry(batch.request.clone()).or_insert_with(|| reason.clone());
                    if known.0 != reason.0 {
                        *known = reason;
                    }
                    Err(error)
                }
                // The error of the lost events is the cause; the gap that they left is not reported.
                Err(error) => {
                    let known = self.unreported.remove(&batch.request).filter(|(lease, _)| *lease == batch.lease);
                    Err(known.map_or(error, |(_, error)| error))
                }
            };
            committed.extend(if is_kept { batch.take_stored() } else { None });
            answers.push((batch, result));
        }
        self.has_losses.store(!self.unreported.is_empty(), Ordering::SeqCst);
        if !changed.is_empty() {
            self.commit_version.records.add_commit(changed, &committed, data_version);
        }
        for (mut batch, result) in answers {
            batch.answer(result);
        }
        for stored in &committed {
            for listener in &listeners {
                // The panic hook has reported it; it must not stop the log.
                let _ = catch_unwind(AssertUnwindSafe(|| listener(&stored.committed)));
            }
        }
    }

    /// Replaces `OutOfOrder` by the storage error that lost the request's earlier events, if there was one.
    fn explain(&mut self, batch: &AppendBatch, result: Result<(), AppendError>) -> Result<(), AppendError> {
        match &result {
            Ok(()) if self.losses.is_empty() => {}
            Ok(()) => drop(self.losses.remove(&batch.request)),
            Err(reason @ AppendError::Storage(_)) => {
                drop(self.losses.insert(batch.request.clone(), (batch.lease.clone(), reason.clone())));
            }
            Err(AppendError::OutOfOrder { .. }) => {
                return loss_of(&self.losses, batch).map_or(result, |reason| Err(reason.clone()));
            }
            Err(_) => {}
        }
        result
    }

    pub(super) fn data_version(&self) -> Result<i64, Error> {
        Ok(self.connection.data_version()?)
    }
}

/// Opens the writing connection, which reports the size of the write-ahead log and does no automatic checkpoints.
fn connect(
    place: &DataPlace,
    options: &Options,
    waiting: &Waiting,
    wal_size: &Arc<WalSize>,
) -> Result<Connection, OpenError> {
    let mut connection = open::open(place, options, waiting)?;
    if let Connection::Sqlite(connection) = &mut connection {
        wal_size.install_hook(connection).map_err(|error| OpenError::from_sqlite(place.path(), &error))?;
    }
    Ok(connection)
}
