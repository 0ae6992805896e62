//! Which payloads are named: by the lines of events, keyframes and code, and by other payloads.

use std::collections::HashSet;

use blake3::Hash;
use rusqlite::Connection;

use crate::row::error::Error;
use crate::row::{body, payload};

/// Payloads that lines name, and the payloads that those name.
#[derive(Debug, Default)]
pub(crate) struct References(pub(crate) HashSet<Hash>);

impl References {
    /// Those of everything that is stored.
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

    /// Adds what a line names.
    pub(crate) fn add(&mut self, connection: &Connection, text: &str) -> Result<(), Error> {
        let mut waiting = body::names(text)?;
        while let Some(name) = waiting.pop() {
            let hash = Hash::from_hex(&name).map_err(|_| Error::Damaged(format!("\"{name}\" names no payload")))?;
            if self.0.insert(hash) {
                waiting.extend(body::names(&payload::load(connection, &name)?)?);
            }
        }
        Ok(())
    }

    /// How many bytes of JSON they are.
    pub(crate) fn bytes(&self, connection: &Connection) -> Result<i64, Error> {
        let mut statement = connection.prepare_cached("SELECT bytes FROM payload WHERE hash = ?1")?;
        let mut all = 0;
        for hash in &self.0 {
            all += statement.query_row((hash.as_bytes(),), |row| row.get::<_, i64>(0))?;
        }
        Ok(all)
    }
}
