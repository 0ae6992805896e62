//! Text search: reads the ranges of events that may contain the text, newest request first, until there are enough
//! hits.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{EventKind, Recorded, Seq};
use engine::redaction::Redaction;
use engine::views::search::{Needle, Where, texts};

use crate::Store;
use crate::read::samples::Samples;
use crate::row::body;
use crate::row::error::Error;
use crate::row::item_text::{keep_end, text_before};
use crate::row::trigrams::{may_hold, trigrams_of_needle};

/// A search.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// The text; case is ignored, and there are no wildcards.
    pub text: String,
    /// Only in this session.
    pub session: Option<String>,
    /// Only in this request.
    pub request: Option<String>,
    /// Whether samples of experiments are searched, if neither a session nor a request is named.
    pub samples: Samples,
    /// At most this many hits.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}

/// An event that contains the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its request.
    pub request: Arc<str>,
    /// Its `seq`.
    pub seq: Seq,
    /// The path of its block.
    pub path: Option<Arc<str>>,
    /// Which part of the event contains it.
    pub place: Where,
    /// The text around the hit.
    pub snippet: String,
}

impl Store {
    /// All hits: newest request first, within a request by `seq`. Rolled-back attempts are searched too.
    pub fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        self.search_hiding(query, &Redaction::default())
    }

    /// [`search`](Self::search) that hides known values of secrets before a text is searched and cut.
    pub fn search_hiding(&self, query: &SearchQuery, redaction: &Redaction) -> Result<Vec<Hit>, Error> {
        let needle = Needle::new(&query.text);
        let mut skip = query.offset.unwrap_or(0);
        let limit = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        self.read(|connection| {
            let mut found = Vec::new();
            let mut ranges = ranges(connection, &needle, query.session.as_deref())?;
            if let Some(id) = &query.request {
                let n: Option<i64> = connection
                    .prepare_cached("SELECT n FROM request WHERE id = ?1")?
                    .query_row((id,), |row| row.get(0))
                    .optional()?;
                ranges.retain(|range| Some(range.request) == n);
            }
            let is_kept = query.samples.kept(connection, query.session.is_some() || query.request.is_some())?;
            ranges.retain(|range| is_kept(range.request));
            for range in ranges {
                if found.len() >= limit {
                    break;
                }
                let hits = read(connection, (&needle, redaction), &range)?;
                let passed = skip.min(hits.len() as u64);
                skip -= passed;
                found.extend(hits.into_iter().skip(passed as usize));
            }
            found.truncate(limit);
            Ok(found)
        })
    }
}

impl Store {
    /// The blocks whose input or output is recorded as a reference to the value of one of these events: the event,
    /// and the path of the block.
    pub fn values_of(&self, request: &str, seqs: &[Seq]) -> Result<Vec<(Seq, String)>, Error> {
        let mut wanted: HashSet<Seq> = seqs.iter().copied().collect();
        let mut found = Vec::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT e.seq, e.kind, e.body, p.text FROM event e JOIN path p ON p.n = e.path
                 WHERE e.request = (SELECT n FROM request WHERE id = ?1) AND e.seq > ?2
                 AND e.kind IN ('block_started', 'block_input', 'block_finished') AND instr(e.body, '\"of\":') > 0
                 ORDER BY e.seq",
            )?;
            let first = seqs.iter().min().copied().unwrap_or_default();
            let mut rows = statement.query((request, first))?;
            while let Some(row) = rows.next()? {
                let (kind, text) = (body::lossy(row, 1)?, body::lossy(row, 2)?);
                let value = match body::event_if_readable(connection, &kind, &text)? {
                    Some(EventKind::BlockStarted { input, .. } | EventKind::BlockInput { input }) => Some(input),
                    Some(EventKind::BlockFinished { output, .. }) => output,
                    _ => None,
                };
                if matches!(value, Some(Recorded::Of(seq)) if wanted.contains(&seq)) {
                    let seq = row.get(0)?;
                    wanted.insert(seq);
                    found.push((seq, row.get(3)?));
                }
            }
            Ok(found)
        })
    }
}

/// A range of a request's events, by `seq`, that may contain the text.
struct EventRange {
    request: i64,
    first: i64,
    last: i64,
}

fn ranges(connection: &Connection, needle: &Needle, session: Option<&str>) -> Result<Vec<EventRange>, Error> {
    let wanted = trigrams_of_needle(needle);
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
    let mut ranges = Vec::new();
    // A scan in the order of storage is faster than any index.
    let mut blocks = connection.prepare_cached(match session {
        None => {
            "SELECT request, first, last, trigram_filter FROM filter_block
             WHERE CAST(?1 AS bigint) IS NULL AND request NOT IN (SELECT n FROM removal WHERE kind = 'request')"
        }
        Some(_) => {
            "SELECT d.request, d.first, d.last, d.trigram_filter FROM request r JOIN filter_block d ON d.request = r.n
             WHERE r.session = ?1"
        }
    })?;
    let mut rows = blocks.query((session,))?;
    while let Some(row) = rows.next()? {
        let filter = row.get_ref(3)?.as_blob().map_err(|error| Error::Damaged(error.to_string()))?;
        if may_hold(filter, &wanted) {
            ranges.push(EventRange { request: row.get(0)?, first: row.get(1)?, last: row.get(2)? });
        }
    }
    let mut tails = connection.prepare_cached(
        "SELECT n, unindexed_from FROM request WHERE unindexed_from IS NOT NULL AND (session = ?1 OR ?1 IS NULL)",
    )?;
    let mut rows = tails.query((session,))?;
    while let Some(row) = rows.next()? {
        ranges.push(EventRange { request: row.get(0)?, first: row.get(1)?, last: i64::MAX });
    }
    ranges.sort_by_key(|range| (-range.request, range.first));
    Ok(ranges)
}

fn read(
    connection: &Connection,
    (needle, redaction): (&Needle, &Redaction),
    range: &EventRange,
) -> Result<Vec<Hit>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT e.seq, e.kind, e.body, p.text FROM event e LEFT JOIN path p ON p.n = e.path
         WHERE e.request = ?1 AND e.seq BETWEEN ?2 AND ?3 ORDER BY e.seq",
    )?;
    // JSON escapes only these characters, so texts without them can be searched in the body itself.
    let is_as_written =
        !needle.as_str().contains(|letter: char| letter == '"' || letter == '\\' || letter.is_control());
    let mut hits = Vec::new();
    let mut deltas = DeltaTexts { range, text_so_far: HashMap::new(), ended_items: None };
    let mut id: Option<Arc<str>> = None;
    let mut rows = statement.query((range.request, range.first, range.last))?;
    while let Some(row) = rows.next()? {
        let (kind, text) = (&*body::lossy(row, 1)?, &*body::lossy(row, 2)?);
        let is_delta = kind == "item_delta";
        if kind == "item_updated" && !deltas.text_so_far.is_empty() {
            deltas.forget(body::event_if_readable(connection, kind, text)?);
        }
        if is_as_written && !is_delta && !body::may_have_references(text) && !needle.is_in(text) {
            continue;
        }
        let seq: Seq = row.get(0)?;
        let Some(mut kind) = body::event_if_readable(connection, kind, text)? else { continue };
        if is_delta && !deltas.join(connection, needle, seq, &mut kind)? {
            continue;
        }
        let mut places = Vec::new();
        texts(&kind, &mut |place, text| {
            // At most one hit for each part of an event.
            if !places.contains(&place)
                && needle.is_in(text)
                && let Some(snippet) = needle.snippet(&redaction.without_known(text))
            {
                places.push(place);
                hits.push(Hit { request: Arc::default(), seq, path: None, place, snippet });
            }
        });
        if !places.is_empty() {
            let request = match &id {
                Some(id) => id.clone(),
                None => id.insert(request_id(connection, range.request)?).clone(),
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

/// The texts so far of items in progress, because a hit may span several deltas.
struct DeltaTexts<'a> {
    range: &'a EventRange,
    text_so_far: HashMap<Seq, String>,
    /// Items that have ended. Their last event has the whole text, so their deltas do not count as hits.
    ended_items: Option<HashSet<Seq>>,
}

impl DeltaTexts<'_> {
    /// Forgets the text of an updated item, so that it is read again.
    fn forget(&mut self, updated: Option<EventKind>) {
        if let Some(EventKind::ItemUpdated { of, .. }) = updated {
            self.text_so_far.remove(&of);
        }
    }

    /// Prepends the end of the item's earlier text to a delta, so that hits across deltas are found. Returns whether
    /// there is such a hit and the item has not ended.
    fn join(
        &mut self,
        connection: &Connection,
        needle: &Needle,
        seq: Seq,
        kind: &mut EventKind,
    ) -> Result<bool, Error> {
        let EventKind::ItemDelta { of, text } = kind else { return Ok(true) };
        // One character less than the needle, so that a hit of the previous delta is not found again.
        let reach = needle.as_str().chars().count().saturating_sub(1);
        let text_so_far = match self.text_so_far.entry(*of) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(none) => none.insert(text_before(connection, self.range.request, *of, seq, reach)?),
        };
        text_so_far.push_str(text);
        *text = text_so_far.clone();
        let is_hit = needle.is_in(text_so_far);
        keep_end(text_so_far, reach);
        if !is_hit {
            return Ok(false);
        }
        let ended_items = match &self.ended_items {
            Some(ended_items) => ended_items,
            None => self.ended_items.insert(ended_items(connection, self.range.request)?),
        };
        Ok(!ended_items.contains(of))
    }
}

fn ended_items(connection: &Connection, request: i64) -> Result<HashSet<Seq>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT CAST(json_extract(body, '$.of') AS bigint) FROM event
         WHERE request = ?1 AND kind = 'item_done' AND json_valid(body)",
    )?;
    let rows = statement.query_map((request,), |row| row.get::<_, Option<Seq>>(0))?;
    Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}
