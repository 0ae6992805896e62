//! A cache of the newest committed states of records: a look-up if nothing has changed.
//!
//! An entry is current until a commit of this process changes its record, or another process commits anything. This
//! process's own commits are applied to it, so a request that goes on reads what it wrote without a query. Otherwise
//! the scope's row tells which event changed the record last, and the changes since are read and applied, in place if
//! no reader holds the state.

mod pending;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::sql::{Connection, OptionalExtension};
use engine::log::Record;
use engine::scope::ScopeKey;

use crate::lock;
use crate::read::states;
use crate::row::error::Error;
use crate::write::append_batch::CommittedBatch;
use crate::write::writer::ReadVersion;

use pending::PendingCommit;

/// With more records than this the cache is cleared.
const MAX_CACHED_RECORDS: usize = 4_096;
/// So many commits wait to be applied to a record; after more it is read again.
const MAX_PENDING: usize = 2;

/// The records that were read, each with a lock of its own.
#[derive(Default)]
pub(crate) struct RecordCache {
    known: Mutex<Known>,
    /// Counts this process's commits that wrote durable records.
    commits: AtomicU64,
}

#[derive(Default)]
struct Known {
    records: HashMap<ScopeKey, Entry>,
    /// The number of commits at which the cache was cleared, or any record may have changed.
    since: u64,
}

#[derive(Default)]
struct Entry {
    cached: Arc<Mutex<CachedRecord>>,
    /// The number of the newest commit of this process that changed the record.
    changed: u64,
}

/// A record as of the event `last`; 0 if nothing is cached.
#[derive(Default)]
struct CachedRecord {
    last: i64,
    record: Record,
    /// Commits that are not applied to `record` yet, oldest first.
    pending: Vec<PendingCommit>,
    /// The read version at which that was the newest.
    version: Option<ReadVersion>,
}

/// A record that a transaction changed, and the id of the last event that did.
pub(crate) struct ChangedRecord {
    pub(crate) scope: ScopeKey,
    pub(crate) last: i64,
}

impl CachedRecord {
    fn apply_pending(&mut self) {
        for commit in self.pending.drain(..) {
            commit.apply(&mut self.record);
        }
    }
}

impl RecordCache {
    /// How many commits of this process have written durable records.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// Counts a commit that may have changed any record.
    pub(crate) fn forget_all(&self) {
        let mut known = lock(&self.known);
        known.since = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
    }

    /// Counts a commit: the records that it changed, its batches, and the `data_version` that it began
    /// at. Must be called before anybody hears of the commit.
    pub(crate) fn add_commit(&self, changed: Vec<ChangedRecord>, batches: &[CommittedBatch], data_version: i64) {
        let mut commits = pending::by_record(batches);
        let mut known = lock(&self.known);
        let before = known.since;
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        known.make_room(number);
        for ChangedRecord { scope, last } in changed {
            let pending = commits.remove(&scope).flatten();
            let entry = known.records.entry(scope).or_default();
            let since = entry.changed.max(before);
            entry.changed = number;
            let Some(pending) = pending else { continue };
            // One that is being read is read again.
            let Ok(mut cached) = entry.cached.try_lock() else { continue };
            let is_current = cached.version.is_some_and(|at| at.others == data_version && at.own >= since);
            if is_current && cached.last < last && cached.pending.len() + pending.len() <= MAX_PENDING {
                cached.pending.extend(pending);
                cached.last = last;
                cached.version = Some(ReadVersion { own: number, others: data_version });
            }
        }
    }

    /// The cached record, if no commit has changed it since it was read. Only for durable ones: others change without
    /// a commit.
    pub(crate) fn get_if_current(&self, key: &ScopeKey, version: ReadVersion) -> Option<Record> {
        if !key.kind.is_durable() {
            return None;
        }
        let (entry, since) = {
            let known = lock(&self.known);
            let entry = known.records.get(key)?;
            (entry.cached.clone(), entry.changed.max(known.since))
        };
        let mut cached = lock(&entry);
        let is_current = cached.version.is_some_and(|at| at.others == version.others && at.own >= since);
        is_current.then(|| {
            cached.apply_pending();
            cached.record.clone()
        })
    }

    /// The newest committed state of a record, 0 and empty if it has none. `version` is a read version that was taken
    /// before this call, if it is known.
    pub(crate) fn newest(
        &self,
        connection: &Connection,
        key: &ScopeKey,
        version: Option<ReadVersion>,
    ) -> Result<Record, Error> {
        let row: Option<(i64, i64)> = connection
            .prepare_cached(
                "SELECT n, CASE WHEN request IS NULL THEN last ELSE
                     coalesce((SELECT max(event) FROM change WHERE scope = n), 0) END
                 FROM scope WHERE kind = ?1 AND id = ?2",
            )?
            .query_row((key.kind.as_str(), &*key.id), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((scope, last)) = row else {
            if version.is_some() {
                *lock(&self.entry(key)) = CachedRecord { version, ..CachedRecord::default() };
            }
            return Ok(Record::default());
        };
        let entry = self.entry(key);
        let mut cached = lock(&entry);
        cached.apply_pending();
        // Another thread may have cached a newer state since the query above; that is as good.
        if cached.last < last {
            // Takes the state out, so that it is changed in place; the entry stays empty if reading fails.
            let CachedRecord { last: since, record, .. } = std::mem::take(&mut *cached);
            let record = match since {
                0 => states::at(connection, scope, last)?,
                // A rollback changes what earlier events mean for scopes of a request, never for durable records.
                _ if !key.kind.is_durable() => states::at(connection, scope, last)?,
                _ if states::has_all_changes_since(connection, scope, since)? => {
                    states::advance(connection, scope, since, last, record)?
                }
                _ => states::at(connection, scope, last)?,
            };
            *cached = CachedRecord { last, record, ..CachedRecord::default() };
        }
        if cached.last == last {
            cached.version = version;
        }
        Ok(cached.record.clone())
    }

    fn entry(&self, key: &ScopeKey) -> Arc<Mutex<CachedRecord>> {
        let mut known = lock(&self.known);
        if let Some(entry) = known.records.get(key) {
            return entry.cached.clone();
        }
        known.make_room(self.commits());
        known.records.entry(key.clone()).or_default().cached.clone()
    }
}

impl Known {
    /// Clears what is too large. What is being read meanwhile is not taken as current: it is older than this commit.
    fn make_room(&mut self, commits: u64) {
        if self.records.len() >= MAX_CACHED_RECORDS {
            self.records.clear();
            self.since = commits;
        }
    }
}
