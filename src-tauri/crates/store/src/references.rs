//! Which payloads are still named, and dropping those that are not.

use std::collections::HashSet;

use blake3::Hash;
use rusqlite::Connection;

use crate::error::Error;
use crate::{body, payload};

/// Payloads that lines name, and the payloads that those name.
#[derive(Debug, Default)]
pub(crate) struct References(HashSet<Hash>);

impl References {
    /// Those of every event, keyframe and bundle.
    pub(crate) fn all(connection: &Connection) -> Result<References, Error> {
        let mut found = References::default();
        for sql in [
            "SELECT body FROM event WHERE instr(body, '\"$pa') > 0",
            "SELECT body FROM keyframe WHERE instr(body, '\"$pa') > 0",
            "SELECT body FROM code WHERE instr(body, '\"$pa') > 0",
        ] {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(0)?.as_str().map_err(|error| Error::Damaged(error.to_string()))?;
                found.add(connection, text)?;
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

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
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

    /// Drops these payloads unless something names them. Answers how many bytes of JSON they were.
    pub(crate) fn drop_unnamed(&self, connection: &Connection) -> Result<i64, Error> {
        let named = References::all(connection)?;
        let mut bytes = 0;
        for hash in self.0.difference(&named.0) {
            bytes += drop_one(connection, hash)?;
        }
        Ok(bytes)
    }

    /// Drops every payload that is not among these. Answers how many bytes of JSON they were.
    pub(crate) fn drop_others(&self, connection: &Connection) -> Result<i64, Error> {
        let mut statement = connection.prepare("SELECT hash FROM payload")?;
        let hashes: Vec<[u8; 32]> = statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut bytes = 0;
        for hash in hashes.into_iter().map(Hash::from_bytes).filter(|hash| !self.0.contains(hash)) {
            bytes += drop_one(connection, &hash)?;
        }
        Ok(bytes)
    }
}

fn drop_one(connection: &Connection, hash: &Hash) -> Result<i64, Error> {
    let bytes = connection
        .prepare_cached("DELETE FROM payload WHERE hash = ?1 RETURNING bytes")?
        .query_row((hash.as_bytes(),), |row| row.get(0))?;
    Ok(bytes)
}
