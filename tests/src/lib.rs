//! What the tests of behaviour share. It drives built programs and names no crate of ours; only
//! the program that dies (`bin/crash.rs`) does.

pub mod agent;
pub mod bench;
pub mod calls;
pub mod counting;
pub mod cutting;
pub mod dragging;
pub mod dying;
pub mod exported;
pub mod focus;
pub mod forking;
pub mod going;
pub mod laid_out;
pub mod pattern;
pub mod pausing;
pub mod postgres;
pub mod processes;
pub mod server;
pub mod sitting;
pub mod spans;
pub mod webdriver;
