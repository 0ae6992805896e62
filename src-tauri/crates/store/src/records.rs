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

use crate::error::Error;
use crate::{lock, states};

/// Beyond this many records, all are forgotten.
const MANY: usize = 4_096;

/// Records that were asked for.
#[derive(Default)]
pub(crate) struct Records(Mutex<HashMap<ScopeKey, Arc<Mutex<Known>>>>);

/// A record just after the event `last`; nothing is known where that is 0.
#[derive(Default)]
struct Known {
    last: i64,
    record: Record,
}

impl Records {
    pub(crate) fn newest(&self, connection: &Connection, key: &ScopeKey) -> Result<Record, Error> {
        let row: Option<(i64, i64)> = connection
            .prepare_cached("SELECT n, last FROM scope WHERE kind = ?1 AND id = ?2")?
            .query_row((key.kind.as_str(), &*key.id), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((scope, last)) = row else {
            return Ok(Record::default());
        };
        let entry = self.entry(key);
        let mut known = lock(&entry);
        // Whoever asked meanwhile may have read on already; newer is as good.
        if known.last < last {
            // Left empty if reading fails.
            let Known { last: since, record } = std::mem::take(&mut *known);
            let record = match since {
                0 => states::at(connection, scope, last)?,
                // Withdrawals change the past of shared memory, never that of durable records.
                _ if !key.kind.is_durable() => states::at(connection, scope, last)?,
                _ if states::is_whole_since(connection, scope, since)? => {
                    states::forward(connection, scope, since, last, record)?
                }
                _ => states::at(connection, scope, last)?,
            };
            *known = Known { last, record };
        }
        Ok(known.record.clone())
    }

    fn entry(&self, key: &ScopeKey) -> Arc<Mutex<Known>> {
        let mut records = lock(&self.0);
        if records.len() >= MANY {
            records.clear();
        }
        match records.get(key) {
            Some(entry) => entry.clone(),
            None => records.entry(key.clone()).or_default().clone(),
        }
    }
}
