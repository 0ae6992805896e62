//! Queries for sessions.

use crate::sql::{Connection, Row, params_from_iter};
use engine::data::from_json;
use engine::error::FlowError;
use engine::event::RequestStatus;

use crate::Store;
use crate::read::input_words;
use crate::read::requests::status;
use crate::read::samples::Samples;
use crate::row::error::Error;
use crate::row::query::Filter;

/// The order of sessions; the default comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionOrder {
    /// The last changed first.
    #[default]
    Changed,
    /// The newest first.
    Created,
    /// Those with the most requests first.
    Requests,
    /// Those with the most items first.
    Items,
}

impl SessionOrder {
    /// Each order uses an index (`n` ascends with the time of creation), except for the last two, which are rarely
    /// used.
    fn sql(self) -> &'static str {
        match self {
            SessionOrder::Changed => "s.updated_at DESC, s.n DESC",
            SessionOrder::Created => "s.n DESC",
            SessionOrder::Requests => "s.requests DESC, s.updated_at DESC",
            SessionOrder::Items => "s.items DESC, s.updated_at DESC",
        }
    }
}

/// Selects sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// Only sessions of this user.
    pub user: Option<String>,
    /// Only sessions of this flow.
    pub flow: Option<String>,
    /// Only those with a request in this project; the project of a session is that of its first request.
    pub project: Option<String>,
    /// Only those whose newest request has this status, as in [`RequestQuery`](crate::RequestQuery).
    pub status: Option<RequestStatus>,
    /// A text in the visible columns of a list: id, title, tags, user, flow and last action, the first words of the
    /// newest input, and the newest error. The case of letters is ignored.
    pub search: Option<String>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those that changed at this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// How sessions whose newest request is a sample of an experiment are treated.
    pub samples: Samples,
    /// Their order.
    pub order: SessionOrder,
    /// At most this many.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}

/// A session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// The flow of its first request.
    pub flow: String,
    /// The user that it belongs to.
    pub user: String,
    /// Its project, if any.
    pub project: Option<String>,
    /// The title that a person gave, or else the `title` in its metadata.
    pub title: Option<String>,
    /// Its tags, in the order of their characters.
    pub tags: Vec<String>,
    /// Whether it was made for one request alone.
    pub ephemeral: bool,
    /// How many requests it has.
    pub requests: u64,
    /// How many items were added in it, transient ones left out.
    pub items: u64,
    /// Its newest request's status, as recorded.
    pub last_status: RequestStatus,
    /// The owner of its newest request, as in [`RequestRow`](crate::RequestRow).
    pub last_owner: String,
    /// When its first request started, in milliseconds since 1970.
    pub created_at: i64,
    /// When it last changed, in milliseconds since 1970.
    pub updated_at: i64,
    /// The request it is a fork of.
    pub forked_from: Option<String>,
    /// Its newest request.
    pub last_request: String,
    /// The action of its newest request.
    pub last_action: String,
    /// When its newest request started, in milliseconds since 1970.
    pub last_started_at: i64,
    /// When its newest request ended, in milliseconds since 1970.
    pub last_finished_at: Option<i64>,
    /// The error that its newest request failed with.
    pub last_error: Option<FlowError>,
}

/// The sessions whose requests a session shows: itself, and those that it is a fork of, each with the row number of
/// the first request that it does not show. `?1` is the session's id.
pub(crate) const LINEAGE: &str = "WITH RECURSIVE lineage (session, before) AS (
        SELECT n, 9223372036854775807 FROM session WHERE id = ?1
        UNION ALL
        SELECT r.session, r.n FROM lineage
            JOIN session s ON s.n = lineage.session JOIN request r ON r.id = s.forked_from)";

/// The columns of a session `s` whose newest request is `r`.
pub(super) const COLUMNS: &str =
    "SELECT s.id, s.flow, s.user, s.project, coalesce(s.given_title, s.flow_title), s.ephemeral, s.requests, s.items,
    r.status, r.owner, s.created_at, s.updated_at, s.forked_from, r.id, r.action, r.started_at, r.finished_at, r.error,
    (SELECT json_group_array(name) FROM (SELECT name FROM session_tag WHERE session = s.n ORDER BY name) AS own)";
const FROM: &str = "FROM session s JOIN request r ON r.n = s.last_request";

impl Store {
    /// One session.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{COLUMNS} {FROM} WHERE s.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(session).transpose()
        })
    }

    /// Sessions in the requested order.
    pub fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, Error> {
        let wanted = query.search.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty());
        // The search is not only in columns, so limit and offset are applied here.
        let (limit, offset) = if wanted.is_some() { (None, None) } else { (query.limit, query.offset) };
        self.read(|connection| {
            let filter = filter(connection, query)?;
            let sql = filter.select(&format!("{COLUMNS} {FROM}"), query.order.sql(), limit, offset);
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut found = Vec::new();
            let Some(wanted) = &wanted else {
                while let Some(row) = rows.next()? {
                    found.push(session(row)?);
                }
                return Ok(found);
            };
            let mut skipped = 0;
            while query.limit.is_none_or(|limit| (found.len() as u64) < limit) {
                let Some(row) = rows.next()? else { break };
                let row = session(row)?;
                if !holds(connection, &row, wanted)? {
                    continue;
                }
                if skipped < query.offset.unwrap_or(0) {
                    skipped += 1;
                } else {
                    found.push(row);
                }
            }
            Ok(found)
        })
    }
}

impl Store {
    /// The number of sessions, without the limit.
    pub fn count_sessions(&self, query: &SessionQuery) -> Result<u64, Error> {
        if query.search.as_ref().is_some_and(|text| !text.is_empty()) {
            let all = SessionQuery { limit: None, offset: None, ..query.clone() };
            return Ok(self.sessions(&all)?.len() as u64);
        }
        self.read(|connection| {
            let filter = filter(connection, query)?;
            let sql = filter.select(&format!("SELECT count(*) {FROM}"), "1", None, None);
            Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(&filter.values), |row| row.get(0))?)
        })
    }
}

/// The conditions of a query that SQL can check.
fn filter(connection: &Connection, query: &SessionQuery) -> Result<Filter, Error> {
    let mut filter = Filter::default();
    filter.and("s.user = ?", query.user.clone());
    filter.and("s.flow = ?", query.flow.clone());
    filter.and("s.n IN (SELECT session FROM request WHERE project = ?)", query.project.clone());
    filter.and_status(query.status);
    filter.and("s.updated_at >= ?", query.since);
    filter.and("s.n IN (SELECT session FROM session_tag WHERE name = ?)", query.tag.clone());
    filter.and_condition(query.samples.condition(connection, false)?);
    Ok(filter)
}

/// Whether the visible columns of a session contain a text, which must be lower-case.
fn holds(connection: &Connection, row: &SessionRow, wanted: &str) -> Result<bool, Error> {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    let name = format!("{}.{}", row.flow, row.last_action);
    let known = [Some(&row.id), row.title.as_ref(), Some(&row.user), row.project.as_ref(), Some(&name)];
    if known.into_iter().flatten().chain(&row.tags).any(|text| has(text)) {
        return Ok(true);
    }
    if row.last_error.as_ref().is_some_and(|error| has(&format!("{}: {}", error.name, error.message))) {
        return Ok(true);
    }
    Ok(input_words::of_request(connection, &row.last_request)?.is_some_and(|words| has(&words)))
}

pub(super) fn session(row: Row<'_>) -> Result<SessionRow, Error> {
    let error: Option<String> = row.get(17)?;
    Ok(SessionRow {
        id: row.get(0)?,
        flow: row.get(1)?,
        user: row.get(2)?,
        project: row.get(3)?,
        title: row.get(4)?,
        tags: serde_json::from_str(&row.get::<_, String>(18)?)?,
        ephemeral: row.get(5)?,
        requests: row.get(6)?,
        items: row.get(7)?,
        last_status: status(&row.get::<_, String>(8)?)?,
        last_owner: row.get(9)?,
        created_at: row.get(10)?,
        updated_at: row.get(11)?,
        forked_from: row.get(12)?,
        last_request: row.get(13)?,
        last_action: row.get(14)?,
        last_started_at: row.get(15)?,
        last_finished_at: row.get(16)?,
        last_error: error.map(|text| from_json(&text)).transpose()?,
    })
}
