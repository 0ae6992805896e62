//! One binary for all tests of behaviour, so that they link once.

mod architecture;
mod arguments;
mod bad_input;
mod clearing;
mod cli;
mod client_data;
mod clock;
mod crash;
mod definitions;
mod edits;
mod examples;
mod fetch;
mod flows;
mod limits;
mod moving;
mod policies;
mod providers;
mod resource_declarations;
mod resources;
mod schemas;
mod search;
mod soundness;
mod state;
mod storage;
mod window;
mod writers;
