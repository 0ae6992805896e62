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

pub(super) use column::column;
pub(crate) use connect::Cancel;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rusqlite::ToSql;
use tokio_postgres::Client;
use tokio_postgres::types::{self, Type};

use super::place::Server;
use super::{Error, Result, dialect};
use connect::{CONNECT_PAUSE, CONNECT_WITHIN, connect};
use param::Param;

/// A transaction waits at least this long for another one: waiting is in order, and costs nothing.
const MIN_LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// After how many statements those that were prepared are forgotten.
const MAX_STATEMENTS: usize = 512;

/// A session with a server.
pub(crate) struct Session {
    server: Arc<Server>,
    /// The format of the tables that this program writes.
    format: i64,
    /// What is set at its beginning.
    settings: String,
    client: RefCell<Arc<Client>>,
    /// Statements of the transaction that were sent and whose answers nobody has waited for.
    unanswered: RefCell<Vec<Unanswered>>,
    /// Prepared statements, by their text and the types of their values.
    statements: RefCell<HashMap<String, Vec<Prepared>>>,
    /// How many revisions this session has committed.
    own_commits: Cell<i64>,
    /// The revision and the id of the transaction that writes, while one is open.
    writing: RefCell<Option<(i64, String)>>,
    lock_timeout: Cell<Duration>,
    /// Whether a transaction is open.
    is_open: Cell<bool>,
}

/// A statement that is prepared for values of these types.
type Prepared = (Vec<Type>, tokio_postgres::Statement);

/// A statement that was sent.
type Unanswered = Pin<Box<dyn Future<Output = std::result::Result<(), tokio_postgres::Error>> + Send>>;

impl Session {
    /// Begins a session; `settings` are statements that are run first.
    pub(crate) fn new(server: &Arc<Server>, format: i64, settings: String) -> Result<Session> {
        let client = connect(server, &settings)?;
        Ok(Session {
            server: server.clone(),
            format,
            settings,
            client: RefCell::new(Arc::new(client)),
            unanswered: RefCell::default(),
            statements: RefCell::default(),
            own_commits: Cell::new(0),
            writing: RefCell::default(),
            lock_timeout: Cell::new(Duration::ZERO),
            is_open: Cell::new(false),
        })
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
        let limit = self.lock_timeout.get();
        if limit > Duration::ZERO { self.busy_timeout(limit) } else { Ok(()) }
    }

    /// A statement that is prepared for values of these types.
    fn prepared(&self, sql: &str, types: &[Type]) -> Result<tokio_postgres::Statement> {
        let known =
            self.statements.borrow().get(sql).and_then(|forms| {
                forms.iter().find(|(known, _)| known == types).map(|(_, statement)| statement.clone())
            });
        if let Some(known) = known {
            return Ok(known);
        }
        let text = dialect::statement(sql);
        let prepared = pollster::block_on(self.client.borrow().prepare_typed(&text, types));
        if prepared.is_err() {
            self.take_answers()?;
        }
        let prepared = prepared?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= MAX_STATEMENTS {
            statements.clear();
        }
        statements.entry(sql.to_owned()).or_default().push((types.to_vec(), prepared.clone()));
        Ok(prepared)
    }

    fn with_values<R>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        run: impl FnOnce(&Client, &tokio_postgres::Statement, &[&(dyn types::ToSql + Sync)]) -> Result<R>,
    ) -> Result<R> {
        let params = values.iter().map(|value| Param::of(*value)).collect::<Result<Vec<Param>>>()?;
        let types: Vec<Type> = params.iter().map(Param::type_of).collect();
        let statement = self.prepared(sql, &types)?;
        let params: Vec<&(dyn types::ToSql + Sync)> =
            params.iter().map(|param| param as &(dyn types::ToSql + Sync)).collect();
        run(&self.client.borrow(), &statement, &params)
    }

    /// Runs a statement; how many rows it changed.
    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let done = self.with_values(sql, values, |client, statement, params| {
            Ok(usize::try_from(pollster::block_on(client.execute(statement, params))?).unwrap_or(usize::MAX))
        });
        if done.is_err() {
            self.take_answers()?;
        }
        done
    }

    /// Sends a statement of a transaction that writes, whose answer the next one does not need: if it fails, the
    /// transaction does. Saves a round trip.
    pub(super) fn send(&self, sql: &str, values: &[&dyn ToSql]) -> Result<()> {
        if self.writing.borrow().is_none() {
            return self.execute(sql, values).map(drop);
        }
        let params = values.iter().map(|value| Param::of(*value)).collect::<Result<Vec<Param>>>()?;
        let types: Vec<Type> = params.iter().map(Param::type_of).collect();
        let statement = self.prepared(sql, &types)?;
        let client = self.client.borrow().clone();
        self.send_now(Box::pin(async move {
            let params: Vec<&(dyn types::ToSql + Sync)> =
                params.iter().map(|param| param as &(dyn types::ToSql + Sync)).collect();
            client.execute(&statement, &params).await.map(drop)
        }))
    }

    /// As [`send`](Self::send), a statement without values.
    fn send_batch(&self, sql: &'static str) -> Result<()> {
        let client = self.client.borrow().clone();
        self.send_now(Box::pin(async move { client.batch_execute(sql).await }))
    }

    fn send_now(&self, mut statement: Unanswered) -> Result<()> {
        // The first poll sends it; the answer is taken when it is waited for.
        match statement.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Ok(answer?),
            Poll::Pending => {
                self.unanswered.borrow_mut().push(statement);
                Ok(())
            }
        }
    }

    /// Waits for the answers of what was sent; the first error. What comes after it says only that the transaction has
    /// failed.
    fn take_answers(&self) -> Result<()> {
        let sent = std::mem::take(&mut *self.unanswered.borrow_mut());
        let mut first = Ok(());
        for statement in sent {
            let answer = pollster::block_on(statement);
            if first.is_ok() {
                first = answer;
            }
        }
        Ok(first?)
    }

    /// Runs a statement; the rows that it finds. Outside of a transaction it is asked again if the session is cut off.
    pub(super) fn query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<tokio_postgres::Row>> {
        let ask = || {
            self.with_values(sql, values, |client, statement, params| {
                Ok(pollster::block_on(client.query(statement, params))?)
            })
        };
        if !self.is_open.get() {
            return self.again_if_cut_off(ask);
        }
        let answer = ask();
        if answer.is_err() {
            self.take_answers()?;
        }
        answer
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

    /// The names of the columns that a statement finds.
    pub(super) fn column_names(&self, sql: &str) -> Result<Vec<String>> {
        let statement = pollster::block_on(self.client.borrow().prepare(&dialect::statement(sql)))?;
        Ok(statement.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    /// Runs statements without values.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        Ok(pollster::block_on(self.client.borrow().batch_execute(&dialect::statement(sql)))?)
    }

    /// Begins a transaction that writes.
    pub(super) fn begin(&self) -> Result<()> {
        self.writing.borrow_mut().take();
        self.is_open.set(false);
        let began = self.again_if_cut_off(|| {
            self.unanswered.borrow_mut().clear();
            self.send_batch("BEGIN")?;
            self.is_open.set(true);
            let sql = "UPDATE revision SET n = n + 1 WHERE format = ?1 RETURNING n, pg_current_xact_id()::text";
            let rows = self.query(sql, &[&self.format])?;
            let row = rows.first().ok_or(Error::OtherFormat)?;
            Ok((row.try_get(0)?, row.try_get(1)?))
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

    /// Begins a transaction that reads one committed state.
    pub(super) fn snapshot(&self) -> Result<()> {
        self.again_if_cut_off(|| self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))?;
        self.is_open.set(true);
        Ok(())
    }

    /// Commits. If the session is cut off meanwhile, the server is asked whether it did.
    pub(super) fn commit(&self) -> Result<()> {
        let writing = self.writing.borrow_mut().take();
        self.is_open.set(false);
        let sent = self.send_batch("COMMIT");
        // A commit of a transaction that has failed rolls it back, and is no error: what failed is.
        match (sent.and_then(|()| self.take_answers()), writing) {
            (Ok(()), Some(_)) => {
                self.own_commits.set(self.own_commits.get() + 1);
                Ok(())
            }
            (Err(error), Some((_, id))) if self.client.borrow().is_closed() => {
                if self.was_committed(&id)? {
                    Ok(())
                } else {
                    Err(error)
                }
            }
            (result, _) => result,
        }
    }

    /// Whether a transaction of a session that was cut off was committed.
    fn was_committed(&self, id: &str) -> Result<bool> {
        let began = Instant::now();
        loop {
            self.ensure_connected().map_err(|_| Error::CommitUnknown)?;
            let sql = "SELECT pg_xact_status(CAST(?1 AS xid8))";
            let rows = self.query(sql, &[&id]).map_err(|_| Error::CommitUnknown)?;
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

    /// A number that changes with every commit of another session.
    pub(super) fn data_version(&self) -> Result<i64> {
        let revision = match &*self.writing.borrow() {
            Some((revision, _)) => revision - 1,
            None => {
                self.ensure_connected()?;
                let rows = self.query("SELECT n FROM revision", &[])?;
                rows.first().ok_or(rusqlite::Error::QueryReturnedNoRows)?.try_get(0)?
            }
        };
        Ok(revision - self.own_commits.get())
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
        Cancel(self.client.borrow().cancel_token())
    }
}
