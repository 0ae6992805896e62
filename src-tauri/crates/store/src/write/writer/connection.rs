//! Transactions: units together where that works, each alone where it does not; then answers, then listeners.
//!
//! Whoever holds the desk is the only writer of this process.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::log::{AppendError, Durability, Lease};
use rusqlite::Connection;

use super::wal_checkpoint::Length;
use super::{MUCH, Message, Office, QUICK, Stamp};
use crate::file::identity::Identity;
use crate::file::open::{self, Options};
use crate::row::error::{Error, OpenError};
use crate::row::waiting::{self, TURN, Waiting};
use crate::write::append_batch::Unit;
use crate::write::batch::Batch;
use crate::write::code::Offers;
use crate::write::live::Memory;
use crate::{Committed, Listeners};

/// How long what begins its own transactions waits where another process was faster.
const RUN_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long whoever writes down may wait for another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Not long: it has other things to do.
    None,
    /// As long as it takes.
    Long,
}

/// Whether anything was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Nothing,
    Something,
}

/// What a writer needs.
pub(super) struct Desk {
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
    pub(super) moment: Arc<Moment>,
    pub(super) length: Arc<Length>,
}

/// Why something of a request was lost, and under which lease: its next owner has nothing to do with that.
type Reasons = HashMap<Arc<str>, (Option<Lease>, AppendError)>;

fn reason_of<'a>(reasons: &'a Reasons, unit: &Unit) -> Option<&'a AppendError> {
    if reasons.is_empty() {
        return None;
    }
    reasons.get(&unit.request).filter(|(lease, _)| *lease == unit.lease).map(|(_, error)| error)
}

/// What may be known of the desk while somebody sits at it.
#[derive(Debug)]
pub(super) struct Moment {
    /// Counts whatever this process did to records that outlive requests.
    changes: AtomicU64,
    /// SQLite's number for what others did, while a transaction keeps them from doing more.
    kept: AtomicI64,
    /// The newest such number that the desk has seen.
    newest: AtomicI64,
}

/// No transaction is open.
const FREE: i64 = i64::MIN;

impl Moment {
    fn new() -> Moment {
        Moment { changes: AtomicU64::new(0), kept: AtomicI64::new(FREE), newest: AtomicI64::new(FREE) }
    }

    /// The number that the desk has seen last.
    pub(super) fn newest(&self) -> i64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// Something was done to records that outlive requests.
    pub(super) fn pass(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The moment in which a transaction is open; its own writes come after it.
    pub(super) fn during(&self) -> Option<Stamp> {
        let own = self.changes.load(Ordering::SeqCst);
        let others = self.kept.load(Ordering::SeqCst);
        (others != FREE).then_some(Stamp { own, others })
    }
}

impl Desk {
    /// Opens the writing connection.
    pub(super) fn open(
        path: PathBuf,
        options: Options,
        waiting: Waiting,
        (listeners, offers): (Arc<Mutex<Listeners>>, Offers),
    ) -> Result<Desk, OpenError> {
        let length = Arc::new(Length::new());
        let connection = connect(&path, &options, &waiting, &length)?;
        let identity = Identity::of(&path);
        let id = connection
            .query_row("SELECT id FROM database", (), |row| row.get(0))
            .map_err(|error| OpenError::from_sqlite(&path, &error))?;
        let desk = Desk {
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
            moment: Arc::new(Moment::new()),
            length,
        };
        desk.moment.newest.store(desk.data_version().unwrap_or(FREE), Ordering::SeqCst);
        Ok(desk)
    }

    /// What stays as it is while nobody, in whatever process, writes a record that outlives requests.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        Some(Stamp { own: self.moment.changes.load(Ordering::SeqCst), others: self.data_version().ok()? })
    }

    /// Does what has waited longest: appends in a row, in one transaction, or one other message. Answers
    /// whether there was anything.
    pub(super) fn serve(&mut self, office: &Office) -> bool {
        if self.write_down(office, Patience::Long) != Wrote::Nothing {
            return true;
        }
        let other = office.next(|_| true);
        let is_any = other.is_some();
        other.into_iter().for_each(|message| self.take(message));
        self.length.look();
        is_any
    }

    /// Writes down the appends that have waited longest, in one transaction. Answers whether there were any. Who
    /// has no patience leaves them where another process is at it.
    pub(super) fn write_down(&mut self, office: &Office, patience: Patience) -> Wrote {
        let mut units = Vec::new();
        let mut bytes = 0;
        while bytes < MUCH
            && let Some(Message::Append(unit)) = office.next(|message| matches!(message, Message::Append(_)))
        {
            bytes += unit.bytes();
            units.push(unit);
        }
        if units.is_empty() {
            return Wrote::Nothing;
        }
        let begun = Instant::now();
        let is_open = match patience {
            Patience::Long => false,
            Patience::None => match waiting::begin(&self.connection) {
                Err(error) if waiting::is_busy(&error) => {
                    office.put_back(units);
                    return Wrote::Nothing;
                }
                // Any other failure comes again, and is told then.
                begun => begun.is_ok(),
            },
        };
        self.commit(units, is_open);
        office.is_quick.store(begun.elapsed() < QUICK, Ordering::Relaxed);
        self.length.look();
        Wrote::Something
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Append(unit) => self.commit(vec![unit], false),
            Message::LimitPages(pages) => {
                // A file that is larger already keeps its size.
                let pages = pages.unwrap_or(u32::MAX - 1);
                let _ = self.connection.pragma_update(None, "max_page_count", pages);
            }
            Message::Run(run) => {
                self.run(run);
                self.memory.clear();
                self.moment.pass();
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
        let _ = self.connection.busy_timeout(RUN_PATIENCE);
        run(&self.connection);
        let _ = self.connection.busy_timeout(TURN);
    }

    /// Commits units together; if that fails, each alone, so that one cannot fail another. `is_open` says whether
    /// the transaction has begun.
    fn commit(&mut self, mut units: Vec<Unit>, is_open: bool) {
        match self.write(&mut units, is_open) {
            Ok(results) => self.deliver(units, results),
            Err(error) if units.len() > 1 && !error.is_busy() => {
                for unit in units {
                    self.commit(vec![unit], false);
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
    fn write(&mut self, units: &mut [Unit], is_open: bool) -> Result<Vec<Result<(), AppendError>>, Error> {
        let result = self.try_write(units, is_open);
        self.moment.kept.store(FREE, Ordering::SeqCst);
        if result.is_err() {
            self.recover();
        }
        result
    }

    fn try_write(&mut self, units: &mut [Unit], is_open: bool) -> Result<Vec<Result<(), AppendError>>, Error> {
        if !is_open {
            self.waiting.begin(&self.connection)?;
        }
        let version = self.data_version()?;
        self.moment.newest.store(version, Ordering::SeqCst);
        if self.seen.replace(version) != Some(version) {
            self.memory.clear();
        }
        self.moment.kept.store(version, Ordering::SeqCst);
        self.memory.trim();
        let mut batch = Batch::new(&self.connection, &mut self.memory, &self.options.owners)?;
        let mut results = Vec::with_capacity(units.len());
        for unit in units {
            results.push(match reason_of(&self.failed, unit) {
                Some(failure) => Err(failure.clone()),
                None => {
                    let added = batch.add(unit)?;
                    if added.is_ok() {
                        self.offers.keep(&self.connection, &unit.drafts)?;
                    }
                    added
                }
            });
        }
        let has_records = batch.close()?;
        if Identity::of(&self.path) != self.identity {
            return Err(Error::Gone(self.path.clone()));
        }
        // From the commit on others may write, and nothing vouches any more for what they have not.
        self.moment.kept.store(FREE, Ordering::SeqCst);
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        if has_records {
            self.moment.pass();
        }
        Ok(results)
    }

    /// Leaves a spoilt transaction behind, with a new connection where the old one cannot.
    pub(super) fn recover(&mut self) {
        self.moment.kept.store(FREE, Ordering::SeqCst);
        self.moment.pass();
        self.memory.clear();
        self.seen = None;
        // After some errors SQLite has rolled back already; the check below tells.
        let _ = self.connection.execute_batch("ROLLBACK");
        if !self.connection.is_autocommit()
            && let Ok(fresh) =
                connect(&self.path, &Options { create: false, ..self.options.clone() }, &self.waiting, &self.length)
        {
            self.connection = fresh;
        }
    }

    fn deliver(&mut self, units: Vec<Unit>, results: Vec<Result<(), AppendError>>) {
        // Before the answers: who listens from now on has not asked for these commits.
        let listeners = crate::lock(&self.listeners).all();
        let mut news = Vec::with_capacity(units.len());
        for (mut unit, result) in units.into_iter().zip(results) {
            let is_kept = result.is_ok();
            let result = self.explain(&unit, result);
            let result = match (result, unit.durability) {
                (Ok(()), _) => unit.conflict.take().map_or(Ok(()), |scopes| Err(AppendError::Conflict(scopes))),
                (Err(error), Durability::Soon) => {
                    let reason = (unit.lease.clone(), error.clone());
                    let known = self.failed.entry(unit.request.clone()).or_insert_with(|| reason.clone());
                    if known.0 != reason.0 {
                        *known = reason;
                    }
                    Err(error)
                }
                // What failed first says more than the gap it left.
                (Err(error), Durability::Committed) => {
                    let known = self.failed.remove(&unit.request).filter(|(lease, _)| *lease == unit.lease);
                    Err(known.map_or(error, |(_, error)| error))
                }
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
    fn explain(&mut self, unit: &Unit, result: Result<(), AppendError>) -> Result<(), AppendError> {
        match &result {
            Ok(()) if self.reasons.is_empty() => {}
            Ok(()) => drop(self.reasons.remove(&unit.request)),
            Err(reason @ AppendError::Storage(_)) => {
                drop(self.reasons.insert(unit.request.clone(), (unit.lease.clone(), reason.clone())));
            }
            Err(AppendError::OutOfOrder { .. }) => {
                return reason_of(&self.reasons, unit).map_or(result, |reason| Err(reason.clone()));
            }
            Err(_) => {}
        }
        result
    }

    pub(super) fn data_version(&self) -> Result<i64, Error> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))?)
    }
}

/// The writing connection, which tells how long the log is and leaves it to others to fold it.
fn connect(path: &Path, options: &Options, waiting: &Waiting, length: &Arc<Length>) -> Result<Connection, OpenError> {
    let mut connection = open::open(path, options, waiting)?;
    length.follow(&mut connection).map_err(|error| OpenError::from_sqlite(path, &error))?;
    Ok(connection)
}
