//! Which writes to shared memory count: the rule of attempts that come to nothing.
//!
//! Request, sequencer and block state is in force as it is written. When the attempt that wrote it ends
//! without effect, its writes are rolled back from there on; an instant before that still shows them,
//! because the request saw them then. What a callback wrote that has returned stays. What an event means
//! is [`verdict`](engine::views::attempts::verdict), a pure function of it; nothing else may decide it.

use std::collections::HashMap;
use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{EventKind, Outcome, Seq};
use engine::views::attempts::{Verdict, end};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

use crate::row::body;
use crate::row::error::Error;

/// One execution of one path.
pub(crate) type Attempt = (Arc<str>, u32);

/// Where an attempt first wrote to a scope: the scope, and the global id of the event.
pub(crate) type FirstWrite = (i64, i64);

/// An attempt that is without effect, and what it wrote.
#[derive(Debug, PartialEq)]
pub(crate) struct RolledBackAttempt {
    pub(crate) attempt: Attempt,
    pub(crate) writes: Vec<FirstWrite>,
}

/// The attempts of a request that had not ended at an instant.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) request: Arc<str>,
    pub(crate) instant: i64,
    pub(crate) attempts: Arc<Vec<RolledBackAttempt>>,
}

/// The attempts of one request that may still come to nothing.
#[derive(Debug, Default)]
pub(crate) struct Attempts(HashMap<Attempt, Vec<FirstWrite>>);

impl Attempts {
    /// Takes what the next event means for the attempts of its request. Answers those that it leaves without
    /// effect, and what they wrote.
    pub(crate) fn follow(
        &mut self,
        path: Option<&Arc<str>>,
        attempt: u32,
        verdict: Option<Verdict>,
    ) -> Vec<RolledBackAttempt> {
        let key = path.map(|path| (path.clone(), attempt));
        match (verdict, key) {
            (Some(Verdict::AllRolledBack), _) => self.open(),
            (Some(Verdict::Begins), Some(key)) => {
                self.0.entry(key).or_default();
                Vec::new()
            }
            (Some(Verdict::RolledBack), Some(key)) => {
                let writes = self.0.remove(&key).unwrap_or_default();
                vec![RolledBackAttempt { attempt: key, writes }]
            }
            (Some(Verdict::Counts), Some(key)) => {
                self.0.remove(&key);
                Vec::new()
            }
            (None, _) | (_, None) => Vec::new(),
        }
    }

    /// Takes the attempts that have not ended, and what they wrote.
    pub(crate) fn open(&mut self) -> Vec<RolledBackAttempt> {
        self.0.drain().map(|(attempt, writes)| RolledBackAttempt { attempt, writes }).collect()
    }

    /// Whether an attempt that has not ended wrote anything.
    pub(crate) fn has_written(&self, path: Option<&Arc<str>>, attempt: u32) -> bool {
        path.and_then(|path| self.0.get(&(path.clone(), attempt))).is_some_and(|writes| !writes.is_empty())
    }

    /// Notes that an attempt wrote to a scope, if it may still come to nothing.
    pub(crate) fn wrote(&mut self, path: Option<&Arc<str>>, attempt: u32, write: FirstWrite) {
        let Some(path) = path else { return };
        if let Some(writes) = self.0.get_mut(&(path.clone(), attempt))
            && writes.iter().all(|(scope, _)| *scope != write.0)
        {
            writes.push(write);
        }
    }

    /// Reads what a request's events up to one of them come to.
    pub(crate) fn load(connection: &Connection, request: i64, until: i64) -> Result<Attempts, Error> {
        let mut attempts = Attempts::default();
        let mut ends = connection.prepare_cached(
            "SELECT e.kind, p.text, e.attempt, e.body FROM event e LEFT JOIN path p ON p.n = e.path
             WHERE e.request = ?1 AND e.id <= ?2
             AND e.kind IN ('block_started', 'block_finished', 'request_resumed', 'request_finished') ORDER BY e.seq",
        )?;
        let mut rows = ends.query((request, until))?;
        while let Some(row) = rows.next()? {
            let path: Option<Arc<str>> = row.get(1)?;
            let verdict = read_verdict(connection, row.get_ref(0)?.as_str()?, row.get_ref(3)?.as_str()?)?;
            attempts.follow(path.as_ref(), row.get(2)?, Some(verdict));
        }
        let mut writes = connection.prepare_cached(
            "SELECT p.text, e.attempt, c.scope, min(c.event)
             FROM scope s JOIN change c ON c.scope = s.n JOIN event e ON e.id = c.event JOIN path p ON p.n = e.path
             WHERE s.request = ?1 AND e.kind = 'state_changed' AND e.id <= ?2 GROUP BY c.scope, e.path, e.attempt",
        )?;
        let mut rows = writes.query((request, until))?;
        while let Some(row) = rows.next()? {
            let path: Arc<str> = row.get(0)?;
            attempts.wrote(Some(&path), row.get(1)?, (row.get(2)?, row.get(3)?));
        }
        Ok(attempts)
    }
}

/// As [`verdict`], of a line.
fn read_verdict(connection: &Connection, kind: &str, text: &str) -> Result<Verdict, Error> {
    #[derive(Deserialize)]
    struct Ended {
        outcome: Outcome,
        #[serde(default)]
        error: Option<FlowError>,
    }
    Ok(match kind {
        "block_started" => Verdict::Begins,
        "block_finished" => {
            let ended = body::fields::<Ended>(connection, text)?;
            end(ended.outcome, ended.error.as_ref())
        }
        _ => Verdict::AllRolledBack,
    })
}

/// What a callback did that has returned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled<'a> {
    /// What it did in its last call: that stays, whatever becomes of the attempt it belongs to.
    pub(crate) stays: &'a [Seq],
    /// What it did in calls before, which are without effect.
    pub(crate) superseded: &'a [Seq],
}

impl Settled<'_> {
    /// What a step says that names its own event, as a commit would: it stays.
    pub(crate) const STAYS: &'static str = "0";
    /// What a step says that names no event.
    pub(crate) const SUPERSEDED: &'static str = "";

    /// What each of its steps says from here on.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Seq, &'static str)> {
        let superseded = self.superseded.iter().map(|seq| (*seq, Self::SUPERSEDED));
        self.stays.iter().map(|seq| (*seq, Self::STAYS)).chain(superseded)
    }
}

/// Writes what a callback settled. Answers the scopes that hold less than before.
pub(crate) fn settle(connection: &Connection, request: i64, settled: Settled<'_>) -> Result<Vec<i64>, Error> {
    #[derive(Deserialize)]
    struct Changed {
        scope: engine::scope::ScopeKey,
    }
    let mut find = connection
        .prepare_cached("SELECT id, body FROM event WHERE request = ?1 AND seq = ?2 AND kind = 'state_changed'")?;
    let mut less = Vec::new();
    for (seq, operations) in settled.events() {
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
        if operations == Settled::SUPERSEDED {
            connection
                .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event >= ?2 AND NOT tombstone")?
                .execute((n, event))?;
            less.push(n);
        }
    }
    Ok(less)
}

/// Writes what is rolled back anew for every request: earlier formats had it by another rule.
pub(crate) fn rebuild(connection: &Connection) -> Result<(), Error> {
    connection.execute("DELETE FROM attempt_rollback", ())?;
    let mut requests = connection.prepare("SELECT DISTINCT request FROM scope WHERE request IS NOT NULL")?;
    let requests: Vec<i64> = requests.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut events = connection.prepare(
        "SELECT e.id, e.kind, p.text, e.attempt, e.body FROM event e LEFT JOIN path p ON p.n = e.path
         WHERE e.request = ?1 AND e.kind IN ('block_started', 'block_finished', 'request_resumed', 'request_finished',
             'callback_returned', 'state_changed') ORDER BY e.seq",
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
                        attempts.wrote(path.as_ref(), attempt, (scope, event));
                    }
                }
                "callback_returned" => {
                    let returned: EventKind = body::event(connection, &kind, &row.get::<_, String>(4)?)?;
                    if attempts.has_written(path.as_ref(), attempt) {
                        settle(connection, request, settled(&returned))?;
                    }
                }
                _ => {
                    let verdict = read_verdict(connection, &kind, &row.get::<_, String>(4)?)?;
                    let gone = attempts.follow(path.as_ref(), attempt, Some(verdict));
                    rolled_back.extend(gone.into_iter().map(|gone| (event, gone)));
                }
            }
        }
        for (event, gone) in rolled_back {
            let (path, attempt) = gone.attempt;
            for (scope, first) in gone.writes {
                connection
                    .prepare_cached(
                        "INSERT INTO attempt_rollback (scope, event, path, attempt, first)
                         SELECT ?1, ?2, n, ?4, ?5 FROM path WHERE text = ?3",
                    )?
                    .execute((scope, event, &*path, attempt, first))?;
                // What was rolled back later by the old rule may be in a keyframe.
                connection
                    .prepare_cached("DELETE FROM keyframe WHERE scope = ?1 AND event >= ?2 AND NOT tombstone")?
                    .execute((scope, first))?;
            }
        }
    }
    Ok(())
}

/// What an event settles of what its attempt wrote.
pub(crate) fn settled(kind: &EventKind) -> Settled<'_> {
    match kind {
        EventKind::CallbackReturned { events, superseded, .. } => Settled { stays: events, superseded },
        _ => Settled::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<Arc<str>> {
        Some(name.into())
    }

    #[test]
    fn an_attempt_without_effect_is_rolled_back_with_its_first_writes() {
        let (mut attempts, block) = (Attempts::default(), path("root"));
        attempts.follow(block.as_ref(), 0, Some(Verdict::Begins));
        for event in [3, 4] {
            attempts.wrote(block.as_ref(), 0, (7, event));
        }
        let withdrawn = attempts.follow(block.as_ref(), 0, Some(Verdict::RolledBack));
        assert_eq!(withdrawn, [RolledBackAttempt { attempt: ("root".into(), 0), writes: vec![(7, 3)] }]);
    }

    #[test]
    fn a_resume_rolls_back_what_did_not_end() {
        let mut attempts = Attempts::default();
        for (name, verdict) in [("done", Some(Verdict::Counts)), ("waits", Some(Verdict::RolledBack)), ("cut", None)] {
            let block = path(name);
            attempts.follow(block.as_ref(), 0, Some(Verdict::Begins));
            let gone = attempts.follow(block.as_ref(), 0, verdict);
            assert_eq!(gone.len(), usize::from(name == "waits"));
        }
        let gone = attempts.follow(None, 0, Some(Verdict::AllRolledBack));
        assert_eq!(gone.iter().map(|gone| &*gone.attempt.0).collect::<Vec<_>>(), ["cut"]);
        assert!(attempts.follow(None, 0, Some(Verdict::AllRolledBack)).is_empty());
    }
}
