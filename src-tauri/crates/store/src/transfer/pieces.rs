//! Long work in pieces: short transactions with pauses between them.
//!
//! Whoever waits for the write lock, in whatever process, gets it between two of them. What can be read
//! before is read in a snapshot that keeps nobody from writing. A piece must stand by itself: the process
//! may be killed after it, and somebody else may have done the same work meanwhile.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle, Transaction, TransactionBehavior};

use crate::file::open::{self, Access};
use crate::row::error::{Error, OpenError};
use crate::write::writer::Handle;

/// How long one transaction goes on taking up work.
const MAX_TRANSACTION: Duration = Duration::from_millis(12);
/// How long the write lock is free before the next one, at the most; after a short one it is free a third longer
/// than that took. SQLite asks for a lock again after 1, 2, 5, 10, 15, 20, 25 ms, so somebody who waits gets it
/// within some 50 ms.
const PAUSE_BETWEEN: Duration = Duration::from_millis(16);

/// The time that one transaction may take.
pub(crate) struct Slice(Instant);

impl Slice {
    /// Whether no more work should be taken up.
    pub(crate) fn is_over(&self) -> bool {
        self.0.elapsed() >= MAX_TRANSACTION
    }
}

/// What working in pieces needs: the writing connection between other writes, and one to read with.
pub(crate) struct Pieces {
    path: PathBuf,
    reader: Connection,
    writer: Handle,
    stop: Arc<AtomicBool>,
    /// When the last piece ended, and how long nobody else shall be kept waiting after it.
    last: Cell<Option<(Instant, Duration)>>,
}

impl Pieces {
    pub(crate) fn new(path: &Path, writer: Handle, stop: Arc<AtomicBool>) -> Result<Pieces, OpenError> {
        Ok(Pieces {
            path: path.to_owned(),
            reader: open::reader(path, Access::ReadWrite)?,
            writer,
            stop,
            last: Cell::new(None),
        })
    }

    /// Where the database is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends a read that is under way.
    pub(crate) fn interrupt_handle(&self) -> InterruptHandle {
        self.reader.get_interrupt_handle()
    }

    /// Reads from one snapshot.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.go_on()?;
        let snapshot = self.reader.unchecked_transaction()?;
        let result = read(&snapshot);
        snapshot.finish()?;
        result
    }

    /// Writes one piece, after a pause if it is not the first.
    pub(crate) fn write<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        write: impl FnOnce(&Connection, &Slice) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        if let Some((end, pause)) = self.last.get() {
            std::thread::sleep(pause.saturating_sub(end.elapsed()));
        }
        self.go_on()?;
        let stop = self.stop.clone();
        let result = self.writer.run(move |connection| {
            let transaction = begin(connection, &stop)?;
            let begun = Instant::now();
            let result = write(&transaction, &Slice(begun));
            if result.is_ok() {
                transaction.commit()?;
            }
            Ok((result, begun.elapsed()))
        });
        let work = result.as_ref().map_or(PAUSE_BETWEEN, |(_, work)| *work);
        self.last.set(Some((Instant::now(), (work * 4 / 3).min(PAUSE_BETWEEN))));
        result?.0
    }

    /// Runs something that opens no transaction of its own on the writing connection.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.run(run)
    }

    fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        Ok(())
    }
}

/// Takes the write lock, however long others keep it.
fn begin<'a>(connection: &'a Connection, stop: &AtomicBool) -> Result<Transaction<'a>, Error> {
    loop {
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(Error::from) {
            Err(error) if error.is_busy() && !stop.load(Ordering::Relaxed) => {}
            begun => return begun,
        }
    }
}

/// Refuses to look for ever at rows that are found and cannot be deleted: so it is where an index is damaged.
pub(crate) fn check_progress(gone: usize) -> Result<(), Error> {
    if gone > 0 {
        return Ok(());
    }
    Err(Error::Damaged("rows are found that cannot be deleted; an index does not fit its table".to_owned()))
}
