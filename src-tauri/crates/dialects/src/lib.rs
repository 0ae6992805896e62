//! The drivers of agents' blocks: [`agent`] for agents that take turns, [`calls`] for agents that answer with Calls.
//!
//! They use only `engine::driver`, and the engine does not know them. The declarations of authors are data, in
//! `engine::flow`. Must not do anything that a driver in the engine could not: no storage, no JavaScript, no network,
//! no clock.

pub mod agent;
pub mod calls;
