//! Writes changes of scopes, and decides when to write a keyframe.
//!
//! A change is stored as its operations, so its cost does not depend on the size of the state. A keyframe is written
//! when reading the changes since the last one costs as much as reading the state itself. So storage is proportional
//! to what changed, and reading a state costs at most about twice its size.

use crate::sql::{Connection, OptionalExtension};
use engine::log::Record;
use engine::scope::ScopeKey;

use crate::read::states;
use crate::row::error::Error;
use crate::row::{body, measure, payload};

/// The cost of finding and applying one change, as the number of keyframe bytes that are read in the same time.
const CHANGE_COST: u64 = 512;
/// The smallest read cost for which a keyframe is written; some sixty small changes.
const MIN_KEYFRAME_BYTES: u64 = 32 << 10;

/// A row of `change`.
#[derive(Debug)]
pub(crate) struct Change {
    /// The global id of the event that makes it effective.
    pub(crate) event: i64,
    pub(crate) version: u64,
    /// The length of its operations' values as JSON.
    pub(crate) bytes: usize,
    /// The events that hold its operations, as written by [`states::write_operations`]; `None` for `event` itself.
    pub(crate) operations: Option<String>,
}

/// A scope in the writer's cache.
#[derive(Debug)]
pub(crate) struct CachedScope {
    pub(crate) n: i64,
    pub(crate) version: u64,
    /// The cost of reading the changes since the last usable keyframe, in bytes.
    read_cost: u64,
    /// The length of the state at that keyframe, as JSON; 0 if there is none.
    keyframe_bytes: u64,
    /// The event of the newest change, if the scope's row does not have it yet.
    unsaved: Option<i64>,
    /// Whether it belongs to one request. Then its row is not updated; readers take its version from `change`.
    is_request_scoped: bool,
}

impl CachedScope {
    /// Reads a scope that has state already.
    pub(crate) fn find(connection: &Connection, key: &ScopeKey) -> Result<Option<CachedScope>, Error> {
        let row: Option<(i64, u64, bool)> = connection
            .prepare_cached(
                "SELECT n, CASE WHEN request IS NULL THEN version ELSE coalesce(
                     (SELECT version FROM change WHERE scope = n ORDER BY event DESC LIMIT 1), 0) END,
                 request IS NOT NULL FROM scope WHERE kind = ?1 AND id = ?2",
            )?
            .query_row((key.kind.as_str(), &*key.id), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((n, version, is_request_scoped)) = row else {
            return Ok(None);
        };
        let mut scope = CachedScope { n, version, read_cost: 0, keyframe_bytes: 0, unsaved: None, is_request_scoped };
        scope.recompute_read_cost(connection)?;
        Ok(Some(scope))
    }

    /// Inserts the row of a new scope, which belongs to `request` if that is given.
    pub(crate) fn insert(connection: &Connection, key: &ScopeKey, request: Option<i64>) -> Result<CachedScope, Error> {
        let n = connection
            .prepare_cached(
                "INSERT INTO scope (n, kind, id, request, version, last)
                 VALUES (max(coalesce((SELECT max(n) FROM scope), 0),
                     coalesce((SELECT max(n) FROM removal WHERE kind = 'scope'), 0)) + 1, ?1, ?2, ?3, 0, 0)
                 RETURNING n",
            )?
            .query_row((key.kind.as_str(), &*key.id, request), |row| row.get(0))?;
        let is_request_scoped = request.is_some();
        Ok(CachedScope { n, version: 0, read_cost: 0, keyframe_bytes: 0, unsaved: None, is_request_scoped })
    }

    /// Writes a change, and a keyframe if one is due. Returns how many bytes of JSON the keyframe added to `payload`.
    pub(crate) fn add_change(&mut self, connection: &Connection, change: &Change) -> Result<usize, Error> {
        connection
            .prepare_cached(
                "INSERT INTO change (scope, event, version, bytes, operations) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .run((self.n, change.event, change.version, change.bytes, &change.operations))?;
        self.version = change.version;
        self.unsaved = (!self.is_request_scoped).then_some(change.event);
        self.read_cost += change.bytes as u64 + CHANGE_COST;
        if self.read_cost >= self.keyframe_bytes.max(MIN_KEYFRAME_BYTES) {
            return self.take_keyframe(connection, change.event);
        }
        Ok(0)
    }

    /// Sets the scope to a state at an import's boundary event, regardless of the changes before it. Returns as
    /// [`CachedScope::add_change`].
    pub(crate) fn put_record(
        &mut self,
        connection: &Connection,
        boundary: i64,
        record: &Record,
    ) -> Result<usize, Error> {
        self.version = record.version;
        let new_bytes = self.write_keyframe(connection, boundary, record)?;
        self.unsaved = Some(boundary);
        Ok(new_bytes)
    }

    /// Updates the scope's row if it is behind. Returns the event that it has now.
    pub(crate) fn save(&mut self, connection: &Connection) -> Result<Option<i64>, Error> {
        let Some(last) = self.unsaved.take() else { return Ok(None) };
        connection.prepare_cached("UPDATE scope SET version = ?2, last = ?3 WHERE n = ?1")?.run((
            self.n,
            self.version,
            last,
        ))?;
        Ok(Some(last))
    }

    fn take_keyframe(&mut self, connection: &Connection, event: i64) -> Result<usize, Error> {
        self.write_keyframe(connection, event, &states::at(connection, self.n, event)?)
    }

    fn write_keyframe(&mut self, connection: &Connection, event: i64, record: &Record) -> Result<usize, Error> {
        let state = record.state.to_json();
        self.keyframe_bytes = measure::json_bytes(&state) as u64;
        self.read_cost = 0;
        let body = body::of_state(state)?;
        let mut new_bytes = 0;
        for payload in &body.payloads {
            new_bytes += payload::insert(connection, payload)?;
        }
        connection
            .prepare_cached("INSERT INTO keyframe (scope, event, version, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .run((self.n, event, record.version, self.keyframe_bytes, body.text))?;
        Ok(new_bytes)
    }

    /// Reads from the database what decides about the next keyframe: when the scope was not cached, and after a
    /// rollback, when the newest keyframe may contain the writes that were rolled back.
    pub(crate) fn recompute_read_cost(&mut self, connection: &Connection) -> Result<(), Error> {
        let keyframe = states::base_keyframe_at(connection, self.n, i64::MAX)?;
        self.keyframe_bytes = match keyframe {
            None => 0,
            Some(event) => connection
                .prepare_cached("SELECT bytes FROM keyframe WHERE scope = ?1 AND event = ?2")?
                .query_row((self.n, event), |row| row.get(0))?,
        };
        self.read_cost = connection
            .prepare_cached("SELECT coalesce(sum(bytes + ?3), 0) FROM change WHERE scope = ?1 AND event > ?2")?
            .query_row((self.n, keyframe.unwrap_or(0), CHANGE_COST), |row| row.get(0))?;
        Ok(())
    }
}
