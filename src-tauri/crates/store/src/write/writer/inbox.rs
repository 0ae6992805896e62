//! The queue of the writing connection, and when it is worth a transaction.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::sql::Connection;
use engine::log::AppendMode;

use crate::row::error::Error;
use crate::row::filter_block::FilterBlock;
use crate::write::append_batch::QueuedAppend;

/// How long an append without a waiting caller may stay in the queue.
const MAX_DELAY: Duration = Duration::from_millis(16);
/// With this many step boundaries in the queue the thread is woken, which costs about as much as storing three of them.
pub(super) const WAKE_BOUNDARIES: usize = 32;
/// After how many bytes of values a transaction takes no further append.
pub(super) const MAX_BATCH_BYTES: usize = 256 << 10;
/// How many bytes of values, and how many appends, may be in the queue for a boundary to be answered at once.
const MAX_QUEUED_BYTES: usize = 8 << 20;
const MAX_QUEUED_APPENDS: usize = 8_192;

/// Work on the writing connection. It gets an error instead if a file of the database was removed or replaced.
pub(super) type Work = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

/// Something for the writing connection to do.
pub(super) enum Message {
    Append(QueuedAppend),
    /// Sets `max_page_count`; `None` removes the limit.
    LimitPages(Option<u32>),
    /// Filters of committed events, to be stored.
    Index {
        blocks: Vec<FilterBlock>,
        answer: Sender<Result<(), Error>>,
    },
    /// Nothing: it is answered when everything before it is committed.
    Wait(Sender<()>),
    /// Work of another kind, between two transactions.
    Run(Work),
    /// The same for tables that are not cached, so that the caches of running requests stay.
    RunUncached(Work),
}

/// Messages that wait for the writing connection.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) messages: VecDeque<Message>,
    /// Bytes of the values in the appends among them.
    bytes: usize,
    /// How many of them are boundaries that were answered.
    boundaries: usize,
    /// How many of them have a waiting caller.
    awaited: usize,
    /// When the oldest message must be handled at the latest; none if there are no messages.
    pub(super) due: Option<Instant>,
    pub(super) is_closed: bool,
    /// Whether the store's thread sleeps, so that it must be woken.
    pub(super) is_thread_asleep: bool,
}

impl Inbox {
    /// Whether the thread has something to do now.
    pub(super) fn is_ready(&self) -> bool {
        self.is_closed
            || self.awaited > 0
            || self.boundaries >= WAKE_BOUNDARIES
            || self.bytes >= MAX_BATCH_BYTES
            || self.due.is_some_and(|due| due <= Instant::now())
    }

    /// Whether a boundary may be answered before it is stored.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < MAX_QUEUED_BYTES && self.messages.len() < MAX_QUEUED_APPENDS
    }

    pub(super) fn push(&mut self, message: Message) {
        self.count(&message, 1);
        self.due.get_or_insert_with(|| Instant::now() + MAX_DELAY);
        self.messages.push_back(message);
    }

    /// Removes and returns the oldest message, if `is_wanted`.
    pub(super) fn pop_if(&mut self, is_wanted: impl FnOnce(&Message) -> bool) -> Option<Message> {
        let message = self.messages.pop_front_if(|message| is_wanted(message))?;
        self.count(&message, -1);
        if self.messages.is_empty() {
            self.due = None;
        }
        Some(message)
    }

    /// Adds a message to the counts, or with `by` -1 takes it off.
    fn count(&mut self, message: &Message, by: isize) {
        let counter = match message {
            Message::Append(append) => {
                self.bytes = self.bytes.wrapping_add_signed(by * append.bytes as isize);
                match (append.mode, &append.answer) {
                    (AppendMode::Evidence, _) => return,
                    (AppendMode::Boundary, None) => &mut self.boundaries,
                    (AppendMode::Boundary | AppendMode::Committed, _) => &mut self.awaited,
                }
            }
            Message::LimitPages(_)
            | Message::Index { .. }
            | Message::Wait(_)
            | Message::Run(_)
            | Message::RunUncached(_) => &mut self.awaited,
        };
        *counter = counter.wrapping_add_signed(by);
    }
}
