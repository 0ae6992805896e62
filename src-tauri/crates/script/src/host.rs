//! What a running flow asks for, one file for each group of host functions: on the spot (`sync_calls`), or waiting for
//! an answer (`async_calls`).
//!
//! Must not decide anything: rules live in the engine.

pub(crate) mod async_calls;
pub(crate) mod fetch;
pub(crate) mod resource_calls;
pub(crate) mod sync_calls;
pub(crate) mod url;
