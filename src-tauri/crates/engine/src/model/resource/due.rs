//! A reaction that is due, as events name it. Must not know what a flow declares.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::scope::ScopeKind;

/// A reaction that has to run, because what caused it is in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DueReaction {
    /// The scope of the resource.
    pub scope: ScopeKind,
    /// The name it was reached by.
    pub accessor: String,
    /// The block that runs.
    pub block: String,
    /// The change: what the block gets.
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub change: Value,
}
