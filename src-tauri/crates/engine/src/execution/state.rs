//! State while a request runs: shared state in memory, and a block's transaction on durable records.

pub(crate) mod record_view;
pub(crate) mod shared;
pub(crate) mod transaction;
