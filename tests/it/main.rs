//! One binary for all tests of behaviour, so that they link once.

mod architecture;
mod arguments;
mod bad_input;
mod cli;
mod client_data;
mod definitions;
mod examples;
mod fetch;
mod flows;
mod forks;
mod limits;
mod policies;
mod providers;
mod replays;
mod resource_declarations;
mod resources;
mod schemas;
mod state;
mod window;
