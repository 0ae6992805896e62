//! Reads the structure of a request: from its pages of spans, and from the events that have no page yet.
//!
//! A long request is read without its bodies. If a page is missing or damaged, its events are read instead.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{Event, Seq};
use engine::path;
use engine::views::fork_edits::{EditedPart, SpanEdit};
use engine::views::references::references;
use engine::views::spans::{Fact, Names, PathNumber, SpanEvent, Spans, fact};

use crate::Store;
use crate::read::events;
use crate::row::body;
use crate::row::error::Error;
use crate::row::span_page::{self, KINDS_WITH_FACTS, NO_PATH, Numbers};

/// If there are more events than this, a second thread adds them.
const LONG: Seq = 4_096;
/// How many events before a cut are searched for a sign that a block ran.
const SIGNS: i64 = 64;
/// How many facts a batch has, and how many batches are sent before the reader waits.
const BATCH: usize = 1_024;
const BATCHES: usize = 8;

impl Store {
    /// Extends the spans of a request by its events after [`Spans::last`]. The cost is proportional to these. Does
    /// nothing for an unknown request.
    pub fn extend_spans(&self, request: &str, spans: &mut Spans) -> Result<(), Error> {
        self.read(|connection| extend(connection, request, spans))
    }

    /// The events of a path, those of no block, and the earlier events to which they refer, by `seq`.
    pub fn events_of_block(&self, request: &str, path: &str) -> Result<Vec<Event>, Error> {
        let events = self.read(|connection| {
            let mut seqs: BTreeSet<Seq> = seqs_of_path(connection, request, path)?.into_iter().collect();
            seqs.extend(seqs_without_path(connection, request)?);
            with_references(connection, request, seqs)
        })?;
        self.on_damaged.report_damaged(request, &events);
        Ok(events)
    }

    /// The events that determine the status of a request's questions, by `seq`: those of no block, of the blocks that
    /// asked and their parents, and of other blocks that can end a question: other arms of a race, and the rescue of a
    /// chain.
    pub fn events_of_suspensions(&self, request: &str) -> Result<Vec<Event>, Error> {
        let events = self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT p.text FROM event e JOIN path p ON p.n = e.path
                 WHERE e.request = (SELECT n FROM request WHERE id = ?1) AND e.kind = 'suspended'",
            )?;
            let asked: Vec<String> = statement.query_map((request,), |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut seqs: BTreeSet<Seq> = seqs_without_path(connection, request)?.into_iter().collect();
            for path in deciding_paths(connection, &asked)? {
                seqs.extend(seqs_of_path(connection, request, &path)?);
            }
            let seqs: Vec<Seq> = seqs.into_iter().collect();
            events::with_seqs(connection, request, &seqs)
        })?;
        self.on_damaged.report_damaged(request, &events);
        Ok(events)
    }

    /// The inputs and outputs that a fork replaces. Reads all events of a fork, and no events of other requests.
    pub fn edits(&self, request: &str) -> Result<Vec<SpanEdit>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT e.seq, e.path, e.kind = 'output_edited' FROM request r JOIN event e ON e.request = r.n
                 WHERE r.id = ?1 AND r.forked_from IS NOT NULL AND e.kind IN ('input_edited', 'output_edited')
                 ORDER BY e.seq",
            )?;
            let rows = statement.query_map((request,), |row| {
                let part = if row.get(2)? { EditedPart::Output } else { EditedPart::Input };
                Ok(SpanEdit { seq: row.get(0)?, path: row.get(1)?, part })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// How many items of a request are numbered before an event. `None` if that depends on the whole log, because the
    /// request repeats something.
    pub fn items_before(&self, request: &str, seq: Seq) -> Result<Option<u64>, Error> {
        self.read(|connection| {
            let n: i64 = connection
                .prepare_cached("SELECT n FROM request WHERE id = ?1")?
                .query_row((request,), |row| row.get(0))?;
            let page: Option<(Seq, Seq)> = connection
                .prepare_cached(
                    "SELECT first, last FROM span_page WHERE request = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
                )?
                .query_row((n, seq), |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let first = page.map_or(1, |(first, last)| if seq <= last { first } else { last + 1 });
            let before = span_page::numbering(connection, n, first - 1)?;
            let rest = span_page::of_events(connection, &mut Numbers::default(), n, (first, seq - 1))?.finish()?;
            let has_repeats = before.has_repeats || rest.has_repeats;
            Ok((!has_repeats).then_some(before.numbered + rest.numbered))
        })
    }

    /// The texts of paths, in the order of their numbers.
    pub fn path_texts(&self, numbers: &[PathNumber]) -> Result<Vec<Arc<str>>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT text FROM path WHERE n = ?1")?;
            let text = |number: &PathNumber| Ok(statement.query_row((number,), |row| row.get(0))?);
            numbers.iter().map(text).collect()
        })
    }

    /// The number of a path, if a block ran there.
    pub fn path_number(&self, path: &str) -> Result<Option<PathNumber>, Error> {
        self.read(|connection| span_page::number(connection, path))
    }
}

/// See [`Store::extend_spans`].
pub(crate) fn extend(connection: &Connection, request: &str, spans: &mut Spans) -> Result<(), Error> {
    let newest: Option<(i64, Option<Seq>, Option<Seq>)> = connection
        .prepare_cached(
            "SELECT n, (SELECT max(seq) FROM event WHERE request = n), forked_at FROM request WHERE id = ?1",
        )?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((request, Some(newest), forked_at)) = newest.filter(|(_, newest, _)| *newest > Some(spans.last())) else {
        return Ok(());
    };
    spans.keep_until(forked_at.unwrap_or(0));
    // The reader needs the names; the spans do not need them while facts are added.
    let mut names = std::mem::take(spans.names_mut());
    let mut reader = Reader { connection, request, names: &mut names, paths: Numbers::default(), last: spans.last() };
    let read = if newest - spans.last() <= LONG {
        reader.read(newest, |batch| take_in(spans, batch))
    } else {
        read_aside(reader, newest, spans)
    };
    *spans.names_mut() = names;
    read
}

/// Consecutive facts, and the last event that they cover.
type Batch = (Vec<SpanEvent>, Seq);

/// Adds facts. Returns their empty vector for reuse.
fn take_in(spans: &mut Spans, (mut facts, last): Batch) -> Vec<SpanEvent> {
    for fact in facts.drain(..) {
        spans.push(fact);
    }
    spans.set_last(last);
    facts
}

/// Reads while another thread adds the facts.
fn read_aside(mut reader: Reader<'_>, newest: Seq, spans: &mut Spans) -> Result<(), Error> {
    let (send, received) = mpsc::sync_channel::<Batch>(BATCHES);
    let (give_back, emptied) = mpsc::channel();
    thread::scope(|side| {
        let taking_in = thread::Builder::new().name("spans".to_owned());
        taking_in.spawn_scoped(side, move || {
            for batch in received {
                // Fails when the reader has finished.
                let _ = give_back.send(take_in(spans, batch));
            }
        })?;
        reader.read(newest, |batch| {
            // Fails only if the other thread panicked, which the end of the scope reports.
            let _ = send.send(batch);
            emptied.try_recv().unwrap_or_default()
        })?;
        drop(send);
        Ok(())
    })
}

/// Reads the facts of a request, in order.
struct Reader<'r> {
    connection: &'r Connection,
    request: i64,
    names: &'r mut Names,
    paths: Numbers,
    /// The newest event that was read.
    last: Seq,
}

impl Reader<'_> {
    /// Reads the facts after [`Reader::last`] up to `newest`, and passes them to `take` in batches.
    fn read(&mut self, newest: Seq, mut take: impl FnMut(Batch) -> Vec<SpanEvent>) -> Result<(), Error> {
        let mut facts = Vec::new();
        let mut statement = self.connection.prepare_cached(
            "SELECT first, last, body FROM span_page WHERE request = ?1 AND first >=
                 coalesce((SELECT max(first) FROM span_page WHERE request = ?1 AND first <= ?2), 0) ORDER BY first",
        )?;
        let mut rows = statement.query((self.request, self.last + 1))?;
        while let Some(row) = rows.next()? {
            let (first, last): (Seq, Seq) = (row.get(0)?, row.get(1)?);
            if last <= self.last {
                continue;
            }
            if first > self.last + 1 {
                self.read_events(first - 1, &mut facts)?;
            }
            let body = row.get_ref(2)?.as_blob().map_err(|error| Error::Damaged(error.to_string()))?;
            let before = facts.len();
            match span_page::read((first, last), body, self.names, &mut facts) {
                Ok(()) => {
                    let known = facts[before..].iter().take_while(|fact| fact.seq <= self.last).count();
                    facts.drain(before..before + known);
                    self.last = last;
                    self.add_signs_of_life(&mut facts, before)?;
                }
                Err(_) => {
                    facts.truncate(before);
                    self.read_events(last, &mut facts)?;
                }
            }
            if facts.len() >= BATCH {
                facts = take((facts, self.last));
            }
        }
        self.read_events(newest, &mut facts)?;
        facts.extend(self.sign_of_life(newest + 1)?);
        take((facts, self.last));
        Ok(())
    }

    /// Reads the events after [`Reader::last`] up to `last`.
    fn read_events(&mut self, last: Seq, facts: &mut Vec<SpanEvent>) -> Result<(), Error> {
        let before = facts.len();
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT seq, at, path, attempt, kind, body FROM event
             WHERE request = ?1 AND seq BETWEEN ?2 AND ?3 AND kind IN ({KINDS_WITH_FACTS}) ORDER BY seq"
        ))?;
        let mut rows = statement.query((self.request, self.last + 1, last))?;
        while let Some(row) = rows.next()? {
            let kind = body::event_if_readable(self.connection, &body::lossy(row, 4)?, &body::lossy(row, 5)?)?;
            let number = |path: &str| self.paths.of(self.connection, path);
            if let Some(fact) = kind.and_then(|kind| fact(&kind, |name| self.names.number(name), number)) {
                let path = row.get::<_, Option<i64>>(2)?.and_then(|path| PathNumber::try_from(path).ok());
                facts.push(SpanEvent { seq: row.get(0)?, at: row.get(1)?, path, attempt: row.get(3)?, fact });
            }
        }
        self.last = last;
        self.add_signs_of_life(facts, before)
    }

    /// Before each fact from `start` on that cuts off running blocks, adds the newest event that shows that they ran.
    fn add_signs_of_life(&self, facts: &mut Vec<SpanEvent>, start: usize) -> Result<(), Error> {
        for at in (start..facts.len()).rev() {
            if matches!(facts[at].fact, Fact::RequestResumed | Fact::RequestFinished)
                && let Some(sign) = self.sign_of_life(facts[at].seq)?
            {
                facts.insert(at, sign);
            }
        }
        Ok(())
    }

    /// The newest event of a block before another event, if it only shows that the block ran.
    fn sign_of_life(&self, before: Seq) -> Result<Option<SpanEvent>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, at, path, attempt, kind, body FROM event WHERE request = ?1 AND seq < ?2 AND path IS NOT NULL
             ORDER BY seq DESC LIMIT ?3",
        )?;
        let mut rows = statement.query((self.request, before, SIGNS))?;
        while let Some(row) = rows.next()? {
            let kind = body::event_if_readable(self.connection, &body::lossy(row, 4)?, &body::lossy(row, 5)?)?;
            match kind.and_then(|kind| fact(&kind, |_| 0, |_| None)) {
                None => {}
                Some(Fact::Lived) => {
                    let path = row.get::<_, Option<i64>>(2)?.and_then(|path| PathNumber::try_from(path).ok());
                    let (seq, at, attempt) = (row.get(0)?, row.get(1)?, row.get(3)?);
                    return Ok(Some(SpanEvent { seq, at, path, attempt, fact: Fact::Lived }));
                }
                Some(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Events by their numbers, and the earlier events to which they refer.
pub(crate) fn with_references(
    connection: &Connection,
    request: &str,
    wanted: BTreeSet<Seq>,
) -> Result<Vec<Event>, Error> {
    let mut found: BTreeMap<Seq, Event> = BTreeMap::new();
    let mut wanted: Vec<Seq> = wanted.into_iter().collect();
    while !wanted.is_empty() {
        let read = events::with_seqs(connection, request, &wanted)?;
        wanted = read.iter().flat_map(|event| references(&event.kind)).collect();
        found.extend(read.into_iter().map(|event| (event.seq, event)));
        wanted.retain(|seq| !found.contains_key(seq));
        wanted.sort_unstable();
        wanted.dedup();
    }
    Ok(found.into_values().collect())
}

/// The paths whose events determine the status of questions asked at these paths.
fn deciding_paths(connection: &Connection, asked: &[String]) -> Result<HashSet<String>, Error> {
    let mut found: HashSet<String> = HashSet::new();
    let mut left: Vec<String> = asked.to_vec();
    while let Some(path) = left.pop() {
        if !found.insert(path.clone()) {
            continue;
        }
        left.extend(path::parent(&path).map(str::to_owned));
        left.extend(siblings_below(connection, &format!("{path}/rescue:"))?);
        let operation = path::operation(&path);
        let name = operation.rsplit('/').next().unwrap_or(operation);
        if operation != path && (name == "race" || name.starts_with("race~")) {
            left.extend(siblings_below(connection, &format!("{operation}["))?);
        }
    }
    Ok(found)
}

/// The paths that begin with a text and have no further segment.
fn siblings_below(connection: &Connection, begin: &str) -> Result<Vec<String>, Error> {
    // The last character is ASCII, so its successor is a character.
    let mut end = begin.to_owned();
    let last = end.pop().unwrap_or('/');
    end.push(char::from(last as u8 + 1));
    let mut statement = connection.prepare_cached("SELECT text FROM path WHERE text >= ?1 AND text < ?2")?;
    let rows = statement.query_map((begin, end), |row| row.get::<_, String>(0))?;
    let is_sibling = |text: &String| text.get(begin.len()..).is_some_and(|rest| !rest.contains('/'));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().filter(is_sibling).collect())
}

/// The events of no block in a request.
pub(crate) fn seqs_without_path(connection: &Connection, request: &str) -> Result<Vec<Seq>, Error> {
    seqs_of(connection, request, NO_PATH)
}

/// The events of a path in a request, ascending: from the lists of pages, and events that have no page yet.
pub(crate) fn seqs_of_path(connection: &Connection, request: &str, path: &str) -> Result<Vec<Seq>, Error> {
    match span_page::number(connection, path)? {
        Some(path) => seqs_of(connection, request, path.into()),
        None => Ok(Vec::new()),
    }
}

fn seqs_of(connection: &Connection, request: &str, path: i64) -> Result<Vec<Seq>, Error> {
    let found: Option<(i64, Option<Seq>)> = connection
        .prepare_cached("SELECT n, unindexed_from FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((request, unindexed_from)) = found else { return Ok(Vec::new()) };
    let mut statement = connection
        .prepare_cached("SELECT first, seqs FROM path_event WHERE request = ?1 AND path = ?2 ORDER BY first")?;
    let mut rows = statement.query((request, path))?;
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        let (first, list) = (row.get(0)?, row.get_ref(1)?);
        match list.as_blob().ok().map(|bytes| span_page::read_seqs(first, bytes)) {
            Some(Ok(list)) => seqs.extend(list),
            _ => seqs.extend(seqs_in_page(connection, (request, path), first)?),
        }
    }
    if let Some(first) = unindexed_from {
        let mut tail = connection.prepare_cached(
            "SELECT seq FROM event WHERE request = ?1 AND seq >= ?2 AND coalesce(path, 0) = ?3 ORDER BY seq",
        )?;
        let rows = tail.query_map((request, first, path), |row| row.get(0))?;
        for seq in rows {
            seqs.push(seq?);
        }
    }
    Ok(seqs)
}

/// The events of a path in the page that begins with an event, if the page's list is unreadable.
fn seqs_in_page(connection: &Connection, (request, path): (i64, i64), first: Seq) -> Result<Vec<Seq>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq FROM event WHERE request = ?1 AND coalesce(path, 0) = ?2 AND seq >= ?3 AND seq <=
             coalesce((SELECT max(last) FROM span_page WHERE request = ?1 AND first = ?3), ?3) ORDER BY seq",
    )?;
    let rows = statement.query_map((request, path, first), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
