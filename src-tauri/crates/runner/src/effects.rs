//! The real outside of a request: the system's clock and chance, models, and the network.

pub(crate) mod fetch;
pub(crate) mod outside;
