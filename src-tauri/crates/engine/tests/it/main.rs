//! The engine's rules, by data: no SQLite, no JavaScript, no clock but a counted one.

mod diff;
mod flows;
mod hooks;
mod interrupted;
mod operations;
mod paper;
mod parses;
mod random;
mod resources;
mod resumed;
mod runs;
mod visibility;
