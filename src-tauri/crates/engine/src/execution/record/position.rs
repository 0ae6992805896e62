//! A position in a log, by which recorded results settle in their order.

use crate::model::event::Seq;

/// A time in milliseconds since the epoch (0 if only the event decides), and an event.
pub(crate) type Position = (i64, Seq);
