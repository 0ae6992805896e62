//! Whose file it is, its tables and format, and how it is opened.
//!
//! Must not know what a step is.

pub(crate) mod identity;
pub(crate) mod migrate;
pub(crate) mod open;
pub(crate) mod read_only;
