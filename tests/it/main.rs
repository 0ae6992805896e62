//! One binary for all tests of behaviour, so that they link once.

mod architecture;
mod bad_input;
mod cli;
mod examples;
mod fetch;
mod providers;
mod state;
mod window;
