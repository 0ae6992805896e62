//! Formats: creates a new database, and migrates an old one.
//!
//! Each migration takes a database from one format to the next. All migrations that a file needs run in one
//! transaction, after a backup of the file was made in its folder. A newer format is refused.

mod steps;

use std::path::{Path, PathBuf};

use engine::event::upgrade::Upgrade;
use engine::scope::{ScopeKey, ScopeKind};

pub(crate) use self::steps::MIGRATIONS;
use crate::file::open::APPLICATION_ID;
use crate::read::{rebased_values, states};
use crate::row::error::{Error, OpenError};
use crate::row::waiting::Waiting;
use crate::row::{attempts, body, filter_block, input_words, model_usage, span_page, totals};
use crate::sql::{self, Connection};

/// The first format that knows who paid for a model call.
pub(crate) const FIRST_FORMAT_WITH_PAYERS: u32 = 14;
/// The first format whose requests have what lists show of them.
const FIRST_FORMAT_WITH_LISTS: u32 = 11;
/// The first format with today's pages of spans.
const FIRST_FORMAT_WITH_CURRENT_SPANS: u32 = 8;
/// The first format with the current names in tables and bodies.
const FIRST_FORMAT_WITH_CURRENT_TERMS: u32 = 6;
/// The first format in which totals count indexed events only.
const FIRST_FORMAT_WITH_INDEXED_TOTALS: u32 = 5;
/// The format this version writes.
pub(crate) const FORMAT: u32 = MIGRATIONS.len() as u32 + 1;

/// Refuses a format that is newer than this version.
pub(crate) fn check_format(path: &Path, found: u32) -> Result<(), OpenError> {
    match found {
        found if found > FORMAT => Err(OpenError::Newer { path: path.to_owned(), found, supported: FORMAT }),
        _ => Ok(()),
    }
}

/// Whether a format is the one this version writes.
pub(crate) fn is_current(found: u32) -> bool {
    found == FORMAT
}

/// Creates the tables of an empty database, or migrates an old one.
pub(crate) fn prepare(connection: &mut Connection, path: &Path, waiting: &Waiting) -> Result<(), OpenError> {
    let found = format_of(connection).map_err(|error| OpenError::from_sql(path, &error))?;
    check_format(path, found)?;
    if found == 0 {
        return create(connection, waiting).map_err(|error| OpenError::from_sql(path, &error));
    }
    migrate(connection, path, found, MIGRATIONS, waiting)
}

fn format_of(connection: &Connection) -> crate::sql::Result<u32> {
    connection.query_row("PRAGMA user_version", (), |row| row.get(0))
}

/// Creates the tables, unless another process did while this one waited for the lock.
fn create(connection: &Connection, waiting: &Waiting) -> crate::sql::Result<()> {
    // `auto_vacuum` must be set before there are tables, and before the transaction takes a lock. Setting it writes
    // the header, so it must be in the transaction that sets the application id.
    let begin = || -> crate::sql::Result<sql::Transaction<'_>> {
        let transaction = connection.snapshot()?;
        transaction.set_pragma("auto_vacuum", "INCREMENTAL")?;
        Ok(transaction)
    };
    let transaction = waiting.until_free(begin)?;
    if format_of(&transaction)? == 0 {
        create_tables(&transaction)?;
        transaction.set_pragma("application_id", APPLICATION_ID)?;
        transaction.set_pragma("user_version", FORMAT)?;
    }
    transaction.commit()
}

/// Creates the tables of the current format.
pub(crate) fn create_tables(connection: &Connection) -> crate::sql::Result<()> {
    connection.execute_batch(include_str!("../schema.sql"))
}

fn migrate(
    connection: &mut Connection,
    path: &Path,
    found: u32,
    steps: &[&str],
    waiting: &Waiting,
) -> Result<(), OpenError> {
    let target = steps.len() as u32 + 1;
    if found >= target {
        return Ok(());
    }
    back_up(connection, path, found)?;
    let run = |connection: &Connection| -> Result<(), Error> {
        let begin = || connection.transaction();
        let transaction = waiting.until_free(begin)?;
        // Another process may have migrated the file while this one waited for the lock.
        let found = format_of(&transaction)?;
        for step in steps.iter().skip(found as usize - 1) {
            transaction.execute_batch(step)?;
        }
        // After all SQL migrations, because this code reads and writes the current tables.
        if found < FIRST_FORMAT_WITH_CURRENT_TERMS && target >= FIRST_FORMAT_WITH_CURRENT_TERMS {
            upgrade_events(&transaction)?;
            delete_orphaned_fork_copies(&transaction)?;
            rebased_values::add_missing(&transaction, 0)?;
            attempts::rebuild_rollbacks(&transaction)?;
        }
        if found < FIRST_FORMAT_WITH_INDEXED_TOTALS && target >= FIRST_FORMAT_WITH_INDEXED_TOTALS {
            // Totals counted tails, too, so they stay as they are.
            let totals = totals::read_row(&transaction)?;
            filter_block::index_all_tails(&transaction)?;
            totals::write_row(&transaction, totals)?;
        }
        if found < FIRST_FORMAT_WITH_CURRENT_TERMS && target >= FIRST_FORMAT_WITH_CURRENT_TERMS {
            // Bodies have other lengths now.
            totals::recount(&transaction)?;
            add_checksums(&transaction)?;
        }
        if found < FIRST_FORMAT_WITH_CURRENT_SPANS && target >= FIRST_FORMAT_WITH_CURRENT_SPANS {
            span_page::add_missing(&transaction)?;
        }
        if found < FIRST_FORMAT_WITH_LISTS && target >= FIRST_FORMAT_WITH_LISTS {
            derive_lists(&transaction)?;
        } else if found < FIRST_FORMAT_WITH_PAYERS && target >= FIRST_FORMAT_WITH_PAYERS {
            model_usage::derive_payers(&transaction)?;
        }
        transaction.set_pragma("user_version", target.max(found))?;
        transaction.commit()?;
        if found < FIRST_FORMAT_WITH_CURRENT_TERMS && target >= FIRST_FORMAT_WITH_CURRENT_TERMS {
            // Fails if another process uses the file; then `compact` does it.
            let _ = vacuum_incremental(connection);
        }
        // The new format must be in the file's header, not only in the log; see `open::examine`.
        Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?)
    };
    run(connection).map_err(|error| match error {
        Error::Sql(error) => OpenError::from_sql(path, &error),
        other => OpenError::io(path, other),
    })
}

/// Rewrites the events of older formats with the current names, and the owners and epochs that follow from them.
fn upgrade_events(connection: &Connection) -> Result<(), Error> {
    let database: String = connection.query_row("SELECT id FROM database", (), |row| row.get(0))?;
    let mut requests = connection.prepare("SELECT n, forked_at FROM request ORDER BY n")?;
    let requests: Vec<(i64, Option<i64>)> =
        requests.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut update = connection.prepare("UPDATE event SET kind = ?2, body = ?3 WHERE id = ?1")?;
    let mut events = connection.prepare(
        "SELECT e.id, e.seq, e.kind, p.text, e.body FROM event e LEFT JOIN path p ON p.n = e.path
         WHERE e.request = ?1 AND e.kind IN ('request_started', 'request_resumed', 'function_returned',
             'effect_recorded', 'noted', 'suspended', 'block_started', 'block_finished') ORDER BY e.seq",
    )?;
    for (request, forked_at) in requests {
        let mut upgrade = Upgrade::new(Some(&database));
        let mut rows = events.query((request,))?;
        while let Some(row) = rows.next()? {
            upgrade.survey(row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?, row.get_ref(4)?.as_str()?);
        }
        drop(rows);
        let mut rows = events.query((request,))?;
        let (mut owner, mut epoch) = (None, 1_i64);
        while let Some(row) = rows.next()? {
            let (id, seq): (i64, i64) = (row.get(0)?, row.get(1)?);
            let kind = row.get_ref(2)?.as_str()?;
            // Events that a fork copied do not count as its owners.
            if kind == "request_resumed" && forked_at.is_none_or(|at| seq > at) {
                epoch += 1;
            }
            let Some((kind, mut body)) =
                upgrade.event(kind, row.get_ref(3)?.as_str_or_null()?, row.get_ref(4)?.as_str()?)
            else {
                continue;
            };
            if kind == "request_resumed" && forked_at.is_some() {
                body = with_epoch(&body, epoch)?;
            }
            if matches!(kind.as_str(), "request_started" | "request_resumed") {
                owner = body::fields::<Owned>(connection, &body)?.owner.into();
            }
            update.execute((id, kind, body))?;
        }
        connection
            .prepare_cached("UPDATE request SET owner = coalesce(?2, owner), epoch = ?3 WHERE n = ?1")?
            .execute((request, owner, epoch))?;
    }
    Ok(())
}

/// Derives what lists of requests show, which older versions did not store.
fn derive_lists(connection: &Connection) -> Result<(), Error> {
    let mut events = connection.prepare(
        "SELECT e.request, e.body FROM request r JOIN event e ON e.request = r.n AND e.seq = 1
         WHERE e.kind = 'request_started'",
    )?;
    let mut update = connection.prepare("UPDATE request SET words = ?2 WHERE n = ?1")?;
    let mut rows = events.query(())?;
    while let Some(row) = rows.next()? {
        let kind = body::event_if_readable(connection, "request_started", &body::lossy(row, 1)?)?;
        update.execute((row.get::<_, i64>(0)?, kind.as_ref().and_then(input_words::of_request)))?;
    }
    model_usage::add_all(connection)
}

/// Adds checksums, which older versions did not store.
fn add_checksums(connection: &Connection) -> Result<(), Error> {
    let mut events = connection.prepare("SELECT id, body FROM event WHERE body_checksum IS NULL AND request <> 0")?;
    let mut update = connection.prepare("UPDATE event SET body_checksum = ?2 WHERE id = ?1")?;
    let mut rows = events.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((row.get::<_, i64>(0)?, body::checksum(row.get_ref(1)?.as_str()?)));
    }
    found.into_iter().try_for_each(|row| update.execute(row).map(drop))?;
    Ok(())
}

/// Deletes the copies of users and projects of deleted forks, which older versions left behind.
fn delete_orphaned_fork_copies(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare(
        "SELECT n, kind, id FROM scope WHERE kind IN ('user', 'project') AND instr(id, '~fork_') > 0
         AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = substr(scope.id, instr(scope.id, '~fork_') + 1))",
    )?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let copies: Vec<(i64, String, String)> = rows.collect::<Result<_, _>>()?;
    for (n, kind, id) in copies {
        let mut scopes = vec![n];
        if let Some(kind) = ScopeKind::parse(&kind) {
            scopes.extend(states::resources_of(connection, &ScopeKey::new(kind, id))?);
        }
        for scope in scopes {
            for sql in [
                "DELETE FROM change WHERE scope = ?1",
                "DELETE FROM keyframe WHERE scope = ?1",
                "DELETE FROM attempt_rollback WHERE scope = ?1",
                "DELETE FROM scope WHERE n = ?1",
            ] {
                connection.prepare_cached(sql)?.execute((scope,))?;
            }
        }
    }
    Ok(())
}

#[derive(serde::Deserialize)]
struct Owned {
    owner: String,
}

/// A body with another epoch.
fn with_epoch(body: &str, epoch: i64) -> Result<String, Error> {
    let mut fields = engine::json::parse(body)?;
    fields["epoch"] = epoch.into();
    Ok(serde_json::to_string(&fields)?)
}

/// Copies the database to `<file>.format-<n>`, unless that exists.
fn back_up(connection: &Connection, path: &Path, format: u32) -> Result<(), OpenError> {
    let sibling = |suffix: &str| -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    };
    let kept = sibling(&format!(".format-{format}"));
    // A random name, so that an unfinished copy of a process that died does no harm.
    let random: String = connection
        .query_row("SELECT lower(hex(randomblob(8)))", (), |row| row.get(0))
        .map_err(|error| OpenError::from_sql(path, &error))?;
    let unfinished = sibling(&format!(".format-{format}.{random}"));
    let copied = (|| {
        let into = "VACUUM INTO ?1";
        let copy = || -> crate::sql::Result<u32> {
            connection.execute(into, (unfinished.to_string_lossy(),))?;
            format_of(&rusqlite::Connection::open(&unfinished)?.into())
        };
        let found = copy().map_err(|error| OpenError::from_sql(&unfinished, &error))?;
        // Another process has migrated the file meanwhile, and has made the backup.
        if found != format {
            return Ok(());
        }
        match std::fs::hard_link(&unfinished, &kept) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            // The file system has no hard links.
            Err(_) if !kept.exists() => std::fs::copy(&unfinished, &kept).map(drop),
            linked => linked,
        }
        .map_err(|error| OpenError::io(&kept, error))
    })();
    // No other process uses this name.
    let _ = std::fs::remove_file(&unfinished);
    copied
}

/// Rewrites the whole file, so that incremental vacuum can free its pages later.
pub(crate) fn vacuum_incremental(connection: &Connection) -> crate::sql::Result<()> {
    connection.set_pragma("auto_vacuum", "INCREMENTAL")?;
    connection.execute_batch("VACUUM")
}

#[cfg(test)]
mod tests;
