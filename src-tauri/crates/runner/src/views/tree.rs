//! The tree of a request as whoever looks once gets it.

use serde::Serialize;

use super::{Counts, RequestRow, Sums, ViewRow};

/// The rows of a request at one time, without updates.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct TreeView {
    /// The request's row.
    pub request: RequestRow,
    /// Its blocks, by status.
    pub counts: Counts,
    /// What they asked of models and wrote. A fork has not asked for the answers that it keeps.
    pub sums: Sums,
    /// The answers of models that a fork keeps, and that its origin paid for; absent if it keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Sums>,
    /// How many blocks the filter fits, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// How many rows are folded away.
    pub hidden: u64,
    /// The rows.
    pub rows: Vec<ViewRow>,
}
