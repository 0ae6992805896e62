//! What a log has of a request: for a resume, which takes it from there, and for a replay, which does it again.

pub(crate) mod memo;
pub mod memory_log;
pub(crate) mod prior_try;
pub(crate) mod resume;
pub mod tape;
