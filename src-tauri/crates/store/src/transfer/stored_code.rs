//! Code of bundles in and out of a database: kept for a request, brought by an export, dropped by a compaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::Value;

use crate::row::body;
use crate::row::error::Error;
use crate::transfer::bundle::BundleRecord;
use crate::transfer::pieces::Pieces;
use crate::write::code::{CodeOffer, is_known, keep, load, named};
use crate::{Store, lock};

impl Store {
    /// Offers the code of a bundle to the events that name it from now on: to those that find it missing.
    pub fn offer_code(&self, hash: &str, make: impl Fn() -> Value + Send + Sync + 'static) -> CodeOffer {
        let offer = CodeOffer { offers: self.offers.clone(), hash: hash.to_owned(), make: Arc::new(make) };
        lock(&self.offers.0).entry(offer.hash.clone()).or_default().push(offer.make.clone());
        offer
    }

    /// Whether the code of a bundle is here.
    pub fn has_code(&self, hash: &str) -> Result<bool, Error> {
        self.read(|connection| is_known(connection, hash))
    }

    /// Keeps the code of a bundle.
    pub fn keep_code(&self, hash: &str, code: Value) -> Result<(), Error> {
        let (hash, body) = (hash.to_owned(), body::of_state(code)?);
        self.pieces()?.write(move |connection, _| keep(connection, &hash, &body))
    }

    /// The code of a bundle; `None` where it is not here: versions before format 6 kept none.
    pub fn code(&self, hash: &str) -> Result<Option<Value>, Error> {
        self.read(|connection| load(connection, hash))
    }
}

/// The code that these pieces' events name, as pieces of the same bundle.
pub(crate) fn pieces(connection: &Connection, of: &[BundleRecord]) -> Result<Vec<BundleRecord>, Error> {
    let named: BTreeSet<&str> = of
        .iter()
        .filter_map(|piece| match piece {
            BundleRecord::Event { event, .. } => named(&event.kind),
            _ => None,
        })
        .collect();
    let mut pieces = Vec::new();
    for hash in named {
        if let Some(code) = load(connection, hash)? {
            pieces.push(BundleRecord::Code { hash: hash.to_owned(), code });
        }
    }
    Ok(pieces)
}

/// Which bundles events name.
const NAMED: &str = "SELECT json_extract(body, '$.codeHash') FROM event
    WHERE kind IN ('request_started', 'request_resumed') AND json_valid(body)";

/// Drops the code that no event names. What it alone kept of large values is unnamed from then on.
pub(crate) fn drop_unnamed(pieces: &Pieces) -> Result<(), Error> {
    let (unnamed, newest) = pieces.read(|connection| {
        let mut statement = connection.prepare(&format!("SELECT hash FROM code WHERE hash NOT IN ({NAMED})"))?;
        let unnamed = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let newest: i64 = connection.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?;
        Ok((unnamed, newest))
    })?;
    for hash in unnamed {
        pieces.write(move |connection, _| {
            // What was written since the look may name it.
            // And so may what an import is about to bring.
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
