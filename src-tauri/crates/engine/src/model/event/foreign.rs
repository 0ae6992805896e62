//! What the first event of a foreign request says of the trace that it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The trace of another program. Its spans are in the request's `span_received` events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Foreign {
    /// Whose conventions its spans follow, such as `OpenInference`.
    pub emitter: String,
    /// Which version of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conventions: String,
    /// The resources of its spans, which spans name by their place here.
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    pub resources: Vec<Value>,
    /// The instrumentation scopes of its spans, which spans name by their place here.
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    pub scopes: Vec<Value>,
}
