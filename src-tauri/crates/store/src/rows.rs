//! The rows of requests, sessions and journals, as they follow from events.
//!
//! Counters that move with every event are not kept here but once a transaction, by `batch`.

use engine::event::{Event, EventKind, RequestStatus};
use rusqlite::{Connection, params};

use crate::error::Error;
use crate::live::Request;

/// Makes the row of a request, and of its session if that is new.
pub(crate) fn begin(connection: &Connection, id: &str, event: &Event) -> Result<Request, Error> {
    let EventKind::RequestStarted {
        flow, action, session, user, project, ephemeral, mock, retry_of, owner, claim, ..
    } = &event.kind
    else {
        return Err(Error::Damaged(format!("request \"{id}\" does not begin with request_started")));
    };
    connection
        .prepare_cached(
            "INSERT INTO session (id, flow, user, project, ephemeral, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO NOTHING",
        )?
        .execute((&**session, flow, &**user, project.as_deref(), ephemeral, event.at))?;
    let session_n: i64 =
        connection.prepare_cached("SELECT n FROM session WHERE id = ?1")?.query_row((&**session,), |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO request
             (id, session, flow, action, user, project, status, owner, mock, retry_of, started_at, claim)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
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
            claim.as_ref().map(|claim| &*claim.key)
        ])?;
    let n = connection.last_insert_rowid();
    connection
        .prepare_cached("UPDATE session SET requests = requests + 1, last_request = ?2 WHERE n = ?1")?
        .execute((session_n, n))?;
    Ok(Request::new(n, session_n))
}

/// Whether an event changes its request as a whole, and so its session.
pub(crate) fn is_of_request(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RequestStarted { .. }
            | EventKind::RequestResumed { .. }
            | EventKind::RequestStatus { .. }
            | EventKind::RequestFinished { .. }
    )
}

/// How many items an event adds to its session.
pub(crate) fn items(kind: &EventKind) -> i64 {
    match kind {
        EventKind::ItemAdded { item } => i64::from(!item.transient),
        _ => 0,
    }
}

/// Brings the rows up to date with an event, whose global id is `row`.
pub(crate) fn follow(connection: &Connection, request: &Request, event: &Event, row: i64) -> Result<(), Error> {
    match &event.kind {
        EventKind::RequestStatus { status } => set_status(connection, request, *status, event.at, None),
        EventKind::RequestFinished { status, error, .. } => {
            let error = error.as_ref().map(serde_json::to_string).transpose()?;
            set_status(connection, request, *status, event.at, error)
        }
        EventKind::RequestResumed { owner, mock, .. } => {
            set_status(connection, request, RequestStatus::InProgress, event.at, None)?;
            connection
                .prepare_cached("UPDATE request SET owner = ?2, mock = ?3 WHERE n = ?1")?
                .execute((request.n, owner, mock))?;
            Ok(())
        }
        EventKind::MetadataSet { .. } | EventKind::JournalAppended { .. } => {
            if let EventKind::MetadataSet { metadata } = &event.kind
                && let Some(title) = metadata.get("title").and_then(|title| title.as_str())
            {
                connection
                    .prepare_cached("UPDATE session SET title = ?2 WHERE n = ?1")?
                    .execute((request.session, title))?;
            }
            connection
                .prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?
                .execute((request.session, row))?;
            Ok(())
        }
        _ => Ok(()),
    }
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
