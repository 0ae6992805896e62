//! Whether a database is what its events say: everything that is kept for speed is made again from the
//! events and compared, and every value is read.
//!
//! What nothing else tells of can go unseen: the newest events of a request that has not ended, taken away.
//! Nothing is repaired, and what cannot be read in one place does not keep the rest from being looked at.

mod request_row;
mod requests;
mod scope_rows;
mod scopes;
mod sessions;

use std::collections::BTreeMap;

use engine::event::Seq;
use engine::scope::ScopeKey;
use rusqlite::Connection;

use crate::Store;
use crate::row::error::Error;
use crate::row::references::References;
use crate::row::{body, payload, totals};
use crate::write::code;

/// More problems than anybody reads.
const MAX_PROBLEMS: usize = 1_000;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The request it is in, if it is in one.
    pub request: Option<String>,
    /// The event it is at, if it is at one.
    pub seq: Option<Seq>,
    /// What is wrong, for people.
    pub what: String,
}

/// What a look at a whole database found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Requests that were looked at.
    pub requests: u64,
    /// Their events.
    pub events: u64,
    /// None where all is well.
    pub problems: Vec<Problem>,
    /// Kinds of events that this version does not know, and how many there are: no problem, but nothing of what
    /// they say was looked at.
    pub unknown: BTreeMap<String, u64>,
}

impl Checked {
    fn add(&mut self, request: Option<&str>, seq: Option<Seq>, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { request: request.map(str::to_owned), seq, what: what.into() });
        }
    }

    /// Notes a part that could not be looked at to its end.
    fn try_part(&mut self, part: &str, result: Result<(), Error>) {
        if let Err(error) = result {
            self.add(None, None, format!("{part} cannot be read to the end: {error}"));
        }
    }
}

/// What the events of all requests come to.
#[derive(Default)]
struct Sums {
    counted: totals::Sums,
    sessions: BTreeMap<i64, sessions::Expected>,
    /// The commits of every durable record.
    commits: BTreeMap<ScopeKey, Vec<scopes::Commit>>,
}

impl Store {
    /// Looks at everything. What is wrong is an answer, not an error.
    pub fn check(&self) -> Result<Checked, Error> {
        self.read(|connection| {
            let mut checked = Checked::default();
            let found = &mut checked;
            let result = pages(connection, found);
            found.try_part("the file", result);
            let result = values(connection, found);
            found.try_part("the table of large values", result);
            let sums = events(connection, found);
            let result = totals(connection, found, &sums);
            found.try_part("the totals", result);
            Ok(checked)
        })
    }
}

/// The first thing that is wrong with events and with what is kept of them, as long as nobody has seen them.
pub(crate) fn first_problem(connection: &Connection) -> Option<Problem> {
    let mut checked = Checked::default();
    events(connection, &mut checked);
    checked.problems.into_iter().next()
}

/// Looks at the events of all requests and at what is made from them.
fn events(connection: &Connection, found: &mut Checked) -> Sums {
    let mut sums = Sums::default();
    let result = requests::check(connection, found, &mut sums);
    found.try_part("the table of requests", result);
    let result = scopes::check_durable(connection, found, &sums.commits);
    found.try_part("the state of sessions, users, projects and resources", result);
    let result = sessions::check(connection, found, &sums.sessions);
    found.try_part("the table of sessions", result);
    sums
}

/// SQLite's own word, and rows that belong to nobody.
fn pages(connection: &Connection, found: &mut Checked) -> Result<(), Error> {
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let word: String = row.get(0)?;
        if word != "ok" {
            found.add(None, None, format!("the file is damaged: {word}"));
        }
    }
    for (rows, table, owner) in [
        ("events", "event", "request"),
        ("requests", "request", "session"),
        ("search filters", "filter_block", "request"),
        ("steps of state", "change", "scope"),
        ("keyframes", "keyframe", "scope"),
        ("rolled-back attempts", "attempt_rollback", "scope"),
        ("journal entries", "journal", "session"),
        ("scopes", "scope", "request"),
    ] {
        // What waits to be removed, or belongs to an import under way, is in the queue. A mark is of no request.
        let sql = format!(
            "SELECT count(*) FROM {table} WHERE {owner} <> 0 AND {owner} NOT IN (SELECT n FROM {owner})
             AND {owner} NOT IN (SELECT n FROM removal WHERE kind = '{owner}')"
        );
        let count: u64 = connection.query_row(&sql, (), |row| row.get(0))?;
        if count > 0 {
            found.add(None, None, format!("{count} {rows} belong to nothing that is there"));
        }
    }
    Ok(())
}

/// Every large value is what its name says, and the values that it names are there.
fn values(connection: &Connection, found: &mut Checked) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT hash, bytes FROM payload")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let name = match row.get::<_, [u8; 32]>(0) {
            Ok(bytes) => blake3::Hash::from_bytes(bytes).to_hex().to_string(),
            Err(_) => {
                found.add(None, None, "a large value has no right name");
                continue;
            }
        };
        let text = match payload::load(connection, &name) {
            Ok(text) => text,
            Err(error) => {
                found.add(None, None, error.to_string());
                continue;
            }
        };
        if blake3::hash(text.as_bytes()).to_hex().as_str() != name {
            found.add(None, None, format!("payload {name} is not what its name says: its content has changed"));
        } else if row.get::<_, usize>(1)? != text.len() {
            found.add(None, None, format!("payload {name} has {} bytes, not what its row says", text.len()));
        } else if let Err(error) = body::value(connection, &text) {
            found.add(None, None, format!("payload {name} names what is not there: {error}"));
        }
    }
    for problem in code::check(connection)? {
        found.add(None, None, problem);
    }
    Ok(())
}

fn totals(connection: &Connection, found: &mut Checked, sums: &Sums) -> Result<(), Error> {
    let stored = totals::read(connection)?;
    if stored.events != sums.counted.events {
        found.add(None, None, format!("the total of events is {}; there are {}", stored.events, sums.counted.events));
    }
    // What an event of a kind that this version does not know was counted as, its own version knows.
    if !found.unknown.is_empty() {
        return Ok(());
    }
    let payloads: i64 = connection.query_row("SELECT coalesce(sum(bytes), 0) FROM payload", (), |row| row.get(0))?;
    for (name, stored, derived) in [
        ("items", stored.items, sums.counted.items),
        ("bytes of values", stored.payload_bytes, sums.counted.payload_bytes),
    ] {
        if stored != derived {
            found.add(None, None, format!("the total of {name} is {stored}; the events come to {derived}"));
        }
    }
    let (unique, derived) = (stored.unique_bytes, sums.counted.unique_bytes + payloads);
    // Older versions did not count values that a keyframe was the first to keep.
    if unique > derived || (unique < derived && unique + kept_by_keyframes(connection)? < derived) {
        found.add(None, None, format!("the total of unique bytes of values is {unique}; the events come to {derived}"));
    }
    Ok(())
}

fn kept_by_keyframes(connection: &Connection) -> Result<i64, Error> {
    let mut named = References::default();
    let mut statement = connection.prepare("SELECT body FROM keyframe")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        named.add(connection, &row.get::<_, String>(0)?)?;
    }
    named.bytes(connection)
}
