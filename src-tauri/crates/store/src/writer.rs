//! The one writing thread: gathers appends, commits them together, answers, then tells listeners.
//!
//! Everything that can wake it is a [`Message`]. A lone step boundary is committed at once; while
//! one transaction is written the next units queue up and share the next. Evidence waits for the
//! next step boundary, 16 ms, or 256 KiB. The thread outlives every error of the disk.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::log::{AppendError, Durability};
use rusqlite::Connection;

use crate::batch::Batch;
use crate::error::{Error, OpenError};
use crate::identity::Identity;
use crate::live::Memory;
use crate::open::{self, Options};
use crate::parcel::{ImportError, Piece};
use crate::unit::Unit;
use crate::{Committed, Listeners};

/// How long evidence may wait.
const PATIENCE: Duration = Duration::from_millis(16);
/// How many bytes of evidence may wait, and about how many one transaction takes.
const MUCH: usize = 256 << 10;
/// Values may be nested deeper than a usual thread's stack.
const STACK: usize = 64 << 20;

enum Message {
    Append(Unit),
    /// A parcel from another database.
    Import(Vec<Piece>, Sender<Result<(), ImportError>>),
    /// How far the file may grow.
    LimitPages(Option<u32>),
    /// Whether another process has committed since this was asked last.
    ChangedElsewhere(Sender<bool>),
    /// Something that is neither an append nor a look.
    Run(Box<dyn FnOnce(&Connection) + Send>),
    Close,
}

/// The handle of the writing thread; dropping it writes what waits and ends the thread.
pub(crate) struct Writer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        path: PathBuf,
        options: Options,
        listeners: Arc<Mutex<Listeners>>,
    ) -> Result<Writer, OpenError> {
        let connection = open::open(&path, &options)?;
        let (messages, inbox) = channel();
        let identity = Identity::of(&path);
        let desk = Desk {
            path: path.clone(),
            options,
            connection,
            memory: Memory::default(),
            listeners,
            identity,
            failed: HashMap::new(),
            reasons: HashMap::new(),
            seen: None,
            told: None,
        };
        let thread = std::thread::Builder::new()
            .name("store writer".to_owned())
            .stack_size(STACK)
            .spawn(move || desk.work(&inbox))
            .map_err(|error| OpenError::io(&path, error))?;
        Ok(Writer { messages, thread: Some(thread) })
    }

    /// Queues a unit. Its answer is dropped unanswered if the thread is gone.
    pub(crate) fn append(&self, unit: Unit) {
        let _ = self.messages.send(Message::Append(unit));
    }

    /// Takes a parcel in, and waits until it is.
    pub(crate) fn import(&self, pieces: Vec<Piece>) -> Result<(), ImportError> {
        let (sender, receiver) = channel();
        self.messages.send(Message::Import(pieces, sender)).map_err(|_| Error::Closed)?;
        receiver.recv().map_err(|_| Error::Closed)?
    }

    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        let _ = self.messages.send(Message::LimitPages(pages));
    }

    pub(crate) fn changed_elsewhere(&self) -> Result<bool, Error> {
        let (sender, receiver) = channel();
        self.messages.send(Message::ChangedElsewhere(sender)).map_err(|_| Error::Closed)?;
        receiver.recv().map_err(|_| Error::Closed)
    }

    /// Runs something on the writing connection, between two transactions, and waits for its answer.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, receiver) = channel();
        // Whoever asked waits for it.
        self.post(move |connection| drop(answer.send(run(connection))));
        receiver.recv().map_err(|_| Error::Closed)?
    }

    /// The same without waiting. A thread that is gone answers nobody.
    fn post(&self, run: impl FnOnce(&Connection) + Send + 'static) {
        let _ = self.messages.send(Message::Run(Box::new(run)));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Close);
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Desk {
    path: PathBuf,
    options: Options,
    connection: Connection,
    /// The file as it was opened.
    identity: Identity,
    memory: Memory,
    listeners: Arc<Mutex<Listeners>>,
    /// Evidence that could not be kept, until its request's next step boundary hears of it.
    failed: HashMap<Arc<str>, AppendError>,
    /// What the disk said when a request last lost something: the gap in its numbers comes of that.
    reasons: HashMap<Arc<str>, AppendError>,
    /// SQLite's number for "nobody else has written", as memory and the last asker know it.
    seen: Option<i64>,
    told: Option<i64>,
}

/// Units that wait for the next transaction.
#[derive(Default)]
struct Queue {
    units: Vec<Unit>,
    bytes: usize,
    /// When the oldest evidence has waited long enough.
    due: Option<Instant>,
    /// Whether a step boundary is among them.
    is_urgent: bool,
}

impl Queue {
    fn push(&mut self, unit: Unit) {
        self.bytes += unit.bytes();
        self.is_urgent |= unit.durability == Durability::Committed;
        self.due.get_or_insert_with(|| Instant::now() + PATIENCE);
        self.units.push(unit);
    }

    fn is_ready(&self) -> bool {
        self.is_urgent || self.bytes >= MUCH || self.due.is_some_and(|due| due <= Instant::now())
    }
}

impl Desk {
    fn work(mut self, inbox: &Receiver<Message>) {
        self.told = self.data_version().ok();
        let mut queue = Queue::default();
        let mut is_open = true;
        while is_open {
            is_open = self.gather(inbox, &mut queue);
            if !queue.units.is_empty() {
                self.commit(std::mem::take(&mut queue).units);
            }
        }
    }

    /// Waits until there is something to commit; takes along what is there already. Answers whether
    /// more may come.
    fn gather(&mut self, inbox: &Receiver<Message>, queue: &mut Queue) -> bool {
        while !queue.is_ready() {
            let message = match queue.due {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(message) => {
                    if !self.take(message, queue) {
                        return false;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        while queue.bytes < MUCH
            && let Ok(message) = inbox.try_recv()
        {
            if !self.take(message, queue) {
                return false;
            }
        }
        true
    }

    fn take(&mut self, message: Message, queue: &mut Queue) -> bool {
        match message {
            Message::Append(unit) => queue.push(unit),
            Message::Import(pieces, answer) => {
                // An asker that gave up hears nothing.
                let _ = answer.send(self.import(pieces));
            }
            Message::LimitPages(pages) => {
                // A file that is larger already keeps its size.
                let pages = pages.unwrap_or(u32::MAX - 1);
                let _ = self.connection.pragma_update(None, "max_page_count", pages);
            }
            Message::ChangedElsewhere(answer) => {
                let now = self.data_version().ok();
                // An asker that gave up hears nothing.
                let _ = answer.send(now != self.told);
                self.told = now;
            }
            Message::Run(run) => {
                run(&self.connection);
                self.memory.clear();
            }
            Message::Close => return false,
        }
        true
    }

    /// Commits units together; if that fails, each alone, so that one cannot fail another.
    fn commit(&mut self, mut units: Vec<Unit>) {
        match self.write(&mut units) {
            Ok(results) => self.deliver(units, results),
            Err(error) if units.len() > 1 && !error.is_busy() => {
                for unit in units {
                    self.commit(vec![unit]);
                }
            }
            Err(error) => {
                let error = AppendError::from(error);
                let results = units.iter().map(|_| Err(error.clone())).collect();
                self.deliver(units, results);
            }
        }
    }

    /// One transaction. Answers, for each unit, whether it was kept.
    fn write(&mut self, units: &mut [Unit]) -> Result<Vec<Result<(), AppendError>>, Error> {
        let result = self.try_write(units);
        if result.is_err() {
            self.recover();
        }
        result
    }

    fn try_write(&mut self, units: &mut [Unit]) -> Result<Vec<Result<(), AppendError>>, Error> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        let version = self.data_version()?;
        if self.seen.replace(version) != Some(version) {
            self.memory.clear();
        }
        self.memory.trim();
        let mut batch = Batch::new(&self.connection, &mut self.memory, &self.options.owners);
        let mut results = Vec::with_capacity(units.len());
        for unit in units {
            results.push(match self.failed.get(&unit.request) {
                Some(failure) => Err(failure.clone()),
                None => batch.add(unit)?,
            });
        }
        batch.close()?;
        if Identity::of(&self.path) != self.identity {
            return Err(Error::Gone(self.path.clone()));
        }
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(results)
    }

    /// Leaves a spoilt transaction behind, with a new connection where the old one cannot.
    fn recover(&mut self) {
        self.memory.clear();
        self.seen = None;
        // After some errors SQLite has rolled back already; the check below tells.
        let _ = self.connection.execute_batch("ROLLBACK");
        if !self.connection.is_autocommit()
            && let Ok(fresh) = open::open(&self.path, &Options { create: false, ..self.options.clone() })
        {
            self.connection = fresh;
            self.told = None;
        }
    }

    fn deliver(&mut self, units: Vec<Unit>, results: Vec<Result<(), AppendError>>) {
        // Before the answers: who listens from now on has not asked for these commits.
        let listeners = crate::lock(&self.listeners).all();
        let mut news = Vec::with_capacity(units.len());
        for (mut unit, result) in units.into_iter().zip(results) {
            let is_kept = result.is_ok();
            let result = self.explain(&unit.request, result);
            let result = match (result, unit.durability) {
                (Ok(()), _) => unit.conflict.take().map_or(Ok(()), |scopes| Err(AppendError::Conflict(scopes))),
                (Err(error), Durability::Soon) => {
                    self.failed.entry(unit.request.clone()).or_insert_with(|| error.clone());
                    Err(error)
                }
                // What failed first says more than the gap it left.
                (Err(error), Durability::Committed) => Err(self.failed.remove(&unit.request).unwrap_or(error)),
            };
            unit.answer(result);
            if is_kept && !unit.drafts.is_empty() {
                let events: Arc<[Event]> = unit.drafts.into_iter().map(|draft| draft.event).collect();
                news.push(Committed { request: unit.request, events });
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
    fn explain(&mut self, request: &Arc<str>, result: Result<(), AppendError>) -> Result<(), AppendError> {
        match &result {
            Ok(()) => drop(self.reasons.remove(request)),
            Err(reason @ AppendError::Storage(_)) => drop(self.reasons.insert(request.clone(), reason.clone())),
            Err(AppendError::OutOfOrder { .. }) => {
                return self.reasons.get(request).map_or(result, |reason| Err(reason.clone()));
            }
            Err(_) => {}
        }
        result
    }

    fn data_version(&self) -> Result<i64, Error> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))?)
    }
}

mod import;
#[cfg(test)]
mod tests;
