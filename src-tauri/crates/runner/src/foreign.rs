//! Foreign requests: traces that other programs recorded as OpenTelemetry spans.
//!
//! A foreign request is a log like any other, so everything that shows a request shows it. Its events are a pure
//! function of the set of its spans: spans that arrive late, twice or in another order lead to the same log. Each block
//! holds the span that it was made from, so the log is also where the spans are read from again.
//!
//! | a module | knows |
//! |---|---|
//! | `span`, `decode` | spans, and the forms in which they arrive |
//! | `redacted` | what of spans is kept secret |
//! | `packed` | spans as they wait in memory |
//! | `tables`, `messages`, `facts` | what attributes mean, which differs from emitter to emitter |
//! | `arrangement` | which span is in which, and in what order things happened |
//! | `trace`, `events` | the spans of one trace, and the events that they become |
//! | `exact` | what plain JSON does not tell of a span, so that it can leave as it came |
//! | `export` | the spans of a log as they came, for a collector |
//! | `skeleton` | the flow and the mock script that a foreign request can be made into |
//!
//! Must not know where spans come from, nor where events go.

mod arrangement;
pub(crate) mod decode;
mod events;
mod exact;
pub(crate) mod export;
mod facts;
mod messages;
pub(crate) mod packed;
mod redacted;
pub(crate) mod skeleton;
mod span;
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod trace;

pub(crate) use facts::EMBEDDINGS;
