//! Stores, reads, exports and deletes the code of bundles.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::sql::Connection;
use serde_json::Value;

use crate::row::body;
use crate::row::error::Error;
use crate::transfer::bundle::BundleRecord;
use crate::transfer::sliced_work::SlicedWork;
use crate::write::code::{self, CodeOffer};
use crate::{Store, lock};

impl Store {
    /// Offers the code of a bundle: while the result lives, an event that names the bundle stores the code if it is
    /// missing. `source` is called on the writing thread.
    pub fn offer_code(&self, hash: &str, source: impl Fn() -> Value + Send + Sync + 'static) -> CodeOffer {
        let offer = CodeOffer { offers: self.code_offers.clone(), hash: hash.to_owned(), source: Arc::new(source) };
        lock(&self.code_offers.0).entry(offer.hash.clone()).or_default().push(offer.source.clone());
        offer
    }

    /// Whether the code of a bundle is stored.
    pub fn has_code(&self, hash: &str) -> Result<bool, Error> {
        self.read(|connection| code::is_stored(connection, hash))
    }

    /// Stores the code of a bundle, unless it is stored already.
    pub fn keep_code(&self, hash: &str, code: Value) -> Result<(), Error> {
        let (hash, body) = (hash.to_owned(), body::of_state(code)?);
        self.sliced_work()?.write(move |connection, _| code::insert(connection, &hash, &body))
    }

    /// The code of a bundle, if it is stored; versions before format 6 stored none.
    pub fn code(&self, hash: &str) -> Result<Option<Value>, Error> {
        self.read(|connection| code::load(connection, hash))
    }
}

/// The stored code that events in a bundle name, as entries of the bundle.
pub(crate) fn bundled_code(connection: &Connection, of: &[BundleRecord]) -> Result<Vec<BundleRecord>, Error> {
    let named: BTreeSet<&str> = of
        .iter()
        .filter_map(|record| match record {
            BundleRecord::Event { event, .. } => code::hash_named_by(&event.kind),
            _ => None,
        })
        .collect();
    let mut records = Vec::new();
    for hash in named {
        if let Some(code) = code::load(connection, hash)? {
            records.push(BundleRecord::Code { hash: hash.to_owned(), code });
        }
    }
    Ok(records)
}

/// Selects the hashes that events name.
const NAMED: &str = "SELECT json_extract(body, '$.codeHash') FROM event
    WHERE kind IN ('request_started', 'request_resumed') AND json_valid(body)";

/// Deletes the code that no event names. Payloads that only it referred to are found by the next
/// [`queue_unreferenced`](crate::transfer::unreferenced_payloads::queue_unreferenced).
pub(crate) fn drop_unreferenced(work: &SlicedWork) -> Result<(), Error> {
    let (unreferenced, newest) = work.read(|connection| {
        let mut statement = connection.prepare(&format!("SELECT hash FROM code WHERE hash NOT IN ({NAMED})"))?;
        let unreferenced = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let newest: i64 = connection.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?;
        Ok((unreferenced, newest))
    })?;
    for hash in unreferenced {
        work.write(move |connection, _| {
            // Newer events may name it, and so may those that an unfinished import will bring.
            let sql = format!(
                "DELETE FROM code WHERE hash = ?1 AND hash NOT IN ({NAMED} AND id > ?2)
                 AND NOT EXISTS (SELECT 1 FROM removal WHERE import <> '')"
            );
            connection.execute(&sql, (hash, newest))?;
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}
