//! Reading a request's log: for a resume, which reuses recorded results, and for a replay, which runs everything again.
//!
//! Must not depend on the running request: it reads only events and the executions table of `views`.

pub(crate) mod alignment;
pub mod alone;
mod block_order;
pub(crate) mod cache;
pub(crate) mod earlier_items;
pub mod effect_log;
mod event_times;
pub(crate) mod fork_edits;
pub(crate) mod gone;
mod kept_parts;
pub mod memory_log;
pub(crate) mod note;
pub(crate) mod position;
pub(crate) mod prior_attempt;
mod replayed_question;
pub(crate) mod reuse;
pub mod stored_messages;
pub(crate) mod turns;
