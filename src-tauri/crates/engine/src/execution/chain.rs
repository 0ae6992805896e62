//! The driver of chains: one operation after another, several at once, and work beside them.

pub(crate) mod alignment;
pub(crate) mod background;
pub(crate) mod fanout;
pub(crate) mod passes;
pub(crate) mod route;
pub(crate) mod sequencer;
pub(crate) mod waiting;
