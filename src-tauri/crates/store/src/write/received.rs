//! OpenTelemetry spans that were received, until requests have them.
//!
//! A receiver answers once its call's spans are stored here. They become events of foreign requests later, many at
//! once, because events are in the order of time and spans arrive in another one. Must not know what a call holds.

use crate::Store;
use crate::row::error::Error;

/// The spans of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number; later calls have higher ones.
    pub n: i64,
    /// The job that received it.
    pub owner: String,
    /// What was received.
    pub body: Vec<u8>,
}

impl Store {
    /// Stores what was received. It is durable when this returns the call's number.
    pub fn receive(&self, owner: &str, body: Vec<u8>) -> Result<i64, Error> {
        let owner = owner.to_owned();
        self.writer.handle().run_uncached(move |connection| {
            let transaction = connection.transaction()?;
            let sql = "INSERT INTO received (owner, body) VALUES (?1, ?2) RETURNING n";
            let n = transaction.prepare_cached(sql)?.query_row((owner, body), |row| row.get(0))?;
            transaction.commit()?;
            Ok(n)
        })
    }

    /// The calls after number `after`, oldest first, at most `limit`.
    pub fn received(&self, after: i64, limit: usize) -> Result<Vec<Received>, Error> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT n, owner, body FROM received WHERE n > ?1 ORDER BY n LIMIT ?2")?;
            let rows = statement.query_map((after, limit), |row| {
                Ok(Received { n: row.get(0)?, owner: row.get(1)?, body: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Deletes calls whose spans requests have now.
    pub fn forget_received(&self, calls: Vec<i64>) -> Result<(), Error> {
        if calls.is_empty() {
            return Ok(());
        }
        self.writer.handle().run_uncached(move |connection| {
            let transaction = connection.transaction()?;
            let mut delete = transaction.prepare_cached("DELETE FROM received WHERE n = ?1")?;
            for n in &calls {
                delete.execute((n,))?;
            }
            drop(delete);
            Ok(transaction.commit()?)
        })
    }
}
