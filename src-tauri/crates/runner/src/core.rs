//! What every part of the crate needs: settings, faults, ids, notices, and files that are read only where they are
//! ordinary ones.
//!
//! Must not know of a workspace.

pub(crate) mod allowed_hosts;
pub(crate) mod config;
pub(crate) mod difference;
pub(crate) mod fault;
pub(crate) mod guarded_file;
pub(crate) mod id;
pub(crate) mod instants;
pub(crate) mod loopback;
pub(crate) mod notice;
pub(crate) mod ordinary_files;
pub(crate) mod own_settings;
pub(crate) mod own_writes;
pub(crate) mod prices;
pub(crate) mod progress;
pub(crate) mod real_path;
pub(crate) mod scratch;
pub(crate) mod sync;
pub(crate) mod unfinished_files;
