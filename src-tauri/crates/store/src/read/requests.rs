//! Queries for requests, and for the scopes that they can see.

use crate::sql::{Connection, OptionalExtension, Row, params_from_iter};
use engine::data::from_json;
use engine::error::FlowError;
use engine::event::{Event, ForkedFrom, RequestStatus, Seq};
use engine::resource::record::{self, Address, Place};
use engine::scope::{ScopeKey, ScopeKind};

use crate::Store;
use crate::read::owners::{self, Owner};
use crate::read::request_order::{CHANGED_LAST, RequestOrder};
use crate::read::samples::{IS_SAMPLE, Samples};
use crate::read::session_order::SessionOrder;
use crate::read::sessions::LINEAGE;
use crate::read::whole_log;
use crate::row::error::Error;
use crate::row::query::Filter;

/// Selects requests.
#[derive(Clone, Debug, Default)]
pub struct RequestQuery {
    /// Only requests of this session.
    pub session: Option<String>,
    /// Only with this recorded status. Whether a process still runs a request is not known here: `Interrupted`, which
    /// is recorded only if the storage failed while the process lived, selects all requests that have not ended.
    pub status: Option<RequestStatus>,
    /// Only requests of this flow.
    pub flow: Option<String>,
    /// Only of this action.
    pub action: Option<String>,
    /// What is done with samples of experiments.
    pub samples: Samples,
    /// By what they are ordered.
    pub order: RequestOrder,
    /// At most this many.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}

/// A request's row.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRow {
    /// Its id.
    pub id: String,
    /// Its session's id.
    pub session: String,
    /// Its flow's kind.
    pub flow: String,
    /// Its action.
    pub action: String,
    /// The user who started it.
    pub user: String,
    /// Its project, if any.
    pub project: Option<String>,
    /// As recorded; still `in_progress` if its process died.
    pub status: RequestStatus,
    /// The job that runs it, or ran it last: the id of its database, a dot, and the name of its lock.
    pub owner: String,
    /// The number of that owner, from 1.
    pub epoch: u64,
    /// Where its mock script came from, if models are mocked.
    pub mock: Option<String>,
    /// The request that it is a retry of.
    pub retry_of: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_at: i64,
    /// When it ended, in milliseconds since 1970.
    pub finished_at: Option<i64>,
    /// The `seq` of its newest event.
    pub last_seq: Seq,
    /// The error that it failed with.
    pub error: Option<FlowError>,
    /// The request and event that it is a fork of.
    pub forked_from: Option<ForkedFrom>,
    /// Whose conventions the spans follow that a foreign request was made from.
    pub emitter: Option<String>,
}

pub(crate) const COLUMNS: &str =
    "SELECT r.id, s.id, r.flow, r.action, r.user, r.project, r.status, r.owner, r.mock, r.retry_of,
    r.started_at, r.finished_at, (SELECT max(e.seq) FROM event e WHERE e.request = r.n), r.error, r.forked_from,
    r.forked_at, r.epoch, r.emitter";
pub(super) const FROM: &str = "FROM request r JOIN session s ON s.n = r.session";

impl Store {
    /// One request.
    pub fn request(&self, id: &str) -> Result<Option<RequestRow>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{COLUMNS} {FROM} WHERE r.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(request).transpose()
        })
    }

    /// One request and all its events, from one snapshot.
    pub fn log_of(&self, id: &str) -> Result<Option<(RequestRow, Vec<Event>)>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{COLUMNS} {FROM} WHERE r.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            let Some(row) = rows.next()?.map(request).transpose()? else { return Ok(None) };
            let events = whole_log::read(connection, id)?;
            self.on_damaged.report_damaged(id, &events);
            Ok(Some((row, events)))
        })
    }

    /// The highest global id of an event, as for [`changed_requests`](Self::changed_requests); 0 if there is none.
    pub fn newest_event(&self) -> Result<i64, Error> {
        self.read(|connection| Ok(newest_event(connection)?))
    }

    /// The highest global id of an event, and the requests that have events with ids above `after`, written by any
    /// process.
    pub fn changed_requests(&self, after: i64) -> Result<(i64, Vec<RequestRow>), Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&changed())?;
            let mut rows = statement.query((after,))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(request(row)?);
            }
            Ok((newest_event(connection)?, found))
        })
    }

    /// The global id of a request's first event, if there is such a request. No log that takes its place has the same.
    pub fn log_id(&self, request: &str) -> Result<Option<i64>, Error> {
        self.read(|connection| {
            let sql = "SELECT e.id FROM request r JOIN event e ON e.request = r.n AND e.seq = 1 WHERE r.id = ?1";
            Ok(connection.prepare_cached(sql)?.query_row((request,), |row| row.get(0)).optional()?)
        })
    }

    /// Requests, in the order that is asked for.
    pub fn requests(&self, query: &RequestQuery) -> Result<Vec<RequestRow>, Error> {
        self.read(|connection| {
            let mut filter = Filter::default();
            filter.and("s.id = ?", query.session.clone());
            filter.and_status(query.status);
            filter.and("r.flow = ?", query.flow.clone());
            filter.and("r.action = ?", query.action.clone());
            let is_any = filter.is_empty();
            let of_samples = query.samples.condition(connection, query.session.is_some())?;
            filter.and_condition(of_samples.clone());
            if let (RequestOrder::Changed, Some(limit), true) = (query.order, query.limit, is_any) {
                // A session changes with each of its requests, so those that changed last are in those that did. One
                // whose newest request is a sample has no others.
                let most = i64::try_from(query.offset.unwrap_or(0).saturating_add(limit)).unwrap_or(i64::MAX);
                let changed = match of_samples {
                    None => "SELECT n FROM session ORDER BY updated_at DESC, n DESC LIMIT ?".to_owned(),
                    Some(condition) => format!(
                        "SELECT s.n FROM session s JOIN request r ON r.n = s.last_request WHERE {condition}
                         ORDER BY s.updated_at DESC, s.n DESC LIMIT ?"
                    ),
                };
                filter.and(&format!("s.n IN ({changed})"), Some(most));
            }
            let newest_first = match (query.order, &query.session) {
                (RequestOrder::Changed, _) => CHANGED_LAST.to_owned(),
                (RequestOrder::Started, Some(session)) => SessionOrder::of(connection, session)?.sql("DESC"),
                (RequestOrder::Started, None) => SessionOrder::Started.sql("DESC"),
            };
            // Only the rows that are wanted are read as a whole.
            let wanted = filter.select(&format!("SELECT r.n {FROM}"), &newest_first, query.limit, query.offset);
            let sql = format!("{COLUMNS} {FROM} WHERE r.n IN ({wanted}) ORDER BY {newest_first}");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(request(row)?);
            }
            Ok(found)
        })
    }

    /// The requests that a session shows, oldest first: its own, and for a fork also those before the fork in the
    /// session that it was forked from.
    pub fn requests_of(&self, session: &str) -> Result<Vec<RequestRow>, Error> {
        self.read(|connection| {
            let order = SessionOrder::of(connection, session)?.sql("ASC");
            let sql = format!(
                "{LINEAGE} {COLUMNS} FROM lineage JOIN request r ON r.session = lineage.session
                     AND r.n < lineage.before
                 JOIN session s ON s.n = r.session ORDER BY {order}"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map((session,), |row| Ok(request(row)))?;
            rows.map(|row| row?).collect()
        })
    }

    /// What a request is a fork or a retry of, and its own forks and retries, newest first; without samples of
    /// experiments, which lists leave out.
    pub fn related_requests(&self, id: &str) -> Result<Vec<RequestRow>, Error> {
        let sql = format!(
            "{COLUMNS} {FROM} WHERE ((r.forked_from = ?1 OR r.retry_of = ?1) AND NOT {IS_SAMPLE})
             OR r.id IN (SELECT forked_from FROM request WHERE id = ?1 UNION SELECT retry_of FROM request WHERE id = ?1)
             ORDER BY r.n DESC"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map((id,), |row| Ok(request(row)))?;
            rows.map(|row| row?).collect()
        })
    }

    /// The requests that were ever suspended, newest first: of one session, or of all.
    pub fn suspended_requests(&self, session: Option<&str>, samples: Samples) -> Result<Vec<RequestRow>, Error> {
        self.read(|connection| {
            let listed = samples.condition(connection, session.is_some())?.unwrap_or_else(|| "TRUE".to_owned());
            let sql = format!(
                "{COLUMNS} {FROM} WHERE (s.id = ?1 OR ?1 IS NULL) AND {listed}
                 AND EXISTS (SELECT 1 FROM event e WHERE e.request = r.n AND e.kind = 'suspended') ORDER BY r.n DESC"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map((session,), |row| Ok(request(row)))?;
            rows.map(|row| row?).collect()
        })
    }

    /// The scopes a request can see: its own that have state, its session, user and project, and
    /// their resources that ever had state. In the order request, session, user, project, then
    /// sequencers and blocks as they appeared, then resources by name.
    pub fn scopes_of(&self, id: &str) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| {
            let Some((n, owners)) = owners::of_request(connection, id)? else { return Ok(Vec::new()) };
            let mut scopes = own_scopes(connection, n)?;
            for owner in owners {
                scopes.extend(resources(connection, &owner.key)?);
                scopes.push(owner.state);
            }
            // A stable sort: within a kind the order stays.
            scopes.sort_by_key(|scope| scope.kind);
            Ok(scopes)
        })
    }

    /// The user, the project and the session of a request.
    pub fn owners_of(&self, id: &str) -> Result<Vec<Owner>, Error> {
        self.read(|connection| Ok(owners::of_request(connection, id)?.map(|(_, owners)| owners).unwrap_or_default()))
    }

    /// The resources of a session, a user or a project that ever had state, by name; without the
    /// indexes of collections.
    pub fn resources_of(&self, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| resources(connection, scope))
    }

    /// As [`resources_of`](Self::resources_of), with the indexes of collections.
    pub fn resource_records_of(&self, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| resource_records(connection, scope))
    }

    /// The users that have requests or state, by name. The copies that forks have of users are left out, and so is the
    /// state that a flow keeps apart from that of others.
    pub fn users(&self) -> Result<Vec<String>, Error> {
        self.names(ScopeKind::User)
    }

    /// The projects that have requests or state, by name; left out is what [`users`](Self::users) leaves out.
    pub fn projects(&self) -> Result<Vec<String>, Error> {
        self.names(ScopeKind::Project)
    }

    fn names(&self, kind: ScopeKind) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            // `user` and `project` are columns and kinds of scopes alike.
            let kind = kind.as_str();
            let mut statement = connection.prepare_cached(&format!(
                "SELECT id FROM scope WHERE kind = '{kind}' AND instr(id, '~fork_') = 0
                 EXCEPT SELECT {kind} || ':' || flow FROM request
                 EXCEPT SELECT user || ':~org:' || project FROM request WHERE project IS NOT NULL
                 UNION SELECT {kind} FROM request WHERE {kind} IS NOT NULL ORDER BY 1"
            ))?;
            let rows = statement.query_map((), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn newest_event(connection: &Connection) -> crate::sql::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(id), 0) FROM event")?.query_row((), |row| row.get(0))
}

pub(crate) fn status(text: &str) -> Result<RequestStatus, Error> {
    RequestStatus::parse(text).ok_or_else(|| Error::Damaged(format!("\"{text}\" is not a status")))
}

fn own_scopes(connection: &Connection, request: i64) -> Result<Vec<ScopeKey>, Error> {
    let mut statement = connection.prepare_cached("SELECT kind, id FROM scope WHERE request = ?1 ORDER BY n")?;
    let mut rows = statement.query((request,))?;
    let mut scopes = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
        let kind = ScopeKind::parse(&kind).ok_or_else(|| Error::Damaged(format!("\"{kind}\" is not a scope")))?;
        scopes.push(ScopeKey::new(kind, id));
    }
    Ok(scopes)
}

fn resource_records(connection: &Connection, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
    let prefix = record::prefix(scope);
    // A resource's id is its owner, then `/` and a path, or `:` and a flow. The upper bound of each range is the next
    // ASCII character: `0` follows `/`, and `;` follows `:`.
    let mut statement = connection.prepare_cached(
        "SELECT id FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';') ORDER BY id",
    )?;
    let rows = statement.query_map((prefix,), |row| row.get::<_, String>(0))?;
    rows.map(|id| Ok(ScopeKey::new(ScopeKind::Resource, id?))).collect()
}

fn resources(connection: &Connection, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
    let mut found = resource_records(connection, scope)?;
    found.retain(|key| Address::parse(&key.id).is_some_and(|address| !matches!(address.place, Place::Index(_))));
    Ok(found)
}

pub(crate) fn request(row: Row<'_>) -> Result<RequestRow, Error> {
    let error: Option<String> = row.get(13)?;
    Ok(RequestRow {
        id: row.get(0)?,
        session: row.get(1)?,
        flow: row.get(2)?,
        action: row.get(3)?,
        user: row.get(4)?,
        project: row.get(5)?,
        status: status(&row.get::<_, String>(6)?)?,
        owner: row.get(7)?,
        mock: row.get(8)?,
        retry_of: row.get(9)?,
        started_at: row.get(10)?,
        finished_at: row.get(11)?,
        last_seq: row.get(12)?,
        error: error.map(|text| from_json(&text)).transpose()?,
        epoch: row.get(16)?,
        emitter: row.get(17)?,
        forked_from: match (row.get::<_, Option<String>>(14)?, row.get::<_, Option<u64>>(15)?) {
            (Some(request_id), Some(seq)) => Some(ForkedFrom { request_id, seq }),
            _ => None,
        },
    })
}

/// The requests of the events after an id. Without the sign, SQLite goes through the index of all events, in order of
/// their requests, twice a second for each open window.
fn changed() -> String {
    format!("{COLUMNS} {FROM} WHERE r.n IN (SELECT DISTINCT +request FROM event WHERE id > ?1) ORDER BY r.n")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use crate::sql::Connection;

    #[test]
    fn new_events_are_found_without_looking_at_all() {
        let connection = Connection::temporary().unwrap();
        connection.execute_batch(include_str!("../schema.sql")).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", super::changed())).unwrap();
        let steps = plan.query_map((0,), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(steps.iter().any(|step| step.starts_with("SEARCH event USING INTEGER PRIMARY KEY")), "{steps:?}");
    }
}
