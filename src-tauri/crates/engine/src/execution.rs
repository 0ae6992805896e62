//! How a request runs: from its first event to its last.
//!
//! Its folders are layers, and each names only itself and those before it; `tests/it/architecture.rs` of the workspace
//! checks that.
//!
//! | folder | contents |
//! |---|---|
//! | `core` | what knows no run: cancellation, locks, the recorder, transactions, shared state |
//! | `record` | what a resume or a replay reads in a log: replay cache, effect log, alignment, edits of a fork |
//! | `run` | [`Run`](run::Run), [`Frame`](run::frame::Frame) and [`Context`](run::context::Context), and what a run does with its records |
//! | `ctx` | the members of a context: what an author's function can reach |
//! | `step` | one block from its start to its end: attempts, commits, callbacks, middleware, reactions, hooks |
//! | `drivers` | what a block does, by its kind |
//! | `request` | one request: how it is made, begins, is resumed, ends, and what a plan of it says |
//! | `written` | flows in Rust, for tests |
//!
//! A driver runs other blocks by `step`. What runs a block gets the drivers from its run, so `step` names no driver.

pub(crate) mod core;
pub mod ctx;
pub(crate) mod drivers;
pub(crate) mod record;
pub mod request;
pub(crate) mod run;
pub(crate) mod step;
pub mod written;
