//! What is read about requests: their rows, and the scopes they can see.

use engine::data::from_json;
use engine::error::FlowError;
use engine::event::{RequestStatus, Seq};
use engine::resource::record::{self, Address, Place};
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::Store;
use crate::error::Error;
use crate::query::Filter;

/// Which requests; newest first.
#[derive(Clone, Debug, Default)]
pub struct RequestQuery {
    /// Only of this session.
    pub session: Option<String>,
    /// Only in this status, as recorded: who still runs is not known here, and `interrupted`, which is
    /// never recorded, is every request that has not ended.
    pub status: Option<RequestStatus>,
    /// At most this many.
    pub limit: Option<u64>,
    /// After this many.
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
    /// Who asked.
    pub user: String,
    /// For which project.
    pub project: Option<String>,
    /// As recorded: `in_progress` also when its process died.
    pub status: RequestStatus,
    /// The lock file of the process that runs it, or ran it last.
    pub owner: String,
    /// Where its mock script came from, if models are mocked.
    pub mock: Option<String>,
    /// The request it tries again.
    pub retry_of: Option<String>,
    /// When it began.
    pub started_at: i64,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// Its newest event.
    pub last_seq: Seq,
    /// What failed it.
    pub error: Option<FlowError>,
}

const REQUESTS: &str = "SELECT r.id, s.id, r.flow, r.action, r.user, r.project, r.status, r.owner, r.mock, r.retry_of,
    r.started_at, r.finished_at, (SELECT max(e.seq) FROM event e WHERE e.request = r.n), r.error
    FROM request r JOIN session s ON s.n = r.session";

impl Store {
    /// One request.
    pub fn request(&self, id: &str) -> Result<Option<RequestRow>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{REQUESTS} WHERE r.id = ?1"))?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(request).transpose()
        })
    }

    /// Requests, newest first.
    pub fn requests(&self, query: &RequestQuery) -> Result<Vec<RequestRow>, Error> {
        let mut filter = Filter::default();
        filter.and("s.id = ?", query.session.clone());
        filter.and_status(query.status);
        let sql = filter.select(REQUESTS, "r.n DESC", query.limit, query.offset);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&filter.values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(request(row)?);
            }
            Ok(found)
        })
    }

    /// The scopes a request can see: its own that have state, its session, user and project, and
    /// their resources that ever had state. In the order request, session, user, project, then
    /// sequencers and blocks as they appeared, then resources by name.
    pub fn scopes_of(&self, id: &str) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| {
            let row: Option<(i64, String, String, Option<String>)> = connection
                .prepare_cached(
                    "SELECT r.n, s.id, r.user, r.project FROM request r JOIN session s ON s.n = r.session
                     WHERE r.id = ?1",
                )?
                .query_row((id,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
                .optional()?;
            let Some((n, session, user, project)) = row else { return Ok(Vec::new()) };
            let mut around = vec![ScopeKey::new(ScopeKind::Session, session), ScopeKey::new(ScopeKind::User, user)];
            around.extend(project.map(|project| ScopeKey::new(ScopeKind::Project, project)));
            let mut scopes = own_scopes(connection, n)?;
            for scope in around {
                scopes.extend(resources(connection, &scope)?);
                scopes.push(scope);
            }
            // Stable: blocks stay as they appeared.
            scopes.sort_by_key(|scope| scope.kind);
            Ok(scopes)
        })
    }

    /// The resources of a session, a user or a project that ever had state, by name; without the
    /// indexes of collections.
    pub fn resources_of(&self, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
        self.read(|connection| resources(connection, scope))
    }

    /// Users that ran something, or left something behind, by name.
    pub fn users(&self) -> Result<Vec<String>, Error> {
        self.names("SELECT user FROM request UNION SELECT id FROM scope WHERE kind = 'user' ORDER BY 1")
    }

    /// Projects that something ran in, or left something in, by name.
    pub fn projects(&self) -> Result<Vec<String>, Error> {
        self.names(
            "SELECT project FROM request WHERE project IS NOT NULL
             UNION SELECT id FROM scope WHERE kind = 'project' ORDER BY 1",
        )
    }

    fn names(&self, sql: &str) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map((), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
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

fn resources(connection: &Connection, scope: &ScopeKey) -> Result<Vec<ScopeKey>, Error> {
    let prefix = record::prefix(scope);
    // After an owner comes `/` and a path, or `:` and a flow; each range ends at the next character.
    let mut statement = connection.prepare_cached(
        "SELECT id FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';') ORDER BY id",
    )?;
    let rows = statement.query_map((prefix,), |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for id in rows {
        let id = id?;
        if Address::parse(&id).is_some_and(|address| !matches!(address.place, Place::Index(_))) {
            found.push(ScopeKey::new(ScopeKind::Resource, id));
        }
    }
    Ok(found)
}

fn request(row: &Row<'_>) -> Result<RequestRow, Error> {
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
    })
}
