//! The host functions that a running flow calls: synchronous ones (`sync_calls`), and ones that return a promise
//! (`async_calls`).
//!
//! Must not enforce rules: the engine does.

pub(crate) mod agent_calls;
pub(crate) mod async_calls;
pub(crate) mod cancel;
pub(crate) mod digest;
pub(crate) mod fetch;
pub(crate) mod fire;
pub(crate) mod locale;
pub(crate) mod resource_calls;
pub(crate) mod sync_calls;
pub(crate) mod url;
