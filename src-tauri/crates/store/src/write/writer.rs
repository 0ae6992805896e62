//! Who writes, and when: appends go into one queue, and one writing connection commits what is in it.
//!
//! Whoever holds the connection's mutex commits the whole queue. Two kinds of threads do:
//!
//! - The thread that appends a step, right away, where the last commit was short and no other request appends
//!   ([`Contention`]). Handing it to another thread and being woken by that would cost about 80 µs more.
//! - The store's own thread, otherwise: what is written stays in one processor's cache, a request's other blocks
//!   go on, and steps that come meanwhile share the next transaction (group commit).
//!
//! Events that are no step boundary (evidence) wait for the next boundary; the store's thread writes them after
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
use crate::write::code::Offers;
use crate::write::removal_queue;
use crate::{Listeners, lock};

use connection::{BusyPolicy, CommitVersion, WritingConnection};
use wal_checkpoint::WalCheckpointer;

/// How long evidence may wait.
const MAX_EVIDENCE_DELAY: Duration = Duration::from_millis(16);
/// A commit that takes less is done by the thread that appends: waking another takes a third of that.
const MAX_INLINE_COMMIT: Duration = Duration::from_micros(250);
/// Two requests that append within this time of each other contend.
const CONTENTION_WINDOW: Duration = Duration::from_millis(2);
/// How many bytes of evidence may wait, and about how many one transaction takes.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Values may be nested deeper than a usual thread's stack.
pub(crate) const THREAD_STACK_BYTES: usize = 64 << 20;

enum Message {
    Append(AppendBatch),
    /// How far the file may grow.
    LimitPages(Option<u32>),
    /// Something that is neither an append nor a look.
    Run(Box<dyn FnOnce(&Connection) + Send>),
}

/// Which commits to durable records a reader has seen: between two equal versions no such record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadVersion {
    /// What this process did.
    own: u64,
    /// SQLite's number for what others did.
    others: i64,
}

/// What waits to be written.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Message>,
    /// Bytes of the appends among them.
    bytes: usize,
    /// Whether one of them is no evidence.
    is_urgent: bool,
    /// When the oldest evidence has waited long enough.
    due: Option<Instant>,
    is_closed: bool,
    contention: Contention,
}

/// Whether several requests write at the same time.
#[derive(Default)]
struct Contention {
    /// Who appended last, and when.
    last: Option<(Arc<str>, Instant)>,
    /// When one request last followed closely on another.
    met: Option<Instant>,
}

impl Contention {
    fn note(&mut self, request: &Arc<str>) {
        let now = Instant::now();
        match &mut self.last {
            Some((last, at)) => {
                if last != request {
                    if now.duration_since(*at) < CONTENTION_WINDOW {
                        self.met = Some(now);
                    }
                    *last = request.clone();
                }
                *at = now;
            }
            None => self.last = Some((request.clone(), now)),
        }
    }

    fn is_high(&self) -> bool {
        self.met.is_some_and(|met| met.elapsed() < CONTENTION_WINDOW)
    }
}

/// What has to happen about a message that was put into the inbox.
enum Next {
    /// Whoever put it there can write it down.
    Write,
    /// The store's thread has to look.
    WakeThread,
    /// It waits, as others before it do.
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

/// What writers share.
struct CommitQueue {
    inbox: Mutex<Inbox>,
    wake: Condvar,
    connection: Mutex<WritingConnection>,
    version: Arc<CommitVersion>,
    /// Whether the last transaction took less time than to hand one over.
    commits_inline: AtomicBool,
}

impl CommitQueue {
    /// Adds to the inbox.
    fn put(&self, message: Message) -> Next {
        let mut inbox = lock(&self.inbox);
        let mut is_step = false;
        match &message {
            Message::Append(batch) => {
                inbox.bytes += batch.bytes();
                inbox.contention.note(&batch.request);
                is_step = batch.durability == engine::log::Durability::Committed;
            }
            _ => inbox.is_urgent = true,
        }
        inbox.is_urgent |= is_step;
        let is_first = inbox.due.is_none();
        inbox.due.get_or_insert_with(|| Instant::now() + MAX_EVIDENCE_DELAY);
        inbox.messages.push_back(message);
        if is_step && self.commits_inline.load(Ordering::Relaxed) && !inbox.contention.is_high() {
            Next::Write
        } else if is_first || inbox.is_ready() {
            Next::WakeThread
        } else {
            Next::Wait
        }
    }

    /// Puts appends back where they were, in front.
    fn put_back(&self, batches: Vec<AppendBatch>) {
        let mut inbox = lock(&self.inbox);
        for batch in batches.into_iter().rev() {
            inbox.bytes += batch.bytes();
            inbox.is_urgent |= batch.durability == engine::log::Durability::Committed;
            inbox.messages.push_front(Message::Append(batch));
        }
        inbox.due.get_or_insert_with(Instant::now);
    }

    /// The oldest message, if it is one of these.
    fn next(&self, is_wanted: impl Fn(&Message) -> bool) -> Option<Message> {
        let mut inbox = lock(&self.inbox);
        let message = inbox.messages.pop_front_if(|message| is_wanted(message));
        if inbox.messages.is_empty() {
            (inbox.bytes, inbox.is_urgent, inbox.due) = (0, false, None);
        }
        message
    }

    /// The loop of the store's thread: commits whenever something has waited long enough.
    fn attend(&self) {
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
            // Who waits for what a panic swallowed hears that nobody answers; the log goes on.
            if catch_unwind(AssertUnwindSafe(|| while connection.serve(self) {})).is_err() {
                connection.recover();
            }
            drop(connection);
            if is_closed {
                return;
            }
        }
    }
}

/// The handle of the writers; dropping it writes what waits.
pub(crate) struct Writer {
    queue: Arc<CommitQueue>,
    thread: Option<JoinHandle<()>>,
    checkpointer: Option<WalCheckpointer>,
    waiting: Waiting,
    /// The database's own.
    id: String,
    has_removals: bool,
    /// SQLite's number for what others did, as the last asker knows it.
    last_reported: AtomicI64,
}

impl Writer {
    pub(crate) fn start(
        path: PathBuf,
        options: Options,
        listeners: Arc<Mutex<Listeners>>,
        offers: Offers,
    ) -> Result<Writer, OpenError> {
        // What the disk takes to be waited for is known after the first time.
        let commits_inline = AtomicBool::new(options.durability == crate::Durability::Process);
        let waiting = Waiting::new(options.on_busy.clone());
        let is_writable = options.access == Access::ReadWrite;
        let connection = WritingConnection::open(path.clone(), options, waiting.clone(), (listeners, offers))?;
        let (id, last_reported) = (connection.id.clone(), AtomicI64::new(connection.version.newest()));
        let (version, wal_size) = (connection.version.clone(), connection.wal_size.clone());
        // What cannot be read is told by who wants it.
        let has_removals = removal_queue::is_any(&connection.connection).unwrap_or(false);
        let (inbox, wake, connection) = (Mutex::default(), Condvar::new(), Mutex::new(connection));
        let queue = Arc::new(CommitQueue { inbox, wake, connection, version, commits_inline });
        // Nothing is ever written to a log that is only read.
        let checkpointer = is_writable.then(|| WalCheckpointer::start(&path, wal_size, queue.clone())).transpose()?;
        let there = queue.clone();
        let thread = std::thread::Builder::new()
            .name("store writer".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || there.attend())
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Writer { queue, thread: Some(thread), checkpointer, waiting, id, has_removals, last_reported })
    }

    /// Commits a batch on this thread, or leaves it to the store's thread.
    pub(crate) fn append(&self, batch: AppendBatch) {
        match self.queue.put(Message::Append(batch)) {
            Next::Write => {
                if let Some(mut connection) = free(&self.queue.connection) {
                    // Who waits for what a panic swallowed hears that nobody answers; the log goes on.
                    let written =
                        catch_unwind(AssertUnwindSafe(|| connection.write_down(&self.queue, BusyPolicy::GiveUp)));
                    if written.is_err() {
                        connection.recover();
                    }
                }
                // What came meanwhile, or was not reached, is not for this thread to do.
                if !lock(&self.queue.inbox).messages.is_empty() {
                    self.queue.wake.notify_one();
                }
            }
            Next::WakeThread => self.queue.wake.notify_one(),
            Next::Wait => {}
        }
    }

    /// The database's own id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether something waited to be removed when it began.
    pub(crate) fn has_removals(&self) -> bool {
        self.has_removals
    }

    /// The version now, where it is known without waiting.
    pub(crate) fn read_version(&self) -> Option<ReadVersion> {
        match free(&self.queue.connection) {
            Some(connection) => connection.read_version(),
            None => self.queue.version.during(),
        }
    }

    fn post(&self, message: Message) {
        self.queue.put(message);
        self.queue.wake.notify_one();
    }

    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        self.post(Message::LimitPages(pages));
    }

    /// Whether another process has committed since this was asked last. Waits for nobody: what cannot be seen
    /// now is seen the next time.
    pub(crate) fn changed_elsewhere(&self) -> Result<bool, Error> {
        let now = match free(&self.queue.connection) {
            Some(connection) => connection.data_version()?,
            None => self.queue.version.newest(),
        };
        Ok(self.last_reported.swap(now, Ordering::SeqCst) != now)
    }

    /// Runs something on the writing connection, between two transactions.
    pub(crate) fn run_later(&self, run: impl FnOnce(&Connection) + Send + 'static) {
        self.post(Message::Run(Box::new(run)));
    }

    /// Somebody else's way to the writing connection.
    pub(crate) fn handle(&self) -> Handle {
        Handle(self.queue.clone())
    }
}

/// A way to the writing connection, for those who work longer than a call.
#[derive(Clone)]
pub(crate) struct Handle(Arc<CommitQueue>);

impl Handle {
    /// Runs something on the writing connection, between two transactions, and waits for its answer.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        // What comes after the end would wait for ever.
        if lock(&self.0.inbox).is_closed {
            return Err(Error::Closed);
        }
        let (answer, receiver) = channel();
        // Whoever asked waits for it.
        self.0.put(Message::Run(Box::new(move |connection| drop(answer.send(run(connection))))));
        self.0.wake.notify_one();
        receiver.recv().map_err(|_| Error::Closed)?
    }
}

/// The writing connection, if no thread holds it.
fn free(connection: &Mutex<WritingConnection>) -> Option<MutexGuard<'_, WritingConnection>> {
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
