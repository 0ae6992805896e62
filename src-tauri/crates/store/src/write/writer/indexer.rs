//! Makes the filters of search from committed events, on a thread and a connection of their own.
//!
//! No append waits for a filter: the thread begins when nothing was committed for [`IDLE`], when more than
//! [`MAX_UNINDEXED_EVENTS`] were committed since it last ran, and before the store is closed. Until then search reads
//! the events themselves. Only the rows of finished filters are written on the writing connection.

use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::file::open::{self, Access};
use crate::sql::{Connection, DataPlace};
use engine::event::Seq;

use super::CommitQueue;
use super::inbox::Message;
use crate::lock;
use crate::row::error::{Error, OpenError};
use crate::row::filter_block::{BlockReader, FilterBlock, unindexed_tails};

/// After how long without a commit the thread begins.
const IDLE: Duration = Duration::from_millis(100);
/// Search reads this many events in about 20 ms.
const MAX_UNINDEXED_EVENTS: usize = 16_384;
/// How many filters are stored in one transaction, so that a commit waits for it a millisecond at most.
const BLOCKS_PER_TRANSACTION: usize = 32;
/// How long the thread waits for the writing connection: another process may hold the write lock, and whoever closes
/// the store waits for this thread.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// What was committed since the thread last ran.
#[derive(Debug, Default)]
pub(super) struct Unindexed {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: usize,
    is_closed: bool,
}

impl Unindexed {
    /// Counts committed events.
    pub(super) fn add(&self, events: usize) {
        let mut state = lock(&self.state);
        let before = state.events;
        state.events += events;
        let begins = before == 0 || before < MAX_UNINDEXED_EVENTS && state.events >= MAX_UNINDEXED_EVENTS;
        drop(state);
        if begins && events > 0 {
            self.wake.notify_one();
        }
    }

    /// Blocks until there is something to index. Returns whether the store is being closed.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.is_closed && state.events < MAX_UNINDEXED_EVENTS {
            let before = state.events;
            if before == 0 {
                state = self.wake.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            } else {
                let waited = self.wake.wait_timeout(state, IDLE);
                state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
                if state.events == before {
                    break;
                }
            }
        }
        state.is_closed
    }

    /// Sets the count to zero. Returns whether anything was counted.
    fn take(&self) -> bool {
        std::mem::take(&mut lock(&self.state).events) > 0
    }
}

/// Owns the thread. Dropping it indexes what this process committed; the writer must still handle messages then.
pub(super) struct Indexer {
    unindexed: Arc<Unindexed>,
    thread: Option<JoinHandle<()>>,
}

impl Indexer {
    pub(super) fn start(place: &DataPlace, queue: Arc<CommitQueue>) -> Result<Indexer, OpenError> {
        let connection = open::reader(place, Access::ReadWrite)?;
        let unindexed = queue.unindexed.clone();
        let thread = std::thread::Builder::new()
            .name("store indexer".to_owned())
            .stack_size(crate::row::body::THREAD_STACK_BYTES)
            .spawn(move || {
                loop {
                    let is_closed = queue.unindexed.wait();
                    if queue.unindexed.take() {
                        // What could not be indexed stays in the tail, and is tried again after the next commit.
                        let _ = index(&connection, &queue);
                    }
                    if is_closed {
                        return;
                    }
                }
            })
            .map_err(|error| OpenError::io(place.path(), error))?;
        Ok(Indexer { unindexed, thread: Some(thread) })
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        lock(&self.unindexed.state).is_closed = true;
        self.unindexed.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Indexes the tails of all requests, those of other processes too: one may have been killed.
fn index(connection: &Connection, queue: &CommitQueue) -> Result<(), Error> {
    // Everything that was queued is committed before this is handled.
    store(queue, Vec::new())?;
    for (request, first, is_running) in unindexed_tails(connection)? {
        index_request(connection, queue, (request, first), is_running)?;
    }
    Ok(())
}

fn index_request(
    connection: &Connection,
    queue: &CommitQueue,
    (request, first): (i64, Seq),
    is_running: bool,
) -> Result<(), Error> {
    let mut reader = BlockReader::new(request, first);
    let mut blocks = Vec::new();
    loop {
        let block = reader.next_block(connection)?;
        let is_last = !block.is_full;
        if !is_last || !is_running {
            blocks.push(block);
        }
        if blocks.len() >= BLOCKS_PER_TRANSACTION || is_last && !blocks.is_empty() {
            store(queue, std::mem::take(&mut blocks))?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Has blocks stored on the writing connection, and waits for it.
fn store(queue: &CommitQueue, blocks: Vec<FilterBlock>) -> Result<(), Error> {
    let (answer, receiver) = channel();
    queue.push(Message::Index { blocks, answer });
    receiver.recv_timeout(MAX_WAIT).map_err(|_| Error::Closed)?
}
