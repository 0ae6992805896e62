//! What a replay came to.

use serde::Serialize;

use super::Json;

/// A request compared with what its flow does today.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Whether nothing differs.
    pub identical: bool,
    /// How many blocks were compared.
    pub compared: u32,
    /// The first difference in the recorded order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
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
