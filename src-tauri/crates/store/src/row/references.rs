//! Which payloads are referred to: by the bodies of events, keyframes and code, and by other payloads.

use std::collections::HashSet;

use crate::sql::Connection;
use blake3::Hash;

use crate::row::error::Error;
use crate::row::{body, payload};

/// The hashes of payloads that some bodies refer to, directly and through other payloads.
#[derive(Debug, Default)]
pub(crate) struct References(pub(crate) HashSet<Hash>);

impl References {
    /// Those of all bodies in the database. Reads all bodies that have references.
    pub(crate) fn all(connection: &Connection) -> Result<References, Error> {
        let mut found = References::default();
        for table in ["event", "keyframe", "code"] {
            let mut statement =
                connection.prepare(&format!("SELECT body FROM {table} WHERE instr(body, '\"$pa') > 0"))?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                found.add(connection, row.get_ref(0)?.as_str()?)?;
            }
        }
        Ok(found)
    }

    /// Adds what a body refers to.
    pub(crate) fn add(&mut self, connection: &Connection, text: &str) -> Result<(), Error> {
        let mut waiting = body::referenced_payloads(text)?;
        while let Some(name) = waiting.pop() {
            let hash = Hash::from_hex(&name).map_err(|_| Error::Damaged(format!("\"{name}\" names no payload")))?;
            if self.0.insert(hash) {
                waiting.extend(body::referenced_payloads(&payload::load(connection, &name)?)?);
            }
        }
        Ok(())
    }

    /// The sum of their lengths as JSON, in bytes.
    pub(crate) fn bytes(&self, connection: &Connection) -> Result<i64, Error> {
        let mut statement = connection.prepare_cached("SELECT bytes FROM payload WHERE hash = ?1")?;
        let mut all = 0;
        for hash in &self.0 {
            all += statement.query_row((hash.as_bytes(),), |row| row.get::<_, i64>(0))?;
        }
        Ok(all)
    }
}
