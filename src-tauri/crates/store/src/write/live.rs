//! What the writing thread remembers between transactions, so that a step costs inserts only.
//!
//! Everything here can be read from the database again and is dropped whenever it might not be
//! true any more: after a transaction that failed, and after another process wrote.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::Seq;
use engine::log::Lease;
use engine::scope::ScopeKey;
use rusqlite::{Connection, OptionalExtension};

use crate::row::attempts::Attempts;
use crate::row::error::Error;
use crate::row::filter_block::UnindexedTail;
use crate::write::scopes::Scope;
use crate::write::writer_queue::{self, Ticket};

/// More than any workspace runs at once; beyond it, memory is given back.
const MAX_CACHED_REQUESTS: usize = 20_000;

/// Requests that run, scopes they touch, paths they walk.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    requests: HashMap<Arc<str>, Request>,
    scopes: HashMap<ScopeKey, Scope>,
    paths: HashMap<Arc<str>, i64>,
    /// The id that the newest event got.
    last_event: Option<i64>,
    /// Who waits to write a record, once that was read.
    tickets: Option<Vec<Ticket>>,
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) n: i64,
    pub(crate) session: i64,
    /// Who owns it.
    pub(crate) lease: Lease,
    /// Its newest event.
    pub(crate) last: Seq,
    pub(crate) attempts: Attempts,
    /// What operations on durable records weigh, until a commit names them.
    pub(crate) operations: HashMap<Seq, usize>,
    /// Its own scopes, to be forgotten with it.
    pub(crate) scopes: Vec<ScopeKey>,
    /// Its newest events, which search has no filter for yet.
    pub(crate) tail: UnindexedTail,
}

impl Request {
    pub(crate) fn new(n: i64, session: i64, lease: Lease) -> Request {
        Request {
            n,
            session,
            lease,
            last: 0,
            attempts: Attempts::default(),
            operations: HashMap::new(),
            scopes: Vec::new(),
            tail: UnindexedTail::new(),
        }
    }
}

impl Memory {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Memory::default();
    }

    /// Who waits to write a record. Read once: others' tickets come with a commit of theirs, after which
    /// nothing of this is known any more.
    pub(crate) fn tickets(&mut self, connection: &Connection) -> Result<&[Ticket], Error> {
        let tickets = match self.tickets.take() {
            Some(tickets) => tickets,
            None => writer_queue::read(connection)?,
        };
        Ok(self.tickets.insert(tickets))
    }

    /// A request waits no more.
    pub(crate) fn forget_tickets(&mut self) {
        self.tickets = None;
    }

    /// Gives memory back when there is too much of it.
    pub(crate) fn trim(&mut self) {
        if self.requests.len() + self.scopes.len() + self.paths.len() > MAX_CACHED_REQUESTS {
            self.clear();
        }
    }

    /// Takes a request that was begun, whoever began it; [`Memory::put`] gives it back.
    pub(crate) fn take(&mut self, connection: &Connection, id: &str) -> Result<Option<Request>, Error> {
        match self.requests.remove(id) {
            Some(request) => Ok(Some(request)),
            None => load(connection, id),
        }
    }

    pub(crate) fn put(&mut self, id: Arc<str>, request: Request) {
        self.requests.insert(id, request);
    }

    /// Forgets a request that will write no more for now.
    pub(crate) fn leave(&mut self, id: &str) {
        if let Some(request) = self.requests.remove(id) {
            for key in &request.scopes {
                self.scopes.remove(key);
            }
        }
    }

    /// A scope that has state already. Its row is up to date once [`Scope::save`] ran.
    pub(crate) fn scope(&mut self, connection: &Connection, key: &ScopeKey) -> Result<Option<&mut Scope>, Error> {
        if !self.scopes.contains_key(key)
            && let Some(found) = Scope::find(connection, key)?
        {
            self.scopes.insert(key.clone(), found);
        }
        Ok(self.scopes.get_mut(key))
    }

    /// A scope that begins now if it has not begun yet.
    pub(crate) fn scope_or_new(
        &mut self,
        connection: &Connection,
        key: &ScopeKey,
        request: Option<i64>,
    ) -> Result<&mut Scope, Error> {
        if self.scope(connection, key)?.is_none() {
            let made = Scope::create(connection, key, request)?;
            self.scopes.insert(key.clone(), made);
        }
        self.scopes.get_mut(key).ok_or_else(|| Error::Damaged(format!("scope {key} vanished")))
    }

    /// Writes of a scope stopped counting.
    pub(crate) fn weigh_again(&mut self, connection: &Connection, n: i64) -> Result<(), Error> {
        match self.scopes.values_mut().find(|scope| scope.n == n) {
            Some(scope) => scope.weigh(connection),
            None => Ok(()),
        }
    }

    /// The id of the next event. Those of deleted events are not given again: states tell instants by them.
    pub(crate) fn next_event(&mut self, connection: &Connection) -> Result<i64, Error> {
        let last = match self.last_event {
            Some(last) => last,
            None => connection
                .prepare_cached("SELECT max(id_floor, coalesce((SELECT max(id) FROM event), 0)) FROM total")?
                .query_row((), |row| row.get(0))?,
        };
        self.last_event = Some(last + 1);
        Ok(last + 1)
    }

    /// Keeps the ids of so many events, and answers the one before them.
    pub(crate) fn take_events(&mut self, connection: &Connection, count: i64) -> Result<i64, Error> {
        let first = self.next_event(connection)?;
        self.last_event = Some(first + count - 1);
        Ok(first - 1)
    }

    /// The number of a path.
    pub(crate) fn path(&mut self, connection: &Connection, path: &Arc<str>) -> Result<i64, Error> {
        if let Some(n) = self.paths.get(path) {
            return Ok(*n);
        }
        let known: Option<i64> = connection
            .prepare_cached("SELECT n FROM path WHERE text = ?1")?
            .query_row((&**path,), |row| row.get(0))
            .optional()?;
        let n = match known {
            Some(n) => n,
            None => {
                connection.prepare_cached("INSERT INTO path (text) VALUES (?1)")?.execute((&**path,))?;
                connection.last_insert_rowid()
            }
        };
        self.paths.insert(path.clone(), n);
        Ok(n)
    }
}

/// Reads back what the thread would know had it written the request itself.
fn load(connection: &Connection, id: &str) -> Result<Option<Request>, Error> {
    let row: Option<(i64, i64, Arc<str>, u64)> = connection
        .prepare_cached("SELECT n, session, owner, epoch FROM request WHERE id = ?1")?
        .query_row((id,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((n, session, owner, epoch)) = row else {
        return Ok(None);
    };
    let mut request = Request::new(n, session, Lease { owner, epoch });
    request.last = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM event WHERE request = ?1")?
        .query_row((n,), |row| row.get(0))?;
    request.tail = UnindexedTail::load(connection, n, request.last)?;
    request.attempts = Attempts::load(connection, n, i64::MAX)?;
    Ok(Some(request))
}
