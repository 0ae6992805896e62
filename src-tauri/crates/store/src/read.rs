//! What readers ask, with connections of their own.
//!
//! Must not write.

pub(crate) mod events;
pub(crate) mod in_force;
pub(crate) mod requests;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod states;
pub(crate) mod stats;
pub(crate) mod writes;
