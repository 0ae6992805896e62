//! What the writing connection caches between transactions, so that a step usually costs inserts only.
//!
//! Everything here can be read from the database again. It is cleared whenever it may be stale: after a transaction
//! that failed, after other work on the connection, and after another process wrote.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::event::Seq;
use engine::log::Lease;
use engine::scope::ScopeKey;

use crate::row::attempts::{self, Attempts};
use crate::row::error::Error;
use crate::write::open_attempts;
use crate::write::scopes::CachedScope;
use crate::write::writer_queue::{self, Ticket};

/// More requests than this are not kept. No workspace runs so many at once.
const MAX_CACHED_REQUESTS: usize = 20_000;
/// More scopes, or more paths, than this are not kept. One request may have hundreds of thousands of either.
const MAX_CACHED_ROWS: usize = 20_000;

/// Running requests, the scopes that they write, and the numbers of their paths.
#[derive(Debug, Default)]
pub(crate) struct WriterCache {
    requests: HashMap<Arc<str>, CachedRequest>,
    scopes: HashMap<ScopeKey, CachedScope>,
    paths: HashMap<Arc<str>, i64>,
    /// The id of the newest event.
    last_event: Option<i64>,
    /// All valid rows of `ticket`, if they were read.
    tickets: Option<Vec<Ticket>>,
}

/// A running request.
#[derive(Debug)]
pub(crate) struct CachedRequest {
    pub(crate) n: i64,
    pub(crate) session: i64,
    /// Its owner.
    pub(crate) lease: Lease,
    /// The `seq` of its newest event.
    pub(crate) last: Seq,
    pub(crate) attempts: Attempts,
    /// The sizes of operations on durable records, until a commit names them.
    pub(crate) operations: HashMap<Seq, usize>,
    /// The scopes that belong to it, which are removed from the cache with it.
    pub(crate) scopes: Vec<ScopeKey>,
    /// Whether filter blocks cover all of its events.
    pub(crate) is_indexed: bool,
}

impl CachedRequest {
    pub(crate) fn new(n: i64, session: i64, lease: Lease) -> CachedRequest {
        CachedRequest {
            n,
            session,
            lease,
            last: 0,
            attempts: Attempts::default(),
            operations: HashMap::new(),
            scopes: Vec::new(),
            is_indexed: false,
        }
    }
}

impl WriterCache {
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        *self = WriterCache::default();
    }

    /// The tickets of running requests. Read once: another process's tickets come with a commit, which clears the
    /// cache.
    pub(crate) fn tickets(&mut self, connection: &Connection) -> Result<&[Ticket], Error> {
        let tickets = match self.tickets.take() {
            Some(tickets) => tickets,
            None => writer_queue::read(connection)?,
        };
        Ok(self.tickets.insert(tickets))
    }

    /// Makes the next [`tickets`](Self::tickets) read them again, after a ticket was deleted.
    pub(crate) fn forget_tickets(&mut self) {
        self.tickets = None;
    }

    /// Clears what is too large of the cache. Scopes and paths are read again one by one; a request by a pass over all
    /// its events, so one with many paths must not lose its own place here.
    pub(crate) fn trim(&mut self) {
        if self.requests.len() > MAX_CACHED_REQUESTS {
            self.clear();
        }
        if self.scopes.len() > MAX_CACHED_ROWS {
            self.scopes.clear();
            self.requests.values_mut().for_each(|request| request.scopes.clear());
        }
        if self.paths.len() > MAX_CACHED_ROWS {
            self.paths.clear();
        }
    }

    /// Takes a request out of the cache, or reads it from the database. [`WriterCache::put_request`] puts it back.
    /// None if it was never started. `resumes` says whether a `request_resumed` event comes next.
    pub(crate) fn take_request(
        &mut self,
        connection: &Connection,
        id: &str,
        resumes: bool,
    ) -> Result<Option<CachedRequest>, Error> {
        match self.requests.remove(id) {
            Some(request) => Ok(Some(request)),
            None => load(connection, id, resumes),
        }
    }

    pub(crate) fn put_request(&mut self, id: Arc<str>, request: CachedRequest) {
        self.requests.insert(id, request);
    }

    /// Removes a request and its scopes from the cache.
    pub(crate) fn forget_request(&mut self, id: &str) {
        if let Some(request) = self.requests.remove(id) {
            for key in &request.scopes {
                self.scopes.remove(key);
            }
        }
    }

    /// A scope that has state already. Its row may be behind until [`CachedScope::save`].
    pub(crate) fn scope(&mut self, connection: &Connection, key: &ScopeKey) -> Result<Option<&mut CachedScope>, Error> {
        if !self.scopes.contains_key(key)
            && let Some(found) = CachedScope::find(connection, key)?
        {
            self.scopes.insert(key.clone(), found);
        }
        Ok(self.scopes.get_mut(key))
    }

    /// A scope; its row is inserted if there is none. `request` is the request that it belongs to, if any.
    pub(crate) fn scope_or_insert(
        &mut self,
        connection: &Connection,
        key: &ScopeKey,
        request: Option<i64>,
    ) -> Result<&mut CachedScope, Error> {
        if self.scope(connection, key)?.is_none() {
            let inserted = CachedScope::insert(connection, key, request)?;
            self.scopes.insert(key.clone(), inserted);
        }
        self.scopes.get_mut(key).ok_or_else(|| Error::Damaged(format!("scope {key} vanished")))
    }

    /// Recomputes the read cost of a scope if it is cached, after some of its writes were rolled back.
    pub(crate) fn recompute_read_cost(&mut self, connection: &Connection, n: i64) -> Result<(), Error> {
        match self.scopes.values_mut().find(|scope| scope.n == n) {
            Some(scope) => scope.recompute_read_cost(connection),
            None => Ok(()),
        }
    }

    /// The id of the next event. Ids of deleted events are not used again, because keyframes and changes refer to
    /// points in time by them.
    pub(crate) fn next_event_id(&mut self, connection: &Connection) -> Result<i64, Error> {
        let last = match self.last_event {
            Some(last) => last,
            None => connection
                .prepare_cached("SELECT max(id_floor, coalesce((SELECT max(id) FROM event), 0)) FROM total")?
                .query_row((), |row| row.get(0))?,
        };
        self.last_event = Some(last + 1);
        Ok(last + 1)
    }

    /// Reserves `count` consecutive event ids. Returns the id before the first.
    pub(crate) fn reserve_events(&mut self, connection: &Connection, count: i64) -> Result<i64, Error> {
        let first = self.next_event_id(connection)?;
        self.last_event = Some(first + count - 1);
        Ok(first - 1)
    }

    /// The number of a path, whose row is inserted if there is none.
    pub(crate) fn path_row(&mut self, connection: &Connection, path: &Arc<str>) -> Result<i64, Error> {
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
                let sql = "INSERT INTO path (text) VALUES (?1) RETURNING n";
                connection.prepare_cached(sql)?.query_row((&**path,), |row| row.get(0))?
            }
        };
        self.paths.insert(path.clone(), n);
        Ok(n)
    }
}

/// Reads from the database what the cache would have if this process had written the request.
fn load(connection: &Connection, id: &str, resumes: bool) -> Result<Option<CachedRequest>, Error> {
    let row: Option<(i64, i64, Arc<str>, u64, bool)> = connection
        .prepare_cached("SELECT n, session, owner, epoch, unindexed_from IS NULL FROM request WHERE id = ?1")?
        .query_row((id,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .optional()?;
    let Some((n, session, owner, epoch, is_indexed)) = row else {
        return Ok(None);
    };
    let mut request = CachedRequest::new(n, session, Lease { owner, epoch });
    request.last = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM event WHERE request = ?1")?
        .query_row((n,), |row| row.get(0))?;
    request.is_indexed = is_indexed;
    // A resume rolls back all attempts that have not ended; which they are matters only if any of them wrote.
    if !resumes || attempts::has_shared_writes(connection, n)? {
        request.attempts = open_attempts::load(connection, n, id)?;
        // Where the log is damaged, the two may differ.
        #[cfg(debug_assertions)]
        if let Ok(attempts) = Attempts::load(connection, n, i64::MAX) {
            assert_eq!(request.attempts.open(), attempts.open(), "of request {id}");
        }
    }
    Ok(Some(request))
}
