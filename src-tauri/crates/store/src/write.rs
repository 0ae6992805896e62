//! The writing connection, its queue and transactions, and the rows derived from events.
//!
//! Must not do work that grows with the size of the database: that belongs to `transfer`.

pub(crate) mod annotations;
pub(crate) mod append_batch;
pub(crate) mod claims;
pub(crate) mod code;
pub(crate) mod expectations;
pub(crate) mod experiments;
pub(crate) mod import_boundaries;
pub(crate) mod leases;
pub(crate) mod open_attempts;
pub(crate) mod received;
pub(crate) mod record_cache;
pub(crate) mod removal_queue;
pub(crate) mod replacement;
pub(crate) mod rows;
pub(crate) mod scopes;
pub(crate) mod transaction;
pub(crate) mod writer;
pub(crate) mod writer_cache;
pub(crate) mod writer_queue;
