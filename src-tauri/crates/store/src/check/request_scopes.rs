//! Checks the scopes of each request: applies their writes as derived from the events, independently of `read`, and
//! compares with the rows that readers use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{EventKind, Seq};
use engine::scope::ScopeKey;
use engine::state::State;
use engine::views::attempts::Verdict;

use super::Checked;
use super::scopes::{ChangeRow, RollbackRow, Rows, apply, rollback_rows};
use crate::row::attempts::{Attempt, Attempts, ReturnedWrites};
use crate::row::error::Error;

/// The scopes of one request, as its events derive them.
#[derive(Default)]
pub(super) struct RequestScopes {
    scopes: Vec<(ScopeKey, Vec<Write>)>,
    attempts: Attempts,
    rolled_back: Vec<(i64, RollbackRow)>,
}

struct Write {
    event: i64,
    seq: Seq,
    attempt: Option<Attempt>,
    version: u64,
    kind: EventKind,
    /// `change.operations`, if the write was in a callback that has returned.
    operations_after_return: Option<&'static str>,
}

impl RequestScopes {
    /// Adds a write.
    pub(super) fn add_write(&mut self, event: i64, seq: Seq, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) {
        let (EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. }) = &kind else { return };
        let at = match self.scopes.iter().position(|(key, _)| key == scope) {
            Some(at) => at,
            None => {
                self.scopes.push((scope.clone(), Vec::new()));
                self.scopes.len() - 1
            }
        };
        let writes = &mut self.scopes[at].1;
        let version = match &kind {
            EventKind::StateChanged { version, .. } => {
                self.attempts.add_write(path, attempt, (at as i64, event));
                *version
            }
            _ => writes.last().map_or(0, |write| write.version),
        };
        let attempt = path.map(|path| (path.clone(), attempt));
        writes.push(Write { event, seq, attempt, version, kind, operations_after_return: None });
    }

    /// Marks the writes of a callback that has returned as kept or superseded.
    pub(super) fn add_returned_writes(&mut self, path: Option<&Arc<str>>, attempt: u32, returned: ReturnedWrites<'_>) {
        if !self.attempts.has_written(path, attempt) {
            return;
        }
        for (_, writes) in &mut self.scopes {
            for (seq, operations) in returned.operations() {
                if let Ok(at) = writes.binary_search_by_key(&seq, |write| write.seq)
                    && matches!(writes[at].kind, EventKind::StateChanged { .. })
                {
                    writes[at].operations_after_return.get_or_insert(operations);
                }
            }
        }
    }

    /// Applies what an event means for attempts; called for each event after `add_write`.
    pub(super) fn apply_verdict(
        &mut self,
        event: i64,
        path: Option<&Arc<str>>,
        attempt: u32,
        verdict: Option<Verdict>,
    ) {
        for ended in self.attempts.apply_verdict(path, attempt, verdict) {
            let (path, attempt) = ended.attempt;
            let rows = ended.writes.into_iter().map(|(scope, first)| (scope, (event, path.clone(), attempt, first)));
            self.rolled_back.extend(rows);
        }
    }
}

/// Checks the scopes of one request.
pub(super) fn check(
    connection: &Connection,
    found: &mut Checked,
    (n, id): (i64, &str),
    request_scopes: &RequestScopes,
) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for (at, (key, writes)) in request_scopes.scopes.iter().enumerate() {
        known.insert((key.kind.as_str().to_owned(), key.id.to_string()));
        let derived: Vec<ChangeRow> = writes
            .iter()
            .map(|write| (write.event, write.version, write.operations_after_return.map(str::to_owned)))
            .collect();
        let rolled_back: BTreeSet<RollbackRow> = request_scopes
            .rolled_back
            .iter()
            .filter(|(scope, _)| *scope == at as i64)
            .map(|(_, row)| row.clone())
            .collect();
        let seqs: BTreeMap<i64, (Arc<str>, Seq)> =
            writes.iter().map(|write| (write.event, (Arc::from(id), write.seq))).collect();
        let Some(rows) = Rows::read(connection, found, key, Some(n))? else { continue };
        rows.compare(found, key, &derived, &seqs, &[]);
        if rollback_rows(connection, rows.scope)? != rolled_back {
            found.add(Some(id), None, format!("{key}: the rows of rolled-back attempts are not what its events say"));
        }
        // The state as of an event, without what was rolled back by then.
        let state_until = |until: i64| {
            // In the order of their events, so the last one of an attempt counts.
            let ended: BTreeMap<(&Arc<str>, u32), i64> =
                rolled_back.iter().filter(|row| row.0 <= until).map(|row| ((&row.1, row.2), row.0)).collect();
            let mut state = State::default();
            let mut version = 0;
            for write in writes.iter().take_while(|write| write.event <= until) {
                let is_rolled_back = write.operations_after_return.is_none()
                    && matches!(write.kind, EventKind::StateChanged { .. })
                    && write.attempt.as_ref().is_some_and(|(path, attempt)| {
                        ended.get(&(path, *attempt)).is_some_and(|ended| write.event < *ended)
                    });
                if !is_rolled_back {
                    if write.operations_after_return != Some(ReturnedWrites::SUPERSEDED) {
                        apply(&mut state, &write.kind);
                    }
                    version = write.version;
                }
            }
            (version, state)
        };
        for keyframe in &rows.keyframes {
            let (version, state) = state_until(keyframe.event);
            let at = seqs.get(&keyframe.event);
            keyframe.compare(connection, found, key, at, version, &state);
        }
        let (version, state) = state_until(i64::MAX);
        rows.compare_newest(connection, found, key, version, &state);
    }
    let mut statement = connection.prepare_cached("SELECT kind, id FROM scope WHERE request = ?1")?;
    let mut rows = statement.query((n,))?;
    while let Some(row) = rows.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        if !known.contains(&(kind.clone(), name.clone())) {
            found.add(Some(id), None, format!("{kind}:{name} has a row, and no event ever wrote it"));
        }
    }
    Ok(())
}
