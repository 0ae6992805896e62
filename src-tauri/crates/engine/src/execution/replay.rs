//! What a log has of a request: for a resume, which takes it from there, and for a replay, which does it again.

pub(crate) mod cache;
pub mod effect_log;
pub mod memory_log;
pub(crate) mod prior_attempt;
pub(crate) mod resume;
