//! The promises of [`engine::log::Log`], as tests that every implementation runs.
//!
//! An implementation provides a [`Subject`], which opens a new log, and lists the promises that it makes. The macro
//! [`promises!`] generates one `#[test]` for each rule, in a module named after the promise:
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
//! | promise | content | needs |
//! |---|---|---|
//! | `atomic_appends` | promise 1: an append is stored completely or not at all | [`Subject`] |
//! | `order` | promise 2: `seq` without gaps, a request id is used once | [`Subject`] |
//! | `compare_and_set` | promise 3: conflicts, and the events that they leave | [`Subject`] |
//! | `durability` | promises 4 and 5: which appends a kill can lose; none that was read | [`Durable`] |
//! | `awaited_boundaries` | promise 4, for a log in which each step boundary waits for its commit | [`Durable`] |
//! | `visibility` | promise 5: readers see whole appends, in order | [`Subject`] |
//! | `concurrency_keys` | promise 6: keys, and the queue for them | [`Subject`] |
//! | `one_owner` | promise 7: leases | [`Subject`] |
//! | `one_user` | promise 8: a session belongs to one user | [`Subject`] |
//! | `queues` | promise 9: tickets of writers | [`Subject`] |
//! | `dead_owners` | promises 6, 7 and 9 for owners that have died | [`KnowsOwners`] |
//! | `handles` | all of these between two processes | [`Shared`] |
//! | `reads` | a request's events and records | [`Subject`] |
//! | `sessions` | earlier requests and notes of a session | [`Subject`] |
//! | `forks` | requests that share their first events with another | [`Subject`] |
//! | `replayed_records` | `set_record`, which only the log of a replay supports | [`Subject`] |
//!
//! A rule uses only the trait, so that it applies to every storage. It must not measure time, because a slow log may
//! keep all promises.
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

/// A log under test. The threads of a test share it.
pub trait Subject: Sized + Sync {
    /// Opens a new log without requests. All owners count as alive.
    fn create() -> Self;

    /// Returns the log.
    fn log(&self) -> &dyn Log;
}

/// A log that several processes may open at the same time.
pub trait Shared: Subject {
    /// Opens the same log again as another process would, sharing only the storage.
    fn connect(&self) -> Box<dyn Log + '_>;
}

/// A log that knows which owners of requests have died.
pub trait KnowsOwners: Subject {
    /// Makes the owner with this name count as dead from now on.
    fn bury(&self, owner: &str);
}

/// A log that outlives its process.
pub trait Durable: Subject {
    /// Opens the log as a kill at this instant would leave it. `self` stays usable.
    fn killed(&self) -> Self;

    /// Closes the log as an ending process does, and opens it again.
    fn reopened(self) -> Self;
}
