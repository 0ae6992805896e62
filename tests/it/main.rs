//! One binary for all tests of behaviour, so that they link once.

mod architecture;
mod arguments;
mod bad_input;
mod clearing;
mod cli;
mod client_data;
mod definitions;
mod examples;
mod fetch;
mod flows;
mod limits;
mod policies;
mod providers;
mod resource_declarations;
mod resources;
mod schemas;
mod search;
mod soundness;
mod state;
mod window;
mod writers;
