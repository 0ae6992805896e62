//! The rows of requests, sessions and journals, as they follow from events.
//!
//! Counters that move with every event are not kept here but once a transaction, by `batch`.

use crate::row::{body, totals};
use engine::event::{Event, EventKind, ForkedFrom, RequestStatus};
use engine::log::{AppendError, Lease};
use rusqlite::{Connection, params};

use crate::read::events;
use crate::read::sessions::LINEAGE;
use crate::row::error::Error;
use crate::write::live::Request;
use crate::write::removal_queue;

/// Makes the row of a request, and of its session if that is new.
///
/// A session belongs to the user of its first request; where that is another one, nothing is written. Only an
/// import, which brings what is elsewhere already, may bring such a request.
pub(crate) fn begin(
    connection: &Connection,
    id: &str,
    event: &Event,
    is_import: bool,
) -> Result<Result<Request, AppendError>, Error> {
    let EventKind::RequestStarted {
        flow,
        action,
        session,
        user,
        project,
        ephemeral,
        mock,
        retry_of,
        owner,
        claim,
        forked_from,
        ..
    } = &event.kind
    else {
        return Err(Error::Damaged(format!("request \"{id}\" does not begin with request_started")));
    };
    // An import may be under way that brings a request of this name.
    let mut coming =
        connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'request' AND name = ?1 AND import <> ''")?;
    if coming.exists((id,))? {
        return Ok(Err(AppendError::Exists));
    }
    connection
        .prepare_cached(
            "INSERT INTO session (n, id, flow, user, project, ephemeral, created_at, updated_at, forked_from)
             VALUES (max(coalesce((SELECT max(n) FROM session), 0),
                 coalesce((SELECT max(n) FROM removal WHERE kind = 'session'), 0)) + 1,
                 ?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7) ON CONFLICT (id) DO NOTHING",
        )?
        .execute((
            &**session,
            flow,
            &**user,
            project.as_deref(),
            ephemeral,
            event.at,
            forked_from.as_ref().map(|from| &from.request_id),
        ))?;
    removal_queue::make_room(connection, id)?;
    let (session_n, known): (i64, String) = connection
        .prepare_cached("SELECT n, user FROM session WHERE id = ?1")?
        .query_row((&**session,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if known != **user && !is_import {
        return Ok(Err(AppendError::NotYours { session: session.to_string(), user: known }));
    }
    connection
        .prepare_cached(
            "INSERT INTO request
             (n, id, session, flow, action, user, project, status, owner, mock, retry_of, started_at, claim,
              forked_from, forked_at)
             VALUES (max(coalesce((SELECT max(n) FROM request), 0),
                 coalesce((SELECT max(n) FROM removal WHERE kind = 'request'), 0)) + 1,
                 ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            id,
            session_n,
            flow,
            action,
            &**user,
            project.as_deref(),
            RequestStatus::InProgress.as_str(),
            owner,
            mock,
            retry_of,
            event.at,
            claim.as_ref().map(|claim| &*claim.key),
            forked_from.as_ref().map(|from| &from.request_id),
            forked_from.as_ref().map(|from| from.seq)
        ])?;
    let n = connection.last_insert_rowid();
    connection
        .prepare_cached("UPDATE session SET requests = requests + 1, last_request = ?2 WHERE n = ?1")?
        .execute((session_n, n))?;
    Ok(Ok(Request::new(n, session_n, Lease::first(owner.as_str()))))
}

/// Whether an event changes its request as a whole, and so its session.
pub(crate) fn is_of_request(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RequestStarted { .. }
            | EventKind::RequestResumed { .. }
            | EventKind::RequestAdopted { .. }
            | EventKind::RequestStatus { .. }
            | EventKind::RequestFinished { .. }
    )
}

/// Brings the rows up to date with an event, whose global id is `row`.
pub(crate) fn follow(connection: &Connection, request: &Request, event: &Event, row: i64) -> Result<(), Error> {
    match &event.kind {
        EventKind::RequestStatus { status } => set_status(connection, request, *status, event.at, None),
        EventKind::RequestFinished { status, error, .. } => {
            let error = error.as_ref().map(serde_json::to_string).transpose()?;
            set_status(connection, request, *status, event.at, error)
        }
        EventKind::RequestAdopted { owner, epoch } => {
            connection
                .prepare_cached("UPDATE request SET owner = ?2, epoch = ?3 WHERE n = ?1")?
                .execute((request.n, owner, epoch))?;
            Ok(())
        }
        EventKind::RequestResumed { owner, epoch, mock, .. } => {
            set_status(connection, request, RequestStatus::InProgress, event.at, None)?;
            connection
                .prepare_cached("UPDATE request SET owner = ?2, mock = ?3, epoch = ?4 WHERE n = ?1")?
                .execute((request.n, owner, mock, epoch))?;
            Ok(())
        }
        EventKind::MetadataSet { .. } | EventKind::JournalAppended { .. } => {
            follow_title(connection, request, &event.kind)?;
            connection
                .prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?
                .execute((request.session, row))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Gives a session the title that an event sets.
pub(crate) fn follow_title(connection: &Connection, request: &Request, kind: &EventKind) -> Result<(), Error> {
    if let EventKind::MetadataSet { metadata } = kind
        && let Some(title) = metadata.get("title").and_then(|title| title.as_str())
    {
        connection.prepare_cached("UPDATE session SET title = ?2 WHERE n = ?1")?.execute((request.session, title))?;
    }
    Ok(())
}

fn set_status(
    connection: &Connection,
    request: &Request,
    status: RequestStatus,
    at: i64,
    error: Option<String>,
) -> Result<(), Error> {
    let finished_at = status.is_terminal().then_some(at);
    connection
        .prepare_cached("UPDATE request SET status = ?2, finished_at = ?3, error = ?4 WHERE n = ?1")?
        .execute((request.n, status.as_str(), finished_at, error))?;
    Ok(())
}

/// Gives a fork the events that it has in common with the request it comes from. What they did to state
/// stays with that one: a fork's own records begin where they were. Their ids follow `last`. Answers how
/// many events and items.
pub(crate) fn copy(
    connection: &Connection,
    request: i64,
    session: &str,
    from: &ForkedFrom,
    last: i64,
) -> Result<(i64, i64), Error> {
    let events = connection
        .prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, sum)
             SELECT ?4 + e.seq - 1, ?1, e.seq, e.at, e.kind, e.path, e.attempt, e.body, e.sum
             FROM event e JOIN request r ON r.n = e.request
             WHERE r.id = ?2 AND e.seq BETWEEN 2 AND ?3 ORDER BY e.seq",
        )?
        .execute((request, &from.request_id, from.seq, last))?;
    connection
        .prepare_cached(
            "INSERT INTO journal (session, event)
             SELECT (SELECT session FROM request WHERE n = ?1), id FROM event
             WHERE request = ?1 AND kind IN ('journal_appended', 'metadata_set') ORDER BY seq",
        )?
        .execute((request,))?;
    if let Some(title) = title_of(connection, session)? {
        connection.prepare_cached("UPDATE session SET title = ?2 WHERE id = ?1")?.execute((session, title))?;
    }
    let added = events::of_kind(connection, request, "item_added")?;
    Ok((events as i64, added.iter().map(totals::items).sum()))
}

/// The title that was set last in a session and in those it is a fork of.
fn title_of(connection: &Connection, session: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT e.body FROM line JOIN journal j ON j.session = line.session JOIN event e ON e.id = j.event
         JOIN request r ON r.n = e.request AND r.n < line.before
         WHERE e.kind = 'metadata_set' ORDER BY r.n DESC, e.seq DESC"
    ))?;
    let mut rows = statement.query((session,))?;
    while let Some(row) = rows.next()? {
        // The whole line: a field that is large lies elsewhere.
        if let Some(EventKind::MetadataSet { metadata }) =
            body::readable(connection, "metadata_set", &body::lossy(row, 0)?)?
            && let Some(title) = metadata.get("title").and_then(|title| title.as_str())
        {
            return Ok(Some(title.to_owned()));
        }
    }
    Ok(None)
}
