//! A bundle in a database of its own: its events written by the same rules as those of a running request.
//!
//! What does not fit is refused here, before anything is written where others look. Must not touch the database
//! that it is for.

use std::sync::Arc;

use engine::event::Event;
use engine::log::{Durability, Record};
use engine::scope::ScopeKey;
use engine::state::State;
use rusqlite::Connection;

use crate::Committed;
use crate::check;
use crate::file::migrate;
use crate::file::open::{Liveness, Owners, settle};
use crate::read::in_force;
use crate::row::error::Error;
use crate::row::totals::{self, Sums};
use crate::transfer::bundle::{BundleRecord, ImportError};
use crate::write::append_batch::AppendBatch;
use crate::write::live::Memory;
use crate::write::transaction::Transaction;

/// How many events one batch takes.
const EVENTS_PER_BATCH: usize = 1_000;
/// The latest date that JavaScript knows, and the earliest before 1970, in milliseconds.
const LATEST_MS: u64 = 8_640_000_000_000_000;
/// More often than any path ever ran.
const MOST_ATTEMPTS: u32 = 1 << 31;

/// A bundle in a database of its own.
pub(super) struct Built {
    pub(super) connection: Connection,
    /// The last of what it holds besides the bundle, for forks to come from.
    pub(super) seed: Seed,
    pub(super) totals: Sums,
    /// The last event.
    pub(super) last: i64,
    pub(super) news: Vec<Committed>,
}

#[derive(Default)]
pub(super) struct Seed {
    pub(super) event: i64,
    pub(super) request: i64,
    pub(super) session: i64,
}

impl Built {
    pub(super) fn new(seeds: Vec<BundleRecord>, bundle: Vec<BundleRecord>) -> Result<Built, ImportError> {
        // A file that SQLite makes for this connection alone, and that is gone with it.
        let connection = Connection::open("")?;
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        settle(&connection)?;
        migrate::make(&connection)?;
        connection.execute_batch("BEGIN")?;
        let mut memory = Memory::default();
        write(&connection, &mut memory, seeds)?;
        let number = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
        let seed = Seed {
            event: number("SELECT coalesce(max(id), 0) FROM event")?,
            request: number("SELECT coalesce(max(n), 0) FROM request")?,
            session: number("SELECT coalesce(max(n), 0) FROM session")?,
        };
        let before = lines(&connection)?;
        let news = write(&connection, &mut memory, bundle)?;
        in_force::complete(&connection, seed.event)?;
        let (after, last) = (lines(&connection)?, number("SELECT coalesce(max(id), 0) FROM event")?);
        // Each event was taken as it came; only all of them tell whether one names another that is not what it says.
        if let Some(problem) = check::first_problem(&connection) {
            let place = problem.request.map(|request| format!("request \"{request}\": ")).unwrap_or_default();
            return Err(ImportError::Unfit(format!("{place}{}", problem.what)));
        }
        connection.execute_batch("COMMIT")?;
        let totals = Sums {
            events: after.events - before.events,
            items: after.items - before.items,
            payload_bytes: after.payload_bytes - before.payload_bytes,
            unique_bytes: after.unique_bytes - before.unique_bytes,
        };
        Ok(Built { connection, seed, totals, last, news })
    }
}

/// The row of totals without large values, which are counted where they are copied.
fn lines(connection: &Connection) -> Result<Sums, Error> {
    let mut totals = totals::row(connection)?;
    let sql = "SELECT coalesce(sum(bytes), 0) FROM payload";
    totals.unique_bytes -= connection.query_row(sql, (), |row| row.get::<_, i64>(0))?;
    Ok(totals)
}

fn write(
    connection: &Connection,
    memory: &mut Memory,
    pieces: Vec<BundleRecord>,
) -> Result<Vec<Committed>, ImportError> {
    let mut news = Vec::new();
    // Nobody's request is in the way of one that has run elsewhere.
    let owners = Owners::new(|_| Liveness::Dead);
    let mut transaction = Transaction::new(connection, memory, &owners)?;
    for stretch in stretches(pieces)? {
        let mut batch = match stretch {
            Stretch::Records(records) => {
                transaction.carry(&records)?;
                continue;
            }
            Stretch::Events(batch) => batch,
        };
        transaction.add(&mut batch)?.map_err(|refusal| ImportError::Unfit(refusal.to_string()))?;
        if let Some(scopes) = batch.conflict {
            let names: Vec<String> = scopes.iter().map(ToString::to_string).collect();
            return Err(ImportError::Unfit(format!("{} are at other versions", names.join(", "))));
        }
        let events: Arc<[Event]> = batch.drafts.into_iter().map(|draft| draft.event).collect();
        news.push(Committed { request: batch.request, events });
    }
    transaction.close()?;
    Ok(news)
}

/// What is written together.
enum Stretch {
    Records(Vec<(ScopeKey, Record)>),
    Events(AppendBatch),
}

/// Pieces that are written together: records that follow each other, and events of one request.
fn stretches(pieces: Vec<BundleRecord>) -> Result<Vec<Stretch>, ImportError> {
    let mut stretches = Vec::new();
    let mut records = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    let mut whose: Arc<str> = "".into();
    for piece in pieces {
        let ends = match &piece {
            BundleRecord::Record { .. } | BundleRecord::Code { .. } => true,
            BundleRecord::Event { request, .. } => *request != whose || events.len() >= EVENTS_PER_BATCH,
        };
        if ends && !events.is_empty() {
            stretches.push(Stretch::Events(AppendBatch::new(
                &whose,
                None,
                std::mem::take(&mut events),
                Durability::Committed,
            )?));
        }
        match piece {
            BundleRecord::Record { scope, version, state } => {
                records.push((scope, Record { version, state: Arc::new(State::from(state)) }));
            }
            // Kept by itself, before anything that names it.
            BundleRecord::Code { .. } => {}
            BundleRecord::Event { request, event } => {
                if event.at.unsigned_abs() > LATEST_MS {
                    let what = format!("event {} of \"{request}\" is at {} ms, which is no date", event.seq, event.at);
                    return Err(ImportError::Unfit(what));
                }
                if event.attempt > MOST_ATTEMPTS {
                    let what = format!("event {} of \"{request}\" is of attempt {}", event.seq, event.attempt);
                    return Err(ImportError::Unfit(what));
                }
                if !records.is_empty() {
                    stretches.push(Stretch::Records(std::mem::take(&mut records)));
                }
                whose = request;
                events.push(*event);
            }
        }
    }
    if !events.is_empty() {
        stretches.push(Stretch::Events(AppendBatch::new(&whose, None, events, Durability::Committed)?));
    }
    Ok(stretches)
}
