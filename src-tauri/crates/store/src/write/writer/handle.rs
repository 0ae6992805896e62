//! Work on the writing connection from other threads, between two transactions.

use std::sync::Arc;
use std::sync::mpsc::channel;

use super::CommitQueue;
use super::inbox::{Message, Work};
use crate::row::error::Error;
use crate::sql::Connection;

/// Runs work on the writing connection; see [`Writer::handle`](super::Writer::handle).
#[derive(Clone)]
pub(crate) struct WriterHandle(pub(super) Arc<CommitQueue>);

impl WriterHandle {
    /// Whether other processes may write to the database, too.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.is_shared
    }

    /// Runs work on the writing connection, between two transactions, and blocks until it is done.
    /// [`Error::Closed`] after the writer was dropped; [`Error::Gone`] or [`Error::LogGone`], and nothing runs, if a
    /// file of the database was removed or replaced.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.send(Message::Run, run)
    }

    /// As [`run`](Self::run), for work on tables without a cache.
    pub(crate) fn run_uncached<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.send(Message::RunUncached, run)
    }

    fn send<T: Send + 'static>(
        &self,
        message: fn(Work) -> Message,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, receiver) = channel();
        // Sending cannot fail: this thread holds the receiver.
        let work = move |connection: Result<&Connection, Error>| drop(answer.send(connection.and_then(run)));
        self.0.push_unless_closed(message(Box::new(work)))?;
        receiver.recv().map_err(|_| Error::Closed)?.map_err(|error| error.at(&self.0.path))
    }
}
