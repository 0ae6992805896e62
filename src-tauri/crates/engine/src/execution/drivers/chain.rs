//! The driver of sequencers: operations one after another, branches at once, and background work.

pub(crate) mod background;
pub(crate) mod fanout;
pub(crate) mod passes;
pub(crate) mod sequencer;
pub(crate) mod step_options;
pub(crate) mod waiting;
