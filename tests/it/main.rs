//! One binary for all tests of behaviour, so that they link once.

mod cli;
