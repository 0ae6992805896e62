//! Large values, stored once under the hash of their JSON.
//!
//! This file handles bytes only; what is in them, and how bodies refer to them, is defined in `body`.

use std::cell::RefCell;

use crate::sql::{Connection, OptionalExtension};
use blake3::Hash;
use zstd::bulk::{Compressor, Decompressor};

use crate::row::error::Error;

/// The fastest level, because the writing thread compresses.
const LEVEL: i32 = 1;

/// The JSON of a value or of a part of one, and its hash.
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

/// Stores a payload if it is not stored yet. Returns how many bytes of JSON that added.
pub(crate) fn insert(connection: &Connection, payload: &Payload) -> Result<usize, Error> {
    if find_and_dequeue(connection, &payload.hash)? {
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

/// Whether a payload is stored. If so, it is taken out of the queue of removals, because something refers to it now.
fn find_and_dequeue(connection: &Connection, hash: &Hash) -> Result<bool, Error> {
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

/// A payload as stored, perhaps compressed, to be copied to another database.
#[derive(Debug)]
pub(crate) struct PackedPayload {
    hash: Hash,
    bytes: usize,
    body: Vec<u8>,
}

impl PackedPayload {
    /// Its stored size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }
}

/// Reads a payload as it is stored.
pub(crate) fn load_packed(connection: &Connection, hash: Hash) -> Result<PackedPayload, Error> {
    let mut statement = connection.prepare_cached("SELECT bytes, body FROM payload WHERE hash = ?1")?;
    let row = statement.query_row((hash.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (bytes, body) = row.ok_or_else(|| Error::Damaged(format!("payload {} is missing", hash.to_hex())))?;
    Ok(PackedPayload { hash, bytes, body })
}

/// As [`insert`], of a payload as another database stored it.
pub(crate) fn insert_packed(connection: &Connection, payload: &PackedPayload) -> Result<usize, Error> {
    if find_and_dequeue(connection, &payload.hash)? {
        return Ok(0);
    }
    connection.prepare_cached("INSERT INTO payload (hash, bytes, body) VALUES (?1, ?2, ?3)")?.execute((
        payload.hash.as_bytes(),
        payload.bytes,
        &payload.body,
    ))?;
    Ok(payload.bytes)
}

/// Reads the JSON with this hash.
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

// A compressor allocates about 100 KiB of tables, so there is one for each thread, not for each value.
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
