//! The interface for coding agents: a Model Context Protocol server over one workspace (ARCHITECTURE §9.10).
//!
//! Seven tools read recorded runs and, if a person trusts the folder, run flows. Every answer is one sentence, rows,
//! and handles for further calls, and fits a budget of tokens. Must not find values itself: the [`runner::Workspace`]
//! does.
//! Must not print to standard output, which belongs to the protocol.

mod address;
mod answer;
mod arguments;
mod begun;
mod checked;
mod client_config;
mod compare;
mod diff;
mod door;
mod find;
mod http;
mod look;
mod print;
mod resources;
mod run;
mod server;
mod shown;
mod stdio;
mod tool_list;
mod why;

pub use client_config::{client_config, skill};
pub use http::{Endpoint, serve_http};
pub use server::serve_stdio;

#[cfg(test)]
mod tests;
