//! The [`Workspace`]: a folder of flows and what ran in it. The one door for the window, the
//! command line and the tests, so that all three show the same thing.
//!
//! Here the engine, the store and the script host meet; the clock, chance, models and the network
//! come from here. It must not know how anything looks on a screen or in a terminal.

mod catalogue;
mod comparison;
mod core;
mod effects;
mod foreign;
mod models;
mod request_view;
mod run;
mod views;
mod workspace;

pub use catalogue::FlowRow;
pub use catalogue::bundling::{BUNDLE_COMMAND, serve_bundles};
pub use catalogue::fatal_signals::record_fatal_signals;
pub use catalogue::trust::Consent;
pub use core::config::Durability;
pub use core::fault::{Detail, Fault};
pub use core::instants::{local_instant, past_instant};
pub use core::loopback::{LoopbackServer, is_local};
pub use core::notice::Notice;
pub use core::ordinary_files::read_given as read_text;
pub use core::own_settings::OwnSettings;
pub use core::real_path::real_path;
pub use core::scratch::{Scratch, remove_scratch};
pub use engine::views::items::Audience;
pub use run::batch::Cancel;
pub use run::synthetic::{Shape, Synthesized, Synthetic};
pub use run::{Ended, Running};
pub use store::{
    DataPlace, EventQuery, LockedBy, RequestOrder, RequestQuery, RunCondition, RunOrder, RunTerm, Samples, SearchQuery,
    SessionOrder, SessionQuery, Subject,
};
pub use views::*;
pub use workspace::answers::defaults_instead;
pub use workspace::expiry::Deadlines;
pub use workspace::foreign::{Receiver, ReceiverRow, USUAL_PORT};
pub use workspace::runs::{RunsQuery, TagChanges};
pub use workspace::worker::{WorkerEvent, WorkerOptions};
pub use workspace::{
    Answered, At, Breakpoint, Budget, Continuation, CulpritQuery, CulpritSearch, DispatchEnd, Edits, InsideAt, Mock,
    ModelsBy, Move, OpenOptions, ParameterAxis, PassProgress, PrintQuery, PromptField, PromptText, Resolution,
    RunOptions, Schedule, Score, SetAxis, StepQuery, Stopped, Stops, Trial, TriggerOptions, TryQuery, VerifyQuery,
    Workspace, new_request,
};
