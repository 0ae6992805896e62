//! A cache of the newest committed states of records: a look-up if nothing has changed.
//!
//! An entry is valid as long as the scope's row names the same newest event, so a commit of any process invalidates
//! it without a notification. Then the changes since are applied to the cached state, in place if no reader holds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::sql::{Connection, OptionalExtension};
use engine::log::Record;
use engine::scope::ScopeKey;

use crate::lock;
use crate::read::states;
use crate::row::error::Error;
use crate::write::writer::ReadVersion;

/// With more records than this the cache is cleared.
const MAX_CACHED_RECORDS: usize = 4_096;

/// The records that were read, each with a lock of its own.
#[derive(Default)]
pub(crate) struct RecordCache(Mutex<HashMap<ScopeKey, Arc<Mutex<CachedRecord>>>>);

/// A record as of the event `last`; 0 if nothing is cached.
#[derive(Default)]
struct CachedRecord {
    last: i64,
    record: Record,
    /// The read version at which that was the newest.
    version: Option<ReadVersion>,
}

impl RecordCache {
    /// The cached record, if no durable record was written since it was read.
    pub(crate) fn get_if_current(&self, key: &ScopeKey, version: ReadVersion) -> Option<Record> {
        let entry = lock(&self.0).get(key)?.clone();
        let cached = lock(&entry);
        (cached.version == Some(version)).then(|| cached.record.clone())
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
            *cached = CachedRecord { last, record, version: None };
        }
        if cached.last == last {
            cached.version = version;
        }
        Ok(cached.record.clone())
    }

    fn entry(&self, key: &ScopeKey) -> Arc<Mutex<CachedRecord>> {
        let mut records = lock(&self.0);
        if records.len() >= MAX_CACHED_RECORDS {
            records.clear();
        }
        match records.get(key) {
            Some(entry) => entry.clone(),
            None => records.entry(key.clone()).or_default().clone(),
        }
    }
}
