//! The first words of what requests were asked and blocks were called with, see `row/input_words.rs`.

use engine::event::{EventKind, Recorded, Seq};

use crate::sql::{Connection, OptionalExtension, Statement};

use crate::Store;
use crate::row::error::Error;
use crate::row::{body, input_words};

/// A value that is passed on by more blocks than this, each of which refers to the one before, has no words.
const MOST_REFERENCES: usize = 8;

impl Store {
    /// The first words of the inputs of requests, in their order; `None` where a request has no input that reads as
    /// text, or is not there.
    pub fn input_words<I: AsRef<str>>(&self, requests: &[I]) -> Result<Vec<Option<String>>, Error> {
        self.read(|connection| requests.iter().map(|request| of_request(connection, request.as_ref())).collect())
    }

    /// The id, the name or the title of what blocks of a request were called with, or its first words: by the first
    /// events of the blocks, in their order. Reads no payload: a value whose words are only in one has none.
    pub fn block_words(&self, request: &str, starts: &[Seq]) -> Result<Vec<Option<String>>, Error> {
        self.read(|connection| {
            let mut event = connection.prepare_cached(
                "SELECT kind, body FROM event WHERE request = (SELECT n FROM request WHERE id = ?1) AND seq = ?2",
            )?;
            starts.iter().map(|seq| of_block(&mut event, request, *seq)).collect()
        })
    }
}

/// The first words of the input of one request.
pub(super) fn of_request(connection: &Connection, request: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached("SELECT words FROM request WHERE id = ?1")?;
    Ok(statement.query_row((request,), |row| row.get(0)).optional()?.flatten())
}

/// The words of the block that an event began.
fn of_block(event: &mut Statement<'_>, request: &str, start: Seq) -> Result<Option<String>, Error> {
    let mut seq = start;
    for _ in 0..MOST_REFERENCES {
        let mut rows = event.query((request, seq))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (kind, text) = (body::lossy(row, 0)?, body::lossy(row, 1)?);
        let value = match body::event_unresolved(&kind, &text) {
            Some(EventKind::BlockStarted { input, .. }) if seq == start => Some(input),
            Some(
                EventKind::RequestStarted { input, .. }
                | EventKind::BlockInput { input }
                | EventKind::InputEdited { input },
            ) => Some(input),
            Some(EventKind::BlockFinished { output, .. }) => output,
            Some(EventKind::OutputEdited { output }) => Some(output),
            _ => None,
        };
        match value {
            Some(Recorded::Value(value)) => return Ok(input_words::of_block(&value)),
            Some(Recorded::Of(earlier)) if earlier < seq => seq = earlier,
            _ => return Ok(None),
        }
    }
    Ok(None)
}
