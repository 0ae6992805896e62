//! Opening a database on a server: it must be new enough, and its schema must have our tables, which are made if there
//! are none.

use std::borrow::Cow;
use std::sync::Arc;

use crate::file::migrate::{self, FORMAT};
use crate::file::open::{Access, Options};
use crate::row::error::{Error as StoreError, OpenError};
use crate::row::model_usage;
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
    let explain = |error: Error| explained(server, &error);
    let session = Session::first(server, FORMAT.into(), settings(server, options.access)).map_err(explain)?;
    let connection = Connection::Postgres(Box::new(session));
    check_server(server, &connection)?;
    let schema = SchemaRights::read(server, &connection).map_err(explain)?;
    if schema.has_tables == Some(false) {
        if !options.create || options.access == Access::ReadOnly {
            return Err(OpenError::NoTables { place: server.path().to_owned() });
        }
        schema.check_may_make(server)?;
        create(server, &connection)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
        return Ok(connection);
    }
    schema.check_may_use(server, options.access)?;
    let found = format_of(server, &connection)?;
    migrate::check_format(server.path(), found)?;
    if found < FORMAT && options.access == Access::ReadOnly {
        return Err(refusal(
            server,
            format!("it has format {found}, older than format {FORMAT} of this Flowglass"),
            "open it once where it may be changed",
        ));
    }
    if found < FORMAT {
        upgrade(&connection, found).map_err(|error| match error {
            StoreError::Sql(error) => explain(error),
            other => OpenError::io(server.path(), other),
        })?;
    }
    connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
    Ok(connection)
}

/// The error of opening that an error of the server is.
fn explained(server: &Server, error: &Error) -> OpenError {
    match &server.open_password_file {
        Some(file) if error.is_of_password() => refusal(
            server,
            error.to_string(),
            format!(
                "others may read the password file {}, so it is not used: let only yourself read it (chmod 0600)",
                file.display()
            ),
        ),
        _ => OpenError::from_sql(server.path(), error),
    }
}

fn refusal(server: &Server, message: String, hint: impl Into<Cow<'static, str>>) -> OpenError {
    OpenError::Server { place: server.path().to_owned(), message, hint: hint.into() }
}

/// What the user of a session may do in the schema.
struct SchemaRights {
    user: String,
    /// Whether the table `revision` is in the schema; `None` if the schema is hidden from the user.
    has_tables: Option<bool>,
    is_schema_there: bool,
    may_make_schema: bool,
    may_make_tables: bool,
    may_read: bool,
    may_write: bool,
    /// Whether the transactions of this user only read, by the server's settings.
    only_reads: bool,
    /// Whether the server is a standby, where nothing can be written.
    is_standby: bool,
}

impl SchemaRights {
    fn read(server: &Server, connection: &Connection) -> Result<SchemaRights> {
        // A function without a table or a schema to ask about answers null, which is no right.
        let sql = "
            SELECT quote_ident(current_user), to_regclass('revision') IS NOT NULL, s.n IS NOT NULL,
                coalesce(has_schema_privilege(s.n, 'USAGE'), true),
                has_database_privilege(current_database(), 'CREATE'),
                coalesce(has_schema_privilege(s.n, 'CREATE'), false),
                coalesce(has_table_privilege(to_regclass('revision'), 'SELECT'), false),
                coalesce(has_table_privilege(to_regclass('revision'), 'UPDATE'), false),
                current_setting('default_transaction_read_only') = 'on', pg_is_in_recovery()
            FROM (SELECT CAST(to_regnamespace(?1) AS oid) AS n) s";
        connection.query_row(sql, (&server.schema,), |row| {
            let is_visible: bool = row.get(3)?;
            Ok(SchemaRights {
                user: row.get(0)?,
                has_tables: if is_visible { Some(row.get(1)?) } else { None },
                is_schema_there: row.get(2)?,
                may_make_schema: row.get(4)?,
                may_make_tables: row.get(5)?,
                may_read: row.get(6)?,
                may_write: row.get(7)?,
                only_reads: row.get(8)?,
                is_standby: row.get(9)?,
            })
        })
    }

    /// Refuses a user who may not make the tables.
    fn check_may_make(&self, server: &Server) -> std::result::Result<(), OpenError> {
        let SchemaRights { user, .. } = self;
        let schema = &server.schema;
        if self.is_standby || self.only_reads {
            return Err(OpenError::NoTables { place: server.path().to_owned() });
        }
        if self.is_schema_there && !self.may_make_tables {
            return Err(refusal(
                server,
                format!("it has no tables of Flowglass, and {user} may not make them in the schema {schema}"),
                format!("let its owner run GRANT CREATE ON SCHEMA {schema} TO {user}"),
            ));
        }
        if !self.is_schema_there && !self.may_make_schema {
            return Err(refusal(
                server,
                format!("it has no schema {schema}, and {user} may not make one"),
                format!("let the owner of the database run CREATE SCHEMA {schema} AUTHORIZATION {user}"),
            ));
        }
        Ok(())
    }

    /// Refuses a user who may not do with the tables what is wanted.
    fn check_may_use(&self, server: &Server, access: Access) -> std::result::Result<(), OpenError> {
        let SchemaRights { user, .. } = self;
        let schema = &server.schema;
        if self.has_tables.is_none() {
            return Err(refusal(
                server,
                format!("{user} may not use the schema {schema}"),
                format!("let its owner run GRANT USAGE ON SCHEMA {schema} TO {user}, and grant the tables in it"),
            ));
        }
        if !self.may_read {
            return Err(refusal(
                server,
                format!("{user} may not read the tables in the schema {schema}"),
                format!("let their owner run GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {user}"),
            ));
        }
        if access == Access::ReadOnly {
            return Ok(());
        }
        let (why, hint) = if self.is_standby {
            ("the server is a standby".to_owned(), "name its primary in --data".to_owned())
        } else if self.only_reads {
            (
                format!("{user} has default_transaction_read_only = on"),
                format!("let an administrator run ALTER ROLE {user} SET default_transaction_read_only = off"),
            )
        } else if !self.may_write {
            (
                format!("{user} may only read its tables"),
                format!("let their owner run GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {user}"),
            )
        } else {
            return Ok(());
        };
        Err(OpenError::OnlyReads { place: server.path().to_owned(), why, hint })
    }
}

/// The names of the tables.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    let created = [include_str!("../schema.sql"), JOBS].into_iter().flat_map(str::lines);
    let names = created.filter_map(|line| line.trim_start().strip_prefix("CREATE TABLE ")?.split([' ', '(']).next());
    names.chain(["revision"])
}

/// Opens a reading session.
pub(crate) fn reader(server: &Arc<Server>) -> std::result::Result<Connection, OpenError> {
    let session = Session::new(server, FORMAT.into(), settings(server, Access::ReadWrite));
    let session = session.map_err(|error| explained(server, &error))?;
    Ok(Connection::Postgres(Box::new(session)))
}

/// What is set at the beginning of each session. A transaction that is left open by a process that hangs ends; an idle
/// session does not. Older servers lack some of these settings.
fn settings(server: &Server, access: Access) -> Settings {
    let mut settings = format!(
        "SET search_path = \"{}\", pg_catalog; SET client_min_messages = warning; SET statement_timeout = 0; \
         SET idle_in_transaction_session_timeout = '20s'; SET standard_conforming_strings = on; \
         SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings \
         WHERE name IN ('idle_session_timeout', 'transaction_timeout');",
        server.schema
    );
    // The server may not know the zone.
    let mut time_zone = String::new();
    if let Some(zone) = server.time_zone.get()
        && zone.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+-,.:<>".contains(&byte))
    {
        time_zone = format!("SET TIME ZONE '{zone}'");
    }
    if access == Access::ReadOnly {
        settings.push_str("SET default_transaction_read_only = on;");
    }
    Settings { needed: settings, wanted: time_zone }
}

fn check_server(server: &Server, connection: &Connection) -> std::result::Result<(), OpenError> {
    let explain = |error: Error| explained(server, &error);
    let sql = "SELECT CAST(current_setting('server_version_num') AS bigint), current_setting('server_encoding')";
    let (version, encoding): (i64, String) =
        connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).map_err(explain)?;
    if version < OLDEST_VERSION {
        let message = format!("the server has version {}", version / 10_000);
        return Err(refusal(server, message, "Flowglass needs PostgreSQL 13 or newer"));
    }
    if encoding != "UTF8" {
        let message = format!("its encoding is {encoding}");
        return Err(refusal(server, message, "create the database with the encoding UTF8"));
    }
    Ok(())
}

/// The format of the tables, which are there.
fn format_of(server: &Server, connection: &Connection) -> std::result::Result<u32, OpenError> {
    let sql = "SELECT count(*), min(CAST(format AS bigint)) FROM revision";
    let found: Result<(i64, Option<i64>)> = connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)));
    let (rows, format) = match found {
        Err(error) if error.is_name_taken() => return Err(others_tables(server)),
        found => found.map_err(|error| explained(server, &error))?,
    };
    let damaged = |message: String| OpenError::Damaged { path: server.path().to_owned(), message };
    if rows != 1 {
        return Err(damaged(format!("its table \"revision\" has {rows} rows and not one")));
    }
    let format = format.unwrap_or_default();
    u32::try_from(format)
        .ok()
        .filter(|format| *format > 0)
        .ok_or_else(|| damaged(format!("its table \"revision\" names the format {format}, which there is not")))
}

/// The refusal of a schema in which another program has tables.
fn others_tables(server: &Server) -> OpenError {
    refusal(
        server,
        format!("the schema {} holds tables that are not of Flowglass", server.schema),
        "name another schema in --data by ?schema=NAME; it is made if it is not there",
    )
}

/// Makes the tables, unless another process did meanwhile.
fn create(server: &Server, connection: &Connection) -> std::result::Result<(), OpenError> {
    let made = connection.execute_batch("BEGIN").and_then(|()| make(server, connection));
    if made.is_err() {
        // The error is told; what was begun ends with the session at the latest.
        let _ = connection.roll_back();
    }
    made.map_err(|error| if error.is_name_taken() { others_tables(server) } else { explained(server, &error) })
}

fn make(server: &Server, connection: &Connection) -> Result<()> {
    // One process at a time: two that make the same schema at once would fail.
    connection.query_row("SELECT pg_advisory_xact_lock(hashtext(?1))", (&server.schema,), |_| Ok(()))?;
    // A session may remember that a name was not there, so the catalogues are asked and not `to_regclass`.
    let sql =
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = ?1 AND c.relname = 'revision')";
    if !connection.query_row(sql, (&server.schema,), |row| row.get::<_, bool>(0))? {
        // Whoever may use a schema that is there need not be allowed to make one.
        let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?1)";
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
fn upgrade(connection: &Connection, found: u32) -> std::result::Result<(), StoreError> {
    let session = connection.server().ok_or(Error::NoThread)?;
    session.set_format(found.into());
    let transaction = connection.transaction()?;
    for step in migrate::MIGRATIONS.iter().skip(found as usize - 1) {
        transaction.execute_batch(&dialect::schema(step))?;
    }
    if found < migrate::FIRST_FORMAT_WITH_PAYERS {
        model_usage::derive_payers(&transaction)?;
    }
    transaction.execute("UPDATE revision SET format = ?1", (FORMAT,))?;
    transaction.commit()?;
    session.set_format(FORMAT.into());
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::sql::DataPlace;

    #[test]
    fn sessions_have_the_time_zone_of_the_options() {
        let wanted = |zone: Option<&str>| {
            let place = DataPlace::parse("postgres://ada@localhost/data".as_ref()).unwrap();
            let DataPlace::Server(server) = place else { unreachable!("an address of a server") };
            zone.into_iter().for_each(|zone| server.time_zone.set(zone.to_owned()).unwrap());
            settings(&server, Access::ReadWrite).wanted
        };
        assert_eq!(wanted(Some("America/New_York")), "SET TIME ZONE 'America/New_York'");
        assert_eq!(wanted(Some("<-03>3")), "SET TIME ZONE '<-03>3'");
        assert_eq!(wanted(Some("x'; DROP TABLE job")), "");
        assert_eq!(wanted(None), "");
    }
}
