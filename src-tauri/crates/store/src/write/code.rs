//! The code of every bundle that ran, once by the bundle's hash: the author's files and the source map.
//!
//! Files leave the line as large values of events do, so two bundles share what they have in common. Written
//! outside of any step; what was dropped again before a request named it, with the event that does. It must not know
//! what a source map says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::event::EventKind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::lock;
use crate::row::error::Error;
use crate::row::{body, payload, totals};
use crate::write::append_batch::Draft;

pub(crate) type Make = Arc<dyn Fn() -> Value + Send + Sync>;

/// Code that requests which are about to begin will name.
#[derive(Clone, Default)]
pub(crate) struct Offers(pub(crate) Arc<Mutex<HashMap<String, Vec<Make>>>>);

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
    pub(crate) offers: Offers,
    pub(crate) hash: String,
    pub(crate) make: Make,
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

pub(crate) fn is_known(connection: &Connection, hash: &str) -> Result<bool, Error> {
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
pub(crate) fn named(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => Some(code_hash),
        _ => None,
    }
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
