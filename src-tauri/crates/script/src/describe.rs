//! What a loaded bundle says of its flows, as the engine has it: blocks, functions, schemas, resources, policies.
//!
//! Must not answer what a flow asks while it runs: that is `host`.

pub(crate) mod function;
pub(crate) mod plain;
pub(crate) mod policies;
pub(crate) mod registry;
pub(crate) mod resources;
pub(crate) mod schema;
pub(crate) mod wire;
