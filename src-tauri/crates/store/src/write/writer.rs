//! The queue of appends, and the one connection that commits them.
//!
//! Appends are committed in the order of the queue, several in a transaction (group commit). An append that is
//! [`AppendMode::Committed`] is committed at once: by the thread that appends, if nobody else commits and the last
//! commit was short, because to hand it over and wait for it costs about 80 µs more; otherwise by the store's own
//! thread. Step boundaries and evidence wait in the queue until they are worth a transaction ([`Inbox::is_ready`]).
//!
//! A boundary is answered when it is in the queue, so that its request goes on while the disk works. It is answered
//! after its commit if the queue holds too much ([`Inbox::has_room`]), if earlier events could not be stored, and
//! always with [`Durability::Each`](crate::Durability::Each).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sql::{Connection, DataPlace};
use engine::log::AppendMode;

use crate::file::open::{Access, Options};
use crate::row::body;
use crate::row::error::{Error, OpenError};
use crate::row::waiting::Waiting;
use crate::write::append_batch::{Answer, AppendBatch, QueuedAppend};
use crate::write::code::CodeOffers;
use crate::write::record_cache::RecordCache;
use crate::write::removal_queue;
use crate::{Listeners, lock};

use connection::{CommitVersion, WritingConnection};
pub(crate) use handle::WriterHandle;
use inbox::{Inbox, MAX_BATCH_BYTES, Message};
use indexer::{Indexer, Unindexed};
use wal_checkpoint::{WalCheckpointer, WalSize};

/// If the last commit took less, a thread that waits for the next one commits it itself. Waking another thread takes
/// about a third of this.
const MAX_INLINE_COMMIT: Duration = Duration::from_micros(250);

/// A version of all durable records together: if two read versions are equal, no durable record was written between
/// them. A new version does not mean that one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadVersion {
    /// Counts this process's commits to durable records.
    pub(in crate::write) own: u64,
    /// `data_version` of the writing connection, which changes with every commit of another process.
    pub(in crate::write) others: i64,
}

/// What the threads that commit share.
struct CommitQueue {
    /// The file of the database, or the address of its server.
    path: PathBuf,
    inbox: Mutex<Inbox>,
    wake: Condvar,
    /// Held by the thread that takes messages out of the inbox until they are committed: this keeps their order.
    serving: Mutex<()>,
    /// Held by the checkpointer until it has the connection, and taken before each commit: commits that never pause
    /// would keep it waiting on a busy machine. Never taken by a thread that holds the connection.
    turn: Mutex<()>,
    wal_size: Arc<WalSize>,
    connection: Mutex<WritingConnection>,
    commit_version: Arc<CommitVersion>,
    /// Whether the last transaction took less than [`MAX_INLINE_COMMIT`].
    commits_inline: AtomicBool,
    /// Whether other processes may write to the database, too.
    is_shared: bool,
    /// Whether events that were answered could not be stored, and their request does not know it yet.
    has_losses: Arc<AtomicBool>,
    unindexed: Arc<Unindexed>,
}

impl CommitQueue {
    /// Adds a message that is no append.
    fn push(&self, message: Message) {
        let mut inbox = lock(&self.inbox);
        inbox.push(message);
        self.wake_thread(inbox);
    }

    /// As [`push`](Self::push); [`Error::Closed`] if the thread no longer handles messages. Checked under the lock that
    /// closes the queue, so that no message is left behind.
    fn push_unless_closed(&self, message: Message) -> Result<(), Error> {
        let mut inbox = lock(&self.inbox);
        if inbox.is_closed {
            return Err(Error::Closed);
        }
        inbox.push(message);
        self.wake_thread(inbox);
        Ok(())
    }

    /// Adds an append, and commits it on this thread if its caller waits for it and that is faster than to wake the
    /// store's thread. Returns the answer to give at once, if it is one that does not wait.
    fn append(&self, mut append: QueuedAppend, answers_boundaries: bool) -> Option<Answer> {
        let mut inbox = lock(&self.inbox);
        let is_answered = match append.mode {
            AppendMode::Committed => false,
            AppendMode::Boundary => answers_boundaries && inbox.has_room() && !self.has_losses.load(Ordering::SeqCst),
            AppendMode::Evidence => true,
        };
        let answer = if is_answered { append.answer.take() } else { None };
        inbox.push(Message::Append(append));
        if is_answered || !self.commits_inline.load(Ordering::Relaxed) {
            self.wake_thread(inbox);
            return answer;
        }
        drop(inbox);
        if let Some(_serving) = try_lock(&self.serving) {
            self.serve_inline();
        }
        // What arrived meanwhile, or was not committed, is left to the store's thread.
        let inbox = lock(&self.inbox);
        if !inbox.messages.is_empty() {
            self.wake_thread(inbox);
        }
        answer
    }

    /// Wakes the store's thread if it has something to do, or to wait for the first message's deadline.
    fn wake_thread(&self, mut inbox: MutexGuard<'_, Inbox>) {
        if inbox.is_thread_asleep && (inbox.messages.len() == 1 || inbox.is_ready()) {
            inbox.is_thread_asleep = false;
            drop(inbox);
            self.wake.notify_one();
        }
    }

    /// The loop of the store's thread: handles messages whenever the inbox is ready, until it is closed and empty.
    fn run_thread(&self) {
        loop {
            let mut inbox = lock(&self.inbox);
            while !inbox.is_ready() {
                inbox.is_thread_asleep = true;
                inbox = match inbox.due {
                    None => self.wake.wait(inbox).unwrap_or_else(|poisoned| poisoned.into_inner()),
                    Some(due) => {
                        let left = due.saturating_duration_since(Instant::now());
                        let waited = self.wake.wait_timeout(inbox, left);
                        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
                    }
                };
                inbox.is_thread_asleep = false;
            }
            let is_over = inbox.is_closed && inbox.messages.is_empty();
            drop(inbox);
            if is_over {
                return;
            }
            self.recover_from_panic(|| self.serve());
        }
    }

    /// Handles the oldest messages: consecutive appends in one transaction, or one other message.
    fn serve(&self) {
        let _serving = lock(&self.serving);
        // Prepared before the connection is taken, because other threads ask it for the read version meanwhile.
        let batches = self.take_batches();
        self.wal_size.wait_if_far_too_long();
        drop(lock(&self.turn));
        let mut connection = lock(&self.connection);
        if !batches.is_empty() {
            self.commit(&mut connection, batches, false);
        } else if let Some(message) = self.pop_if(|_| true) {
            connection.handle(message);
        }
        self.wal_size.request_if_due();
    }

    /// As [`serve`](Self::serve), but only appends, and not if another process holds the write lock: the caller's
    /// thread has other requests. The caller holds `serving`.
    fn serve_inline(&self) {
        self.recover_from_panic(|| {
            // A checkpoint may hold it for a while, or wait for it.
            let is_wanted = self.wal_size.is_far_too_long() || try_lock(&self.turn).is_none();
            let Some(mut connection) = (!is_wanted).then(|| try_lock(&self.connection)).flatten() else { return };
            if connection.begin_if_free() {
                self.commit(&mut connection, self.take_batches(), true);
                self.wal_size.request_if_due();
            }
        });
    }

    /// Removes and returns the oldest message, if `is_wanted`. The inbox is not locked any more when this returns.
    fn pop_if(&self, is_wanted: impl FnOnce(&Message) -> bool) -> Option<Message> {
        lock(&self.inbox).pop_if(is_wanted)
    }

    /// Takes the appends at the front of the inbox, and prepares them.
    fn take_batches(&self) -> Vec<AppendBatch> {
        let mut batches = Vec::new();
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Some(Message::Append(append)) = self.pop_if(|message| matches!(message, Message::Append(_)))
        {
            bytes += append.bytes;
            batches.push(append.prepare());
        }
        batches
    }

    fn commit(&self, connection: &mut WritingConnection, batches: Vec<AppendBatch>, is_open: bool) {
        let begun = Instant::now();
        let events = batches.iter().map(|batch| batch.drafts.len()).sum();
        connection.commit(batches, is_open);
        self.unindexed.add(events);
        self.commits_inline.store(begun.elapsed() < MAX_INLINE_COMMIT, Ordering::Relaxed);
    }

    /// Runs something that commits. A panic drops the batches and so their answers: callers see a cancelled receiver.
    /// The queue continues.
    fn recover_from_panic(&self, commit: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(commit)).is_err() {
            lock(&self.connection).recover();
        }
    }
}

/// Owns the queue and its threads. Dropping it commits what is queued and joins the threads.
pub(crate) struct Writer {
    queue: Arc<CommitQueue>,
    thread: Option<JoinHandle<()>>,
    checkpointer: Option<WalCheckpointer>,
    indexer: Option<Indexer>,
    waiting: Waiting,
    /// The id of the database.
    id: String,
    has_removals: bool,
    /// The `data_version` at the last call of [`Writer::changed_elsewhere`].
    last_reported: AtomicI64,
    /// Whether a step boundary is answered before its commit.
    answers_boundaries: bool,
}

impl Writer {
    pub(crate) fn start(
        place: DataPlace,
        options: Options,
        listeners: Arc<Mutex<Listeners>>,
        code_offers: CodeOffers,
        records: Arc<RecordCache>,
    ) -> Result<Writer, OpenError> {
        let answers_boundaries = options.durability != crate::Durability::Each;
        // With `Power` a commit waits for the disk; the first one measures for how long.
        let is_shared = options.durability != crate::Durability::Scratch;
        let waits_for_no_disk = matches!(options.durability, crate::Durability::Process | crate::Durability::Scratch);
        let commits_inline = AtomicBool::new(waits_for_no_disk && place.file().is_some());
        let waiting = Waiting::new(options.on_busy.clone());
        let is_writable = options.access == Access::ReadWrite;
        let connection =
            WritingConnection::open(place.clone(), options, waiting.clone(), (listeners, code_offers, records))?;
        let (id, last_reported) = (connection.id.clone(), AtomicI64::new(connection.commit_version.newest()));
        let (commit_version, wal_size) = (connection.commit_version.clone(), connection.wal_size.clone());
        // An error is ignored here: whoever reads the table gets it.
        let has_removals = removal_queue::is_any(&connection.connection).unwrap_or(false);
        let has_losses = connection.has_losses.clone();
        let queue = Arc::new(CommitQueue {
            path: place.path().to_owned(),
            inbox: Mutex::default(),
            wake: Condvar::new(),
            serving: Mutex::default(),
            turn: Mutex::default(),
            wal_size: wal_size.clone(),
            connection: Mutex::new(connection),
            commit_version,
            commits_inline,
            is_shared,
            has_losses,
            unindexed: Arc::default(),
        });
        // Read-only access writes nothing, so there is nothing to checkpoint or to index.
        let indexer = is_writable.then(|| Indexer::start(&place, queue.clone())).transpose()?;
        let file = place.file().filter(|_| is_writable);
        let checkpointer = file.map(|file| WalCheckpointer::start(file, wal_size, queue.clone())).transpose()?;
        let there = queue.clone();
        let thread = std::thread::Builder::new()
            .name("store writer".to_owned())
            .stack_size(body::THREAD_STACK_BYTES)
            .spawn(move || there.run_thread())
            .map_err(|error| OpenError::io(place.path(), error))?;
        let thread = Some(thread);
        Ok(Writer {
            queue,
            thread,
            checkpointer,
            indexer,
            waiting,
            id,
            has_removals,
            last_reported,
            answers_boundaries,
        })
    }

    /// Queues an append. It is answered as its mode says, see the module.
    pub(crate) fn append(&self, append: QueuedAppend) {
        if let Some(answer) = self.queue.append(append, self.answers_boundaries) {
            // The caller may not wait, and have dropped the receiver.
            let _ = answer.send(Ok(()));
        }
    }

    /// The id of the database.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the queue of removals had entries when the database was opened.
    pub(crate) fn has_removals(&self) -> bool {
        self.has_removals
    }

    /// The current read version, or none if another thread holds the connection and has no transaction open.
    /// Does not block.
    pub(crate) fn read_version(&self) -> Option<ReadVersion> {
        match try_lock(&self.queue.connection) {
            Some(connection) => connection.read_version(),
            None => self.queue.commit_version.version_if_open(),
        }
    }

    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        self.queue.push(Message::LimitPages(pages));
    }

    /// Whether another process has committed since the last call. Does not block: while another thread holds the
    /// connection, a commit may be reported by a later call only.
    pub(crate) fn changed_elsewhere(&self) -> Result<bool, Error> {
        let now = match try_lock(&self.queue.connection) {
            Some(connection) => connection.data_version()?,
            None => self.queue.commit_version.newest(),
        };
        Ok(self.last_reported.swap(now, Ordering::SeqCst) != now)
    }

    /// Blocks until everything that is queued now is committed, or has failed. [`Error::Closed`] where that panicked.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        let (answer, receiver) = channel();
        self.queue.push(Message::Wait(answer));
        receiver.recv().map_err(|_| Error::Closed)
    }

    /// Queues work for the writing connection, to be run between two transactions. It gets an error if a file of the
    /// database was removed or replaced.
    pub(crate) fn run_later(&self, run: impl FnOnce(Result<&Connection, Error>) + Send + 'static) {
        self.queue.push(Message::Run(Box::new(run)));
    }

    /// A handle for threads that work on the writing connection independently of this value.
    pub(crate) fn handle(&self) -> WriterHandle {
        WriterHandle(self.queue.clone())
    }
}

/// What a mutex protects, or none if another thread holds it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.indexer = None;
        self.waiting.close();
        self.checkpointer = None;
        lock(&self.queue.inbox).is_closed = true;
        self.queue.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

mod connection;
mod handle;
mod inbox;
mod indexer;
#[cfg(test)]
mod tests;
mod wal_checkpoint;
