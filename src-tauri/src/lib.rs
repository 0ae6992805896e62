//! The app: window, window commands and command line, which only call [`runner::Workspace`].
//!
//! Only here is Tauri named. Nothing here decides anything about flows.
// Output goes through `terminal`, which survives failed writes.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
mod debugger;
mod demo;
mod desktop;
mod diagnostics;
mod editor;
mod experiment;
mod inside;
mod ipc;
mod left_out;
mod looking;
mod mcp;
mod moving;
mod opening;
mod print;
mod programs;
mod receiving;
mod rendering;
mod run_list;
mod runs;
mod samples;
mod signals;
mod terminal;
mod verify;
mod window;
mod working;

pub use programs::become_window;
pub use window::open_window;
