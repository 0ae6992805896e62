//! One block from its start to its end. What its body does is a driver's.

pub(crate) mod around;
pub(crate) mod block;
pub(crate) mod boundary;
pub(crate) mod callback;
pub(crate) mod caught;
mod container;
pub(crate) mod hooks;
mod nested;
mod output_check;
mod reactions;
pub(crate) mod retries;
