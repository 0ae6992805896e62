//! Verifies a database: derives all rows from the events again and compares them, and reads every value.
//!
//! Not everything can be detected: if the newest events of a request that has not ended are missing, no row shows it.
//! Nothing is repaired, and an error in one part does not end the check of the others.

mod lists;
mod pages;
mod request_row;
mod request_scopes;
mod requests;
mod scopes;
mod sessions;

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

use crate::sql::Connection;
use engine::event::Seq;
use engine::scope::ScopeKey;

use crate::Store;
use crate::row::error::Error;
use crate::row::references::References;
use crate::row::{body, payload, totals};
use crate::write::code;

/// At most how many problems are reported.
const MAX_PROBLEMS: usize = 1_000;

/// An inconsistency that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The request it is in, if it is in one.
    pub request: Option<String>,
    /// The event it is at, if it is at one.
    pub seq: Option<Seq>,
    /// What is wrong, for people.
    pub what: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many requests were checked.
    pub requests: u64,
    /// How many events they have.
    pub events: u64,
    /// The problems found, at most 1000.
    pub problems: Vec<Problem>,
    /// Kinds of events that this version does not know, and how many there are. They are no problem, but were not
    /// checked.
    pub unknown: BTreeMap<String, u64>,
}

impl Checked {
    fn add(&mut self, request: Option<&str>, seq: Option<Seq>, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { request: request.map(str::to_owned), seq, what: what.into() });
        }
    }

    /// Adds a problem if the check of a part ended with an error. What a server did not answer is no problem of the
    /// database, and ends the check: nothing else can be read in its transaction.
    fn try_part(&mut self, request: Option<&str>, part: &str, result: Result<(), Error>) -> Result<(), Error> {
        match result {
            Err(Error::Sql(failure)) if failure.is_of_server() => Err(failure.into()),
            Err(error) => {
                self.add(request, None, format!("{part} cannot be read to the end: {error}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// What is derived from the events of all requests.
#[derive(Default)]
struct Derived {
    counted: totals::Sums,
    sessions: BTreeMap<i64, sessions::Expected>,
    /// The commits of every durable record.
    commits: BTreeMap<ScopeKey, Vec<scopes::Commit>>,
}

impl Store {
    /// Checks the whole database. Problems are part of the result, not errors. Reads everything, in one snapshot.
    pub fn check(&self) -> Result<Checked, Error> {
        self.read(|connection| {
            let mut checked = Checked::default();
            let found = &mut checked;
            let result = check_pages(connection, found);
            found.try_part(None, "the file", result)?;
            let result = check_payloads(connection, found);
            found.try_part(None, "the table of large values", result)?;
            let derived_all = check_events(connection, found)?;
            let result = check_totals(connection, found, &derived_all);
            found.try_part(None, "the totals", result)?;
            Ok(checked)
        })
    }
}

/// The first problem with the events and the rows derived from them; used for an import before it is copied.
pub(crate) fn first_problem(connection: &Connection) -> Option<Problem> {
    let mut checked = Checked::default();
    if let Err(error) = check_events(connection, &mut checked) {
        checked.add(None, None, error.to_string());
    }
    checked.problems.into_iter().next()
}

/// Checks the events of all requests, and the rows derived from them.
fn check_events(connection: &Connection, found: &mut Checked) -> Result<Derived, Error> {
    let mut derived_all = Derived::default();
    let result = requests::check(connection, found, &mut derived_all);
    found.try_part(None, "the table of requests", result)?;
    let result = scopes::check_durable(connection, found, &derived_all.commits);
    found.try_part(None, "the state of sessions, users, projects and resources", result)?;
    let result = sessions::check(connection, found, &derived_all.sessions);
    found.try_part(None, "the table of sessions", result)?;
    Ok(derived_all)
}

/// The stored and the derived value as text, if they differ.
fn difference<T: PartialEq + Display>(stored: &T, derived: &T) -> Option<(String, String)> {
    (stored != derived).then(|| (stored.to_string(), derived.to_string()))
}

/// As [`difference`], in Rust's debug notation: with quotes around text, and for values that may be missing.
fn debug_difference<T: PartialEq + Debug>(stored: &T, derived: &T) -> Option<(String, String)> {
    (stored != derived).then(|| (format!("{stored:?}"), format!("{derived:?}")))
}

/// Runs SQLite's integrity check on a file, and looks for rows without the row that they belong to.
fn check_pages(connection: &Connection, found: &mut Checked) -> Result<(), Error> {
    if connection.sqlite().is_some() {
        let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let word: String = row.get(0)?;
            if word != "ok" {
                found.add(None, None, format!("the file is damaged: {word}"));
            }
        }
    }
    for (rows, table, owner) in [
        ("events", "event", "request"),
        ("requests", "request", "session"),
        ("search filters", "filter_block", "request"),
        ("pages of spans", "span_page", "request"),
        ("lists of a path's events", "path_event", "request"),
        ("steps of state", "change", "scope"),
        ("keyframes", "keyframe", "scope"),
        ("rolled-back attempts", "attempt_rollback", "scope"),
        ("journal entries", "journal", "session"),
        ("scopes", "scope", "request"),
        ("annotations", "annotation", "request"),
        ("tags", "tag", "request"),
        ("annotations", "session_annotation", "session"),
        ("tags", "session_tag", "session"),
        ("sums of what models used", "model_usage", "request"),
    ] {
        // Rows of deleted or unfinished things are in the queue of removals. Boundary events belong to no request.
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

/// Checks that payloads have the content that their hashes say, and that the payloads they refer to exist.
fn check_payloads(connection: &Connection, found: &mut Checked) -> Result<(), Error> {
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

fn check_totals(connection: &Connection, found: &mut Checked, derived_all: &Derived) -> Result<(), Error> {
    let stored = totals::read(connection)?;
    if stored.events != derived_all.counted.events {
        found.add(
            None,
            None,
            format!("the total of events is {}; there are {}", stored.events, derived_all.counted.events),
        );
    }
    // Events of unknown kinds were counted by a newer version, by rules that this one does not know.
    if !found.unknown.is_empty() {
        return Ok(());
    }
    let payloads: i64 = connection.query_row("SELECT coalesce(sum(bytes), 0) FROM payload", (), |row| row.get(0))?;
    for (name, stored, derived) in [
        ("items", stored.items, derived_all.counted.items),
        ("bytes of values", stored.payload_bytes, derived_all.counted.payload_bytes),
    ] {
        if stored != derived {
            found.add(None, None, format!("the total of {name} is {stored}; the events come to {derived}"));
        }
    }
    let (unique, derived) = (stored.unique_bytes, derived_all.counted.unique_bytes + payloads);
    // Older versions did not count payloads that were stored first by a keyframe.
    if unique > derived || (unique < derived && unique + bytes_named_by_keyframes(connection)? < derived) {
        found.add(None, None, format!("the total of unique bytes of values is {unique}; the events come to {derived}"));
    }
    Ok(())
}

fn bytes_named_by_keyframes(connection: &Connection) -> Result<i64, Error> {
    let mut named = References::default();
    let mut statement = connection.prepare("SELECT body FROM keyframe")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        named.add(connection, &row.get::<_, String>(0)?)?;
    }
    named.bytes(connection)
}
