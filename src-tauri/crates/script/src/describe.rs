//! Converts a loaded bundle's descriptions to the engine's flow: blocks, functions, schemas, resources, policies.
//!
//! Must not serve calls of a running flow: `host` does.

pub(crate) mod actions;
pub(crate) mod agents;
pub(crate) mod calls;
pub(crate) mod function;
pub(crate) mod impossible;
pub(crate) mod plain;
pub(crate) mod policies;
pub(crate) mod registry;
pub(crate) mod resources;
pub(crate) mod schema;
pub(crate) mod wire;
