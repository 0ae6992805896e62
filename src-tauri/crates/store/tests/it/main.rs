//! The store from outside: what a killed process, a second process or a strange file finds.
#![allow(clippy::unwrap_used)]

mod check;
mod crash;
mod expectations;
mod imports;
mod last_writers;
mod log;
mod migration;
mod open;
mod owners;
mod pieces;
mod promises;
mod queue;
mod reads;
mod record_cache;
mod replacing;
mod runs;
mod search;
mod spans;
mod state;
mod storage;
mod support;
mod tolerant;
mod totals;
mod values;
