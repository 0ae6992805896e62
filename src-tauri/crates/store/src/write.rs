//! Who writes and when, the transactions, and the rows that follow from events.
//!
//! Must not do work that grows with a database: that is `transfer`.

pub(crate) mod append_batch;

pub(crate) mod code;
pub(crate) mod import_marks;
pub(crate) mod live;
pub(crate) mod records;
pub(crate) mod removal_queue;
pub(crate) mod rows;
pub(crate) mod scopes;
pub(crate) mod transaction;
pub(crate) mod turns;
pub(crate) mod writer;
pub(crate) mod writer_queue;
