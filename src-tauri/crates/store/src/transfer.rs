//! Long work in short transactions: export and import of requests, deletion, compaction.
//!
//! Must not hold the writing connection longer than a time slice.

pub(crate) mod bundle;
pub(crate) mod compact;
pub(crate) mod delete;
pub(crate) mod import;
pub(crate) mod removal;
mod replacement;
pub(crate) mod sliced_work;
pub(crate) mod stored_code;
pub(crate) mod unreferenced_payloads;
