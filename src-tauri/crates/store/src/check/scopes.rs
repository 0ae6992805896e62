//! Scopes one by one: the steps that the events come to, applied here on their own, against the rows that
//! readers take states from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::event::{EventKind, Seq};
use engine::operation::equal;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::views::attempts::Verdict;
use rusqlite::Connection;
use serde_json::Value;

use super::Checked;
use super::scope_rows::{Change, ScopeRows, withdrawals};
use crate::read::states;
use crate::row::attempts::{Attempt, Attempts, Settled};
use crate::row::body;
use crate::row::error::Error;

/// An operation on a durable record, until a commit names it.
pub(super) struct Applied {
    pub(super) scope: ScopeKey,
    /// Whether it counts as a version; first values do not.
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
    /// What increments came to, where that is not what their events say.
    pub(super) rebased: Vec<Value>,
    /// Whether its request waits to be removed: nobody sees it, but what it did is still read from here.
    pub(super) is_removed: bool,
}

/// The shared memory of one request.
#[derive(Default)]
pub(super) struct Shared {
    scopes: Vec<(ScopeKey, Vec<Step>)>,
    attempts: Attempts,
    withdrawn: Vec<(i64, RolledBackAttempt)>,
}

struct Step {
    event: i64,
    seq: Seq,
    attempt: Option<Attempt>,
    version: u64,
    kind: EventKind,
    /// What a callback that returned made of it.
    settled: Option<&'static str>,
}

/// A row of `attempt_rollback`: event, path, attempt, first write.
pub(super) type RolledBackAttempt = (i64, Arc<str>, u32, i64);
impl Shared {
    /// Takes a write.
    pub(super) fn step(&mut self, event: i64, seq: Seq, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) {
        let (EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. }) = &kind else { return };
        let at = match self.scopes.iter().position(|(key, _)| key == scope) {
            Some(at) => at,
            None => {
                self.scopes.push((scope.clone(), Vec::new()));
                self.scopes.len() - 1
            }
        };
        let steps = &mut self.scopes[at].1;
        let version = match &kind {
            EventKind::StateChanged { version, .. } => {
                self.attempts.wrote(path, attempt, (at as i64, event));
                *version
            }
            _ => steps.last().map_or(0, |step| step.version),
        };
        let attempt = path.map(|path| (path.clone(), attempt));
        steps.push(Step { event, seq, attempt, version, kind, settled: None });
    }

    /// Takes what a callback did that has returned.
    pub(super) fn settle(&mut self, path: Option<&Arc<str>>, attempt: u32, settled: Settled<'_>) {
        if !self.attempts.has_written(path, attempt) {
            return;
        }
        for (_, steps) in &mut self.scopes {
            for (seq, operations) in settled.events() {
                if let Ok(at) = steps.binary_search_by_key(&seq, |step| step.seq)
                    && matches!(steps[at].kind, EventKind::StateChanged { .. })
                {
                    steps[at].settled.get_or_insert(operations);
                }
            }
        }
    }

    /// Takes any event, after its writes.
    pub(super) fn follow(&mut self, event: i64, path: Option<&Arc<str>>, attempt: u32, verdict: Option<Verdict>) {
        for gone in self.attempts.follow(path, attempt, verdict) {
            let (path, attempt) = gone.attempt;
            let rows = gone.writes.into_iter().map(|(scope, first)| (scope, (event, path.clone(), attempt, first)));
            self.withdrawn.extend(rows);
        }
    }
}

/// The scopes of one request.
pub(super) fn check_shared(
    connection: &Connection,
    found: &mut Checked,
    (n, id): (i64, &str),
    shared: &Shared,
) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for (at, (key, steps)) in shared.scopes.iter().enumerate() {
        known.insert((key.kind.as_str().to_owned(), key.id.to_string()));
        let derived: Vec<Change> =
            steps.iter().map(|step| (step.event, step.version, step.settled.map(str::to_owned))).collect();
        let withdrawn: BTreeSet<RolledBackAttempt> =
            shared.withdrawn.iter().filter(|(scope, _)| *scope == at as i64).map(|(_, row)| row.clone()).collect();
        let seqs: BTreeMap<i64, (Arc<str>, Seq)> =
            steps.iter().map(|step| (step.event, (Arc::from(id), step.seq))).collect();
        let Some(rows) = ScopeRows::read(connection, found, key, Some(n))? else { continue };
        rows.compare(found, key, &derived, &seqs, &[]);
        if withdrawals(connection, rows.scope)? != withdrawn {
            found.add(Some(id), None, format!("{key}: the rows of rolled-back attempts are not what its events say"));
        }
        // The state just after an event: what was withdrawn by then left out.
        let state_until = |until: i64| {
            let gone: BTreeSet<(&Arc<str>, u32)> =
                withdrawn.iter().filter(|row| row.0 <= until).map(|row| (&row.1, row.2)).collect();
            let mut state = State::default();
            let mut version = 0;
            for step in steps.iter().take_while(|step| step.event <= until) {
                let is_gone = step.settled.is_none()
                    && matches!(step.kind, EventKind::StateChanged { .. })
                    && step.attempt.as_ref().is_some_and(|(path, attempt)| gone.contains(&(path, *attempt)));
                if !is_gone {
                    if step.settled != Some(Settled::SUPERSEDED) {
                        apply(&mut state, &step.kind);
                    }
                    version = step.version;
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

/// The records that outlive requests.
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
        if let Err(error) = result {
            found.add(None, None, format!("{key} cannot be read to the end: {error}"));
        }
    }
    Ok(())
}

fn durable(connection: &Connection, found: &mut Checked, key: &ScopeKey, commits: &[Commit]) -> Result<(), Error> {
    let derived: Vec<Change> = commits
        .iter()
        .map(|commit| (commit.event, commit.version, Some(states::write_operations(commit.seq, &commit.operations))))
        .collect();
    let Some(rows) = ScopeRows::read(connection, found, key, None)? else { return Ok(()) };
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
            keyframe.follow(connection, found, key, None, (&mut version, &mut state))?;
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
            // What is missing or no operation is told where its request is looked at.
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
            keyframe.follow(connection, found, key, seqs.get(&commit.event), (&mut version, &mut state))?;
        }
    }
    for keyframe in keyframes {
        keyframe.follow(connection, found, key, None, (&mut version, &mut state))?;
    }
    rows.compare_newest(connection, found, key, version, &state);
    Ok(())
}

/// The steps of requests that wait to be removed, as the rows have them.
fn removed(connection: &Connection, scope: i64) -> Result<Vec<Commit>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT c.event, c.version, c.operations, e.request, e.seq FROM change c CROSS JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND EXISTS (SELECT 1 FROM removal)
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

/// What a write says of itself, or its commit for it, that is not what came into force.
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
        // An event that says nothing of its sum says nothing wrong.
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

fn apply(state: &mut State, kind: &EventKind) {
    match kind {
        EventKind::StateChanged { operation, .. } => drop(operation.apply(state)),
        EventKind::StateInitialized { state: Value::Object(fields), .. } => state.fill_in(fields),
        _ => {}
    }
}
