//! The code of every bundle that ran, once by the bundle's hash: the author's files and the source map.
//!
//! Files leave the line as large values of events do, so two bundles share what they have in common. Written
//! outside of any step; what was dropped again before a request named it, with the event that does. It must not know
//! what a source map says.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use engine::event::EventKind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::error::Error;
use crate::parcel::Piece;
use crate::pieces::Pieces;
use crate::references::References;
use crate::unit::Draft;
use crate::{Store, body, lock, payload, totals};

/// Which bundles events name.
const NAMED: &str = "SELECT json_extract(body, '$.codeHash') FROM event
    WHERE kind IN ('request_started', 'request_resumed') AND json_valid(body)";

type Make = Arc<dyn Fn() -> Value + Send + Sync>;

/// Code that requests which are about to begin will name.
#[derive(Clone, Default)]
pub(crate) struct Offers(Arc<Mutex<HashMap<String, Vec<Make>>>>);

impl Offers {
    /// Keeps what these events name, where it is offered and not here: a compaction may have dropped it since.
    pub(crate) fn keep(&self, connection: &Connection, drafts: &[Draft]) -> Result<(), Error> {
        for draft in drafts {
            let Some(hash) = named(&draft.event.kind) else { continue };
            let offered = lock(&self.0).get(hash).and_then(|offers| offers.first().cloned());
            if let Some(make) = offered
                && !is_known(connection, hash)?
            {
                keep(connection, hash, &body::of_state(make())?)?;
            }
        }
        Ok(())
    }
}

/// While it is kept, an event that names the code of a bundle brings it along.
#[must_use]
pub struct CodeOffer {
    offers: Offers,
    hash: String,
    make: Make,
}

impl Drop for CodeOffer {
    fn drop(&mut self) {
        let mut offers = lock(&self.offers.0);
        if let Some(of_bundle) = offers.get_mut(&self.hash) {
            of_bundle.retain(|other| !Arc::ptr_eq(other, &self.make));
            if of_bundle.is_empty() {
                offers.remove(&self.hash);
            }
        }
    }
}

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

fn is_known(connection: &Connection, hash: &str) -> Result<bool, Error> {
    let mut known = connection.prepare_cached("SELECT 1 FROM code WHERE hash = ?1")?;
    Ok(known.exists((hash,))?)
}

pub(crate) fn keep(connection: &Connection, hash: &str, body: &body::Body) -> Result<(), Error> {
    if is_known(connection, hash)? {
        return Ok(());
    }
    let mut bytes = 0;
    for value in &body.payloads {
        bytes += payload::keep(connection, value)?;
    }
    totals::store(connection, bytes as i64)?;
    connection.execute("INSERT INTO code (hash, body) VALUES (?1, ?2)", (hash, &body.text))?;
    Ok(())
}

pub(crate) fn load(connection: &Connection, hash: &str) -> Result<Option<Value>, Error> {
    let text: Option<String> = connection
        .prepare_cached("SELECT body FROM code WHERE hash = ?1")?
        .query_row((hash,), |row| row.get(0))
        .optional()?;
    text.map(|text| body::value(connection, &text)).transpose()
}

/// The bundle that an event names.
fn named(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => Some(code_hash),
        _ => None,
    }
}

/// The code that these pieces' events name, as pieces of the same bundle.
pub(crate) fn pieces(connection: &Connection, of: &[Piece]) -> Result<Vec<Piece>, Error> {
    let named: BTreeSet<&str> = of
        .iter()
        .filter_map(|piece| match piece {
            Piece::Event { event, .. } => named(&event.kind),
            _ => None,
        })
        .collect();
    let mut pieces = Vec::new();
    for hash in named {
        if let Some(code) = load(connection, hash)? {
            pieces.push(Piece::Code { hash: hash.to_owned(), code });
        }
    }
    Ok(pieces)
}

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

/// How many bytes of JSON it keeps as large values.
pub(crate) fn bytes(connection: &Connection) -> Result<i64, Error> {
    let mut named = References::default();
    let mut statement = connection.prepare("SELECT body FROM code")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        named.add(connection, &row.get::<_, String>(0)?)?;
    }
    named.bytes(connection)
}

/// Says which code cannot be read.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    let mut statement = connection.prepare("SELECT hash, body FROM code ORDER BY hash")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (hash, text): (String, String) = (row.get(0)?, row.get(1)?);
        if let Err(error) = body::value(connection, &text) {
            problems.push(format!("the code {hash} cannot be read: {error}"));
        }
    }
    Ok(problems)
}
