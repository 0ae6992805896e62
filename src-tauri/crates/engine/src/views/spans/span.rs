//! One span, as small as it can be.

use super::{NameNumber, PathNumber, SpanEnd, SpanIndex};
use crate::model::event::{BlockKind, Seq};

/// No span around another one.
pub(super) const NO_PARENT: SpanIndex = SpanIndex::MAX;

/// One execution of one block, in 64 bytes: a long request has hundreds of thousands of them in memory. What few of
/// them have stands beside them, see [`Spans::usage`](super::Spans::usage).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its path.
    pub path: PathNumber,
    /// Which execution of the path, from 0.
    pub attempt: u32,
    /// See [`Span::parent`].
    pub(super) parent: SpanIndex,
    /// Its name, see [`Spans::name`](super::Spans::name).
    pub name: NameNumber,
    /// Its kind.
    pub kind: BlockKind,
    /// How it ended.
    pub end: Option<SpanEnd>,
    /// Taken from an earlier execution by a resume.
    pub is_memoized: bool,
    /// Whether its error was caught.
    pub is_caught: bool,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// See [`Span::finished_at`].
    pub(super) finished_at: i64,
    /// Its first event.
    pub seq_start: Seq,
    /// Its last event; 0 while it has not ended.
    pub seq_end: Seq,
    /// How many spans it is directly around.
    pub children: u32,
    /// How many items it added itself.
    pub items: u32,
    /// State operations that it made itself, without those that were made again.
    pub(super) changes: u32,
}

impl Span {
    /// The span around it.
    pub fn parent(&self) -> Option<SpanIndex> {
        Some(self.parent).filter(|parent| *parent != NO_PARENT)
    }

    /// When it ended, in milliseconds since 1970.
    pub fn finished_at(&self) -> Option<i64> {
        self.end.map(|_| self.finished_at)
    }
}

const _: () = assert!(size_of::<Span>() == 64, "the pages of spans that a window keeps in memory");
