//! Flows, requests and events as types, and the execution of flows.
//!
//! A request is its [events](event::Event). The engine interprets a [flow](flow::Flow), appends
//! what happens to an [event log](log::Log), and every view (state at an instant, items, blocks,
//! differences) is a pure function of those events, in [`views`].
//!
//! Three layers, and a layer imports only those before it: `model`, then [`views`], then `execution`.
//! `tests/it/architecture.rs` of the workspace checks that. Other crates name the modules of `model` and `execution`
//! without the layer.
//!
//! What must not happen here: no SQL, no JavaScript, no window, no network, no reading of the
//! system clock. Storage is reached through [`log::Log`], an author's functions through
//! [`callable::Callable`], everything from outside through [`effects::Effects`].

mod execution;
mod model;
pub mod views;

/// What the drivers of other crates are made of: how they run blocks, ask models and call an author's functions. A
/// block names its driver by [`flow::Drive`].
pub mod driver {
    pub use crate::execution::core::schema_check::parse as parse_by_schema;
    pub use crate::execution::drivers::chain::background::start as start_in_background;
    pub use crate::execution::drivers::generator::ask::{ChosenModel, ask};
    pub use crate::execution::drivers::generator::stream_items::StreamItems;
    pub use crate::execution::drivers::tool::{
        begin as begin_tool_call, edited_call as edited_tool_call, end as end_tool_call,
    };
    pub use crate::execution::record::cache::RecordedSuspension;
    pub use crate::execution::run::role::BlockRole;
    pub use crate::execution::step::block::{run_block, run_block_as};
    pub use crate::execution::step::callback::{call as call_function, resolve_data};
}

pub use execution::core::{abort, recorder};
pub use execution::ctx as context;
pub use execution::drivers::generator;
pub use execution::record::{alone, effect_log, memory_log};
pub use execution::request::{loading, plan};
pub use execution::run::frame;
pub use execution::{request, written};
pub use model::{
    callable, concurrency, data, effects, error, event, fingerprint, flow, identity, item, json, log, operation, path,
    provider, redaction, resource, retention, scope, state, step_value, suspension,
};
