//! Long work in short transactions: requests on their way out and in, deletion, giving back room.
//!
//! Must not hold the writing connection longer than a slice.

pub(crate) mod bundle;
pub(crate) mod compact;
pub(crate) mod delete;
pub(crate) mod import;
pub(crate) mod pieces;
pub(crate) mod removal;
pub(crate) mod stored_code;
pub(crate) mod unnamed_payloads;
