//! The queue of appends, and the one connection that commits them.
//!
//! The thread that holds the connection's mutex commits the queue. Two threads can:
//!
//! - The thread that appends a step, immediately, if the last commit was short and no other request has appended
//!   recently ([`Contention`]). Handing the append to another thread and waiting for it costs about 80 µs more.
//! - Otherwise the store's own thread: the data stays in one processor's cache, the caller's other blocks continue,
//!   and steps that arrive meanwhile share the next transaction (group commit).
//!
//! Events that are not a step boundary (evidence) wait for the next boundary. The store's thread commits them after
//! [`MAX_EVIDENCE_DELAY`], or when more than [`MAX_BATCH_BYTES`] of them wait.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::file::open::{Access, Options};
use crate::row::error::{Error, OpenError};
use crate::row::waiting::Waiting;
use crate::write::append_batch::AppendBatch;
use crate::write::code::CodeOffers;
use crate::write::removal_queue;
use crate::{Listeners, lock};

use connection::{BusyPolicy, CommitVersion, WritingConnection};
use wal_checkpoint::WalCheckpointer;

/// How long evidence may wait to be committed.
const MAX_EVIDENCE_DELAY: Duration = Duration::from_millis(16);
/// If the last commit took less, the appending thread commits the next one itself. Waking another thread takes about
/// a third of this.
const MAX_INLINE_COMMIT: Duration = Duration::from_micros(250);
/// Two requests that append within this time of each other contend.
const CONTENTION_WINDOW: Duration = Duration::from_millis(2);
/// How many bytes of evidence may wait, and after how many bytes a transaction takes no further append.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// The default stack is too small for code that recurses into deeply nested JSON values.
pub(crate) const THREAD_STACK_BYTES: usize = 64 << 20;

enum Message {
    Append(AppendBatch),
    /// Sets `max_page_count`; `None` removes the limit.
    LimitPages(Option<u32>),
    /// Work of another kind, between two transactions.
    Run(Box<dyn FnOnce(&Connection) + Send>),
}

/// A version of all durable records together: if two read versions are equal, no durable record was written between
/// them. A new version does not mean that one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadVersion {
    /// Counts this process's commits to durable records.
    own: u64,
    /// `PRAGMA data_version` of the writing connection, which changes with every commit of another process.
    others: i64,
}

/// Messages that wait for the writing connection.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Message>,
    /// Bytes of the appends among them.
    bytes: usize,
    /// Whether one of them must not wait: it is a step boundary, or not an append.
    is_urgent: bool,
    /// When the oldest message must be handled at the latest; none if there are no messages.
    due: Option<Instant>,
    is_closed: bool,
    contention: Contention,
}

/// Whether several requests write at the same time.
#[derive(Default)]
struct Contention {
    /// The request that appended last, and when.
    last: Option<(Arc<str>, Instant)>,
    /// When an append last followed one of another request within [`CONTENTION_WINDOW`].
    last_met: Option<Instant>,
}

impl Contention {
    fn note(&mut self, request: &Arc<str>) {
        let now = Instant::now();
        match &mut self.last {
            Some((last, at)) => {
                if last != request {
                    if now.duration_since(*at) < CONTENTION_WINDOW {
                        self.last_met = Some(now);
                    }
                    *last = request.clone();
                }
                *at = now;
            }
            None => self.last = Some((request.clone(), now)),
        }
    }

    fn is_recent(&self) -> bool {
        self.last_met.is_some_and(|last_met| last_met.elapsed() < CONTENTION_WINDOW)
    }
}

/// What the caller has to do after it added a message to the inbox.
enum Next {
    /// Commit it on this thread.
    Write,
    /// Wake the store's thread.
    WakeThread,
    /// Nothing: the store's thread already has a deadline.
    Wait,
}

impl Inbox {
    fn is_ready(&self) -> bool {
        self.is_closed
            || self.is_urgent
            || self.bytes >= MAX_BATCH_BYTES
            || self.due.is_some_and(|due| due <= Instant::now())
    }
}

/// What the threads that commit share.
struct CommitQueue {
    inbox: Mutex<Inbox>,
    wake: Condvar,
    connection: Mutex<WritingConnection>,
    commit_version: Arc<CommitVersion>,
    /// Whether the last transaction took less than [`MAX_INLINE_COMMIT`].
    commits_inline: AtomicBool,
}

impl CommitQueue {
    /// Adds a message to the inbox.
    fn push(&self, message: Message) -> Next {
        let mut inbox = lock(&self.inbox);
        let mut is_step = false;
        match &message {
            Message::Append(batch) => {
                inbox.bytes += batch.bytes();
                inbox.contention.note(&batch.request);
                is_step = batch.mode == engine::log::AppendMode::Committed;
            }
            _ => inbox.is_urgent = true,
        }
        inbox.is_urgent |= is_step;
        let is_first = inbox.due.is_none();
        inbox.due.get_or_insert_with(|| Instant::now() + MAX_EVIDENCE_DELAY);
        inbox.messages.push_back(message);
        if is_step && self.commits_inline.load(Ordering::Relaxed) && !inbox.contention.is_recent() {
            Next::Write
        } else if is_first || inbox.is_ready() {
            Next::WakeThread
        } else {
            Next::Wait
        }
    }

    /// Puts appends back at the front of the inbox, in their order.
    fn put_back(&self, batches: Vec<AppendBatch>) {
        let mut inbox = lock(&self.inbox);
        for batch in batches.into_iter().rev() {
            inbox.bytes += batch.bytes();
            inbox.is_urgent |= batch.mode == engine::log::AppendMode::Committed;
            inbox.messages.push_front(Message::Append(batch));
        }
        inbox.due.get_or_insert_with(Instant::now);
    }

    /// Removes and returns the oldest message, if `is_wanted`.
    fn pop_if(&self, is_wanted: impl Fn(&Message) -> bool) -> Option<Message> {
        let mut inbox = lock(&self.inbox);
        let message = inbox.messages.pop_front_if(|message| is_wanted(message));
        if inbox.messages.is_empty() {
            (inbox.bytes, inbox.is_urgent, inbox.due) = (0, false, None);
        }
        message
    }

    /// The loop of the store's thread: handles messages whenever the inbox is ready, until it is closed.
    fn run_thread(&self) {
        loop {
            let mut inbox = lock(&self.inbox);
            while !inbox.is_ready() {
                inbox = match inbox.due {
                    None => self.wake.wait(inbox).unwrap_or_else(|poisoned| poisoned.into_inner()),
                    Some(due) => {
                        let left = due.saturating_duration_since(Instant::now());
                        let waited = self.wake.wait_timeout(inbox, left);
                        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
                    }
                };
            }
            let is_closed = inbox.is_closed;
            drop(inbox);
            let mut connection = lock(&self.connection);
            // A panic drops the batches and so their answers: callers see a cancelled receiver. The queue continues.
            if catch_unwind(AssertUnwindSafe(|| while connection.serve_next(self) {})).is_err() {
                connection.recover();
            }
            drop(connection);
            if is_closed {
                return;
            }
        }
    }
}

/// Owns the queue and its threads. Dropping it commits what is queued and joins the threads.
pub(crate) struct Writer {
    queue: Arc<CommitQueue>,
    thread: Option<JoinHandle<()>>,
    checkpointer: Option<WalCheckpointer>,
    waiting: Waiting,
    /// The id of the database.
    id: String,
    has_removals: bool,
    /// The `data_version` at the last call of [`Writer::changed_elsewhere`].
    last_reported: AtomicI64,
}

impl Writer {
    pub(crate) fn start(
        path: PathBuf,
        options: Options,
        listeners: Arc<Mutex<Listeners>>,
        code_offers: CodeOffers,
    ) -> Result<Writer, OpenError> {
        // With `Power` a commit waits for the disk; the first one measures for how long.
        let commits_inline = AtomicBool::new(options.durability == crate::Durability::Process);
        let waiting = Waiting::new(options.on_busy.clone());
        let is_writable = options.access == Access::ReadWrite;
        let connection = WritingConnection::open(path.clone(), options, waiting.clone(), (listeners, code_offers))?;
        let (id, last_reported) = (connection.id.clone(), AtomicI64::new(connection.commit_version.newest()));
        let (commit_version, wal_size) = (connection.commit_version.clone(), connection.wal_size.clone());
        // An error is ignored here: whoever reads the table gets it.
        let has_removals = removal_queue::is_any(&connection.connection).unwrap_or(false);
        let (inbox, wake, connection) = (Mutex::default(), Condvar::new(), Mutex::new(connection));
        let queue = Arc::new(CommitQueue { inbox, wake, connection, commit_version, commits_inline });
        // Read-only access writes nothing, so there is nothing to checkpoint.
        let checkpointer = is_writable.then(|| WalCheckpointer::start(&path, wal_size, queue.clone())).transpose()?;
        let there = queue.clone();
        let thread = std::thread::Builder::new()
            .name("store writer".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || there.run_thread())
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Writer { queue, thread: Some(thread), checkpointer, waiting, id, has_removals, last_reported })
    }

    /// Queues a batch, and commits it on this thread if that is faster than to wake the store's thread.
    pub(crate) fn append(&self, batch: AppendBatch) {
        match self.queue.push(Message::Append(batch)) {
            Next::Write => {
                if let Some(mut connection) = try_lock_connection(&self.queue.connection) {
                    // A panic drops the batches and so their answers: callers see a cancelled receiver.
                    let written =
                        catch_unwind(AssertUnwindSafe(|| connection.commit_appends(&self.queue, BusyPolicy::GiveUp)));
                    if written.is_err() {
                        connection.recover();
                    }
                }
                // What arrived meanwhile, or did not fit, is left to the store's thread.
                if !lock(&self.queue.inbox).messages.is_empty() {
                    self.queue.wake.notify_one();
                }
            }
            Next::WakeThread => self.queue.wake.notify_one(),
            Next::Wait => {}
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
        match try_lock_connection(&self.queue.connection) {
            Some(connection) => connection.read_version(),
            None => self.queue.commit_version.version_if_open(),
        }
    }

    fn post(&self, message: Message) {
        self.queue.push(message);
        self.queue.wake.notify_one();
    }

    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        self.post(Message::LimitPages(pages));
    }

    /// Whether another process has committed since the last call. Does not block: while another thread holds the
    /// connection, a commit may be reported by a later call only.
    pub(crate) fn changed_elsewhere(&self) -> Result<bool, Error> {
        let now = match try_lock_connection(&self.queue.connection) {
            Some(connection) => connection.data_version()?,
            None => self.queue.commit_version.newest(),
        };
        Ok(self.last_reported.swap(now, Ordering::SeqCst) != now)
    }

    /// Queues work for the writing connection, to be run between two transactions.
    pub(crate) fn run_later(&self, run: impl FnOnce(&Connection) + Send + 'static) {
        self.post(Message::Run(Box::new(run)));
    }

    /// A handle for threads that work on the writing connection independently of this value.
    pub(crate) fn handle(&self) -> WriterHandle {
        WriterHandle(self.queue.clone())
    }
}

/// Runs work on the writing connection; see [`Writer::handle`].
#[derive(Clone)]
pub(crate) struct WriterHandle(Arc<CommitQueue>);

impl WriterHandle {
    /// Runs work on the writing connection, between two transactions, and blocks until it is done.
    /// [`Error::Closed`] after the writer was dropped.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        // The thread no longer handles messages; the receiver would wait for ever.
        if lock(&self.0.inbox).is_closed {
            return Err(Error::Closed);
        }
        let (answer, receiver) = channel();
        // Sending cannot fail: this thread holds the receiver.
        self.0.push(Message::Run(Box::new(move |connection| drop(answer.send(run(connection))))));
        self.0.wake.notify_one();
        receiver.recv().map_err(|_| Error::Closed)?
    }
}

/// The writing connection, or none if another thread holds it.
fn try_lock_connection(connection: &Mutex<WritingConnection>) -> Option<MutexGuard<'_, WritingConnection>> {
    match connection.try_lock() {
        Ok(connection) => Some(connection),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
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
#[cfg(test)]
mod tests;
mod wal_checkpoint;
