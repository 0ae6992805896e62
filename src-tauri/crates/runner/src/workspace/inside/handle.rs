//! Handles of values: where a value was seen, so that it can be seen again and opened. Base64 of JSON, because people
//! pass them on a command line.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::fault::Fault;

/// How deep inside a value a handle leads.
const MAX_KEYS: usize = 200;

/// Where a value was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Handle {
    pub(super) request: String,
    pub(super) path: String,
    pub(super) attempt: u32,
    pub(super) tick: u64,
    /// The statement's number.
    pub(super) site: u32,
    /// The hash of the code.
    pub(super) code: String,
    pub(super) expression: String,
    /// Keys of properties, from the outermost.
    #[serde(deserialize_with = "engine::json::exact")]
    pub(super) keys: Vec<Value>,
}

impl Handle {
    /// Returns the text that [`Handle::read`] takes.
    pub(super) fn text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Returns the handle of an entry inside.
    pub(super) fn inside(&self, key: &Value) -> Handle {
        let mut inside = self.clone();
        inside.keys.push(key.clone());
        inside
    }

    pub(super) fn read(text: &str) -> Result<Handle, Fault> {
        let wrong = || Fault::invalid(format!("\"{text}\" is no handle: take one from the answer of print or step"));
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        let handle: Handle = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
        if handle.keys.len() > MAX_KEYS { Err(wrong()) } else { Ok(handle) }
    }
}
