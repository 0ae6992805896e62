//! What the events of a fork say of it besides what every request has.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Seq;

/// Where a fork branches off from another request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    /// The other request.
    pub request_id: String,
    /// The last event they have in common.
    #[specta(type = f64)]
    pub seq: Seq,
}

/// From its event on, a generator of this name asks another model, or with other options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEdit {
    /// The generator's block name.
    pub generator: String,
    /// The model that is asked in place of the flow's; the flow's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options in place of the flow's: `maxTokens`, and any for the provider.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "crate::model::json::exact")]
    pub options: Map<String, Value>,
}
