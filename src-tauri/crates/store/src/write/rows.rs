//! The rows of requests, sessions and journals, derived from events.
//!
//! Counters that change with every event are updated once for each transaction, by `TransactionRows::finish`.

use crate::row::{body, input_words, model_usage, totals};
use crate::sql::{Connection, params, without_nul};
use engine::event::{Event, EventKind, ForkedFrom, RequestStatus};
use engine::log::{AppendError, Lease};

use crate::read::events;
use crate::read::sessions::LINEAGE;
use crate::row::error::Error;
use crate::write::removal_queue;
use crate::write::writer_cache::CachedRequest;

/// Inserts the row of a request, and of its session if that is new.
///
/// A session belongs to the user of its first request; a request of another user is refused. An import may contain
/// such a request, because its database already has it.
pub(crate) fn insert_request(
    connection: &Connection,
    id: &str,
    event: &Event,
    is_import: bool,
) -> Result<Result<CachedRequest, AppendError>, Error> {
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
        foreign,
        ..
    } = &event.kind
    else {
        return Err(Error::Damaged(format!("request \"{id}\" does not begin with request_started")));
    };
    // An unfinished import may contain a request with this id.
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
    removal_queue::rename_scopes_of_removed(connection, id)?;
    let (session_n, known): (i64, String) = connection
        .prepare_cached("SELECT n, user FROM session WHERE id = ?1")?
        .query_row((&**session,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if known != **user && !is_import {
        return Ok(Err(AppendError::NotYours { session: session.to_string(), user: known }));
    }
    let n: i64 = connection
        .prepare_cached(
            "INSERT INTO request
             (n, id, session, flow, action, user, project, status, owner, mock, retry_of, started_at, claim,
              forked_from, forked_at, words, emitter)
             VALUES (max(coalesce((SELECT max(n) FROM request), 0),
                 coalesce((SELECT max(n) FROM removal WHERE kind = 'request'), 0)) + 1,
                 ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             RETURNING n",
        )?
        .query_row(
            params![
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
                forked_from.as_ref().map(|from| from.seq),
                input_words::of_request(&event.kind),
                foreign.as_ref().map(|foreign| &foreign.emitter)
            ],
            |row| row.get(0),
        )?;
    connection
        .prepare_cached("UPDATE session SET requests = requests + 1, last_request = ?2 WHERE n = ?1")?
        .run((session_n, n))?;
    Ok(Ok(CachedRequest::new(n, session_n, Lease::first(owner.as_str()))))
}

/// Whether an event changes its request's row, and with it the session's time of last change.
pub(crate) fn changes_request(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RequestStarted { .. }
            | EventKind::RequestResumed { .. }
            | EventKind::RequestAdopted { .. }
            | EventKind::RequestStatus { .. }
            | EventKind::RequestFinished { .. }
    )
}

/// Updates the rows for an event, whose global id is `row`.
pub(crate) fn update(connection: &Connection, request: &CachedRequest, event: &Event, row: i64) -> Result<(), Error> {
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
        EventKind::InputEdited { .. } if event.path.is_none() => set_words(connection, request.n, &event.kind),
        EventKind::MetadataSet { .. } | EventKind::JournalAppended { .. } => {
            update_title(connection, request, &event.kind)?;
            connection
                .prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?
                .run((request.session, row))?;
            Ok(())
        }
        EventKind::EffectFinished { .. } => match model_usage::of_event(connection, request.n, &event.kind)? {
            Some(used) => model_usage::add(connection, request.n, &used, false),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Sets a session's title if the event does.
pub(crate) fn update_title(connection: &Connection, request: &CachedRequest, kind: &EventKind) -> Result<(), Error> {
    if let EventKind::MetadataSet { metadata } = kind
        && let Some(title) = metadata.get("title").and_then(|title| title.as_str())
    {
        let title = without_nul(title.to_owned());
        connection.prepare_cached("UPDATE session SET flow_title = ?2 WHERE n = ?1")?.run((request.session, title))?;
    }
    Ok(())
}

/// Replaces the first words of a request's input by those of the fork's edited input.
fn set_words(connection: &Connection, request: i64, edit: &EventKind) -> Result<(), Error> {
    let words = input_words::of_request(edit);
    connection.prepare_cached("UPDATE request SET words = ?2 WHERE n = ?1")?.run((request, words))?;
    Ok(())
}

fn set_status(
    connection: &Connection,
    request: &CachedRequest,
    status: RequestStatus,
    at: i64,
    error: Option<String>,
) -> Result<(), Error> {
    let finished_at = status.is_terminal().then_some(at);
    connection.prepare_cached("UPDATE request SET status = ?2, finished_at = ?3, error = ?4 WHERE n = ?1")?.run((
        request.n,
        status.as_str(),
        finished_at,
        error,
    ))?;
    Ok(())
}

/// Copies to a fork the events 2 to `from.seq` of the request that it was forked from; their ids follow `last`.
/// Returns how many events and items were copied. No changes of scopes are copied: a
/// fork's own records begin as copies of their states at the fork.
pub(crate) fn copy_common_events(
    connection: &Connection,
    request: i64,
    session: &str,
    from: &ForkedFrom,
    last: i64,
) -> Result<(i64, i64), Error> {
    let events = connection
        .prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, body_checksum)
             SELECT ?4 + e.seq - 1, ?1, e.seq, e.at, e.kind, e.path, e.attempt, e.body, e.body_checksum
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
    if let Some(edit) = events::last_edited_input(connection, request)? {
        set_words(connection, request, &edit)?;
    }
    if let Some(title) = title_of(connection, session)? {
        connection.prepare_cached("UPDATE session SET flow_title = ?2 WHERE id = ?1")?.execute((session, title))?;
    }
    model_usage::add_copied(connection, request, from.seq)?;
    let added = events::of_kind(connection, request, "item_added")?;
    Ok((events as i64, added.iter().map(totals::items).sum()))
}

/// The title that was last set in a session or, before the fork, in the sessions from which it was forked.
fn title_of(connection: &Connection, session: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT e.body FROM lineage
         JOIN journal j ON j.session = lineage.session JOIN event e ON e.id = j.event
         JOIN request r ON r.n = e.request AND r.n < lineage.before
         WHERE e.kind = 'metadata_set' ORDER BY r.n DESC, e.seq DESC"
    ))?;
    let mut rows = statement.query((session,))?;
    while let Some(row) = rows.next()? {
        // Without `json_extract`, because a large title is in `payload`, not in the body.
        if let Some(EventKind::MetadataSet { metadata }) =
            body::event_if_readable(connection, "metadata_set", &body::lossy(row, 0)?)?
            && let Some(title) = metadata.get("title").and_then(|title| title.as_str())
        {
            return Ok(Some(without_nul(title.to_owned())));
        }
    }
    Ok(None)
}
