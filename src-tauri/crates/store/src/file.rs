//! The database, in a file or on a server: its identity, schema and migrations, and how it is opened.
//!
//! Must not know what a step of a flow is.

pub(crate) mod identity;
pub(crate) mod migrate;
pub(crate) mod open;
pub(crate) mod owners;
pub(crate) mod read_only;
pub(crate) mod server;
