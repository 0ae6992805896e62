//! TypeScript flows: bundled by rolldown, run in QuickJS, described to the engine.
//!
//! The authoring API is a small SDK (`sdk/src`) that records plain descriptions. The engine interprets them, and
//! JavaScript runs only the author's functions and schemas. Only this crate uses rolldown and rquickjs. Must not read a
//! clock, use the network or know of storage: all effects of a flow go through the engine's context.

mod bundle;
mod describe;
mod host;
mod load;
mod vm;

pub use bundle::agent_project::listing;
pub use bundle::bundler::Bundler;
pub use bundle::code::{Code, Source};
pub use bundle::definers::{is_host_settings, may_define_flow};
pub use bundle::embedded::version;
pub use bundle::error::{LoadError, LoadErrorKind};
pub use bundle::literals::{Literal, literals_in};
pub use bundle::makers::{Made, line_of};
pub use bundle::option_edit::{NoDefinition, OptionValue};
pub use bundle::parsed::PARSER_STACK;
pub use bundle::probes::{Question, Site, SiteTable, WrongExpression, check_expression};
pub use bundle::{Bundle, OnRead, bundle, check_nesting};
pub use describe::actions::EntryDescription;
pub use host::fire::{Fired, Given};
pub use load::worker::{BundleReply, BundleRequest, serve};
pub use load::{ActionDescription, FlowDescription, Loaded};
pub use vm::Limits;
pub use vm::expression::Expression;
pub use vm::load_time::LoadTime;
pub use vm::probed::{Asked, Execution, Hit, Probed, Ran, Spell, Stretch, Traced};
pub use vm::time_zone::{is_time_zone, local_zone, own_time_zone, unknown_time_zone};
