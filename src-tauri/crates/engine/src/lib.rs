//! The vocabulary and the execution of flows.
//!
//! A request is its [events](event::Event). The engine interprets a [flow](flow::Flow), appends
//! what happens to an [event log](log::Log), and every view (state at an instant, items, blocks,
//! differences) is a pure function of those events, in [`views`].
//!
//! What must not happen here: no SQL, no JavaScript, no window, no network, no reading of the
//! system clock. Storage is reached through [`log::Log`], an author's functions through
//! [`callable::Callable`], everything from outside through [`effects::Effects`].

pub mod abort;
mod answers;
mod background;
mod beginning;
pub mod block;
mod boundary;
pub mod callable;
mod caught;
pub mod concurrency;
mod container;
pub mod context;
pub mod data;
pub mod effects;
mod ending;
pub mod error;
pub mod event;
mod fairness;
mod fanout;
pub mod fifo;
pub mod fingerprint;
pub mod flow;
pub mod flowing;
pub mod frame;
mod gate;
pub mod generator;
mod held;
mod hooks;
pub mod item;
pub mod json;
pub mod loading;
pub mod log;
mod memo;
mod note;
pub mod operation;
mod passes;
pub mod path;
mod places;
mod prior_try;
pub mod provider;
pub mod recorder;
pub mod redaction;
pub mod request;
pub mod resource;
mod resume;
mod route;
pub mod scope;
pub mod sequencer;
mod shared;
mod sight;
pub mod state;
pub mod suspension;
pub mod tape;
mod tool;
pub mod transaction;
mod unit;
pub mod usage;
pub mod views;
mod waiting;
pub mod written;
