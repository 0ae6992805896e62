//! What runs the blocks of agents: [`agent`] those that take turns, [`calls`] those whose model answers with Calls.
//!
//! Each is a driver of the engine, in a crate of its own: it reaches what the engine offers to drivers,
//! `engine::driver`, and the engine does not know it. What an author declares is data, in `engine::flow`.
//! Must not do anything that a driver of the engine could not: no storage, no JavaScript, no network, no clock.

pub mod agent;
pub mod calls;
