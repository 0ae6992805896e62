//! TypeScript flows: bundled by rolldown, run in QuickJS, described to the engine.
//!
//! The authoring API is a small SDK (`sdk/src`) that records plain descriptions; the engine
//! interprets them, and JavaScript runs only the author's functions and schemas. Only this crate
//! names rolldown and rquickjs. It must not read a clock, touch the network or know of storage:
//! what a flow wants from outside goes through the engine's context.

mod address;
mod bridge;
mod bundle;
mod bundler;
mod callsite;
mod code;
mod descriptor;
mod embedded;
mod error;
mod fetch;
mod fields;
mod fingerprint;
mod glance;
mod inside;
mod load_time;
mod nesting;
mod plain;
mod policies;
mod project_files;
mod registry;
mod rejections;
mod resources;
mod schema;
mod trace;
mod vm;
mod wire;
mod worker;

pub use bundle::{Bundle, OnRead, bundle, check_nesting};
pub use bundler::{Bundler, PARSER_STACK};
pub use code::{Code, Source};
pub use descriptor::{ActionDescription, FlowDescription, Loaded};
pub use embedded::version;
pub use error::{LoadError, LoadErrorKind};
pub use load_time::LoadTime;
pub use vm::Limits;
pub use worker::{BundleReply, BundleRequest, serve};
