//! The queues of requests that write records which others write at the same time (promise 9 of the log).
//!
//! `ticket` has a row for each record that a request waits for. It is not part of the log: the rows are not derived
//! from events, and only decide who writes first. An answer is reliable only inside the transaction that commits.

use crate::sql::{Connection, OptionalExtension};
use engine::log::TICKET_MS;
use engine::scope::{ScopeKey, ScopeKind};

use crate::file::owners::Owners;
use crate::row::error::Error;

/// A row of `ticket`: a request that waits to write a record, or is the next to write it.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    n: i64,
    scope: ScopeKey,
    request: i64,
    at: i64,
    owner: String,
}

impl Ticket {
    fn is_valid(&self, at: i64) -> bool {
        at.saturating_sub(self.at) < TICKET_MS
    }
}

/// The tickets of all requests that are in progress, by number.
pub(crate) fn read(connection: &Connection) -> Result<Vec<Ticket>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT t.n, t.kind, t.id, t.request, t.at, r.owner FROM ticket t JOIN request r ON r.n = t.request
         WHERE r.status = 'in_progress' ORDER BY t.n",
    )?;
    let mut rows = statement.query(())?;
    let mut tickets = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(1)?;
        let kind = ScopeKind::parse(&kind).ok_or_else(|| Error::Damaged(format!("\"{kind}\" is not a scope")))?;
        let scope = ScopeKey::new(kind, row.get::<_, String>(2)?);
        tickets.push(Ticket { n: row.get(0)?, scope, request: row.get(3)?, at: row.get(4)?, owner: row.get(5)? });
    }
    Ok(tickets)
}

/// Whether another request must write a record first: its owner is alive, and it has an older ticket for the record,
/// or any ticket if this request has none.
pub(crate) fn is_blocked(tickets: &[Ticket], request: i64, scope: &ScopeKey, at: i64, owners: &Owners) -> bool {
    let is_valid = |ticket: &&Ticket| ticket.is_valid(at);
    let own = tickets.iter().filter(is_valid).find(|ticket| ticket.request == request).map(|ticket| ticket.n);
    let mut others =
        tickets.iter().filter(is_valid).filter(|ticket| ticket.request != request && ticket.scope == *scope);
    others.any(|ticket| own.is_none_or(|own| ticket.n < own) && owners.is_alive(&ticket.owner))
}

/// Whether a request has a ticket.
pub(crate) fn has_ticket(tickets: &[Ticket], request: i64) -> bool {
    tickets.iter().any(|ticket| ticket.request == request)
}

/// Whether a request is the first in all queues that it is in. False if it has no valid ticket (it expired): then it
/// must take a new one.
pub(crate) fn is_first(connection: &Connection, request: &str, at: i64, owners: &Owners) -> Result<bool, Error> {
    let Some(request) = request_row(connection, request)? else { return Ok(true) };
    let tickets = read(connection)?;
    let mut own = tickets.iter().filter(|ticket| ticket.request == request && ticket.is_valid(at)).peekable();
    Ok(own.peek().is_some() && own.all(|ticket| !is_blocked(&tickets, request, &ticket.scope, at, owners)))
}

/// Puts a request into the queue of each of these records, or renews its tickets there, and deletes tickets that are
/// no longer valid.
pub(crate) fn take(connection: &Connection, request: &str, scopes: &[ScopeKey], at: i64) -> Result<(), Error> {
    connection.begin()?;
    let taken = insert(connection, request, scopes, at).and_then(|()| Ok(connection.commit()?));
    if taken.is_err() {
        // An error of the rollback is not reported: the first one is the cause.
        let _ = connection.roll_back();
    }
    taken
}

fn insert(connection: &Connection, request: &str, scopes: &[ScopeKey], at: i64) -> Result<(), Error> {
    let Some(request) = request_row(connection, request)? else { return Ok(()) };
    connection
        .prepare_cached(
            "DELETE FROM ticket
             WHERE at <= ?1 OR request NOT IN (SELECT n FROM request WHERE status = 'in_progress')",
        )?
        .execute((at - TICKET_MS,))?;
    let n: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT min(n) FROM ticket WHERE request = ?1), coalesce(max(n), 0) + 1) FROM ticket",
        )?
        .query_row((request,), |row| row.get(0))?;
    connection.prepare_cached("UPDATE ticket SET at = ?2 WHERE request = ?1")?.execute((request, at))?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO ticket (kind, id, n, request, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    for scope in scopes {
        insert.execute((scope.kind.as_str(), &*scope.id, n, request, at))?;
    }
    Ok(())
}

/// Deletes a request's tickets.
pub(crate) fn leave(connection: &Connection, request: i64) -> Result<(), Error> {
    connection.prepare_cached("DELETE FROM ticket WHERE request = ?1")?.execute((request,))?;
    Ok(())
}

/// As [`leave`], for a request given by its id.
pub(crate) fn leave_by_id(connection: &Connection, request: &str) -> Result<(), Error> {
    request_row(connection, request)?.map_or(Ok(()), |request| leave(connection, request))
}

fn request_row(connection: &Connection, request: &str) -> Result<Option<i64>, Error> {
    Ok(connection
        .prepare_cached("SELECT n FROM request WHERE id = ?1")?
        .query_row((request,), |row| row.get(0))
        .optional()?)
}
