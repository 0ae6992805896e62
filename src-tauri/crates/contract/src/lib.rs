//! The promises of [`engine::log::Log`], as tests that every implementation runs.
//!
//! An implementation writes a [`Subject`], which opens a new log, and names the promises that it makes. The macro
//! [`promises!`] writes one `#[test]` for each rule, in a module named after the promise:
//!
//! ```text
//! struct Memory(MemoryLog);
//!
//! impl contract::Subject for Memory {
//!     fn create() -> Self {
//!         Memory(MemoryLog::default())
//!     }
//!     fn log(&self) -> &dyn Log {
//!         &self.0
//!     }
//! }
//!
//! contract::promises!(Memory: atomic_appends, order, compare_and_set);
//! ```
//!
//! | promise | says | needs |
//! |---|---|---|
//! | `atomic_appends` | promise 1: all of an append or nothing | [`Subject`] |
//! | `order` | promise 2: `seq` without gaps, requests that begin once | [`Subject`] |
//! | `compare_and_set` | promise 3: conflicts, and what they leave in the log | [`Subject`] |
//! | `durability` | promises 4 and 5: what a killed process loses, and what its readers saw | [`Durable`] |
//! | `awaited_boundaries` | promise 4 of a log in which each step boundary waits for its commit | [`Durable`] |
//! | `visibility` | promise 5: readers see whole appends, in order | [`Subject`] |
//! | `concurrency_keys` | promise 6: keys, and the queue for them | [`Subject`] |
//! | `one_owner` | promise 7: leases | [`Subject`] |
//! | `one_user` | promise 8: whose a session is | [`Subject`] |
//! | `queues` | promise 9: tickets of writers | [`Subject`] |
//! | `dead_owners` | promises 6, 7 and 9 for owners that have died | [`KnowsOwners`] |
//! | `handles` | all of this between two processes | [`Shared`] |
//! | `reads` | a request's events and records | [`Subject`] |
//! | `sessions` | earlier requests and notes of a session | [`Subject`] |
//! | `forks` | requests that share their first events with another | [`Subject`] |
//! | `replayed_records` | `set_record`, which only a log of a replay obeys | [`Subject`] |
//!
//! A rule uses nothing but the trait, so that it is true of every storage. It must not measure time: a slow log keeps
//! its promises, too.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod atomic_appends;
pub mod awaited_boundaries;
pub mod compare_and_set;
pub mod concurrency_keys;
pub mod dead_owners;
pub mod durability;
pub mod forks;
pub mod handles;
mod macros;
mod meanwhile;
pub mod one_owner;
pub mod one_user;
pub mod order;
pub mod queues;
pub mod reads;
pub mod replayed_records;
pub mod sessions;
pub mod visibility;
mod writing;

use engine::log::Log;

/// An implementation of the log, as the tests open it. Threads of a test share it.
pub trait Subject: Sized + Sync {
    /// Opens a log of its own that holds no requests. All owners count as alive.
    fn create() -> Self;

    /// Returns the log.
    fn log(&self) -> &dyn Log;
}

/// A log that several processes may open at the same time.
pub trait Shared: Subject {
    /// Opens the same log once more, with nothing in common but the storage, as another process would.
    fn connect(&self) -> Box<dyn Log + '_>;
}

/// A log that knows which owners of requests have died.
pub trait KnowsOwners: Subject {
    /// From now on the owner with this name counts as dead.
    fn bury(&self, owner: &str);
}

/// A log that outlives its process.
pub trait Durable: Subject {
    /// Opens what remains if the process is killed now; `self` goes on undisturbed.
    fn killed(&self) -> Self;

    /// Closes the log as a process does that ends, and opens it again.
    fn reopened(self) -> Self;
}
