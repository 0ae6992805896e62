//! The code of every bundle that ran, once under the bundle's hash: the author's files and the source map.
//!
//! Large files are stored as payloads, so two bundles share the files that are equal. Code is stored before a request
//! of it starts. If a compaction deletes it before an event names it, it is stored again with that event, from a
//! [`CodeOffer`]. This file must not interpret source maps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::sql::{Connection, OptionalExtension};
use engine::event::EventKind;
use serde_json::Value;

use crate::lock;
use crate::row::error::Error;
use crate::row::{body, payload, totals};
use crate::write::append_batch::Draft;

/// Makes the JSON of a bundle's code.
pub(crate) type CodeSource = Arc<dyn Fn() -> Value + Send + Sync>;

/// The code that is offered by [`CodeOffer`]s, by the bundle's hash.
#[derive(Clone, Default)]
pub(crate) struct CodeOffers(pub(crate) Arc<Mutex<HashMap<String, Vec<CodeSource>>>>);

impl CodeOffers {
    /// Stores the code that these events name, if it is offered and not stored: a compaction may have deleted it.
    pub(crate) fn insert_missing(&self, connection: &Connection, drafts: &[Draft]) -> Result<(), Error> {
        for draft in drafts {
            let Some(hash) = hash_named_by(&draft.event.kind) else { continue };
            let offered = lock(&self.0).get(hash).and_then(|offers| offers.first().cloned());
            if let Some(source) = offered
                && !is_stored(connection, hash)?
            {
                insert(connection, hash, &body::of_state(source())?)?;
            }
        }
        Ok(())
    }
}

/// While this value lives, an event that names the bundle's code stores it if it is missing; see
/// [`Store::offer_code`](crate::Store::offer_code).
#[must_use]
pub struct CodeOffer {
    pub(crate) offers: CodeOffers,
    pub(crate) hash: String,
    pub(crate) source: CodeSource,
}

impl Drop for CodeOffer {
    fn drop(&mut self) {
        let mut offers = lock(&self.offers.0);
        if let Some(of_bundle) = offers.get_mut(&self.hash) {
            of_bundle.retain(|other| !Arc::ptr_eq(other, &self.source));
            if of_bundle.is_empty() {
                offers.remove(&self.hash);
            }
        }
    }
}

pub(crate) fn is_stored(connection: &Connection, hash: &str) -> Result<bool, Error> {
    let mut known = connection.prepare_cached("SELECT 1 FROM code WHERE hash = ?1")?;
    Ok(known.exists((hash,))?)
}

/// Stores the code of a bundle, unless it is stored already.
pub(crate) fn insert(connection: &Connection, hash: &str, body: &body::Body) -> Result<(), Error> {
    if is_stored(connection, hash)? {
        return Ok(());
    }
    let mut bytes = 0;
    for value in &body.payloads {
        bytes += payload::insert(connection, value)?;
    }
    totals::add_payload_bytes(connection, bytes as i64)?;
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

/// The hash of the bundle that an event names.
pub(crate) fn hash_named_by(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => Some(code_hash),
        _ => None,
    }
}

/// Returns a message for each bundle whose code cannot be read.
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
