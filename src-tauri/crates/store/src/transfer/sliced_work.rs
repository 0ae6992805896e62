//! Long work in slices: short write transactions with pauses between them.
//!
//! Other writers, in any process, get the write lock in the pauses. As much as possible is read before, in a snapshot
//! that blocks no writer. Each slice must leave a valid database: the process may be killed after it. And it must
//! expect that another process has done the same work meanwhile.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sql::{Connection, DataPlace, Interrupt, Transaction};

use crate::file::open::{self, Access};
use crate::row::error::{AtFile, Error, OpenError};
use crate::write::writer::WriterHandle;

/// After this time a transaction takes no further work.
const MAX_TRANSACTION: Duration = Duration::from_millis(12);
/// The longest pause between two transactions; a shorter one is 4/3 of the time of the transaction before it. SQLite's
/// busy handler tries again after 1, 2, 5, 10, 15, 20, 25 ms, so a waiting writer gets the lock within some 50 ms.
const PAUSE_BETWEEN: Duration = Duration::from_millis(16);

/// The start of a transaction, whose time is limited to [`MAX_TRANSACTION`].
pub(crate) struct TimeSlice(Instant);

impl TimeSlice {
    /// Whether the time is used up, so that the transaction should end.
    pub(crate) fn is_over(&self) -> bool {
        self.0.elapsed() >= MAX_TRANSACTION
    }
}

/// The connections for long work: a handle to the writing connection, and a reading connection.
pub(crate) struct SlicedWork {
    place: DataPlace,
    reader: Connection,
    writer: WriterHandle,
    stop: Arc<AtomicBool>,
    /// When the last slice ended, and the pause to make after it.
    last: Cell<Option<(Instant, Duration)>>,
}

impl SlicedWork {
    pub(crate) fn new(place: &DataPlace, writer: WriterHandle, stop: Arc<AtomicBool>) -> Result<SlicedWork, OpenError> {
        Ok(SlicedWork {
            place: place.clone(),
            reader: open::reader(place, Access::ReadWrite)?,
            writer,
            stop,
            last: Cell::new(None),
        })
    }

    /// Where the database is.
    pub(crate) fn place(&self) -> &DataPlace {
        &self.place
    }

    /// A handle to interrupt a read from another thread.
    pub(crate) fn interrupt_handle(&self) -> Interrupt {
        self.reader.interrupt()
    }

    /// Runs `read` in one read transaction.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.check_not_stopped()?;
        let read = || -> Result<T, Error> {
            let snapshot = self.reader.snapshot()?;
            let result = read(&snapshot);
            snapshot.finish()?;
            result
        };
        read().map_err(|error| error.at(self.place.path()))
    }

    /// Runs `write` in one write transaction, after the pause. It should return soon after the slice is over.
    pub(crate) fn write<T: Send + 'static, E: From<Error> + AtFile + Send + 'static>(
        &self,
        write: impl FnOnce(&Connection, &TimeSlice) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        if let Some((end, pause)) = self.last.get() {
            std::thread::sleep(pause.saturating_sub(end.elapsed()));
        }
        self.check_not_stopped()?;
        let stop = self.stop.clone();
        let result = self.writer.run(move |connection| {
            let transaction = begin(connection, &stop)?;
            let begun = Instant::now();
            let result = write(&transaction, &TimeSlice(begun));
            if result.is_ok() {
                transaction.commit()?;
            }
            Ok((result, begun.elapsed()))
        });
        let spent = result.as_ref().map_or(PAUSE_BETWEEN, |(_, spent)| *spent);
        if self.writer.is_shared() {
            self.last.set(Some((Instant::now(), (spent * 4 / 3).min(PAUSE_BETWEEN))));
        }
        result?.0.map_err(|error| error.at_file(self.place.path()))
    }

    /// Runs `run` on the writing connection, outside of a transaction.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.run(run)
    }

    fn check_not_stopped(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        Ok(())
    }
}

/// Begins a write transaction, waiting for the lock until told to stop.
fn begin<'a>(connection: &'a Connection, stop: &AtomicBool) -> Result<Transaction<'a>, Error> {
    loop {
        match connection.transaction().map_err(Error::from) {
            Err(error) if error.is_busy() && !stop.load(Ordering::Relaxed) => {}
            begun => return begun,
        }
    }
}

/// Fails if a statement deleted no rows although some were found, which happens if an index is damaged. Without this
/// the caller would loop for ever.
pub(crate) fn check_rows_deleted(deleted: usize) -> Result<(), Error> {
    if deleted > 0 {
        return Ok(());
    }
    Err(Error::Damaged("rows are found that cannot be deleted; an index does not fit its table".to_owned()))
}
