//! The execution of a request, from its first event to its last.
//!
//! Its folders are layers. Each uses only itself and the folders before it, which `tests/it/architecture.rs` of the
//! workspace checks.
//!
//! | folder | contents |
//! |---|---|
//! | `core` | parts that do not know a run: cancellation, locks, the recorder, transactions, shared state |
//! | `record` | parts that read a log for a resume or a replay: replay cache, effect log, alignment, edits of a fork |
//! | `run` | [`Run`](run::Run), [`Frame`](run::frame::Frame) and [`Context`](run::context::Context), and what a run does with its records |
//! | `ctx` | the members of a context, which an author's function can use |
//! | `step` | one block from its start to its end: attempts, commits, callbacks, middleware, reactions, hooks |
//! | `drivers` | the body of each kind of block |
//! | `request` | one request: its creation, start, resume, end and plan |
//! | `written` | flows in Rust, for tests |
//!
//! A driver runs other blocks through `step`. `step` gets the drivers from the run, so it names no driver.

pub(crate) mod core;
pub mod ctx;
pub(crate) mod drivers;
pub(crate) mod record;
pub mod request;
pub(crate) mod run;
pub(crate) mod step;
pub mod written;
