//! State while a request runs: shared memory, and a block's own transaction on durable records.

pub(crate) mod record_view;
pub(crate) mod shared;
pub(crate) mod transaction;
