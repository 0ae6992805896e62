//! How a request runs: from its first event to its last.
//!
//! `request` begins and ends it, `block` runs one block, and what a block of each kind does is a driver
//! (`driver`). A driver runs blocks in turn, so `block`, `driver` and the drivers call each other: that recursion
//! is a flow's own nesting, and the only circle here. Frames, effects, state, commits, the replay cache and
//! suspension know no driver.

pub mod abort;
mod beginning;
pub(crate) mod block;
mod boundary;
mod callback;
mod caught;
mod chain;
mod container;
pub mod context;
mod cooperative;
mod driver;
mod ending;
mod fifo;
pub mod frame;
pub mod generator;
mod hooks;
pub mod loading;
mod note;
pub mod recorder;
pub(crate) mod replay;
pub mod request;
mod schema_check;
pub(crate) mod state;
pub(crate) mod step_value;
mod suspension;
mod tool;
pub mod written;
