//! Queries for what requests noted in their session: journal entries and metadata.
//!
//! Must read each event of a request at most once, however many notes the request has: chain callbacks write thousands.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{EventKind, Outcome, Seq};
use engine::log::NoteKind;
use serde_json::Value;

use crate::Store;
use crate::read::sessions::LINEAGE;
use crate::row::body;
use crate::row::error::Error;

/// A note in a session's journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The request that wrote it.
    pub request: Arc<str>,
    /// The `seq` of its event.
    pub seq: Seq,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The block that wrote it.
    pub path: Option<Arc<str>>,
    /// Its content.
    pub entry: Value,
}

/// Selects the notes of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoteQuery<'q> {
    /// Not those of this request.
    pub except: Option<&'q str>,
    /// Only those up to this time, in milliseconds since 1970.
    pub until: Option<i64>,
    /// At most this many, the newest.
    pub newest: Option<usize>,
}

impl Store {
    /// The notes of a session that count, oldest first. Notes of a rolled-back attempt do not count, except those of
    /// its callbacks that had returned.
    pub fn notes_of(&self, session: &str, wanted: NoteKind, query: NoteQuery<'_>) -> Result<Vec<Note>, Error> {
        self.read(|connection| notes(connection, session, wanted, query))
    }
}

/// A note that is in the log, whether it counts or not.
struct Candidate {
    note: Note,
    /// The number of its request.
    request: i64,
    /// The path and the attempt that wrote it; `None` if no block did.
    writer: Option<Writer>,
}

/// The number of a path, and the attempt.
type Writer = (i64, i64);

pub(crate) fn notes(
    connection: &Connection,
    session: &str,
    wanted: NoteKind,
    query: NoteQuery<'_>,
) -> Result<Vec<Note>, Error> {
    let newest = query.newest.unwrap_or(usize::MAX);
    let mut statement = connection.prepare_cached(&format!(
        "{LINEAGE}
         SELECT r.id, e.seq, e.at, p.text, e.body, e.request, e.path, e.attempt FROM lineage
         JOIN journal j ON j.session = lineage.session JOIN event e ON e.id = j.event
         JOIN request r ON r.n = e.request AND r.n < lineage.before LEFT JOIN path p ON p.n = e.path
         WHERE e.kind = ?2 AND r.id IS DISTINCT FROM ?3 AND e.at <= ?4 ORDER BY r.n DESC, j.event DESC"
    ))?;
    let until = query.until.unwrap_or(i64::MAX);
    let mut rows = statement.query((session, wanted.event(), query.except, until))?;
    let (mut found, mut of_request): (Vec<Note>, Vec<Candidate>) = (Vec::new(), Vec::new());
    // Doubled each time, so that few passes are made even if none of the newest notes counts.
    let mut at_a_time = newest;
    while found.len() < newest {
        let Some(row) = rows.next()? else { break };
        // Damaged events are reported by `check`.
        let Some(kind) = body::event_if_readable(connection, wanted.event(), &body::lossy(row, 4)?)? else {
            continue;
        };
        let Some(entry) = wanted.read(&kind).cloned() else { continue };
        let note = Note { request: row.get(0)?, seq: row.get(1)?, at: row.get(2)?, path: row.get(3)?, entry };
        let path: Option<i64> = row.get(6)?;
        let writer = path.map(|path| Ok::<_, Error>((path, row.get(7)?))).transpose()?;
        let request = row.get(5)?;
        let is_next = of_request.last().is_some_and(|last| last.request != request);
        if is_next || of_request.len() >= at_a_time {
            take_counting(connection, &mut of_request, &mut found)?;
            at_a_time = at_a_time.saturating_mul(2);
        }
        of_request.push(Candidate { note, request, writer });
    }
    take_counting(connection, &mut of_request, &mut found)?;
    found.truncate(newest);
    found.reverse();
    Ok(found)
}

/// Moves the notes that count out of some of one request, the newest first.
fn take_counting(connection: &Connection, notes: &mut Vec<Candidate>, found: &mut Vec<Note>) -> Result<(), Error> {
    let ends = Ends::read(connection, notes)?;
    let counting = notes.drain(..).filter(|one| ends.keep(one)).map(|one| one.note);
    found.extend(counting);
    Ok(())
}

/// How the attempts that wrote some notes of a request ended.
#[derive(Default)]
struct Ends(HashMap<Writer, End>);

#[derive(Default)]
struct End {
    /// The newest of its notes.
    newest: Seq,
    /// The events with which it completed or failed, and with which it went on after an interruption.
    ended: Vec<Seq>,
    went_on: Vec<Seq>,
    is_abandoned: bool,
    /// The events of its callbacks that returned, from the first of the notes on.
    returned: Vec<Seq>,
}

impl Ends {
    /// Reads the events of the request that follow the notes, until all of the attempts have ended. The bodies are read
    /// here, not by `json_extract`: long lists are not in the body but in `payload`.
    fn read(connection: &Connection, notes: &[Candidate]) -> Result<Ends, Error> {
        let mut ends = Ends::default();
        for one in notes {
            let Some(writer) = one.writer else { continue };
            let end = ends.0.entry(writer).or_default();
            end.newest = one.note.seq.max(end.newest);
        }
        let (Some(oldest), false) = (notes.last(), ends.0.is_empty()) else { return Ok(ends) };
        let mut left = ends.0.len();
        let mut statement = connection.prepare_cached(
            "SELECT path, attempt, kind, body, seq FROM event WHERE request = ?1 AND seq > ?2
             AND kind IN ('block_resumed', 'block_finished', 'callback_returned') ORDER BY seq",
        )?;
        let mut rows = statement.query((oldest.request, oldest.note.seq))?;
        while left > 0 {
            let Some(row) = rows.next()? else { break };
            let Some(path) = row.get(0)? else { continue };
            let Some(end) = ends.0.get_mut(&(path, row.get(1)?)) else { continue };
            let seq: Seq = row.get(4)?;
            match body::event_if_readable(connection, &body::lossy(row, 2)?, &body::lossy(row, 3)?)? {
                Some(EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, .. }) => {
                    let was_behind = end.ended.last().is_none_or(|ended| *ended < end.newest);
                    left -= usize::from(was_behind && seq > end.newest);
                    end.ended.push(seq);
                }
                Some(EventKind::BlockResumed { .. }) => {
                    end.went_on.push(seq);
                }
                Some(EventKind::BlockFinished { outcome: Outcome::Abandoned, .. }) => end.is_abandoned = true,
                Some(EventKind::CallbackReturned { events, .. }) => {
                    end.returned.extend(events.into_iter().filter(|seq| *seq >= oldest.note.seq));
                }
                _ => {}
            }
        }
        ends.0.values_mut().for_each(|end| end.returned.sort_unstable());
        Ok(ends)
    }

    /// Whether a note counts: its attempt completed or failed before it was interrupted, or the callback that wrote it
    /// had returned and the attempt was not abandoned.
    fn keep(&self, one: &Candidate) -> bool {
        let Some(end) = one.writer.and_then(|writer| self.0.get(&writer)) else { return true };
        let after = |seqs: &[Seq]| seqs.get(seqs.partition_point(|seq| *seq <= one.note.seq)).copied();
        let ended = after(&end.ended);
        let counts = ended.is_some_and(|ended| after(&end.went_on).is_none_or(|went_on| ended < went_on));
        counts || !end.is_abandoned && end.returned.binary_search(&one.note.seq).is_ok()
    }
}
