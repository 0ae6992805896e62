//! The way to a server: sockets that a thread of its own serves, a server that is waited for, and a statement that is
//! cancelled.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::sql::place::Server;
use crate::sql::{Error, Result};

/// How long a server is waited for that does not answer or has no room.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(20);
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
        // If the server does not hear of it, the statement ends by itself.
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

/// Connects, and waits for a server that starts or has no room for another session.
pub(super) fn connect(server: &Server, settings: &Settings) -> Result<Client> {
    let began = Instant::now();
    loop {
        match connect_once(server, settings) {
            Err(Error::Postgres(error)) if is_passing(&error) && began.elapsed() < CONNECT_WITHIN => {
                std::thread::sleep(CONNECT_PAUSE);
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

fn connect_once(server: &Server, settings: &Settings) -> Result<Client> {
    let (config, connector, settings) = (server.config.clone(), server.connector.clone(), settings.clone());
    let (answer, receiver) = std::sync::mpsc::channel();
    runtime().spawn(async move {
        let connected = async {
            let (client, connection) = config.connect(connector).await?;
            tokio::spawn(connection);
            client.batch_execute(&settings.needed).await?;
            // A server may not know the time zone of this machine.
            let _ = client.batch_execute(&settings.wanted).await;
            Ok(client)
        };
        // Whoever waited has ended.
        let _ = answer.send(connected.await);
    });
    receiver.recv().map_err(|_| Error::NoThread)?.map_err(Error::Postgres)
}
