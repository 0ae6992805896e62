//! Finding a text: the runs of events that may hold it, newest request first, are read until there are
//! enough hits.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{EventKind, Seq};
use engine::views::search::{Needle, Where, texts};
use rusqlite::{Connection, OptionalExtension};

use crate::Store;
use crate::row::body;
use crate::row::error::Error;
use crate::row::trigrams::{may_hold, trigrams};

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// Whatever its case; nothing in it is a pattern.
    pub text: String,
    /// Only in this session.
    pub session: Option<String>,
    /// At most this many hits.
    pub limit: Option<u64>,
    /// After this many.
    pub offset: Option<u64>,
}

/// An event that holds the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its request.
    pub request: Arc<str>,
    /// Its number there.
    pub seq: Seq,
    /// Its block.
    pub path: Option<Arc<str>>,
    /// In what of it.
    pub place: Where,
    /// The text around.
    pub snippet: String,
}

impl Store {
    /// Every place a text stands in: the newest request's first, within one in the order of its events.
    /// Attempts that came to nothing are searched too.
    pub fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        let needle = Needle::new(&query.text);
        let mut skip = query.offset.unwrap_or(0);
        let limit = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        self.read(|connection| {
            let mut found = Vec::new();
            for run in runs(connection, &needle, query.session.as_deref())? {
                if found.len() >= limit {
                    break;
                }
                let hits = read(connection, &needle, &run)?;
                let passed = skip.min(hits.len() as u64);
                skip -= passed;
                found.extend(hits.into_iter().skip(passed as usize));
            }
            found.truncate(limit);
            Ok(found)
        })
    }
}

/// Events of a request that may hold what is looked for.
struct Run {
    request: i64,
    first: i64,
    last: i64,
}

fn runs(connection: &Connection, needle: &Needle, session: Option<&str>) -> Result<Vec<Run>, Error> {
    let wanted = trigrams(needle.as_str());
    let session: Option<i64> = match session {
        None => None,
        Some(id) => {
            let known = connection
                .prepare_cached("SELECT n FROM session WHERE id = ?1")?
                .query_row((id,), |row| row.get(0))
                .optional()?;
            let Some(n) = known else { return Ok(Vec::new()) };
            Some(n)
        }
    };
    let mut runs = Vec::new();
    // All of them in the order they lie in is faster than any other order.
    let mut digests = connection.prepare_cached(match session {
        None => {
            "SELECT request, first, last, trigrams FROM filter_block
             WHERE ?1 IS NULL AND request NOT IN (SELECT n FROM removal WHERE kind = 'request')"
        }
        Some(_) => {
            "SELECT d.request, d.first, d.last, d.trigrams FROM request r JOIN filter_block d ON d.request = r.n
             WHERE r.session = ?1"
        }
    })?;
    let mut rows = digests.query((session,))?;
    while let Some(row) = rows.next()? {
        let filter = row.get_ref(3)?.as_blob().map_err(|error| Error::Damaged(error.to_string()))?;
        if may_hold(filter, &wanted) {
            runs.push(Run { request: row.get(0)?, first: row.get(1)?, last: row.get(2)? });
        }
    }
    let mut tails = connection.prepare_cached(
        "SELECT n, unindexed_from FROM request WHERE unindexed_from IS NOT NULL AND (?1 IS NULL OR session = ?1)",
    )?;
    let mut rows = tails.query((session,))?;
    while let Some(row) = rows.next()? {
        runs.push(Run { request: row.get(0)?, first: row.get(1)?, last: i64::MAX });
    }
    runs.sort_by_key(|run| (-run.request, run.first));
    Ok(runs)
}

fn read(connection: &Connection, needle: &Needle, run: &Run) -> Result<Vec<Hit>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT e.seq, e.kind, e.body, p.text FROM event e LEFT JOIN path p ON p.n = e.path
         WHERE e.request = ?1 AND e.seq BETWEEN ?2 AND ?3 ORDER BY e.seq",
    )?;
    // Only these letters stand otherwise in JSON than in what it says.
    let is_as_written =
        !needle.as_str().contains(|letter: char| letter == '"' || letter == '\\' || letter.is_control());
    let mut hits = Vec::new();
    let mut spoken = Spoken { run, said: HashMap::new(), done: None };
    let mut id: Option<Arc<str>> = None;
    let mut rows = statement.query((run.request, run.first, run.last))?;
    while let Some(row) = rows.next()? {
        let (kind, line) = (&*body::lossy(row, 1)?, &*body::lossy(row, 2)?);
        let is_piece = kind == "item_delta";
        if is_as_written && !is_piece && !body::has_marks(line) && !needle.is_in(line) {
            continue;
        }
        let seq: Seq = row.get(0)?;
        let Some(mut kind) = body::readable(connection, kind, line)? else { continue };
        if is_piece && !spoken.join(connection, needle, seq, &mut kind)? {
            continue;
        }
        let mut places = Vec::new();
        texts(&kind, &mut |place, text| {
            // What a model was asked and what it answered are one event: one hit.
            if !places.contains(&place)
                && let Some(snippet) = needle.snippet(text)
            {
                places.push(place);
                hits.push(Hit { request: Arc::default(), seq, path: None, place, snippet });
            }
        });
        if !places.is_empty() {
            let request = match &id {
                Some(id) => id.clone(),
                None => id.insert(request_id(connection, run.request)?).clone(),
            };
            let path: Option<Arc<str>> = row.get(3)?;
            for hit in hits.iter_mut().rev().take(places.len()) {
                (hit.request, hit.path) = (request.clone(), path.clone());
            }
        }
    }
    Ok(hits)
}

fn request_id(connection: &Connection, n: i64) -> Result<Arc<str>, Error> {
    Ok(connection.prepare_cached("SELECT id FROM request WHERE n = ?1")?.query_row((n,), |row| row.get(0))?)
}

/// What items in progress said so far: a text may be spoken in pieces.
struct Spoken<'a> {
    run: &'a Run,
    said: HashMap<Seq, String>,
    /// Items that ended; their last event has the whole text.
    done: Option<HashSet<Seq>>,
}

impl Spoken<'_> {
    /// Puts what was said before a piece in front of it, as far as a hit that ends in the piece may reach
    /// back. Answers whether the piece has such a hit, and no later event says the same.
    fn join(
        &mut self,
        connection: &Connection,
        needle: &Needle,
        seq: Seq,
        kind: &mut EventKind,
    ) -> Result<bool, Error> {
        let EventKind::ItemDelta { of, text } = kind else { return Ok(true) };
        // A letter less than the needle: what was a hit is none again.
        let reach = needle.as_str().chars().count().saturating_sub(1);
        let said = match self.said.entry(*of) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(none) => none.insert(said_before(connection, self.run.request, *of, seq, reach)?),
        };
        said.push_str(text);
        *text = said.clone();
        let is_hit = needle.is_in(said);
        said.drain(..last_letters(said, reach));
        if !is_hit {
            return Ok(false);
        }
        let done = match &self.done {
            Some(done) => done,
            None => self.done.insert(ended_items(connection, self.run.request)?),
        };
        Ok(!done.contains(of))
    }
}

/// Where the last letters of a text begin.
fn last_letters(text: &str, many: usize) -> usize {
    text.char_indices().rev().take(many).last().map_or(text.len(), |(at, _)| at)
}

/// The last letters of what an item said before an event.
fn said_before(connection: &Connection, request: i64, of: Seq, seq: Seq, many: usize) -> Result<String, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT body FROM event WHERE request = ?1 AND kind = 'item_delta' AND seq < ?2
         AND seq > ?3 AND CASE WHEN json_valid(body) THEN json_extract(body, '$.of') END = ?3 ORDER BY seq DESC",
    )?;
    let mut rows = statement.query((request, seq, of))?;
    let mut said = String::new();
    while said.chars().count() < many
        && let Some(row) = rows.next()?
    {
        if let Some(EventKind::ItemDelta { text, .. }) =
            body::readable(connection, "item_delta", &body::lossy(row, 0)?)?
        {
            said.insert_str(0, &text);
        }
    }
    Ok(said.split_off(last_letters(&said, many)))
}

fn ended_items(connection: &Connection, request: i64) -> Result<HashSet<Seq>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT json_extract(body, '$.of') FROM event WHERE request = ?1 AND kind = 'item_done' AND json_valid(body)",
    )?;
    let rows = statement.query_map((request,), |row| row.get::<_, Option<Seq>>(0))?;
    Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}
