//! `flowglass.json`: what a workspace may say about itself. An unknown key is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::fault::Fault;
use crate::fetch::Allowed;

/// The file's name.
pub(crate) const FILE: &str = "flowglass.json";

/// The settings of a workspace; all optional (`design/interface.md` §2).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Config {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    pub(crate) flows: Option<Vec<PathBuf>>,
    pub(crate) models: BTreeMap<String, Model>,
    pub(crate) fetch: Fetch,
    pub(crate) limits: Limits,
    pub(crate) durability: Option<Durability>,
}

/// A model by the name flows use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

/// Which hosts flows may fetch from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Fetch {
    pub(crate) allow: Vec<Allowed>,
}

/// What a flow may take.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) memory_mb: Option<usize>,
    pub(crate) yield_ms: Option<u64>,
}

/// How much a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A killed process.
    Process,
    /// A lost power supply.
    Power,
}

impl Config {
    /// Reads a workspace's settings; none is fine.
    pub(crate) fn read(workspace: &Path) -> Result<Config, Fault> {
        let file = workspace.join(FILE);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => return Err(Fault::invalid(format!("{FILE} cannot be read: {error}"))),
        };
        serde_json::from_str(&text).map_err(|error| Fault::invalid(format!("{FILE}: {error}")))
    }

    pub(crate) fn script_limits(&self) -> script::Limits {
        let default = script::Limits::default();
        script::Limits {
            memory_bytes: self.limits.memory_mb.map_or(default.memory_bytes, |mb| mb << 20),
            yield_ms: self.limits.yield_ms.unwrap_or(default.yield_ms),
        }
    }
}
