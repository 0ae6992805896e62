//! The way to a server: sockets that a thread of its own serves, a server that is waited for, and a statement that is
//! cancelled.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::sql::error::TooFew;
use crate::sql::place::Server;
use crate::sql::{Error, Result};

/// How long a server is waited for that does not answer or has no room.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// What a process needs besides its first session: to read, to make filters of search, and to hold leases.
const SPARE: usize = 3;
/// What a process needs that only reads: the last of them is not used then.
const TO_READ: usize = 3;
/// How often one connection is tried where several were refused.
const PROBES: usize = 3;
/// How long the server may need to notice that a connection of this process has ended.
const NOTICED_WITHIN: Duration = Duration::from_secs(1);
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
        match configure(server, spare, settings) {
            // The server was started again meanwhile.
            Err(error) if error.is_cut_off() => {}
            configured => return configured,
        }
    }
    let began = Instant::now();
    wait_for_room(|| match connect_at_once(server, 1) {
        // Nobody else has a connection that could become free.
        Err(error) if error.has_no_room() && began.elapsed() > NOTICED_WITHIN && server.has_all_connections() => {
            Err(server.allowed.get().cloned().map_or(error, Error::TooFew))
        }
        made => configure(server, one_of(made?)?, settings),
    })
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
            Some((one, few)) if few.allowed >= TO_READ => {
                let _ = server.allowed.set(few);
                Ok(vec![one])
            }
            Some((_, few)) => Err(Error::TooFew(few)),
            None => made,
        }
    });
    match made {
        Err(error) if error.has_no_room() => connect(server, settings),
        Ok(mut made) => {
            let first = made.pop();
            crate::lock(&server.spare).extend(made);
            first.map_or_else(|| connect(server, settings), |first| configure(server, first, settings))
        }
        Err(error) => Err(error),
    }
}

/// A connection, and how many there may be, if all together were refused because the server never lets this user have
/// so many.
fn if_never_more(server: &Server, made: &Result<Vec<Client>>) -> Option<(Client, TooFew)> {
    /// How many connections the user may have, the database, and everybody; and who the user is.
    const ALLOWED: &str = "
        SELECT (SELECT CASE WHEN rolsuper OR rolconnlimit < 0 THEN 2147483647 ELSE rolconnlimit END
                FROM pg_catalog.pg_roles WHERE rolname = current_user),
            (SELECT CASE WHEN datconnlimit < 0 THEN 2147483647 ELSE datconnlimit END
             FROM pg_catalog.pg_database WHERE datname = current_database()),
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
            quote_ident(current_user), quote_ident(current_database())";
    made.as_ref().err().filter(|error| error.has_no_room())?;
    let mut tries = 0..PROBES;
    let one = loop {
        tries.next()?;
        match connect_at_once(server, 1) {
            Ok(made) => break one_of(made).ok()?,
            // Those that were just given up may still count.
            Err(error) if error.has_no_room() => std::thread::sleep(CONNECT_PAUSE),
            Err(_) => return None,
        }
    };
    let row = answer_in_time(server, one.query_one(ALLOWED, &[])).ok()?;
    let [role, database, all] =
        [0_usize, 1, 2].map(|at| row.try_get(at).map_or(i32::MAX, |limit: Option<i32>| limit.unwrap_or(i32::MAX)));
    let name = |at: usize| row.try_get::<_, String>(at).unwrap_or_default();
    let allowed = role.min(database).min(all);
    if allowed > SPARE as i32 {
        return None;
    }
    let needed = 1 + SPARE;
    let (who, change) = if allowed == role {
        (format!("the role {}", name(3)), format!("ALTER ROLE {} CONNECTION LIMIT {needed}", name(3)))
    } else if allowed == database {
        (format!("the database {}", name(4)), format!("ALTER DATABASE {} CONNECTION LIMIT {needed}", name(4)))
    } else {
        ("the server".to_owned(), "a larger max_connections in its settings".to_owned())
    };
    Some((one, TooFew { needed, to_read: TO_READ, allowed: usize::try_from(allowed).unwrap_or_default(), who, change }))
}

/// The answer of the server, if it comes in time.
fn answer_in_time<T>(
    server: &Server,
    asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    // The thread of the sockets also keeps the time.
    let _entered = runtime().enter();
    let answer = pollster::block_on(tokio::time::timeout(server.answers_within, asked));
    Ok(answer.map_err(|_| Error::NoAnswer(server.answers_within))??)
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
        // The client's own limit is that of the link: a server may accept a connection and never answer on it.
        let hosts = u32::try_from(config.get_hosts().len().max(1)).unwrap_or(u32::MAX);
        let within = server.answers_within.saturating_mul(hosts);
        let open = server.open.clone();
        runtime().spawn(async move {
            let connected = match tokio::time::timeout(within, config.connect(connector)).await {
                Ok(Ok((client, connection))) => {
                    open.fetch_add(1, SeqCst);
                    tokio::spawn(async move {
                        // Each statement of the client says by itself why it failed.
                        let _ = connection.await;
                        open.fetch_sub(1, SeqCst);
                    });
                    Ok(client)
                }
                Ok(Err(error)) => Err(Error::Postgres(error)),
                Err(_) => Err(Error::NoAnswer(within)),
            };
            // The receiver is gone if this process ends.
            let _ = answer.send(connected);
        });
    }
    drop(answer);
    let answers = (0..count).map(|_| receiver.recv().map_err(|_| Error::NoThread)?);
    // All answers are waited for, so that no connection is made after it was given up.
    let answers: Vec<Result<Client>> = answers.collect();
    answers.into_iter().collect()
}

/// Sets what a session begins with.
fn configure(server: &Server, client: Client, settings: &Settings) -> Result<Client> {
    answer_in_time(server, client.batch_execute(&settings.needed))?;
    // A server may not know the time zone of this machine.
    match answer_in_time(server, client.batch_execute(&settings.wanted)) {
        Err(silent @ Error::NoAnswer(_)) => Err(silent),
        _ => Ok(client),
    }
}
