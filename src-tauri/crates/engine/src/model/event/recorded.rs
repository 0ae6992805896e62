//! Values in events.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Seq;
use crate::model::data::Data;

/// A value in the log: written out, or the same value as an earlier event of this request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// The value itself.
    Value(#[serde(deserialize_with = "crate::model::json::exact")] Value),
    /// The output (or, for an event of the request itself, the input) that event `seq` recorded.
    Of(Seq),
    /// JavaScript's `undefined`.
    Undefined,
}

impl Recorded {
    /// The value written out.
    pub fn inline(data: &Data) -> Self {
        data.to_option().map_or(Recorded::Undefined, Recorded::Value)
    }
}

/// What a callback returned, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedReturn {
    /// A value.
    Value(#[serde(deserialize_with = "crate::model::json::exact")] Value),
    /// A block, by its name: a router's choice.
    Block(Arc<str>),
}
