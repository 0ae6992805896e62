//! Who writes, and when: whoever appends a step writes it down, with all that waits; evidence waits for it.
//!
//! There is one desk, and whoever sits at it commits everything that lies in the inbox. A step's own thread
//! does that at once where it takes little time: handing it to another thread and being woken by it would
//! cost more. Where several requests are at it, or the disk is waited for, a thread of the store's does it:
//! what is written stays in one processor's cache, a request's other blocks go on, and steps that come
//! meanwhile share the next transaction. That thread also writes evidence that nobody took along for 16 ms,
//! or beyond 256 KiB.

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
use crate::write::append_batch::Unit;
use crate::write::code::Offers;
use crate::write::removal_queue;
use crate::{Listeners, lock};

use connection::{Desk, Moment, Patience};
use wal_checkpoint::Folder;

/// How long evidence may wait.
const PATIENCE: Duration = Duration::from_millis(16);
/// A transaction that takes no longer is not worth to be handed over: being woken takes a third of that.
const QUICK: Duration = Duration::from_micros(250);
/// Requests that append within this time of each other are at it together.
const TOGETHER: Duration = Duration::from_millis(2);
/// How many bytes of evidence may wait, and about how many one transaction takes.
const MUCH: usize = 256 << 10;
/// Values may be nested deeper than a usual thread's stack.
pub(crate) const STACK: usize = 64 << 20;

enum Message {
    Append(Unit),
    /// How far the file may grow.
    LimitPages(Option<u32>),
    /// Something that is neither an append nor a look.
    Run(Box<dyn FnOnce(&Connection) + Send>),
}

/// A moment in the life of records that outlive requests: two that are equal have none written between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
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
    company: Company,
}

/// Whether several requests write at the same time.
#[derive(Default)]
struct Company {
    /// Who appended last, and when.
    last: Option<(Arc<str>, Instant)>,
    /// When one request last followed closely on another.
    met: Option<Instant>,
}

impl Company {
    fn note(&mut self, request: &Arc<str>) {
        let now = Instant::now();
        match &mut self.last {
            Some((last, at)) => {
                if last != request {
                    if now.duration_since(*at) < TOGETHER {
                        self.met = Some(now);
                    }
                    *last = request.clone();
                }
                *at = now;
            }
            None => self.last = Some((request.clone(), now)),
        }
    }

    fn is_there(&self) -> bool {
        self.met.is_some_and(|met| met.elapsed() < TOGETHER)
    }
}

/// What has to happen about a message that was put into the inbox.
enum Next {
    /// Whoever put it there can write it down.
    Write,
    /// The store's thread has to look.
    Ring,
    /// It waits, as others before it do.
    Wait,
}

impl Inbox {
    fn is_ready(&self) -> bool {
        self.is_closed || self.is_urgent || self.bytes >= MUCH || self.due.is_some_and(|due| due <= Instant::now())
    }
}

/// What writers share.
struct Office {
    inbox: Mutex<Inbox>,
    bell: Condvar,
    desk: Mutex<Desk>,
    moment: Arc<Moment>,
    /// Whether the last transaction took less time than to hand one over.
    is_quick: AtomicBool,
}

impl Office {
    /// Adds to the inbox.
    fn put(&self, message: Message) -> Next {
        let mut inbox = lock(&self.inbox);
        let mut is_step = false;
        match &message {
            Message::Append(unit) => {
                inbox.bytes += unit.bytes();
                inbox.company.note(&unit.request);
                is_step = unit.durability == engine::log::Durability::Committed;
            }
            _ => inbox.is_urgent = true,
        }
        inbox.is_urgent |= is_step;
        let is_first = inbox.due.is_none();
        inbox.due.get_or_insert_with(|| Instant::now() + PATIENCE);
        inbox.messages.push_back(message);
        match is_step && self.is_quick.load(Ordering::Relaxed) && !inbox.company.is_there() {
            true => Next::Write,
            false if is_first || inbox.is_ready() => Next::Ring,
            false => Next::Wait,
        }
    }

    /// Puts appends back where they were, in front.
    fn put_back(&self, units: Vec<Unit>) {
        let mut inbox = lock(&self.inbox);
        for unit in units.into_iter().rev() {
            inbox.bytes += unit.bytes();
            inbox.is_urgent |= unit.durability == engine::log::Durability::Committed;
            inbox.messages.push_front(Message::Append(unit));
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

    /// The thread: sits down whenever something has waited long enough.
    fn attend(&self) {
        loop {
            let mut inbox = lock(&self.inbox);
            while !inbox.is_ready() {
                inbox = match inbox.due {
                    None => self.bell.wait(inbox).unwrap_or_else(|poisoned| poisoned.into_inner()),
                    Some(due) => {
                        let left = due.saturating_duration_since(Instant::now());
                        let waited = self.bell.wait_timeout(inbox, left);
                        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
                    }
                };
            }
            let is_closed = inbox.is_closed;
            drop(inbox);
            let mut desk = lock(&self.desk);
            // Who waits for what a panic swallowed hears that nobody answers; the log goes on.
            if catch_unwind(AssertUnwindSafe(|| while desk.serve(self) {})).is_err() {
                desk.recover();
            }
            drop(desk);
            if is_closed {
                return;
            }
        }
    }
}

/// The handle of the writers; dropping it writes what waits.
pub(crate) struct Writer {
    office: Arc<Office>,
    thread: Option<JoinHandle<()>>,
    folder: Option<Folder>,
    waiting: Waiting,
    /// The database's own.
    id: String,
    has_removals: bool,
    /// SQLite's number for what others did, as the last asker knows it.
    told: AtomicI64,
}

impl Writer {
    pub(crate) fn start(
        path: PathBuf,
        options: Options,
        listeners: Arc<Mutex<Listeners>>,
        offers: Offers,
    ) -> Result<Writer, OpenError> {
        // What the disk takes to be waited for is known after the first time.
        let is_quick = AtomicBool::new(options.durability == crate::Durability::Process);
        let waiting = Waiting::new(options.on_busy.clone());
        let is_writable = options.access == Access::ReadWrite;
        let desk = Desk::open(path.clone(), options, waiting.clone(), (listeners, offers))?;
        let (id, told) = (desk.id.clone(), AtomicI64::new(desk.moment.newest()));
        let (moment, length) = (desk.moment.clone(), desk.length.clone());
        // What cannot be read is told by who wants it.
        let has_removals = removal_queue::is_any(&desk.connection).unwrap_or(false);
        let (inbox, bell, desk) = (Mutex::default(), Condvar::new(), Mutex::new(desk));
        let office = Arc::new(Office { inbox, bell, desk, moment, is_quick });
        // Nothing is ever written to a log that is only read.
        let folder = is_writable.then(|| Folder::start(&path, length, office.clone())).transpose()?;
        let there = office.clone();
        let thread = std::thread::Builder::new()
            .name("store writer".to_owned())
            .stack_size(STACK)
            .spawn(move || there.attend())
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Writer { office, thread: Some(thread), folder, waiting, id, has_removals, told })
    }

    /// Writes a unit down, or lets it wait for one that will be.
    pub(crate) fn append(&self, unit: Unit) {
        match self.office.put(Message::Append(unit)) {
            Next::Write => {
                if let Some(mut desk) = free(&self.office.desk) {
                    // Who waits for what a panic swallowed hears that nobody answers; the log goes on.
                    let written = catch_unwind(AssertUnwindSafe(|| desk.write_down(&self.office, Patience::None)));
                    if written.is_err() {
                        desk.recover();
                    }
                }
                // What came meanwhile, or was not reached, is not for this thread to do.
                if !lock(&self.office.inbox).messages.is_empty() {
                    self.office.bell.notify_one();
                }
            }
            Next::Ring => self.office.bell.notify_one(),
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

    /// The moment, where it can be told without waiting.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        match free(&self.office.desk) {
            Some(desk) => desk.stamp(),
            None => self.office.moment.during(),
        }
    }

    fn post(&self, message: Message) {
        self.office.put(message);
        self.office.bell.notify_one();
    }

    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        self.post(Message::LimitPages(pages));
    }

    /// Whether another process has committed since this was asked last. Waits for nobody: what cannot be seen
    /// now is seen the next time.
    pub(crate) fn changed_elsewhere(&self) -> Result<bool, Error> {
        let now = match free(&self.office.desk) {
            Some(desk) => desk.data_version()?,
            None => self.office.moment.newest(),
        };
        Ok(self.told.swap(now, Ordering::SeqCst) != now)
    }

    /// Runs something on the writing connection, between two transactions.
    pub(crate) fn run_later(&self, run: impl FnOnce(&Connection) + Send + 'static) {
        self.post(Message::Run(Box::new(run)));
    }

    /// Somebody else's way to the writing connection.
    pub(crate) fn handle(&self) -> Handle {
        Handle(self.office.clone())
    }
}

/// A way to the writing connection, for those who work longer than a call.
#[derive(Clone)]
pub(crate) struct Handle(Arc<Office>);

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
        self.0.bell.notify_one();
        receiver.recv().map_err(|_| Error::Closed)?
    }
}

/// The desk, if nobody sits at it.
fn free(desk: &Mutex<Desk>) -> Option<MutexGuard<'_, Desk>> {
    match desk.try_lock() {
        Ok(desk) => Some(desk),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.waiting.close();
        self.folder = None;
        lock(&self.office.inbox).is_closed = true;
        self.office.bell.notify_one();
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
