//! What a request is made of, and what knows neither the request nor its blocks.

pub mod abort;
pub(crate) mod fifo;
pub(crate) mod live_answers;
pub(crate) mod nested;
pub(crate) mod pool;
pub mod recorder;
pub(crate) mod schema_check;
pub(crate) mod shared;
pub(crate) mod tool_cache;
pub(crate) mod transaction;
