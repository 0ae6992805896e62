//! A session with a PostgreSQL server, used like a connection to a file: calls block until the server has answered.
//!
//! The sockets of all sessions are served by one thread of this process, so that a call may block on any other one. A
//! session that was cut off connects again when the next transaction begins; within one it fails, and nothing of the
//! transaction was stored. Whether a commit happened that was cut off is asked of the server.
//!
//! A transaction that writes begins with an update of the one row of `revision`: that row's lock excludes all others
//! that write, its number tells every reader whether something was committed, and the transaction's id, read in the
//! same round trip, tells later whether it was committed.

mod column;
mod connect;
mod param;
mod statements;
mod tls;

pub(super) use column::column;
pub(crate) use connect::Cancel;
pub(super) use tls::{SYSTEM, Tls};

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::place::Server;
use super::{Error, Result};
pub(crate) use connect::Settings;
use connect::{CONNECT_PAUSE, CONNECT_WITHIN, connect, connect_first};

/// How long a revision that was read counts as the newest: what a request reads may lack what other processes have
/// committed since then. What it commits is always held against the newest.
const REVISION_HOLDS: Duration = Duration::from_millis(5);
/// A transaction waits at least this long for another one: waiting is in order, and costs nothing.
const MIN_LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// After how many statements those that were prepared are forgotten.
const MAX_STATEMENTS: usize = 512;

/// A session with a server.
pub(crate) struct Session {
    server: Arc<Server>,
    /// The format of the tables that this program writes.
    format: Cell<i64>,
    /// What is set at its beginning.
    settings: Settings,
    client: RefCell<Arc<Client>>,
    /// Statements of the transaction that were sent and whose answers nobody has waited for.
    unanswered: RefCell<Vec<Unanswered>>,
    /// Prepared statements, by their text and the types of their values.
    statements: RefCell<HashMap<String, Vec<Prepared>>>,
    /// How many revisions this session has committed.
    own_commits: Cell<i64>,
    /// How many revisions others had committed, and when that was so.
    others: Cell<Option<(i64, Instant)>>,
    /// The transaction that writes, while one is open.
    writing: RefCell<Option<Writing>>,
    lock_timeout: Cell<Duration>,
    /// Whether a transaction is open.
    is_open: Cell<bool>,
    /// Whether a statement of the transaction that is open has failed, so that it can only be rolled back.
    has_failed: Cell<bool>,
    /// How often it was connected.
    connections: Cell<u64>,
}

/// A statement that is prepared for values of these types.
type Prepared = (Vec<Type>, tokio_postgres::Statement);

/// A transaction that writes.
struct Writing {
    /// The revision that it makes.
    revision: i64,
    /// Its id, and when the server was started that gave it.
    id: String,
    server_start: String,
    /// What it writes into the row of `revision`.
    mark: i64,
}

/// A statement that was sent.
type Unanswered = Pin<Box<dyn Future<Output = std::result::Result<(), tokio_postgres::Error>> + Send>>;

impl Session {
    /// Begins the first session of a store, and reserves the connections of its others; `settings` are statements that
    /// are run first.
    pub(crate) fn first(server: &Arc<Server>, format: i64, settings: Settings) -> Result<Session> {
        let client = connect_first(server, &settings)?;
        Ok(Session::of(client, server, format, settings))
    }

    /// Begins another one.
    pub(crate) fn new(server: &Arc<Server>, format: i64, settings: Settings) -> Result<Session> {
        let client = connect(server, &settings)?;
        Ok(Session::of(client, server, format, settings))
    }

    fn of(client: Client, server: &Arc<Server>, format: i64, settings: Settings) -> Session {
        Session {
            server: server.clone(),
            format: Cell::new(format),
            settings,
            client: RefCell::new(Arc::new(client)),
            unanswered: RefCell::default(),
            statements: RefCell::default(),
            own_commits: Cell::new(0),
            others: Cell::new(None),
            writing: RefCell::default(),
            lock_timeout: Cell::new(Duration::ZERO),
            is_open: Cell::new(false),
            has_failed: Cell::new(false),
            connections: Cell::new(1),
        }
    }

    /// Connects again if the session was cut off.
    fn ensure_connected(&self) -> Result<()> {
        if self.is_closed() { self.reconnect() } else { Ok(()) }
    }

    fn reconnect(&self) -> Result<()> {
        let began = Instant::now();
        let client = loop {
            match connect(&self.server, &self.settings) {
                // It may be starting again.
                Err(Error::Postgres(error)) if error.code().is_none() && began.elapsed() < CONNECT_WITHIN => {
                    std::thread::sleep(CONNECT_PAUSE);
                }
                result => break result?,
            }
        };
        *self.client.borrow_mut() = Arc::new(client);
        self.unanswered.borrow_mut().clear();
        self.statements.borrow_mut().clear();
        self.own_commits.set(0);
        self.others.set(None);
        self.connections.set(self.connections.get() + 1);
        let limit = self.lock_timeout.get();
        if limit > Duration::ZERO { self.busy_timeout(limit) } else { Ok(()) }
    }

    /// Does what changes nothing, once more on a new session if this one is cut off.
    fn again_if_cut_off<T>(&self, act: impl Fn() -> Result<T>) -> Result<T> {
        self.ensure_connected()?;
        match act() {
            Err(error) if error.is_cut_off() => {
                self.reconnect()?;
                act()
            }
            result => result,
        }
    }

    /// Begins a transaction that writes.
    pub(super) fn begin(&self) -> Result<()> {
        self.writing.borrow_mut().take();
        self.is_open.set(false);
        let began = self.again_if_cut_off(|| {
            self.unanswered.borrow_mut().clear();
            self.has_failed.set(false);
            // Whether it may write is what the server says of this user.
            self.send_batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
            self.is_open.set(true);
            let mark = (RandomState::new().hash_one(self.own_commits.get()) >> 1) as i64;
            let sql = "UPDATE revision SET n = n + 1, mark = ?2 WHERE format = ?1
                 RETURNING n, pg_current_xact_id()::text, pg_postmaster_start_time()::text";
            let rows = self.query(sql, &[&self.format.get(), &mark])?;
            let Some(row) = rows.first() else { return Err(self.other_format()?) };
            Ok(Writing { revision: row.try_get(0)?, id: row.try_get(1)?, server_start: row.try_get(2)?, mark })
        });
        match began {
            Ok(writing) => {
                *self.writing.borrow_mut() = Some(writing);
                Ok(())
            }
            Err(error) => {
                // A session that was cut off has nothing to roll back.
                let _ = self.roll_back();
                Err(error)
            }
        }
    }

    /// The error of tables that have another format by now.
    fn other_format(&self) -> Result<Error> {
        let rows = self.query("SELECT format FROM revision", &[])?;
        let row = rows.first().ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let (own, found) = (self.format.get(), row.try_get(0)?);
        Ok(if found < own { Error::OlderFormat { own, found } } else { Error::OtherFormat { own, found } })
    }

    /// Whether the lock that a transaction of this session waited for is held by sessions of Flowglass only.
    pub(super) fn is_locked_by_flowglass(&self) -> bool {
        let sql = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
             WHERE l.relation = to_regclass('revision')::oid AND l.granted
             AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND a.application_name <> 'flowglass'";
        let others = self.query(sql, &[]).ok().and_then(|rows| rows.first()?.try_get::<_, i64>(0).ok());
        others == Some(0)
    }

    /// Begins a transaction that reads one committed state.
    pub(super) fn snapshot(&self) -> Result<()> {
        self.has_failed.set(false);
        self.server.has_read.store(true, SeqCst);
        self.again_if_cut_off(|| self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))?;
        self.is_open.set(true);
        Ok(())
    }

    /// Commits. If the session is cut off meanwhile, the server is asked whether it did.
    pub(super) fn commit(&self) -> Result<()> {
        // A commit of a transaction that has failed would roll it back, and be no error.
        if self.has_failed.get() {
            self.roll_back()?;
            return Err(Error::Failed);
        }
        let writing = self.writing.borrow_mut().take();
        self.is_open.set(false);
        // Nobody else can commit before this has reached the server.
        let sent_at = Instant::now();
        let sent = self.send_batch("COMMIT");
        match (sent.and_then(|()| self.take_answers()), writing) {
            (Ok(()), Some(writing)) => {
                self.others.set(Some((writing.revision - 1 - self.own_commits.get(), sent_at)));
                self.own_commits.set(self.own_commits.get() + 1);
                Ok(())
            }
            (Err(error), Some(writing)) if error.is_cut_off() => {
                if self.was_committed(&writing)? {
                    Ok(())
                } else {
                    Err(error)
                }
            }
            (result, _) => result,
        }
    }

    /// Whether a transaction of a session that was cut off was committed.
    fn was_committed(&self, writing: &Writing) -> Result<bool> {
        let began = Instant::now();
        loop {
            self.ensure_connected().map_err(|_| Error::CommitUnknown)?;
            let sql = "SELECT n, mark, pg_postmaster_start_time()::text FROM revision";
            let rows = self.query(sql, &[]).map_err(|_| Error::CommitUnknown)?;
            let now = rows.first().ok_or(Error::CommitUnknown)?;
            let (revision, mark, server_start): (i64, i64, String) =
                (now.try_get(0)?, now.try_get(1)?, now.try_get(2)?);
            // A server that was started again may have given the id to another transaction.
            if server_start != writing.server_start {
                return match revision.cmp(&writing.revision) {
                    Ordering::Less => Ok(false),
                    Ordering::Equal => Ok(mark == writing.mark),
                    Ordering::Greater => Err(Error::CommitUnknown),
                };
            }
            let sql = "SELECT pg_xact_status(CAST(?1 AS xid8))";
            let rows = self.query(sql, &[&writing.id]).map_err(|_| Error::CommitUnknown)?;
            let status: Option<String> = rows.first().and_then(|row| row.try_get(0).ok()).flatten();
            match status.as_deref() {
                Some("committed") => return Ok(true),
                Some("aborted") => return Ok(false),
                // The server has not noticed yet that the session is gone.
                _ if began.elapsed() < CONNECT_WITHIN => std::thread::sleep(CONNECT_PAUSE),
                _ => return Err(Error::CommitUnknown),
            }
        }
    }

    /// Ends a transaction without a trace.
    pub(super) fn roll_back(&self) -> Result<()> {
        self.writing.borrow_mut().take();
        self.is_open.set(false);
        // That they failed is known, or why they are undone.
        let _ = self.take_answers();
        if self.is_closed() { Ok(()) } else { self.batch("ROLLBACK") }
    }

    /// A number that changes with every commit of another session, at the latest after [`REVISION_HOLDS`].
    pub(super) fn data_version(&self) -> Result<i64> {
        if let Some(writing) = &*self.writing.borrow() {
            return Ok(writing.revision - 1 - self.own_commits.get());
        }
        self.ensure_connected()?;
        // What this process has read since then may come from a later revision.
        if !self.server.has_read.swap(false, SeqCst)
            && let Some((others, at)) = self.others.get()
            && at.elapsed() < REVISION_HOLDS
        {
            return Ok(others);
        }
        let asked = Instant::now();
        let rows = self.query("SELECT n FROM revision", &[])?;
        let revision: i64 = rows.first().ok_or(rusqlite::Error::QueryReturnedNoRows)?.try_get(0)?;
        let others = revision - self.own_commits.get();
        self.others.set(Some((others, asked)));
        Ok(others)
    }

    /// How often it was connected: the server knows each connection by itself.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.get()
    }

    /// How many connections this process has.
    pub(crate) fn own_connections(&self) -> usize {
        self.server.open.load(SeqCst)
    }

    /// Says which format the tables have.
    pub(crate) fn set_format(&self, format: i64) {
        self.format.set(format);
    }

    /// Whether the session was cut off.
    pub(super) fn is_closed(&self) -> bool {
        self.client.borrow().is_closed()
    }

    /// How long a transaction that writes waits for another one.
    pub(super) fn busy_timeout(&self, limit: Duration) -> Result<()> {
        self.lock_timeout.set(limit);
        self.batch(&format!("SET lock_timeout = {}", limit.max(MIN_LOCK_TIMEOUT).as_millis()))
    }

    /// A handle to end what it does.
    pub(super) fn cancel_token(&self) -> Cancel {
        Cancel(self.client.borrow().cancel_token(), self.server.connector.clone())
    }
}
