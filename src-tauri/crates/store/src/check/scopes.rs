//! Checks the durable records: applies their changes as derived from the events, independently of `read`, and compares
//! with the rows that readers use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{EventKind, Seq};
use engine::operation::equal;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use serde_json::Value;

use super::Checked;
use crate::read::states;
use crate::row::body;
use crate::row::error::Error;

/// An operation on a durable record, until a commit names it.
pub(super) struct UncommittedOperation {
    pub(super) scope: ScopeKey,
    /// Whether it increments the version; initial values do not.
    pub(super) is_change: bool,
}

/// A commit of one durable record.
pub(super) struct Commit {
    pub(super) event: i64,
    pub(super) request: Arc<str>,
    pub(super) n: i64,
    pub(super) seq: Seq,
    pub(super) from: u64,
    pub(super) version: u64,
    pub(super) operations: Vec<Seq>,
    /// The values that resulted from its operations, where they differ from those in their events.
    pub(super) rebased: Vec<Value>,
    /// Whether its request is deleted and queued for removal. Its changes still contribute to the scope's state.
    pub(super) is_removed: bool,
}

/// A row of `attempt_rollback`: event, path, attempt, first write.
pub(super) type RollbackRow = (i64, Arc<str>, u32, i64);
/// A row of `change`: event, version, operations.
pub(super) type ChangeRow = (i64, u64, Option<String>);

/// Checks the durable records.
pub(super) fn check_durable(
    connection: &Connection,
    found: &mut Checked,
    commits: &BTreeMap<ScopeKey, Vec<Commit>>,
) -> Result<(), Error> {
    let mut keys: BTreeSet<ScopeKey> = commits.keys().cloned().collect();
    let mut statement = connection.prepare("SELECT kind, id FROM scope WHERE request IS NULL")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
        match ScopeKind::parse(&kind) {
            Some(kind) => drop(keys.insert(ScopeKey::new(kind, id))),
            None => found.add(None, None, format!("\"{kind}\" is not a scope")),
        }
    }
    let empty = Vec::new();
    for key in keys {
        let result = durable(connection, found, &key, commits.get(&key).unwrap_or(&empty));
        found.try_part(None, &key.to_string(), result)?;
    }
    Ok(())
}

fn durable(connection: &Connection, found: &mut Checked, key: &ScopeKey, commits: &[Commit]) -> Result<(), Error> {
    let derived: Vec<ChangeRow> = commits
        .iter()
        .map(|commit| (commit.event, commit.version, Some(states::write_operations(commit.seq, &commit.operations))))
        .collect();
    let Some(rows) = Rows::read(connection, found, key, None)? else { return Ok(()) };
    let removed = removed(connection, rows.scope)?;
    let mut commits: Vec<&Commit> = commits.iter().chain(&removed).collect();
    commits.sort_by_key(|commit| commit.event);
    let seqs: BTreeMap<i64, (Arc<str>, Seq)> =
        commits.iter().map(|commit| (commit.event, (commit.request.clone(), commit.seq))).collect();
    rows.compare(found, key, &derived, &seqs, &removed);
    let (mut version, mut state) = (0, State::default());
    let mut keyframes = rows.keyframes.iter().peekable();
    let mut one = connection.prepare_cached("SELECT kind, body FROM event WHERE request = ?1 AND seq = ?2")?;
    for commit in commits {
        while let Some(keyframe) = keyframes.next_if(|keyframe| keyframe.event < commit.event) {
            keyframe.check_or_restart(connection, found, key, None, (&mut version, &mut state))?;
        }
        if commit.from != version && !commit.is_removed {
            let what = format!("it commits {key} from version {}, which is at version {version}", commit.from);
            found.add(Some(&commit.request), Some(commit.seq), what);
        }
        if !commit.rebased.is_empty() && commit.rebased.len() != commit.operations.len() {
            let (stored, derived) = (commit.rebased.len(), commit.operations.len());
            let what = format!("it tells what {stored} operations on {key} came to, and commits {derived}");
            found.add(Some(&commit.request), Some(commit.seq), what);
        }
        let mut derived = commit.from;
        for (at, operation) in commit.operations.iter().enumerate() {
            let mut rows = one.query((commit.n, operation))?;
            // A missing event is reported by the check of its request.
            if let Some(row) = rows.next()?
                && let Ok(kind) = body::event(connection, &row.get::<_, String>(0)?, &row.get::<_, String>(1)?)
            {
                apply(&mut state, &kind);
                derived += u64::from(matches!(kind, EventKind::StateChanged { .. }));
                if !commit.is_removed {
                    let differs = differs(&kind, commit.rebased.get(at), derived, &state);
                    differs.into_iter().for_each(|what| found.add(Some(&commit.request), Some(*operation), what));
                }
            }
        }
        version = commit.version;
        while let Some(keyframe) = keyframes.next_if(|keyframe| keyframe.event == commit.event) {
            keyframe.check_or_restart(connection, found, key, seqs.get(&commit.event), (&mut version, &mut state))?;
        }
    }
    for keyframe in keyframes {
        keyframe.check_or_restart(connection, found, key, None, (&mut version, &mut state))?;
    }
    rows.compare_newest(connection, found, key, version, &state);
    Ok(())
}

/// The changes of a scope by requests that are queued for removal. They are read from the rows, because their events
/// may be deleted already.
fn removed(connection: &Connection, scope: i64) -> Result<Vec<Commit>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT c.event, c.version, c.operations, e.request, e.seq FROM change c CROSS JOIN event e
         WHERE e.id = c.event AND c.scope = ?1 AND EXISTS (SELECT 1 FROM removal)
         AND e.request IN (SELECT n FROM removal WHERE kind = 'request')",
    )?;
    let mut rows = statement.query((scope,))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: Seq = row.get(4)?;
        let operations: Option<String> = row.get(2)?;
        let back = states::read_operations(operations.as_deref().unwrap_or("0")).collect::<Result<Vec<_>, _>>()?;
        found.push(Commit {
            event: row.get(0)?,
            request: "".into(),
            n: row.get(3)?,
            seq,
            from: 0,
            version: row.get(1)?,
            operations: back.into_iter().map(|back| seq.saturating_sub(back.unsigned_abs())).collect(),
            rebased: Vec::new(),
            is_removed: true,
        });
    }
    Ok(found)
}

/// Returns a message if the value or version recorded by a write, or by its commit, is not the one that resulted.
fn differs(kind: &EventKind, rebased: Option<&Value>, derived: u64, state: &State) -> Option<String> {
    let EventKind::StateChanged { scope, operation, value, version } = kind else { return None };
    let sums = operation.sums(state);
    let (stored, version) = match rebased {
        Some(value) => ((!value.is_null()).then_some(value), derived),
        None => (value.as_ref(), *version),
    };
    let is_right = match (stored, &sums) {
        (Some(stored), Some(sums)) => sums
            .as_object()
            .into_iter()
            .flatten()
            .all(|(field, sum)| stored.get(field).is_some_and(|stored| equal(stored, sum))),
        // A write without a recorded value has no wrong value.
        (None, Some(_)) => rebased.is_none(),
        (Some(_), None) => false,
        (None, None) => true,
    };
    if is_right && version == derived {
        return None;
    }
    let words = |value: Option<&Value>| value.map_or("no value".to_owned(), ToString::to_string);
    Some(format!(
        "it says that {scope} has {} at version {version}; what came into force is {} at version {derived}",
        words(stored),
        words(sums.as_ref())
    ))
}

/// Applies an operation, or initial values.
pub(super) fn apply(state: &mut State, kind: &EventKind) {
    match kind {
        EventKind::StateChanged { operation, .. } => drop(operation.apply(state)),
        EventKind::StateInitialized { state: Value::Object(fields), .. } => state.fill_in(fields),
        _ => {}
    }
}

/// The rows of a scope.
pub(super) struct Rows {
    pub(super) scope: i64,
    version: u64,
    last: i64,
    changes: Vec<ChangeRow>,
    pub(super) keyframes: Vec<Keyframe>,
}

pub(super) struct Keyframe {
    pub(super) event: i64,
    version: u64,
    body: String,
    tombstone: bool,
}

/// The newest version of a scope, and the event that made it, as readers determine them.
const NEWEST: &str = "CASE WHEN request IS NULL THEN version ELSE
         coalesce((SELECT version FROM change WHERE scope = n ORDER BY event DESC LIMIT 1), 0) END,
     CASE WHEN request IS NULL THEN last ELSE coalesce((SELECT max(event) FROM change WHERE scope = n), 0) END";

impl Rows {
    pub(super) fn read(
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        request: Option<i64>,
    ) -> Result<Option<Rows>, Error> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT n, request, {NEWEST} FROM scope WHERE kind = ?1 AND id = ?2"))?;
        let mut rows = statement.query((key.kind.as_str(), &*key.id))?;
        let Some(row) = rows.next()? else {
            found.add(None, None, format!("{key} was written, and has no row"));
            return Ok(None);
        };
        let scope: i64 = row.get(0)?;
        if row.get::<_, Option<i64>>(1)? != request {
            found.add(None, None, format!("{key}: its row belongs to another request"));
        }
        let mut changes = connection
            .prepare_cached("SELECT event, version, operations FROM change WHERE scope = ?1 ORDER BY event")?;
        let changes = changes.query_map((scope,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut keyframes = connection.prepare_cached(
            // A keyframe at an import's boundary event is not derived from changes either, like a tombstone.
            "SELECT k.event, k.version, k.body,
                 k.tombstone = 1 OR EXISTS (SELECT 1 FROM event e WHERE e.id = k.event AND e.request = 0)
                 FROM keyframe k WHERE k.scope = ?1 ORDER BY k.event",
        )?;
        let keyframes = keyframes.query_map((scope,), |row| {
            Ok(Keyframe { event: row.get(0)?, version: row.get(1)?, body: row.get(2)?, tombstone: row.get(3)? })
        })?;
        Ok(Some(Rows {
            scope,
            version: row.get(2)?,
            last: row.get(3)?,
            changes: changes.collect::<Result<_, _>>()?,
            keyframes: keyframes.collect::<Result<_, _>>()?,
        }))
    }

    /// Reports changes that are only in the rows or only derived from the events.
    pub(super) fn compare(
        &self,
        found: &mut Checked,
        key: &ScopeKey,
        derived: &[ChangeRow],
        seqs: &BTreeMap<i64, (Arc<str>, Seq)>,
        removed: &[Commit],
    ) {
        let removed_events: BTreeSet<i64> = removed.iter().map(|commit| commit.event).collect();
        let stored: BTreeSet<&ChangeRow> =
            self.changes.iter().filter(|change| !removed_events.contains(&change.0)).collect();
        let derived: BTreeSet<&ChangeRow> = derived.iter().collect();
        for change in stored.symmetric_difference(&derived) {
            let at = seqs.get(&change.0);
            let what = if stored.contains(change) {
                format!("{key} has a step to version {} that its events do not say", change.1)
            } else {
                format!("{key} lacks the step to version {} that its events say", change.1)
            };
            found.add(at.map(|(id, _)| &**id), at.map(|(_, seq)| *seq), what);
        }
        let tombstone =
            self.keyframes.iter().filter(|keyframe| keyframe.tombstone).map(|keyframe| keyframe.event).max();
        let last = derived.iter().map(|change| change.0).max().max(tombstone).max(removed_events.last().copied());
        if last != Some(self.last) {
            found.add(None, None, format!("{key}: its row names event {} as its newest, not {last:?}", self.last));
        }
    }

    pub(super) fn compare_newest(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        version: u64,
        derived: &State,
    ) {
        let newest = self.changes.last().map_or(version, |change| change.1.max(version));
        if self.version != newest && self.version != version {
            found.add(None, None, format!("{key}: its row has version {}; its events come to {version}", self.version));
        }
        match states::at(connection, self.scope, i64::MAX) {
            Ok(record) if record.version == version && equal(&record.state.to_json(), &derived.to_json()) => {}
            Ok(record) => found.add(
                None,
                None,
                format!(
                    "{key}: its state is read as {} at version {}; its events come to {} at version {version}",
                    record.state.to_json(),
                    record.version,
                    derived.to_json()
                ),
            ),
            Err(error) => found.add(None, None, format!("{key}: its state cannot be read: {error}")),
        }
    }
}

impl Keyframe {
    /// Compares a keyframe with the derived state, or continues from it if it is a tombstone.
    fn check_or_restart(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        at: Option<&(Arc<str>, Seq)>,
        (version, state): (&mut u64, &mut State),
    ) -> Result<(), Error> {
        if !self.tombstone {
            if at.is_none() {
                found.add(None, None, format!("{key} has a keyframe where it has no step"));
            } else {
                self.compare(connection, found, key, at, *version, state);
            }
            return Ok(());
        }
        *version = self.version;
        match body::value(connection, &self.body)? {
            Value::Object(fields) => *state = State::from(fields),
            _ => found.add(None, None, format!("{key}: a keyframe is not an object")),
        }
        Ok(())
    }

    pub(super) fn compare(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        at: Option<&(Arc<str>, Seq)>,
        version: u64,
        derived: &State,
    ) {
        let what = match body::value(connection, &self.body) {
            Ok(state) if self.version == version && equal(&state, &derived.to_json()) => return,
            Ok(_) => format!("the keyframe of {key} at version {} is not what its events come to", self.version),
            Err(error) => format!("the keyframe of {key} at version {} cannot be read: {error}", self.version),
        };
        found.add(at.map(|(id, _)| &**id), at.map(|(_, seq)| *seq), what);
    }
}

pub(super) fn rollback_rows(connection: &Connection, scope: i64) -> Result<BTreeSet<RollbackRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT w.event, p.text, w.attempt, w.first
         FROM attempt_rollback w JOIN path p ON p.n = w.path WHERE w.scope = ?1",
    )?;
    let rows = statement.query_map((scope,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
