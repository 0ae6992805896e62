//! The types that the other layers share: values, events, states and flows, and the traits that other crates implement.
//!
//! Storage, an author's code and the outside world are traits here. Must not execute anything, and must not read whole
//! logs, as `views` does.

pub mod callable;
pub mod concurrency;
pub mod data;
pub mod effects;
pub mod error;
pub mod event;
pub mod fingerprint;
pub mod flow;
pub mod identity;
pub mod item;
pub mod json;
pub mod log;
mod message;
pub mod operation;
pub mod path;
pub mod provider;
pub mod redaction;
pub mod resource;
pub mod retention;
pub mod scope;
pub mod state;
pub mod step_value;
pub mod suspension;
