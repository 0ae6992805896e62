//! Which events of a request are wanted.

#[cfg(doc)]
use engine::event::EventKind;
use engine::event::Seq;

/// Selects events of a request; the result is ordered by `seq`.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// The lowest `seq`.
    pub from: Option<Seq>,
    /// The highest `seq`, inclusive.
    pub to: Option<Seq>,
    /// Only this kind, as named by [`EventKind::name`].
    pub kind: Option<String>,
    /// Only events of blocks at this path.
    pub path: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}
