//! What blocks got and made, each as a number: whether two of them are equal is known without reading either.
//!
//! A body holds a large value as the hash of its JSON, so that no payload is read. What equals by its text is equal;
//! the same fields in another order are not.

use std::collections::HashMap;

use engine::event::Seq;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Store;
use crate::row::body;
use crate::row::error::Error;

/// The digests of a request's blocks, by the events that recorded them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// What a block was called with, by its first event.
    pub inputs: HashMap<Seq, u64>,
    /// What it made or how it failed, by its last event.
    pub outputs: HashMap<Seq, u64>,
}

/// The kinds of events that record a value which others may refer to.
const KINDS: &str = "'request_started', 'input_edited', 'block_started', 'block_input', 'output_edited', \
     'block_finished', 'hook_started', 'hook_returned'";

/// Of each only what is compared. Fields that are not there are `null`.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default, alias = "before")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "after")]
    output: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize, Hash)]
struct Failure {
    #[serde(default)]
    name: String,
    #[serde(default)]
    message: String,
}

/// A reference to a value that an earlier event recorded.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reference {
    Of(Seq),
}

impl Store {
    /// The digests of what the blocks of a request got and made. A damaged event has none.
    pub fn digests(&self, request: &str) -> Result<Digests, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT seq, kind, body FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)
                 AND kind IN ({KINDS}) ORDER BY seq"
            ))?;
            let mut rows = statement.query((request,))?;
            let mut found = Digests::default();
            // What an event holds that others refer to.
            let mut held: HashMap<Seq, u64> = HashMap::new();
            while let Some(row) = rows.next()? {
                let (seq, kind, text) = (row.get::<_, Seq>(0)?, body::lossy(row, 1)?, body::lossy(row, 2)?);
                let Ok(fields) = serde_json::from_str::<Fields<'_>>(&text) else { continue };
                let digest = match (&fields.error, fields.output.or(fields.input)) {
                    (Some(error), _) => digest_of(format!("{}\n{}", error.name, error.message).as_bytes(), 1),
                    (None, Some(value)) => match serde_json::from_str(value.get()) {
                        Ok(Reference::Of(seq)) => held.get(&seq).copied().unwrap_or_default(),
                        Err(_) => digest_of(value.get().as_bytes(), 0),
                    },
                    (None, None) => 0,
                };
                match &*kind {
                    "block_started" | "hook_started" => drop(found.inputs.insert(seq, digest)),
                    "hook_returned" => drop(found.outputs.insert(seq, digest)),
                    "block_finished" => {
                        found.outputs.insert(seq, digest);
                        held.insert(seq, digest);
                    }
                    _ => drop(held.insert(seq, digest)),
                }
            }
            Ok(found)
        })
    }
}

/// The first 64 bits of a hash; those of errors are no values'.
fn digest_of(bytes: &[u8], family: u8) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[family]).update(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
