//! The [`Workspace`]: a folder of flows and what ran in it. The one door for the window, the
//! command line and the tests, so that all three show the same thing.
//!
//! Here the engine, the store and the script host meet; the clock, chance, models and the network
//! come from here. It must not know how anything looks on a screen or in a terminal.

mod archive;
mod bundling;
mod catalogue;
mod config;
mod fault;
mod fetch;
mod http;
mod id;
mod late;
mod mock;
mod models;
mod notice;
mod ordinary;
mod otlp;
mod owner;
mod pool;
mod progress;
mod ready;
mod replay;
mod run;
mod synthetic;
mod trust;
mod views;
mod watch;
mod workspace;
mod world;

pub use bundling::{BUNDLE_COMMAND, serve_bundles};
pub use catalogue::FlowRow;
pub use config::Durability;
pub use engine::views::items::Audience;
pub use fault::{Detail, Fault};
pub use notice::Notice;
pub use run::{Ended, Running};
pub use store::{EventQuery, RequestQuery, SearchQuery, SessionQuery};
pub use synthetic::{Shape, Synthesized, Synthetic};
pub use trust::Consent;
pub use views::*;
pub use workspace::{At, Edits, Given, Mock, OpenOptions, RunOptions, Workspace};
