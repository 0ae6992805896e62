//! The newest committed state of durable records, as cheap as a look-up when nothing changed.
//!
//! An entry counts only while the database names the same newest event for its scope, so a commit
//! of any process makes it stale without telling; then the steps since are applied to it, in place
//! where nobody holds the old state any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::log::Record;
use engine::scope::ScopeKey;
use rusqlite::{Connection, OptionalExtension};

use crate::lock;
use crate::read::states;
use crate::row::error::Error;
use crate::write::writer::ReadVersion;

/// Beyond this many records, all are forgotten.
const MAX_CACHED_RECORDS: usize = 4_096;

/// Records that were asked for.
#[derive(Default)]
pub(crate) struct Records(Mutex<HashMap<ScopeKey, Arc<Mutex<Known>>>>);

/// A record just after the event `last`; nothing is known where that is 0.
#[derive(Default)]
struct Known {
    last: i64,
    record: Record,
    /// When that was the newest.
    stamp: Option<ReadVersion>,
}

impl Records {
    /// What is known of a durable record, if nobody wrote any since.
    pub(crate) fn known(&self, key: &ScopeKey, stamp: ReadVersion) -> Option<Record> {
        let entry = lock(&self.0).get(key)?.clone();
        let known = lock(&entry);
        (known.stamp == Some(stamp)).then(|| known.record.clone())
    }

    /// The newest there is. `stamp` is of a moment before, if it is known.
    pub(crate) fn newest(
        &self,
        connection: &Connection,
        key: &ScopeKey,
        stamp: Option<ReadVersion>,
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
            if stamp.is_some() {
                *lock(&self.entry(key)) = Known { stamp, ..Known::default() };
            }
            return Ok(Record::default());
        };
        let entry = self.entry(key);
        let mut known = lock(&entry);
        // Whoever asked meanwhile may have read on already; newer is as good.
        if known.last < last {
            // Left empty if reading fails.
            let Known { last: since, record, .. } = std::mem::take(&mut *known);
            let record = match since {
                0 => states::at(connection, scope, last)?,
                // Withdrawals change the past of shared memory, never that of durable records.
                _ if !key.kind.is_durable() => states::at(connection, scope, last)?,
                _ if states::is_whole_since(connection, scope, since)? => {
                    states::forward(connection, scope, since, last, record)?
                }
                _ => states::at(connection, scope, last)?,
            };
            *known = Known { last, record, stamp: None };
        }
        if known.last == last {
            known.stamp = stamp;
        }
        Ok(known.record.clone())
    }

    fn entry(&self, key: &ScopeKey) -> Arc<Mutex<Known>> {
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
