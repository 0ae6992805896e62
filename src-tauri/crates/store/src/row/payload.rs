//! Large values, stored once by content.
//!
//! Only bytes live here: what a value is and where it was taken from is `body`'s business.

use std::cell::RefCell;

use blake3::Hash;
use rusqlite::{Connection, OptionalExtension};
use zstd::bulk::{Compressor, Decompressor};

use crate::row::error::Error;

/// Fast: the writing thread compresses.
const LEVEL: i32 = 1;

/// The JSON of a value, or of a part of one, and the name of that content.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) hash: Hash,
    pub(crate) text: String,
}

impl Payload {
    pub(crate) fn new(text: String) -> Self {
        Payload { hash: blake3::hash(text.as_bytes()), text }
    }
}

/// Keeps a payload. Answers how many bytes of JSON were new.
pub(crate) fn keep(connection: &Connection, payload: &Payload) -> Result<usize, Error> {
    if is_kept(connection, &payload.hash)? {
        return Ok(0);
    }
    let text = payload.text.as_bytes();
    let packed = pack(text).map_err(|error| Error::Damaged(format!("a value cannot be compressed: {error}")))?;
    let body = if packed.len() < text.len() { packed.as_slice() } else { text };
    connection.prepare_cached("INSERT INTO payload (hash, bytes, body) VALUES (?1, ?2, ?3)")?.execute((
        payload.hash.as_bytes(),
        text.len(),
        body,
    ))?;
    Ok(text.len())
}

/// Whether a payload is there; if so it stays, for something names it now.
fn is_kept(connection: &Connection, hash: &Hash) -> Result<bool, Error> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT n FROM payload WHERE hash = ?1")?
        .query_row((hash.as_bytes(),), |row| row.get(0))
        .optional()?;
    if let Some(n) = known {
        connection
            .prepare_cached("DELETE FROM removal WHERE kind = 'payload' AND n = ?1 AND import = ''")?
            .execute((n,))?;
    }
    Ok(known.is_some())
}

/// A payload as it lies in another database.
#[derive(Debug)]
pub(crate) struct Packed {
    hash: Hash,
    bytes: usize,
    body: Vec<u8>,
}

impl Packed {
    /// How many bytes it takes.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }
}

/// What `hash` names, as it is stored.
pub(crate) fn packed(connection: &Connection, hash: Hash) -> Result<Packed, Error> {
    let mut statement = connection.prepare_cached("SELECT bytes, body FROM payload WHERE hash = ?1")?;
    let row = statement.query_row((hash.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (bytes, body) = row.ok_or_else(|| Error::Damaged(format!("payload {} is missing", hash.to_hex())))?;
    Ok(Packed { hash, bytes, body })
}

/// As [`keep`], of one that another database had.
pub(crate) fn keep_packed(connection: &Connection, payload: &Packed) -> Result<usize, Error> {
    if is_kept(connection, &payload.hash)? {
        return Ok(0);
    }
    connection.prepare_cached("INSERT INTO payload (hash, bytes, body) VALUES (?1, ?2, ?3)")?.execute((
        payload.hash.as_bytes(),
        payload.bytes,
        &payload.body,
    ))?;
    Ok(payload.bytes)
}

/// The JSON that `hash` names.
pub(crate) fn load(connection: &Connection, hash: &str) -> Result<String, Error> {
    let damaged = |what: &str| Error::Damaged(format!("payload {hash} {what}"));
    let key = Hash::from_hex(hash).map_err(|_| damaged("is not named by a hash"))?;
    let mut statement = connection.prepare_cached("SELECT bytes, body FROM payload WHERE hash = ?1")?;
    let mut rows = statement.query((key.as_bytes(),))?;
    let row = rows.next()?.ok_or_else(|| damaged("is missing"))?;
    let bytes: usize = row.get(0)?;
    let body = row.get_ref(1)?.as_blob().map_err(|_| damaged("is not a blob"))?;
    let text = if body.len() == bytes {
        body.to_vec()
    } else {
        unpack(body, bytes).map_err(|error| damaged(&error.to_string()))?
    };
    String::from_utf8(text).map_err(|_| damaged("is not text"))
}

// A compressor is a hundred kilobytes of tables: one a thread, not one a value.
thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(bytes)
    })
}

fn unpack(bytes: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new()?),
        };
        decompressor.decompress(bytes, length)
    })
}
