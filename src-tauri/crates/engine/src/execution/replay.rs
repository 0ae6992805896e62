//! Reading a request's log: for a resume, which reuses recorded results, and for a replay, which runs everything again.

mod block_order;
pub(crate) mod cache;
pub mod effect_log;
pub(crate) mod fork_edits;
mod kept_parts;
pub mod memory_log;
pub mod plan;
pub(crate) mod position;
pub(crate) mod prior_attempt;
pub(crate) mod resume;
pub(crate) mod reuse;
mod settling;
mod shared_state;
pub(crate) mod turns;
