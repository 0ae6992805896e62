//! The way to a server: sockets that a thread of its own serves, a server that is waited for, and a statement that is
//! cancelled.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::sql::place::Server;
use crate::sql::{Error, Result};

/// How long a server is waited for that does not answer or has no room.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// What a process needs besides its first session: to read, to make filters of search, and to hold leases.
const SPARE: usize = 3;
/// The pause before it is asked again.
pub(super) const CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// What is set at the beginning of a session.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Statements that must succeed.
    pub(crate) needed: String,
    /// A statement that may fail; empty for none.
    pub(crate) wanted: String,
}

/// Ends what a session does.
pub(crate) struct Cancel(pub(super) tokio_postgres::CancelToken, pub(super) MakeRustlsConnect);

impl Cancel {
    /// Asks the server to.
    pub(crate) fn cancel(&self) {
        let (token, connector) = (self.0.clone(), self.1.clone());
        // If this does not reach the server, the statement ends by itself.
        drop(runtime().spawn(async move { token.cancel_query(connector).await }));
    }
}

/// Serves the sockets of all sessions.
fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        #[expect(clippy::expect_used, reason = "without a thread there is no way to the server")]
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("postgres")
            .enable_all()
            .build()
            .expect("a thread for the database server can be started")
    })
}

/// Connects, and waits for a server that starts or has no room for another session. Takes a connection that was made
/// before, if there is one.
pub(super) fn connect(server: &Server, settings: &Settings) -> Result<Client> {
    let spare = || crate::lock(&server.spare).pop();
    while let Some(spare) = spare() {
        match configure(spare, settings) {
            // The server was started again meanwhile.
            Err(error) if error.is_cut_off() => {}
            configured => return configured,
        }
    }
    wait_for_room(|| configure(one_of(connect_at_once(server, 1)?)?, settings))
}

/// As [`connect`], the first session of a process: it gets all connections that it will need, or none and waits. If
/// each process had some of them, and waited for more, all would wait for each other where the server has few.
pub(super) fn connect_first(server: &Server, settings: &Settings) -> Result<Client> {
    if server.has_reserved.swap(true, SeqCst) {
        return connect(server, settings);
    }
    let made = wait_for_room(|| {
        let made = connect_at_once(server, 1 + SPARE);
        match if_never_more(server, &made) {
            // What only reads needs fewer.
            Some(few) => Ok(vec![few]),
            None => made,
        }
    });
    match made {
        Err(Error::Postgres(error)) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            connect(server, settings)
        }
        Ok(mut made) => {
            let first = made.pop();
            crate::lock(&server.spare).extend(made);
            first.map_or_else(|| connect(server, settings), |first| configure(first, settings))
        }
        Err(error) => Err(error),
    }
}

/// A connection, if all together were refused because the server never lets this user have so many.
fn if_never_more(server: &Server, made: &Result<Vec<Client>>) -> Option<Client> {
    /// How many connections the user may have, the database, and everybody.
    const ALLOWED: &str = "
        SELECT least(
            (SELECT CASE WHEN rolsuper OR rolconnlimit < 0 THEN 2147483647 ELSE rolconnlimit END
             FROM pg_catalog.pg_roles WHERE rolname = current_user),
            (SELECT CASE WHEN datconnlimit < 0 THEN 2147483647 ELSE datconnlimit END
             FROM pg_catalog.pg_database WHERE datname = current_database()),
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int)";
    if !matches!(made, Err(Error::Postgres(error)) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)) {
        return None;
    }
    let one = one_of(connect_at_once(server, 1).ok()?).ok()?;
    let row = pollster::block_on(one.query_one(ALLOWED, &[])).ok()?;
    let allowed: i32 = row.try_get(0).ok()?;
    (allowed <= SPARE as i32).then_some(one)
}

fn one_of(mut made: Vec<Client>) -> Result<Client> {
    made.pop().ok_or(Error::NoThread)
}

fn wait_for_room<T>(connect: impl Fn() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        match connect() {
            Err(Error::Postgres(error)) if is_passing(&error) && began.elapsed() < CONNECT_WITHIN => {
                // Not all at the same time.
                let pause = CONNECT_PAUSE.as_millis() as u64;
                std::thread::sleep(Duration::from_millis(pause + RandomState::new().hash_one(began) % (2 * pause)));
            }
            result => return result,
        }
    }
}

/// Whether a server that refused a session may accept one soon.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => {
            [SqlState::TOO_MANY_CONNECTIONS, SqlState::CANNOT_CONNECT_NOW, SqlState::ADMIN_SHUTDOWN].contains(state)
        }
        None => false,
    }
}

/// Makes so many connections, side by side: all of them, or none.
fn connect_at_once(server: &Server, count: usize) -> Result<Vec<Client>> {
    let (answer, receiver) = std::sync::mpsc::channel();
    for _ in 0..count {
        let (config, connector, answer) = (server.config.clone(), server.connector.clone(), answer.clone());
        runtime().spawn(async move {
            let connected = config.connect(connector).await.map(|(client, connection)| {
                tokio::spawn(connection);
                client
            });
            // The receiver is gone if this process ends.
            let _ = answer.send(connected);
        });
    }
    drop(answer);
    let answers = (0..count).map(|_| receiver.recv().map_err(|_| Error::NoThread)?.map_err(Error::Postgres));
    // All answers are waited for, so that no connection is made after it was given up.
    let answers: Vec<Result<Client>> = answers.collect();
    answers.into_iter().collect()
}

/// Sets what a session begins with.
fn configure(client: Client, settings: &Settings) -> Result<Client> {
    pollster::block_on(client.batch_execute(&settings.needed))?;
    // A server may not know the time zone of this machine.
    let _ = pollster::block_on(client.batch_execute(&settings.wanted));
    Ok(client)
}
