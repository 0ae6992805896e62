//! The owners of the scopes that a request writes: its user, its project and its session.

use crate::sql::{Connection, OptionalExtension, Row};
use engine::scope::{ScopeKey, ScopeKind};

use crate::row::error::Error;

/// A session, a user or a project of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The key of its resources.
    pub key: ScopeKey,
    /// The key of its state, which the flow may isolate from other flows.
    pub state: ScopeKey,
}

/// Returns the number of a request, and its user, its project and its session.
pub(crate) fn of_request(connection: &Connection, id: &str) -> Result<Option<(i64, Vec<Owner>)>, Error> {
    let row: Option<(i64, String, String, String, Option<String>, bool)> = connection
        .prepare_cached(
            "SELECT r.n, r.flow, s.id, r.user, r.project, s.forked_from IS NOT NULL FROM request r
             JOIN session s ON s.n = r.session WHERE r.id = ?1",
        )?
        .query_row((id,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
        .optional()?;
    let Some((n, flow, session, user, project, is_fork)) = row else { return Ok(None) };
    let KeptApart { kinds: isolated, user_by_org } = kept_apart(connection, n)?;
    let user = match &project {
        Some(org) if user_by_org => ScopeKey::user_in_org(&user, org),
        _ => user,
    };
    let of = |key: ScopeKey| if is_fork { ScopeKey::overlay(key.kind, &key.id, &session) } else { key };
    let owner = |kind, id: String| {
        let key = of(ScopeKey::new(kind, id.as_str()));
        let is_apart = isolated.contains(&kind);
        Owner { state: if is_apart { of(ScopeKey::isolated(kind, &id, &flow)) } else { key.clone() }, key }
    };
    let mut owners = vec![owner(ScopeKind::User, user)];
    owners.extend(project.map(|project| owner(ScopeKind::Project, project)));
    let session = ScopeKey::new(ScopeKind::Session, session.as_str());
    owners.push(Owner { state: session.clone(), key: session });
    Ok(Some((n, owners)))
}

/// The scopes whose state a request's flow isolates from other flows. They are in its first event; if that cannot be
/// read, there are none.
fn kept_apart(connection: &Connection, request: i64) -> Result<KeptApart, Error> {
    let sql = "SELECT json_extract(json, '$.isolated'), 
               coalesce(CAST(json_extract(json, '$.userByOrg') AS TEXT) IN ('1', 'true'), FALSE) FROM
               (SELECT CASE WHEN json_valid(body) THEN body END AS json FROM event
                WHERE request = ?1 AND seq = 1 AND kind = 'request_started') AS first";
    let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Option<(Option<String>, bool)> =
        connection.prepare_cached(sql)?.query_row((request,), read).optional()?;
    let (kinds, user_by_org) = found.unwrap_or_default();
    let kinds = kinds.and_then(|kinds| serde_json::from_str(&kinds).ok()).unwrap_or_default();
    Ok(KeptApart { kinds, user_by_org })
}

/// The isolation of a request's flow.
struct KeptApart {
    /// The scopes whose state is the flow's own.
    kinds: Vec<ScopeKind>,
    /// Whether the user's state and resources are separate for each organisation.
    user_by_org: bool,
}
