//! The writer's side of state: steps, and when a keyframe is worth its bytes.
//!
//! A step costs what changed, never what the state weighs. A keyframe is taken when reading the
//! steps since the last one costs as much as reading the state itself: so storage stays
//! proportional to what changed, and an instant never costs more than about two such readings.

use engine::log::Record;
use engine::scope::ScopeKey;
use rusqlite::{Connection, OptionalExtension};

use crate::read::states;
use crate::row::error::Error;
use crate::row::{body, measure, payload};

/// What finding and applying one step costs, in bytes of a keyframe read in the same time.
const STEP_COST: u64 = 512;
/// No keyframe pays off before this much; some sixty small steps.
const MIN_KEYFRAME_BYTES: u64 = 32 << 10;

/// A scope's way from one version to the next.
#[derive(Debug)]
pub(crate) struct Step {
    /// The global id of the event that puts it in force.
    pub(crate) event: i64,
    pub(crate) version: u64,
    /// What its operations weigh.
    pub(crate) bytes: usize,
    /// The events that hold it, as [`states::write_operations`] has them; `None` for `event` itself.
    pub(crate) operations: Option<String>,
}

/// A scope as the writer knows it.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) n: i64,
    pub(crate) version: u64,
    /// What the steps since the last keyframe cost to read.
    weight: u64,
    /// How long the state was at the last keyframe.
    keyframe_bytes: u64,
    /// The newest step, while the scope's row lags behind it.
    dirty: Option<i64>,
    /// Whether it lives in one request, and its steps alone tell how far it has come.
    is_shared: bool,
}

impl Scope {
    /// A scope that has state already.
    pub(crate) fn find(connection: &Connection, key: &ScopeKey) -> Result<Option<Scope>, Error> {
        let row: Option<(i64, u64, bool)> = connection
            .prepare_cached(
                "SELECT n, CASE WHEN request IS NULL THEN version ELSE coalesce(
                     (SELECT version FROM change WHERE scope = n ORDER BY event DESC LIMIT 1), 0) END,
                 request IS NOT NULL FROM scope WHERE kind = ?1 AND id = ?2",
            )?
            .query_row((key.kind.as_str(), &*key.id), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((n, version, is_shared)) = row else {
            return Ok(None);
        };
        let mut scope = Scope { n, version, weight: 0, keyframe_bytes: 0, dirty: None, is_shared };
        scope.weigh(connection)?;
        Ok(Some(scope))
    }

    /// A scope that begins now, in `request` if it lives in one.
    pub(crate) fn create(connection: &Connection, key: &ScopeKey, request: Option<i64>) -> Result<Scope, Error> {
        connection
            .prepare_cached(
                "INSERT INTO scope (n, kind, id, request, version, last)
                 VALUES (max(coalesce((SELECT max(n) FROM scope), 0),
                     coalesce((SELECT max(n) FROM removal WHERE kind = 'scope'), 0)) + 1, ?1, ?2, ?3, 0, 0)",
            )?
            .execute((key.kind.as_str(), &*key.id, request))?;
        let (n, is_shared) = (connection.last_insert_rowid(), request.is_some());
        Ok(Scope { n, version: 0, weight: 0, keyframe_bytes: 0, dirty: None, is_shared })
    }

    /// Writes a step. Answers how many bytes of JSON a keyframe kept besides.
    pub(crate) fn step(&mut self, connection: &Connection, step: &Step) -> Result<usize, Error> {
        connection
            .prepare_cached(
                "INSERT INTO change (scope, event, version, bytes, operations) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((self.n, step.event, step.version, step.bytes, &step.operations))?;
        self.version = step.version;
        self.dirty = (!self.is_shared).then_some(step.event);
        self.weight += step.bytes as u64 + STEP_COST;
        if self.weight >= self.keyframe_bytes.max(MIN_KEYFRAME_BYTES) {
            return self.take_keyframe(connection, step.event);
        }
        Ok(0)
    }

    /// Puts a record in force from a mark on, whatever the steps before it come to. Answers as [`Scope::step`].
    pub(crate) fn carry(&mut self, connection: &Connection, mark: i64, record: &Record) -> Result<usize, Error> {
        self.version = record.version;
        let kept = self.write_keyframe(connection, mark, record)?;
        self.dirty = Some(mark);
        Ok(kept)
    }

    /// Brings the scope's row up to date. Answers whether it was not.
    pub(crate) fn save(&mut self, connection: &Connection) -> Result<bool, Error> {
        let Some(last) = self.dirty.take() else { return Ok(false) };
        connection.prepare_cached("UPDATE scope SET version = ?2, last = ?3 WHERE n = ?1")?.execute((
            self.n,
            self.version,
            last,
        ))?;
        Ok(true)
    }

    fn take_keyframe(&mut self, connection: &Connection, event: i64) -> Result<usize, Error> {
        self.write_keyframe(connection, event, &states::at(connection, self.n, event)?)
    }

    fn write_keyframe(&mut self, connection: &Connection, event: i64, record: &Record) -> Result<usize, Error> {
        let state = record.state.to_json();
        self.keyframe_bytes = measure::json_bytes(&state) as u64;
        self.weight = 0;
        let body = body::of_state(state)?;
        let mut kept = 0;
        for payload in &body.payloads {
            kept += payload::keep(connection, payload)?;
        }
        connection
            .prepare_cached("INSERT INTO keyframe (scope, event, version, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((self.n, event, record.version, self.keyframe_bytes, body.text))?;
        Ok(kept)
    }

    /// Reads again what the next keyframe is measured from: after a start, and after writes stopped
    /// counting, when the newest keyframe may hold them.
    pub(crate) fn weigh(&mut self, connection: &Connection) -> Result<(), Error> {
        let keyframe = states::usable_keyframe(connection, self.n, i64::MAX)?;
        self.keyframe_bytes = match keyframe {
            None => 0,
            Some(event) => connection
                .prepare_cached("SELECT bytes FROM keyframe WHERE scope = ?1 AND event = ?2")?
                .query_row((self.n, event), |row| row.get(0))?,
        };
        self.weight = connection
            .prepare_cached("SELECT coalesce(sum(bytes + ?3), 0) FROM change WHERE scope = ?1 AND event > ?2")?
            .query_row((self.n, keyframe.unwrap_or(0), STEP_COST), |row| row.get(0))?;
        Ok(())
    }
}
