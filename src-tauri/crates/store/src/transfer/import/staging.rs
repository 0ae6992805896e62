//! The staging database of an import: a temporary database to which the bundle's events are written like those of
//! running requests.
//!
//! It refuses an inconsistent bundle. Must not use the target database of the import.

use std::iter::Peekable;
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{Event, EventKind, ScopeCommit};
use engine::log::Record;
use engine::scope::ScopeKey;
use engine::state::State;

use crate::Committed;
use crate::check;
use crate::file::migrate;
use crate::file::open::configure_statement_cache;
use crate::file::owners::{Liveness, Owners};
use crate::read::rebased_values;
use crate::row::annotation::{Subject, row_of};
use crate::row::error::Error;
use crate::row::filter_block;
use crate::row::measure;
use crate::row::totals::{self, Sums};
use crate::transfer::bundle::{BundleRecord, ImportError, Unfit};
use crate::write::annotations;
use crate::write::append_batch::{AppendBatch, Draft};
use crate::write::transaction::TransactionRows;
use crate::write::writer_cache::WriterCache;

/// How many events one batch has.
const EVENTS_PER_BATCH: usize = 1_000;
/// About how many bytes of values one batch has, because storing them needs a second copy in memory.
const BYTES_PER_BATCH: usize = 1 << 20;
/// The largest distance of a JavaScript date from 1970, in milliseconds.
const LATEST_MS: u64 = 8_640_000_000_000_000;
/// The highest attempt number that is accepted.
const MAX_ATTEMPT: u32 = 1 << 31;
/// The maximum version: the limit of a database column, with room for the commits of an import.
const MAX_VERSION: u64 = i64::MAX as u64 / 2;

/// A bundle in its staging database.
pub(super) struct StagedBundle {
    pub(super) connection: Connection,
    /// The end of the rows that are not part of the bundle, which are the origins of its forks.
    pub(super) origin_end: OriginEnd,
    pub(super) totals: Sums,
    /// The highest id of an event.
    pub(super) last: i64,
    pub(super) committed: Vec<Committed>,
}

/// The highest event id, and the highest row numbers of `request` and `session`, before the bundle's rows.
#[derive(Default)]
pub(super) struct OriginEnd {
    pub(super) event: i64,
    pub(super) request: i64,
    pub(super) session: i64,
}

impl StagedBundle {
    pub(super) fn new(
        origin_records: Vec<BundleRecord>,
        bundle: Vec<BundleRecord>,
    ) -> Result<StagedBundle, ImportError> {
        // A temporary file that SQLite deletes with the connection.
        let connection = rusqlite::Connection::open("").map_err(Error::from)?;
        configure_statement_cache(&connection).map_err(Error::from)?;
        let connection = Connection::Sqlite(connection);
        connection.set_pragma("journal_mode", "OFF")?;
        connection.set_pragma("synchronous", "OFF")?;
        migrate::create_tables(&connection)?;
        connection.execute_batch("BEGIN")?;
        let mut cache = WriterCache::default();
        // The origins are here already.
        write(&connection, &mut cache, origin_records, |_| {})?;
        let number = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
        let origin_end = OriginEnd {
            event: number("SELECT coalesce(max(id), 0) FROM event")?,
            request: number("SELECT coalesce(max(n), 0) FROM request")?,
            session: number("SELECT coalesce(max(n), 0) FROM session")?,
        };
        let before = totals_without_payloads(&connection)?;
        let mut committed = Vec::new();
        write_bundle(&connection, &mut cache, &origin_end, bundle, |batch| committed.push(batch))?;
        let (after, last) = (totals_without_payloads(&connection)?, number("SELECT coalesce(max(id), 0) FROM event")?);
        connection.execute_batch("COMMIT")?;
        let totals = Sums {
            events: after.events - before.events,
            items: after.items - before.items,
            payload_bytes: after.payload_bytes - before.payload_bytes,
            unique_bytes: after.unique_bytes - before.unique_bytes,
        };
        Ok(StagedBundle { connection, origin_end, totals, last, committed })
    }
}

/// Writes a bundle, after the rows of its origins, and refuses an inconsistent one. `committed` gets what was written,
/// a batch at a time.
fn write_bundle(
    connection: &Connection,
    cache: &mut WriterCache,
    origin_end: &OriginEnd,
    bundle: Vec<BundleRecord>,
    committed: impl FnMut(Committed),
) -> Result<(), ImportError> {
    let (annotations, bundle) =
        bundle.into_iter().partition(|record| matches!(record, BundleRecord::Annotation { .. }));
    write(connection, cache, bundle, committed)?;
    annotate(connection, origin_end, annotations)?;
    rebased_values::add_missing(connection, origin_end.event)?;
    // References between events can be checked only when all events are written.
    let Some(problem) = check::first_problem(connection) else { return Ok(()) };
    let place = problem.request.as_ref().map(|request| format!("request \"{request}\": ")).unwrap_or_default();
    let event = problem.request.map(Arc::from).zip(problem.seq);
    Err(ImportError::Unfit(Unfit { what: format!("{place}{}", problem.what), event, record: None }))
}

/// Writes a bundle to a database without rows, and refuses an inconsistent one.
pub(super) fn write_alone(connection: &Connection, bundle: Vec<BundleRecord>) -> Result<(), ImportError> {
    write_bundle(connection, &mut WriterCache::default(), &OriginEnd::default(), bundle, |_| {})
}

/// The totals without the bytes in `payload`, which are counted when they are copied.
fn totals_without_payloads(connection: &Connection) -> Result<Sums, Error> {
    let mut totals = totals::read_row(connection)?;
    let sql = "SELECT coalesce(sum(bytes), 0) FROM payload";
    totals.unique_bytes -= connection.query_row(sql, (), |row| row.get::<_, i64>(0))?;
    Ok(totals)
}

fn write(
    connection: &Connection,
    cache: &mut WriterCache,
    records: Vec<BundleRecord>,
    mut committed: impl FnMut(Committed),
) -> Result<(), ImportError> {
    // Owners count as dead, so that no claim or lease of them refuses an event.
    let owners = Owners::new(|_| Liveness::Dead);
    let mut transaction = TransactionRows::new(connection, cache, &owners)?;
    let mut groups = Groups::new(records);
    while let Some(group) = groups.next()? {
        let mut batch = match group {
            Group::Records(records) => {
                transaction.put_records(&records)?;
                continue;
            }
            Group::Events(batch) => batch,
        };
        let (request, first) = (batch.request.clone(), batch.drafts.first().map_or(1, |draft| draft.event.seq));
        let unfit = |seq, what| ImportError::Unfit(Unfit::at(&request, seq, what));
        transaction.add(&mut batch)?.map_err(|refusal| unfit(first, refusal.to_string()))?;
        if let Some(scopes) = batch.conflict {
            let names: Vec<String> = scopes.iter().map(ToString::to_string).collect();
            let is_refused = |draft: &&Draft| matches!(draft.event.kind, EventKind::CommitRefused { .. });
            let refused = batch.drafts.iter().find(is_refused).map_or(first, |draft| draft.event.seq);
            return Err(unfit(refused, format!("{} are at other versions", names.join(", "))));
        }
        let events: Arc<[Event]> = batch.drafts.into_iter().map(|draft| draft.event).collect();
        committed(Committed { request: batch.request, events });
    }
    transaction.finish()?;
    filter_block::index_all_tails(connection)?;
    Ok(())
}

/// Adds the annotations of the bundle's requests and sessions, whose rows come after those of the origins.
fn annotate(connection: &Connection, origin: &OriginEnd, records: Vec<BundleRecord>) -> Result<(), ImportError> {
    for record in records {
        let BundleRecord::Annotation { subject, id, annotation } = record else { continue };
        let (what, after) = match subject {
            Subject::Request => ("request", origin.request),
            Subject::Session => ("session", origin.session),
        };
        let unfit =
            |why: &str| ImportError::Unfit(Unfit::new(format!("an annotation of {what} \"{id}\" is wrong: {why}")));
        annotation.check().map_err(|why| unfit(&why))?;
        let n = row_of(connection, subject, &id)?.filter(|n| *n > after);
        let n = n.ok_or_else(|| unfit(&format!("the {what} is not in the file")))?;
        annotations::insert(connection, subject, n, &annotation)?;
    }
    Ok(())
}

/// Consecutive entries of a bundle that are written together.
enum Group {
    Records(Vec<(ScopeKey, Record)>),
    Events(AppendBatch),
}

/// Groups a bundle's entries one group at a time: consecutive records, and consecutive events of one request. Returned
/// groups are dropped.
struct Groups<I: Iterator<Item = BundleRecord>> {
    records: Peekable<I>,
}

impl<I: Iterator<Item = BundleRecord>> Groups<I> {
    fn new(records: impl IntoIterator<IntoIter = I>) -> Self {
        Groups { records: records.into_iter().peekable() }
    }

    fn next(&mut self) -> Result<Option<Group>, ImportError> {
        let mut run = Vec::new();
        // Code and annotations are stored separately, see `copy_code` and `annotate`.
        while let Some(record) = self.records.next_if(|record| !matches!(record, BundleRecord::Event { .. })) {
            let BundleRecord::Record { scope, version, state } = record else { continue };
            if version > MAX_VERSION {
                let what = format!("record {scope} is at version {version}");
                return Err(ImportError::Unfit(Unfit { what, event: None, record: Some((scope, version)) }));
            }
            run.push((scope, Record { version, state: Arc::new(State::from(state)) }));
        }
        let Some(BundleRecord::Event { request, .. }) = self.records.peek() else { return Ok(None) };
        if !run.is_empty() {
            return Ok(Some(Group::Records(run)));
        }
        let whose = request.clone();
        let (mut events, mut bytes): (Vec<Event>, usize) = (Vec::new(), 0);
        let is_its = |record: &BundleRecord| matches!(record, BundleRecord::Event { request, .. } if *request == whose);
        // The first event of a fork is written together with the one that follows it.
        while events.len() < 2 || events.len() < EVENTS_PER_BATCH && bytes < BYTES_PER_BATCH {
            let Some(BundleRecord::Event { request, event }) = self.records.next_if(is_its) else { break };
            check_range(&request, &event)?;
            bytes += measure::value_bytes(&event.kind);
            events.push(*event);
        }
        Ok(Some(Group::Events(AppendBatch::imported(&whose, events)?)))
    }
}

/// Refuses an event with a number that the database cannot hold.
fn check_range(request: &Arc<str>, event: &Event) -> Result<(), ImportError> {
    let unfit = |what| Err(ImportError::Unfit(Unfit::at(request, event.seq, what)));
    if event.at.unsigned_abs() > LATEST_MS {
        return unfit(format!("event {} of \"{request}\" is at {} ms, which is no date", event.seq, event.at));
    }
    if event.attempt > MAX_ATTEMPT {
        return unfit(format!("event {} of \"{request}\" is of attempt {}", event.seq, event.attempt));
    }
    let is_beyond = |commit: &&ScopeCommit| commit.version.max(commit.from) > MAX_VERSION;
    if let Some(commit) = event.kind.commits().iter().find(is_beyond) {
        let (scope, version) = (&commit.scope, commit.version);
        return unfit(format!("event {} of \"{request}\" commits version {version} of {scope}", event.seq));
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::cell::Cell;

    use engine::scope::ScopeKind;
    use serde_json::Map;

    use super::*;

    fn event(request: &str, seq: u64, bytes: usize) -> BundleRecord {
        let kind = EventKind::Logged { level: "info".to_owned(), text: "x".repeat(bytes) };
        BundleRecord::Event {
            request: request.into(),
            event: Box::new(Event { seq, at: 1, path: None, attempt: 0, kind }),
        }
    }

    fn record() -> BundleRecord {
        BundleRecord::Record { scope: ScopeKey::new(ScopeKind::Session, "s"), version: 1, state: Map::new() }
    }

    /// How many events each group has; 0 of records.
    fn sizes(records: Vec<BundleRecord>) -> Vec<usize> {
        let mut groups = Groups::new(records);
        let size = |group| match group {
            Group::Records(_) => 0,
            Group::Events(batch) => batch.drafts.len(),
        };
        std::iter::from_fn(|| groups.next().unwrap().map(size)).collect()
    }

    #[test]
    fn consecutive_entries_are_one_group() {
        let records =
            vec![record(), record(), event("a", 1, 1), event("a", 2, 1), event("b", 1, 1), record(), event("a", 3, 1)];
        assert_eq!(sizes(records), [0, 2, 1, 0, 1]);
        assert_eq!(sizes(vec![event("a", 1, 1), record()]), [1], "records after the last event are of no event");
        assert_eq!(sizes((1..=2_500).map(|seq| event("a", seq, 1)).collect()), [1_000, 1_000, 500]);
    }

    /// However long a bundle is, no more of it is prepared at once than a group.
    #[test]
    fn no_more_entries_are_taken_than_a_group_has() {
        for count in [20, 40] {
            let taken = Cell::new(0_u64);
            let records = (1..=count).map(|seq| event("a", seq, BYTES_PER_BATCH / 2));
            let mut groups = Groups::new(records.inspect(|_| taken.set(taken.get() + 1)));
            let mut done = 0;
            while let Some(Group::Events(batch)) = groups.next().unwrap() {
                done += batch.drafts.len() as u64;
                assert!(batch.drafts.len() <= 2 && taken.get() <= done + 1, "{} of {done}", taken.get());
            }
            assert_eq!(done, count);
        }
    }
}
