//! Which writes to shared memory count, given that attempts can be rolled back.
//!
//! Shared memory is the state of the scopes of one request: request, sequencers, blocks. Its writes take effect
//! immediately. When their attempt is rolled back, they do not count from that event on; a state as of an
//! earlier event still has them, because the request saw them then. Writes of a returned callback survive the rollback.
//! Only [`verdict`](engine::views::attempts::verdict), a pure function of an event, decides what an event means for
//! attempts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::error::FlowError;
use engine::event::{EventKind, Outcome, Seq};
use engine::views::attempts::{Verdict, end};
use serde::Deserialize;

use crate::row::body;
use crate::row::error::Error;

/// One execution of a block: its path, and its number.
pub(crate) type Attempt = (Arc<str>, u32);

/// The first write of an attempt to a scope: the scope's row number (or its index, in a check), and the id of the
/// event.
pub(crate) type FirstWrite = (i64, i64);

/// An attempt whose writes do not count, with its first write to each scope.
#[derive(Debug, PartialEq)]
pub(crate) struct RolledBackAttempt {
    pub(crate) attempt: Attempt,
    pub(crate) writes: Vec<FirstWrite>,
}

/// The attempts of a request that had not ended as of an event, cached for views that read several scopes.
#[derive(Clone, Debug)]
pub(crate) struct UnfinishedAttempts {
    pub(crate) request: Arc<str>,
    pub(crate) as_of: i64,
    pub(crate) attempts: Arc<Vec<RolledBackAttempt>>,
}

/// The attempts of one request, with their first writes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Attempts {
    /// Attempts that have begun and not ended.
    open: HashMap<Attempt, Vec<FirstWrite>>,
    /// Failed attempts, which a resume may run again, except those known to have written nothing. `None` if the writes
    /// have not been looked up.
    failed: HashMap<Attempt, Option<Vec<FirstWrite>>>,
}

impl Attempts {
    /// Applies the verdict of the next event to the attempts of its request. Returns the attempts that it rolls back.
    pub(crate) fn apply_verdict(
        &mut self,
        path: Option<&Arc<str>>,
        attempt: u32,
        verdict: Option<Verdict>,
    ) -> Vec<RolledBackAttempt> {
        let key = path.map(|path| (path.clone(), attempt));
        match (verdict, key) {
            (Some(Verdict::AllRolledBack), _) => self.take_unfinished(),
            (Some(Verdict::Begins), Some(key)) => {
                self.open.entry(key).or_default();
                Vec::new()
            }
            (Some(verdict @ (Verdict::Replaces | Verdict::GoesOn)), Some(key)) => {
                let failed = replaced(&key, verdict);
                let writes = failed.as_ref().and_then(|failed| self.failed.remove(failed)).flatten();
                self.open.entry(key).or_default();
                failed.zip(writes).map(|(attempt, writes)| RolledBackAttempt { attempt, writes }).into_iter().collect()
            }
            (Some(Verdict::RolledBack), Some(key)) => {
                let writes = self.open.remove(&key).unwrap_or_default();
                vec![RolledBackAttempt { attempt: key, writes }]
            }
            (Some(Verdict::Failed), Some(key)) => {
                let writes = self.open.remove(&key).filter(|writes| !writes.is_empty());
                self.failed.extend(writes.map(|writes| (key, Some(writes))));
                Vec::new()
            }
            (Some(Verdict::Counts), Some(key)) => {
                self.open.remove(&key);
                Vec::new()
            }
            (None, _) | (_, None) => Vec::new(),
        }
    }

    /// Adds a failed attempt whose writes have not been looked up.
    pub(crate) fn add_failed(&mut self, attempt: Attempt) {
        self.failed.insert(attempt, None);
    }

    /// Sets the first writes of a failed attempt, if they have not been looked up.
    pub(crate) fn look_up_failed(
        &mut self,
        attempt: &Attempt,
        look_up: impl FnOnce() -> Result<Vec<FirstWrite>, Error>,
    ) -> Result<(), Error> {
        if let Some(writes @ None) = self.failed.get_mut(attempt) {
            *writes = Some(look_up()?);
        }
        Ok(())
    }

    /// The attempts that have begun and not ended, with their first writes.
    #[cfg(debug_assertions)]
    pub(crate) fn open(&self) -> &HashMap<Attempt, Vec<FirstWrite>> {
        &self.open
    }

    /// Removes and returns the attempts that have not ended.
    pub(crate) fn take_unfinished(&mut self) -> Vec<RolledBackAttempt> {
        self.open.drain().map(|(attempt, writes)| RolledBackAttempt { attempt, writes }).collect()
    }

    /// Whether an attempt that has not ended wrote anything.
    pub(crate) fn has_written(&self, path: Option<&Arc<str>>, attempt: u32) -> bool {
        path.and_then(|path| self.open.get(&(path.clone(), attempt))).is_some_and(|writes| !writes.is_empty())
    }

    /// Records a write of an attempt to a scope, if the attempt has not ended and it is the first to that scope.
    pub(crate) fn add_write(&mut self, path: Option<&Arc<str>>, attempt: u32, write: FirstWrite) {
        let Some(path) = path else { return };
        if let Some(writes) = self.open.get_mut(&(path.clone(), attempt))
            && writes.iter().all(|(scope, _)| *scope != write.0)
        {
            writes.push(write);
        }
    }

    /// Reads the attempts that have not ended from a request's events up to the id `until`.
    pub(crate) fn load(connection: &Connection, request: i64, until: i64) -> Result<Attempts, Error> {
        let mut attempts = Attempts::default();
        let mut ends = connection.prepare_cached(
            "SELECT e.kind, e.path, e.attempt, e.body, e.id FROM event e WHERE e.request = ?1 AND e.id <= ?2
             AND e.kind IN ('block_started', 'block_resumed', 'block_finished', 'request_resumed', 'request_finished')
             ORDER BY e.seq",
        )?;
        // Stores path numbers, and reads the paths later only for open attempts, which are few.
        let mut open: HashSet<(i64, u32)> = HashSet::new();
        // The event with which each attempt was last resumed.
        let mut went_on: HashMap<(i64, u32), i64> = HashMap::new();
        let mut rows = ends.query((request, until))?;
        while let Some(row) = rows.next()? {
            let (path, attempt): (Option<i64>, u32) = (row.get(1)?, row.get(2)?);
            let verdict = stored_verdict(connection, row.get_ref(0)?.as_str()?, row.get_ref(3)?.as_str()?)?;
            match (verdict, path) {
                (Verdict::AllRolledBack, _) => open.clear(),
                (Verdict::Begins | Verdict::Replaces, Some(path)) => drop(open.insert((path, attempt))),
                (Verdict::GoesOn, Some(path)) => {
                    open.insert((path, attempt));
                    went_on.insert((path, attempt), row.get(4)?);
                }
                (Verdict::Counts | Verdict::Failed | Verdict::RolledBack, Some(path)) => {
                    open.remove(&(path, attempt));
                }
                (_, None) => {}
            }
        }
        let mut text = connection.prepare_cached("SELECT text FROM path WHERE n = ?1")?;
        let mut since: HashMap<Attempt, i64> = HashMap::new();
        for (number, attempt) in open {
            let path: Arc<str> = text.query_row((number,), |row| row.get(0))?;
            attempts.apply_verdict(Some(&path), attempt, Some(Verdict::Begins));
            since.extend(went_on.get(&(number, attempt)).map(|event| ((path, attempt), *event)));
        }
        let mut writes = connection.prepare_cached(
            "SELECT p.text, e.attempt, c.scope, min(c.event)
             FROM scope s JOIN change c ON c.scope = s.n JOIN event e ON e.id = c.event JOIN path p ON p.n = e.path
             WHERE s.request = ?1 AND e.kind = 'state_changed' AND e.id BETWEEN ?3 AND ?2
             GROUP BY c.scope, e.path, p.text, e.attempt",
        )?;
        // Writes of an attempt from before its last resume were rolled back by it.
        let starts: BTreeSet<i64> = since.values().copied().chain([0]).collect();
        for start in starts {
            let mut rows = writes.query((request, until, start))?;
            while let Some(row) = rows.next()? {
                let key: Attempt = (row.get(0)?, row.get(1)?);
                if since.get(&key).copied().unwrap_or(0) == start {
                    attempts.add_write(Some(&key.0), key.1, (row.get(2)?, row.get(3)?));
                }
            }
        }
        Ok(attempts)
    }
}

/// The failed attempt that a block replaces or continues when it begins.
pub(crate) fn replaced((path, attempt): &Attempt, verdict: Verdict) -> Option<Attempt> {
    match verdict {
        Verdict::GoesOn => Some((path.clone(), *attempt)),
        Verdict::Replaces => Some((path.clone(), attempt.checked_sub(1)?)),
        _ => None,
    }
}

/// Whether any attempt of a request wrote to shared memory.
pub(crate) fn has_shared_writes(connection: &Connection, request: i64) -> Result<bool, Error> {
    let mut find = connection
        .prepare_cached("SELECT 1 FROM scope s JOIN change c ON c.scope = s.n WHERE s.request = ?1 LIMIT 1")?;
    Ok(find.exists((request,))?)
}

/// [`verdict`](engine::views::attempts::verdict), from a stored body.
fn stored_verdict(connection: &Connection, kind: &str, text: &str) -> Result<Verdict, Error> {
    #[derive(Deserialize)]
    struct Ended {
        outcome: Outcome,
        #[serde(default)]
        error: Option<FlowError>,
    }
    Ok(match kind {
        "block_started" => Verdict::Begins,
        "block_resumed" => Verdict::GoesOn,
        // Nearly all ends begin like this and need not be parsed.
        "block_finished" if text.starts_with("{\"outcome\":\"completed\"") => Verdict::Counts,
        "block_finished" => {
            let ended = body::fields::<Ended>(connection, text)?;
            end(ended.outcome, ended.error.as_ref())
        }
        _ => Verdict::AllRolledBack,
    })
}

/// The events of a callback that has returned, by `seq`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReturnedWrites<'a> {
    /// Events of its last call. Their writes count even if the attempt is rolled back.
    pub(crate) kept: &'a [Seq],
    /// Events of earlier calls. Their writes do not count.
    pub(crate) superseded: &'a [Seq],
}

impl ReturnedWrites<'_> {
    /// `change.operations` of a kept write: its own event. Not NULL, so a rollback does not apply to it.
    pub(crate) const KEPT: &'static str = "0";
    /// `change.operations` of a superseded write: no event.
    pub(crate) const SUPERSEDED: &'static str = "";

    /// The events of its writes, with their new `change.operations`.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (Seq, &'static str)> {
        let superseded = self.superseded.iter().map(|seq| (*seq, Self::SUPERSEDED));
        self.kept.iter().map(|seq| (*seq, Self::KEPT)).chain(superseded)
    }
}

/// Marks the changes of a returned callback as kept or superseded. Deletes keyframes that contain superseded
/// writes. Returns the scopes that had superseded writes.
pub(crate) fn record_returned_writes(
    connection: &Connection,
    request: i64,
    writes: ReturnedWrites<'_>,
) -> Result<Vec<i64>, Error> {
    #[derive(Deserialize)]
    struct Changed {
        scope: engine::scope::ScopeKey,
    }
    let mut find = connection
        .prepare_cached("SELECT id, body FROM event WHERE request = ?1 AND seq = ?2 AND kind = 'state_changed'")?;
    let mut shrunk = Vec::new();
    for (seq, operations) in writes.operations() {
        let written: Option<(i64, String)> =
            find.query_row((request, seq), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((event, text)) = written else { continue };
        let scope = body::fields::<Changed>(connection, &text)?.scope;
        let n: Option<i64> = connection
            .prepare_cached("SELECT n FROM scope WHERE kind = ?1 AND id = ?2")?
            .query_row((scope.kind.as_str(), &*scope.id), |row| row.get(0))
            .optional()?;
        let Some(n) = n else { continue };
        connection
            .prepare_cached("UPDATE change SET operations = ?3 WHERE scope = ?1 AND event = ?2 AND operations IS NULL")?
            .execute((n, event, operations))?;
        if operations == ReturnedWrites::SUPERSEDED {
            connection
                .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event >= ?2 AND tombstone = 0")?
                .execute((n, event))?;
            shrunk.push(n);
        }
    }
    Ok(shrunk)
}

/// Computes the rolled-back attempts of all requests again, for a migration: earlier formats used another rule.
pub(crate) fn rebuild_rollbacks(connection: &Connection) -> Result<(), Error> {
    connection.execute("DELETE FROM attempt_rollback", ())?;
    let mut requests = connection.prepare("SELECT DISTINCT request FROM scope WHERE request IS NOT NULL")?;
    let requests: Vec<i64> = requests.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut events = connection.prepare(
        "SELECT e.id, e.kind, p.text, e.attempt, e.body FROM event e LEFT JOIN path p ON p.n = e.path
         WHERE e.request = ?1 AND e.kind IN ('block_started', 'block_resumed', 'block_finished', 'request_resumed',
             'request_finished', 'callback_returned', 'state_changed') ORDER BY e.seq",
    )?;
    let mut scope_of = connection
        .prepare("SELECT scope FROM change WHERE event = ?2 AND scope IN (SELECT n FROM scope WHERE request = ?1)")?;
    for request in requests {
        let mut attempts = Attempts::default();
        let mut rolled_back = Vec::new();
        let mut rows = events.query((request,))?;
        while let Some(row) = rows.next()? {
            let (event, kind): (i64, String) = (row.get(0)?, row.get(1)?);
            let (path, attempt): (Option<Arc<str>>, u32) = (row.get(2)?, row.get(3)?);
            match kind.as_str() {
                "state_changed" => {
                    let scope: Option<i64> = scope_of.query_row((request, event), |row| row.get(0)).optional()?;
                    if let Some(scope) = scope {
                        attempts.add_write(path.as_ref(), attempt, (scope, event));
                    }
                }
                "callback_returned" => {
                    let returned: EventKind = body::event(connection, &kind, &row.get::<_, String>(4)?)?;
                    if attempts.has_written(path.as_ref(), attempt) {
                        record_returned_writes(connection, request, returned_writes(&returned))?;
                    }
                }
                _ => {
                    let verdict = stored_verdict(connection, &kind, &row.get::<_, String>(4)?)?;
                    let ended = attempts.apply_verdict(path.as_ref(), attempt, Some(verdict));
                    rolled_back.extend(ended.into_iter().map(|ended| (event, ended)));
                }
            }
        }
        for (event, ended) in rolled_back {
            let (path, attempt) = ended.attempt;
            for (scope, first) in ended.writes {
                connection
                    .prepare_cached(
                        "INSERT INTO attempt_rollback (scope, event, path, attempt, first)
                         SELECT ?1, ?2, n, ?4, ?5 FROM path WHERE text = ?3",
                    )?
                    .execute((scope, event, &*path, attempt, first))?;
                // The old rule may have rolled it back later, so a keyframe may contain it.
                connection
                    .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event >= ?2 AND tombstone = 0")?
                    .execute((scope, first))?;
            }
        }
    }
    Ok(())
}

/// The events that a `callback_returned` event lists; none for other kinds.
pub(crate) fn returned_writes(kind: &EventKind) -> ReturnedWrites<'_> {
    match kind {
        EventKind::CallbackReturned { events, superseded, .. } => ReturnedWrites { kept: events, superseded },
        _ => ReturnedWrites::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<Arc<str>> {
        Some(name.into())
    }

    #[test]
    fn a_rollback_returns_the_first_write_to_each_scope() {
        let (mut attempts, block) = (Attempts::default(), path("root"));
        attempts.apply_verdict(block.as_ref(), 0, Some(Verdict::Begins));
        for event in [3, 4] {
            attempts.add_write(block.as_ref(), 0, (7, event));
        }
        let rolled_back = attempts.apply_verdict(block.as_ref(), 0, Some(Verdict::RolledBack));
        assert_eq!(rolled_back, [RolledBackAttempt { attempt: ("root".into(), 0), writes: vec![(7, 3)] }]);
    }

    #[test]
    fn a_resume_rolls_back_unfinished_attempts() {
        let mut attempts = Attempts::default();
        for (name, verdict) in [("done", Some(Verdict::Counts)), ("waits", Some(Verdict::RolledBack)), ("cut", None)] {
            let block = path(name);
            attempts.apply_verdict(block.as_ref(), 0, Some(Verdict::Begins));
            let ended = attempts.apply_verdict(block.as_ref(), 0, verdict);
            assert_eq!(ended.len(), usize::from(name == "waits"));
        }
        let ended = attempts.apply_verdict(None, 0, Some(Verdict::AllRolledBack));
        assert_eq!(ended.iter().map(|ended| &*ended.attempt.0).collect::<Vec<_>>(), ["cut"]);
        assert!(attempts.apply_verdict(None, 0, Some(Verdict::AllRolledBack)).is_empty());
    }
}
