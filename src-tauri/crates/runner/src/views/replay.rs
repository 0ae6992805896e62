//! What a replay came to.

use serde::Serialize;

use super::Json;

/// A request compared with what its flow does today.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Whether something was compared, and nothing differs.
    pub identical: bool,
    /// How many blocks were compared.
    pub compared: u32,
    /// The first difference in the recorded order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
    /// If nothing was compared: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// If something differs: the variables that the settings name for secrets and that this environment does not have.
    /// A flow that reads one of them behaves differently than recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset_variables: Vec<String>,
}

/// Where a replay left its recording.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    /// The recorded event.
    pub seq: u64,
    /// The block.
    pub path: String,
    /// What it did then.
    pub recorded: Json,
    /// What it does now.
    pub found: Json,
}
