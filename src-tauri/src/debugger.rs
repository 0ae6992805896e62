//! Debugging a recorded request: a prompt for people, and the Debug Adapter Protocol for editors, over one session.
//!
//! A session only looks at the recording. Must not run anything new: every value comes from a replay of the log.

mod breakpoints;
mod dap;
mod files;
mod prompt;
mod session;

pub(crate) use dap::serve;
pub(crate) use prompt::debug;
