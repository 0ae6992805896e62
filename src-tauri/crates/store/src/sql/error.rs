//! Errors of both databases, with a hint for the user.

use std::borrow::Cow;
use std::time::Duration;

use rusqlite::ErrorCode;
use tokio_postgres::error::SqlState;

/// The cause of a failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of a database file.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// An error of a server, or of the connection to it.
    #[error("{}", told(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// The connection was lost during a commit, so it is unknown whether the server committed.
    #[error("the connection was lost while saving; the last step may or may not be stored")]
    CommitUnknown,
    /// A statement of the transaction failed, and it was rolled back.
    #[error("the transaction failed, and nothing of it was stored")]
    Failed,
    /// A newer program has changed the tables in the meantime.
    #[error(
        "a newer Flowglass has changed the database from format {own} to format {found}: update this one, which knows \
         formats up to {own}, and start it again"
    )]
    OtherFormat {
        /// The format that this program writes.
        own: i64,
        /// The format of the tables now.
        found: i64,
    },
    /// The tables have an older format than when this program opened them.
    #[error(
        "the database has format {found} again instead of {own}, because an older copy was restored: start Flowglass \
         again, so that it is migrated"
    )]
    OlderFormat {
        /// The format that this program writes.
        own: i64,
        /// The format of the tables now.
        found: i64,
    },
    /// The server accepts connections but does not answer.
    #[error("the server accepts the connection, but has not answered within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// The server's limit of connections is too low.
    #[error("{0}")]
    TooFew(TooFew),
    /// The I/O thread has ended.
    #[error("the thread of the database connections has ended")]
    NoThread,
}

/// A process needs more connections than the server ever allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// For running and changing requests.
    pub(crate) needed: usize,
    /// For reading only.
    pub(crate) to_read: usize,
    pub(crate) allowed: usize,
    /// The limited role or database.
    pub(crate) who: String,
    /// The change that would raise the limit.
    pub(crate) change: String,
}

impl std::fmt::Display for TooFew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooFew { needed, to_read, allowed, who, .. } = self;
        write!(f, "this needs {needed} connections, {to_read} if it only reads, and {who} may have {allowed}")
    }
}

/// The hint for a wrong or missing password.
const PASSWORD: &str = "check the user in --data, and put the password into PGPASSWORD or ~/.pgpass";

/// The states of a session that the server ended: `idle_in_transaction_session_timeout`, `transaction_timeout` and
/// `idle_session_timeout`.
const ENDED_BY_TIMEOUT: [&str; 3] = ["25P03", "25P04", "57P05"];

/// A result of this module.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Returns PostgreSQL's own message, which its error only has as its source.
fn told(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) if *error.code() == SqlState::DISK_FULL => {
            format!("{}: free space on the disk of the server", error.message())
        }
        Some(error) => error.message().to_owned(),
        None if error.is_closed() => "the connection to the database server was lost".to_owned(),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}

impl Error {
    /// Whether the statement found no row.
    pub(crate) fn is_no_row(&self) -> bool {
        matches!(self, Error::Sqlite(rusqlite::Error::QueryReturnedNoRows))
    }

    fn sqlite_code(&self) -> Option<ErrorCode> {
        match self {
            Error::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    fn state(&self) -> Option<&SqlState> {
        match self {
            Error::Postgres(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the session with the server was cut off before it committed.
    pub(crate) fn is_cut_off(&self) -> bool {
        match self {
            Error::Postgres(error) => {
                error.is_closed()
                    || error.code().is_some_and(|state| {
                        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW]
                            .contains(state)
                            || ENDED_BY_TIMEOUT.contains(&state.code())
                    })
            }
            _ => false,
        }
    }

    /// The hint for a person who uses this server.
    pub(crate) fn hint(&self) -> Cow<'static, str> {
        match self {
            Error::TooFew(few) => few.change.clone().into(),
            Error::NoAnswer(_) => "look whether it is overloaded or stopped, or check host and port in --data".into(),
            _ => self.usual_hint().into(),
        }
    }

    /// Whether the password is missing or wrong.
    pub(crate) fn is_of_password(&self) -> bool {
        self.usual_hint() == PASSWORD
    }

    fn usual_hint(&self) -> &'static str {
        let Some(state) = self.state() else {
            let why = self.to_string();
            if why.contains("password missing") {
                return PASSWORD;
            }
            if why.contains("not valid for name") {
                return "write the name that the server's certificate is for, or sslmode=verify-ca, in --data";
            }
            if why.contains("certificate") {
                return "name the certificate that signed the server's by sslrootcert=FILE in --data";
            }
            if why.contains("TLS") {
                return "let the server use TLS, or write sslmode=disable in --data where the network is trusted";
            }
            return "start the server, or check host and port in --data";
        };
        if *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && self.to_string().contains("no encryption") {
            "the server takes only encrypted connections: leave sslmode=disable out of --data"
        } else if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(state) {
            PASSWORD
        } else if *state == SqlState::INVALID_CATALOG_NAME {
            "create the database with createdb, or name another one in --data"
        } else if *state == SqlState::INSUFFICIENT_PRIVILEGE {
            "let the owner of the database grant this user the right, or name another schema in --data"
        } else if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
            "let the owner set default_transaction_read_only to off for this user, or name another one in --data"
        } else if *state == SqlState::TOO_MANY_CONNECTIONS {
            "end some that use it, or allow more (max_connections, or CONNECTION LIMIT of role and database)"
        } else if self.is_disk_full() {
            "then try again"
        } else if self.to_string().contains("could not write init file") {
            // The message of a server whose disk is so full that it cannot start a session.
            "free space on the disk of the server"
        } else {
            "see the log of the server"
        }
    }

    /// Why the database cannot be used just now or any more, and what helps; `None` if another reason made the error.
    pub(crate) fn of_file(&self) -> Option<(String, Cow<'static, str>)> {
        if self.is_of_server() {
            let what = if self.is_disk_full() {
                format!("the disk is full ({self})")
            } else if self.is_disk_failure() {
                format!("the disk failed ({self})")
            } else {
                return None;
            };
            return Some((what, self.hint()));
        }
        let (what, hint) = match self.sqlite_code()? {
            ErrorCode::DiskFull => ("the disk is full".to_owned(), "free space on it, then try again"),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                ("another process keeps it locked".to_owned(), "end that process, or try again when it is done")
            }
            ErrorCode::ReadOnly => ("it became read-only".to_owned(), "make it writable, then try again"),
            ErrorCode::SystemIoFailure => {
                (format!("the disk failed ({self})"), "check the disk, and keep a copy of the file elsewhere")
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => (
                format!("it is damaged ({self})"),
                "look at what \"flowglass check --data\" finds, and put a copy of the file in its place",
            ),
            _ => return None,
        };
        Some((what, hint.into()))
    }

    /// Whether the server has no room for another session.
    pub(crate) fn has_no_room(&self) -> bool {
        self.state() == Some(&SqlState::TOO_MANY_CONNECTIONS)
    }

    /// Whether a table or a function of this name already exists.
    pub(crate) fn is_name_taken(&self) -> bool {
        self.state().is_some_and(|state| {
            [
                SqlState::DUPLICATE_TABLE,
                SqlState::DUPLICATE_FUNCTION,
                SqlState::DUPLICATE_OBJECT,
                SqlState::INVALID_FUNCTION_DEFINITION,
                SqlState::UNDEFINED_COLUMN,
                SqlState::WRONG_OBJECT_TYPE,
            ]
            .contains(state)
        })
    }

    /// Whether another connection holds a lock.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.sqlite_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
            || self.state() == Some(&SqlState::LOCK_NOT_AVAILABLE)
    }

    /// Whether the disk is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.sqlite_code() == Some(ErrorCode::DiskFull) || self.state() == Some(&SqlState::DISK_FULL)
    }

    /// Whether a server refused the statement or was not reached, so that the transaction cannot continue.
    pub(crate) fn is_of_server(&self) -> bool {
        !matches!(self, Error::Sqlite(_))
    }

    /// Whether the disk failed.
    pub(crate) fn is_disk_failure(&self) -> bool {
        self.sqlite_code() == Some(ErrorCode::SystemIoFailure) || self.state() == Some(&SqlState::IO_ERROR)
    }

    /// Whether nothing may be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.sqlite_code() == Some(ErrorCode::ReadOnly)
            || matches!(self.state(), Some(state) if *state == SqlState::READ_ONLY_SQL_TRANSACTION
                || *state == SqlState::INSUFFICIENT_PRIVILEGE)
    }
}

/// Turns a missing row into `None`.
pub(crate) trait OptionalExtension<T> {
    /// `None` if there was no row.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Err(error) if error.is_no_row() => Ok(None),
            result => result.map(Some),
        }
    }
}
