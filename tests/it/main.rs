//! One binary for all tests of behaviour, so that they link once.

mod bad_input;
mod cli;
mod window;
