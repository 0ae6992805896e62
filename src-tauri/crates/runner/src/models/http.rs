//! The one HTTP stack of the program: what models and flows reach the network with.
//!
//! A client belongs to the runtime of its request, so that the connections end with the request.
//! It uses no proxy: environment variables are read only where the configuration names one.

use std::error::Error;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(20);

/// A client with this rule for redirects.
pub(crate) fn client(redirects: impl Fn() -> Policy) -> Result<Client, String> {
    // A second client finds the same provider in place.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = |redirects| {
        Client::builder()
            .user_agent(concat!("flowglass/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(redirects)
            .no_proxy()
    };
    let client = builder(redirects()).build();
    // A machine without certificates trusts nobody, and still reaches its own servers.
    let client = client.or_else(|_| builder(redirects()).tls_certs_only([]).build());
    client.map_err(|error| format!("the HTTP client cannot be made: {}", cause(&error)))
}

/// Refuses what the TLS library cannot survive: its clock begins with the epoch.
pub(crate) fn check_clock(url: &Url) -> Result<(), String> {
    if url.scheme() == "https" && SystemTime::now() < UNIX_EPOCH {
        return Err("the clock of this machine stands before 1970, so no certificate can be checked".to_owned());
    }
    Ok(())
}

/// Why an exchange failed: the innermost cause, which names no address and no secret.
pub(crate) fn cause(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// Host and, where it is not the scheme's own, port: how an address is named to people.
pub(crate) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
