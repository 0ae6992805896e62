//! Opening a database on a server: it must be new enough, and its schema must have our tables, which are made if there
//! are none.

use std::sync::Arc;

use crate::file::migrate::{self, FORMAT};
use crate::file::open::{Access, Options};
use crate::row::error::OpenError;
use crate::row::waiting::BUSY_TIMEOUT;
use crate::sql::place::Server;
use crate::sql::postgres::{Session, Settings};
use crate::sql::{Connection, Error, Result, dialect};

/// The oldest version that has the functions which are used, as `server_version_num`.
const OLDEST_VERSION: i64 = 130_000;

/// The jobs that run requests, see `write/leases.rs`.
const JOBS: &str = "
    CREATE TABLE job (
        name TEXT COLLATE \"C\" PRIMARY KEY,
        until TIMESTAMPTZ NOT NULL,
        renewed_at TIMESTAMPTZ NOT NULL,
        pid INTEGER NOT NULL,
        session_start TIMESTAMPTZ NOT NULL,
        is_abort_wanted BOOLEAN NOT NULL DEFAULT false
    );
    CREATE TABLE answer (
        job TEXT COLLATE \"C\" NOT NULL REFERENCES job (name) ON DELETE CASCADE,
        question TEXT COLLATE \"C\" NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (job, question)
    );";

/// Opens the writing session, and makes the tables where there are none.
pub(crate) fn open(server: &Arc<Server>, options: &Options) -> std::result::Result<Connection, OpenError> {
    let explain = |error: Error| OpenError::from_sql(server.path(), &error);
    let session = Session::first(server, FORMAT.into(), settings(server, options.access)).map_err(explain)?;
    let connection = Connection::Postgres(Box::new(session));
    check_server(server, &connection)?;
    let Some(found) = format_of(&connection).map_err(explain)? else {
        if !options.create || options.access == Access::ReadOnly {
            return Err(OpenError::Missing { path: server.path().to_owned() });
        }
        create(server, &connection).map_err(explain)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
        return Ok(connection);
    };
    migrate::check_format(server.path(), found)?;
    if found < FORMAT && options.access == Access::ReadOnly {
        return Err(OpenError::Server {
            place: server.path().to_owned(),
            message: format!("it has format {found}, older than format {FORMAT} of this Flowglass"),
            hint: "open it once where it may be changed",
        });
    }
    if found < FORMAT {
        upgrade(&connection, found).map_err(explain)?;
    }
    connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
    Ok(connection)
}

/// Opens a reading session.
pub(crate) fn reader(server: &Arc<Server>) -> std::result::Result<Connection, OpenError> {
    let session = Session::new(server, FORMAT.into(), settings(server, Access::ReadWrite));
    let session = session.map_err(|error| OpenError::from_sql(server.path(), &error))?;
    Ok(Connection::Postgres(Box::new(session)))
}

/// What is set at the beginning of each session. A transaction that is left open by a process that hangs ends.
fn settings(server: &Server, access: Access) -> Settings {
    let mut settings = format!(
        "SET search_path = \"{}\", pg_catalog; SET client_min_messages = warning; SET statement_timeout = 0; \
         SET idle_in_transaction_session_timeout = '20s'; SET standard_conforming_strings = on;",
        server.schema
    );
    // Days are those of this machine, if the server knows its time zone.
    let mut time_zone = String::new();
    if let Ok(zone) = iana_time_zone::get_timezone()
        && zone.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte))
    {
        time_zone = format!("SET TIME ZONE '{zone}'");
    }
    if access == Access::ReadOnly {
        settings.push_str("SET default_transaction_read_only = on;");
    }
    Settings { needed: settings, wanted: time_zone }
}

fn check_server(server: &Server, connection: &Connection) -> std::result::Result<(), OpenError> {
    let explain = |error: Error| OpenError::from_sql(server.path(), &error);
    let sql = "SELECT CAST(current_setting('server_version_num') AS bigint), current_setting('server_encoding')";
    let (version, encoding): (i64, String) =
        connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).map_err(explain)?;
    let refuse = |message: String, hint| Err(OpenError::Server { place: server.path().to_owned(), message, hint });
    if version < OLDEST_VERSION {
        return refuse(
            format!("the server has version {}", version / 10_000),
            "Flowglass needs PostgreSQL 13 or newer",
        );
    }
    if encoding != "UTF8" {
        return refuse(format!("its encoding is {encoding}"), "create the database with the encoding UTF8");
    }
    Ok(())
}

/// The format of the tables; `None` where there are none.
fn format_of(connection: &Connection) -> Result<Option<u32>> {
    let sql = "SELECT to_regclass('revision') IS NOT NULL";
    if !connection.query_row(sql, (), |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    connection.query_row("SELECT format FROM revision", (), |row| row.get(0)).map(Some)
}

/// Makes the tables, unless another process did meanwhile.
fn create(server: &Server, connection: &Connection) -> Result<()> {
    connection.execute_batch("BEGIN")?;
    let made = make(server, connection);
    if made.is_err() {
        // The error is told; what was begun ends with the session at the latest.
        let _ = connection.roll_back();
    }
    made
}

fn make(server: &Server, connection: &Connection) -> Result<()> {
    // One process at a time: two that make the same schema at once would fail.
    connection.query_row("SELECT pg_advisory_xact_lock(hashtext(?1))", (&server.schema,), |_| Ok(()))?;
    if format_of(connection)?.is_none() {
        // Whoever may use a schema that is there need not be allowed to make one.
        let sql = "SELECT to_regnamespace(?1) IS NOT NULL";
        if !connection.query_row(sql, (&server.schema,), |row| row.get::<_, bool>(0))? {
            connection.execute_batch(&format!("CREATE SCHEMA \"{}\"", server.schema))?;
        }
        connection.execute_batch(&functions(connection)?)?;
        connection.execute_batch(&dialect::schema(include_str!("../schema.sql")))?;
        connection.execute_batch(&format!(
            "CREATE TABLE revision (n BIGINT NOT NULL, format BIGINT NOT NULL, mark BIGINT NOT NULL) \
             WITH (fillfactor = 10); INSERT INTO revision VALUES (0, {FORMAT}, 0); {JOBS}"
        ))?;
    }
    connection.execute_batch("COMMIT")
}

/// The functions; a server that was built without ICU compares letters of other alphabets with their case.
fn functions(connection: &Connection) -> Result<String> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu')";
    let functions = include_str!("../sql/postgres/functions.sql");
    let has_icu = connection.query_row(sql, (), |row| row.get(0))?;
    Ok(if has_icu { functions.to_owned() } else { functions.replace(" COLLATE \"und-x-icu\"", "") })
}

/// Takes the tables to the current format.
fn upgrade(connection: &Connection, found: u32) -> Result<()> {
    let session = connection.server().ok_or(Error::NoThread)?;
    session.set_format(found.into());
    let transaction = connection.transaction()?;
    for step in migrate::MIGRATIONS.iter().skip(found as usize - 1) {
        transaction.execute_batch(&dialect::schema(step))?;
    }
    transaction.execute("UPDATE revision SET format = ?1", (FORMAT,))?;
    transaction.commit()?;
    session.set_format(FORMAT.into());
    Ok(())
}
