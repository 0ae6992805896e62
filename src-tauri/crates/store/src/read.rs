//! Queries, on reading connections.
//!
//! Must not write.

pub(crate) mod blocks_begun;
pub(crate) mod commits;
pub(crate) mod conversation;
pub(crate) mod digests;
pub(crate) mod event_query;
pub(crate) mod events;
pub(crate) mod input_words;
pub(crate) mod item_facts;
pub(crate) mod journal;
pub(crate) mod owners;
pub(crate) mod rebased_values;
pub(crate) mod request_order;
pub(crate) mod requests;
pub(crate) mod run_filter;
pub(crate) mod run_order;
pub(crate) mod runs;
pub(crate) mod samples;
pub(crate) mod search;
pub(crate) mod session_order;
pub(crate) mod sessions;
pub(crate) mod spans;
pub(crate) mod state_rollbacks;
pub(crate) mod state_steps;
pub(crate) mod states;
pub(crate) mod stats;
pub(crate) mod used_models;
pub(crate) mod whole_log;
pub(crate) mod writes;
