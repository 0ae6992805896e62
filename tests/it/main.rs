//! One binary for all tests of behaviour, so that they link once.

mod architecture;
mod bad_input;
mod cli;
mod examples;
mod flows;
mod state;
mod window;
