//! What the tests of behaviour share. It drives the built program and names no crate of ours.

pub mod bench;
pub mod going;
pub mod pattern;
pub mod server;
pub mod webdriver;
