//! Pages of facts: what consecutive events of a request say of its structure, and which events each path has.
//!
//! A page covers the same events as a filter of search, and is made and stored with it. The same events always make the
//! same bytes. A page that cannot be read is made from its events again by whoever reads it; nothing here writes one.
//!
//! That a block only still ran, [`Fact::Lived`], is in no page: readers look for it where it decides something.
//!
//! A page ends with a checksum of its bytes and of the events it covers, because a byte that changed may still be read
//! as a page, of a tree that never was. Pages of before there were checksums have none, and are read as they are.

mod renumber;
mod seqs;

use std::collections::{BTreeMap, HashMap};

use crate::sql::{Connection, OptionalExtension};
use engine::event::{BlockKind, EventKind, Seq};
use engine::views::items::{repeats, takes_number};
use engine::views::spans::{Fact, NameNumber, Names, PathNumber, SpanEnd, SpanEvent, fact};
use serde::{Deserialize, Serialize};

use crate::row::body;
use crate::row::error::Error;
pub(crate) use renumber::renumber;
pub(crate) use seqs::read_seqs;
use seqs::{runs, seqs};

/// The kinds of events that say something of the structure; see [`fact`].
pub(crate) const KINDS_WITH_FACTS: &str = "'block_started', 'block_resumed', 'block_finished', \
     'hook_started', 'hook_returned', \
     'state_changed', 'item_added', 'effect_finished', 'callback_returned', 'request_resumed', 'request_finished'";
/// In [`PageBuilder::seqs_of_paths`], what stands for the path of events that have none.
pub(crate) const NO_PATH: i64 = 0;
/// How many bytes of a page's checksum are kept.
const SUM: usize = 4;
/// How many numbers of paths a reader keeps.
const MAX_NUMBERS: usize = 65_536;

/// A page as it is stored: postcard's varints, with differences to the fact before.
#[derive(Serialize)]
struct Page<'p> {
    /// The names of blocks.
    names: Vec<&'p str>,
    facts: Vec<StoredFact>,
}

#[derive(Serialize, Deserialize)]
struct StoredFact {
    seq: u64,
    at: i64,
    path: Option<i64>,
    attempt: u32,
    said: Said,
}

#[derive(Serialize, Deserialize)]
enum Said {
    /// The name as its place in `names`; the kind, see [`KINDS`]; the parent's path as difference to the own one.
    Started(u32, u8, Option<(i64, u32)>),
    /// How, see [`ENDS`]; whether it was memoized, and caught.
    Finished(u8, bool, bool),
    Wrote(bool),
    ItemAdded,
    ModelCalled(u64, u64),
    /// Runs of events: the difference of the first to this event, and how many.
    CallbackReturned(bool, Vec<(i64, u64)>, Vec<(i64, u64)>),
    RequestResumed,
    RequestFinished,
    WentOn,
    /// As `Started`, of one that replaces an attempt that failed.
    Replaced(u32, u8, Option<(i64, u32)>),
    FailureTold,
}

/// The kinds of blocks by their stored numbers; new ones come last.
const KINDS: [BlockKind; 5] =
    [BlockKind::Handler, BlockKind::Sequencer, BlockKind::Router, BlockKind::Generator, BlockKind::Hook];
/// The ends by their stored numbers; new ones come last.
const ENDS: [SpanEnd; 7] = [
    SpanEnd::Completed,
    SpanEnd::Failed,
    SpanEnd::Stopped,
    SpanEnd::Suspended,
    SpanEnd::Abandoned,
    SpanEnd::ReturnedError,
    SpanEnd::TimedOut,
];

/// Makes a page from events, in their order.
#[derive(Debug)]
pub(crate) struct PageBuilder {
    first: Seq,
    /// The newest event that was added.
    last: Seq,
    facts: Vec<SpanEvent>,
    names: Names,
    /// How many items its events number, if nothing is repeated.
    numbered: u64,
    /// Whether they repeat something.
    has_repeats: bool,
    /// The events of each path in the page, as differences to the one before; that before the first is `first`.
    seqs: BTreeMap<i64, (Seq, Vec<u64>)>,
}

impl PageBuilder {
    /// A page that begins with event `first`.
    pub(crate) fn new(first: Seq) -> PageBuilder {
        PageBuilder {
            first,
            last: first,
            facts: Vec::new(),
            names: Names::default(),
            numbered: 0,
            has_repeats: false,
            seqs: BTreeMap::new(),
        }
    }

    /// Adds an event. `kind` is none if it cannot be read.
    pub(crate) fn add(
        &mut self,
        (seq, at): (Seq, i64),
        (path, attempt): (Option<i64>, u32),
        kind: Option<&EventKind>,
        number: impl FnOnce(&str) -> Option<PathNumber>,
    ) {
        let (last, seqs) = self.seqs.entry(path.unwrap_or(NO_PATH)).or_insert((self.first, Vec::new()));
        seqs.push(seq - *last);
        *last = seq;
        self.last = seq;
        let Some(kind) = kind else { return };
        self.numbered += u64::from(takes_number(kind, path.is_some()));
        self.has_repeats |= repeats(kind);
        let fact = fact(kind, |name| self.names.number(name), number);
        if let Some(fact) = fact.filter(|fact| *fact != Fact::Lived) {
            let path = path.and_then(|path| PathNumber::try_from(path).ok());
            self.facts.push(SpanEvent { seq, at, path, attempt, fact });
        }
    }

    /// The page as it is stored.
    pub(crate) fn finish(&self) -> Result<StoredPage, Error> {
        let seqs_of_paths = self.seqs.iter().map(|(path, (_, seqs))| Ok::<_, Error>((*path, to_bytes(seqs)?)));
        Ok(StoredPage {
            body: encode((self.first, self.last), &self.facts, &self.names)?,
            numbered: self.numbered,
            has_repeats: self.has_repeats,
            seqs_of_paths: seqs_of_paths.collect::<Result<_, _>>()?,
        })
    }
}

/// A page as bytes.
#[derive(Debug)]
pub(crate) struct StoredPage {
    pub(crate) body: Vec<u8>,
    /// How many items its events number, and whether they repeat something.
    pub(crate) numbered: u64,
    pub(crate) has_repeats: bool,
    /// The events of every path in the page; see [`read_seqs`].
    pub(crate) seqs_of_paths: Vec<(i64, Vec<u8>)>,
}

impl StoredPage {
    /// Whether these bytes are this page, with its checksum or from before there were any.
    pub(crate) fn is(&self, body: &[u8]) -> bool {
        body == self.body || self.body[..self.body.len() - SUM] == *body
    }
}

/// The checksum of a page's bytes, as the page of these events.
fn checksum((first, last): (Seq, Seq), bytes: &[u8]) -> [u8; SUM] {
    let mut hash = blake3::Hasher::new();
    hash.update(&first.to_le_bytes()).update(&last.to_le_bytes()).update(bytes);
    let mut sum = [0; SUM];
    sum.copy_from_slice(&hash.finalize().as_bytes()[..SUM]);
    sum
}

fn stored_number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|known| known == one).unwrap_or(0) as u8
}

fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_allocvec(value).map_err(|error| Error::Damaged(error.to_string()))
}

fn encode((first, last): (Seq, Seq), facts: &[SpanEvent], texts: &Names) -> Result<Vec<u8>, Error> {
    let mut names: Vec<&str> = Vec::new();
    let mut places: HashMap<NameNumber, u32> = HashMap::new();
    let (mut seq, mut at, mut path) = (first, 0_i64, 0_i64);
    let mut stored = Vec::with_capacity(facts.len());
    for one in facts {
        let own = one.path.map(i64::from);
        let said = match &one.fact {
            Fact::Started { name, kind, parent, replaces_failed } => {
                let parent = parent.map(|(number, attempt)| (i64::from(number) - own.unwrap_or(0), attempt));
                let place = *places.entry(*name).or_insert_with(|| {
                    names.push(texts.text(*name));
                    names.len() as u32 - 1
                });
                let said = if *replaces_failed { Said::Replaced } else { Said::Started };
                said(place, stored_number(&KINDS, kind), parent)
            }
            Fact::Finished { end, is_memoized, is_caught } => {
                Said::Finished(stored_number(&ENDS, end), *is_memoized, *is_caught)
            }
            Fact::Wrote { is_shared } => Said::Wrote(*is_shared),
            Fact::ItemAdded { is_told_failure: true } => Said::FailureTold,
            Fact::ItemAdded { .. } => Said::ItemAdded,
            Fact::ModelCalled { prompt, completion } => Said::ModelCalled(*prompt, *completion),
            Fact::CallbackReturned { is_memoized, events, superseded } => {
                Said::CallbackReturned(*is_memoized, runs(one.seq, events), runs(one.seq, superseded))
            }
            Fact::WentOn => Said::WentOn,
            Fact::Lived => continue,
            Fact::RequestResumed => Said::RequestResumed,
            Fact::RequestFinished => Said::RequestFinished,
        };
        let difference = own.map(|own| own - path);
        let (seq_step, at_step) = (one.seq - seq, one.at.wrapping_sub(at));
        stored.push(StoredFact { seq: seq_step, at: at_step, path: difference, attempt: one.attempt, said });
        (seq, at, path) = (one.seq, one.at, own.unwrap_or(path));
    }
    let mut bytes = to_bytes(&Page { names, facts: stored })?;
    let sum = checksum((first, last), &bytes);
    bytes.extend(sum);
    Ok(bytes)
}

/// Reads the page of the events `first` to `last`, and adds its facts to `read`, in their order. After an error some of
/// them may be there.
pub(crate) fn read(
    (first, last): (Seq, Seq),
    body: &[u8],
    texts: &mut Names,
    read: &mut Vec<SpanEvent>,
) -> Result<(), Error> {
    let damaged = || Error::Damaged("a page of spans cannot be read".to_owned());
    // The parts of a `Page` one after the other, so that the facts are not put down twice.
    let (names, rest) = postcard::take_from_bytes::<Vec<&str>>(body).map_err(|_| damaged())?;
    let (count, rest) = postcard::take_from_bytes::<u64>(rest).map_err(|_| damaged())?;
    let names: Vec<NameNumber> = names.into_iter().map(|name| texts.number(name)).collect();
    let mut facts = postcard::Deserializer::from_bytes(rest);
    let (mut seq, mut at, mut path) = (first, 0_i64, 0_i64);
    for _ in 0..count {
        let stored = StoredFact::deserialize(&mut facts).map_err(|_| damaged())?;
        seq = seq.checked_add(stored.seq).ok_or_else(damaged)?;
        at = at.wrapping_add(stored.at);
        path = path.wrapping_add(stored.path.unwrap_or(0));
        let own = stored.path.map(|_| PathNumber::try_from(path)).transpose().map_err(|_| damaged())?;
        let replaces_failed = matches!(stored.said, Said::Replaced(..));
        let fact = match stored.said {
            Said::Started(name, kind, parent) | Said::Replaced(name, kind, parent) => {
                let kind = *KINDS.get(usize::from(kind)).ok_or_else(damaged)?;
                let around = |(difference, attempt): (i64, u32)| {
                    let number = i64::from(own.unwrap_or(0)).wrapping_add(difference);
                    Ok::<_, Error>((PathNumber::try_from(number).map_err(|_| damaged())?, attempt))
                };
                let name = *names.get(name as usize).ok_or_else(damaged)?;
                Fact::Started { name, kind, parent: parent.map(around).transpose()?, replaces_failed }
            }
            Said::Finished(end, is_memoized, is_caught) => {
                Fact::Finished { end: *ENDS.get(usize::from(end)).ok_or_else(damaged)?, is_memoized, is_caught }
            }
            Said::Wrote(is_shared) => Fact::Wrote { is_shared },
            Said::ItemAdded => Fact::ItemAdded { is_told_failure: false },
            Said::FailureTold => Fact::ItemAdded { is_told_failure: true },
            Said::ModelCalled(prompt, completion) => Fact::ModelCalled { prompt, completion },
            Said::CallbackReturned(is_memoized, events, superseded) => Fact::CallbackReturned {
                is_memoized,
                events: seqs(seq, &events).ok_or_else(damaged)?,
                superseded: seqs(seq, &superseded).ok_or_else(damaged)?,
            },
            Said::WentOn => Fact::WentOn,
            Said::RequestResumed => Fact::RequestResumed,
            Said::RequestFinished => Fact::RequestFinished,
        };
        read.push(SpanEvent { seq, at, path: own, attempt: stored.attempt, fact });
    }
    let sum = facts.finalize().map_err(|_| damaged())?;
    let is_whole = sum.is_empty() || checksum((first, last), &body[..body.len() - sum.len()]) == *sum;
    (is_whole && seq <= last).then_some(()).ok_or_else(damaged)
}

/// Finds the numbers of paths, and keeps them.
#[derive(Debug, Default)]
pub(crate) struct Numbers(HashMap<String, Option<PathNumber>>);

impl Numbers {
    /// The number of a path, if it has one. An error counts as none: the table is read again by who needs it.
    pub(crate) fn of(&mut self, connection: &Connection, path: &str) -> Option<PathNumber> {
        if let Some(known) = self.0.get(path) {
            return *known;
        }
        if self.0.len() >= MAX_NUMBERS {
            self.0.clear();
        }
        let found = number(connection, path).ok().flatten();
        self.0.insert(path.to_owned(), found);
        found
    }
}

/// What the events of a request up to one come to: how many items they number, and whether they repeat something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    pub(crate) numbered: u64,
    pub(crate) has_repeats: bool,
}

/// What the pages up to the one that ends with event `last` come to.
pub(crate) fn numbering(connection: &Connection, request: i64, last: Seq) -> Result<Numbering, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT numbered, has_repeats FROM span_page WHERE request = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
    )?;
    let found = statement
        .query_row((request, last), |row| Ok(Numbering { numbered: row.get(0)?, has_repeats: row.get(1)? }))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Stores a page of the events `first` to `last`.
pub(crate) fn insert(
    connection: &Connection,
    request: i64,
    (first, last): (Seq, Seq),
    page: &StoredPage,
) -> Result<(), Error> {
    let before = numbering(connection, request, first - 1)?;
    let (numbered, has_repeats) = (before.numbered + page.numbered, before.has_repeats || page.has_repeats);
    connection
        .prepare_cached(
            "INSERT INTO span_page (request, first, last, numbered, has_repeats, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .run((request, first, last, numbered, has_repeats, &page.body))?;
    let mut path_event =
        connection.prepare_cached("INSERT INTO path_event (request, path, first, seqs) VALUES (?1, ?2, ?3, ?4)")?;
    for (path, seqs) in &page.seqs_of_paths {
        path_event.run((request, path, first, seqs))?;
    }
    Ok(())
}

/// Makes the pages of all requests whose events have filters and no page, as older formats left them.
pub(crate) fn add_missing(connection: &Connection) -> Result<(), Error> {
    let mut blocks = connection.prepare(
        "SELECT request, first, last FROM filter_block f
         WHERE NOT EXISTS (SELECT 1 FROM span_page s WHERE s.request = f.request AND s.first = f.first)
         ORDER BY request, first",
    )?;
    let mut rows = blocks.query(())?;
    let mut numbers = Numbers::default();
    while let Some(row) = rows.next()? {
        let (request, first, last) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let page = of_events(connection, &mut numbers, request, (first, last))?;
        insert(connection, request, (first, last), &page.finish()?)?;
    }
    Ok(())
}

/// The page of the events `first` to `last`, made from them.
pub(crate) fn of_events(
    connection: &Connection,
    numbers: &mut Numbers,
    request: i64,
    (first, last): (Seq, Seq),
) -> Result<PageBuilder, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, kind, body, at, path, attempt FROM event WHERE request = ?1 AND seq BETWEEN ?2 AND ?3
         ORDER BY seq",
    )?;
    let mut rows = statement.query((request, first, last))?;
    let mut page = PageBuilder::new(first);
    while let Some(row) = rows.next()? {
        let kind = body::event_if_readable(connection, &body::lossy(row, 1)?, &body::lossy(row, 2)?)?;
        let number = |path: &str| numbers.of(connection, path);
        page.add((row.get(0)?, row.get(3)?), (row.get(4)?, row.get(5)?), kind.as_ref(), number);
    }
    Ok(page)
}

/// The number of a path, if it has one.
pub(crate) fn number(connection: &Connection, path: &str) -> Result<Option<PathNumber>, Error> {
    let mut statement = connection.prepare_cached("SELECT n FROM path WHERE text = ?1")?;
    Ok(statement.query_row((path,), |row| row.get(0)).optional()?)
}
