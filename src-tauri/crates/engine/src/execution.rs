//! How a request runs: from its first event to its last.
//!
//! `request` starts and ends it, `block` runs one block, and `driver` dispatches to the code of each kind of block.
//! A driver runs other blocks, so `block`, `driver` and the drivers call each other recursively, as deep as a flow
//! nests its blocks. No other modules here depend on each other in a cycle: frames, effects, state, commits, the
//! replay cache and suspension do not know the drivers.

pub mod abort;
mod around;
mod beginning;
pub(crate) mod block;
mod boundary;
pub(crate) mod callback;
pub(crate) mod callback_call;
pub(crate) mod caught;
pub(crate) mod chain;
mod container;
pub mod context;
mod cooperative;
mod driver;
mod ending;
mod fifo;
pub mod frame;
pub mod generator;
mod hooks;
pub(crate) mod live_answers;
pub mod loading;
mod nested;
mod next;
mod note;
mod output_check;
mod reactions;
pub mod recorder;
pub(crate) mod replay;
pub mod request;
mod retries;
pub(crate) mod role;
mod run;
pub(crate) mod schema_check;
pub(crate) mod siblings;
pub(crate) mod state;
pub(crate) mod tool;
pub mod written;
