//! Where a database is: in a file, or on a server. Only the address knows the password; it is never shown.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::client_files::{self, Password};
use super::error::TooFew;
use super::postgres::{SYSTEM, Tls};

/// Where a database is.
#[derive(Clone, Debug)]
pub enum DataPlace {
    /// An SQLite database in this file.
    File(PathBuf),
    /// Tables on a PostgreSQL server.
    Server(Arc<Server>),
}

/// A PostgreSQL database, and the schema in it that has the tables.
pub struct Server {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) schema: String,
    /// Connections that were made for sessions to come.
    pub(crate) spare: Mutex<Vec<tokio_postgres::Client>>,
    /// Whether they were made.
    pub(crate) has_reserved: AtomicBool,
    /// How many connections this process has.
    pub(crate) open: Arc<AtomicUsize>,
    /// How many it may have, once it is known that these are few.
    pub(crate) allowed: OnceLock<TooFew>,
    /// How long the server may take to accept a session.
    pub(crate) answers_within: Duration,
    /// A password file that is not used because others may read it, where the password is missing.
    pub(crate) open_password_file: Option<PathBuf>,
    /// Whether this process has read something else than records since it last asked for the newest revision.
    pub(crate) has_read: AtomicBool,
    /// What encrypts connections.
    pub(crate) connector: MakeRustlsConnect,
    /// The time zone of sessions; that of the server if it is not set.
    pub(crate) time_zone: OnceLock<String>,
    /// The address without the password, for people.
    label: PathBuf,
}

/// How an address of a server begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// How long a link is waited for that does not answer.
const LINK_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a server may take to accept a session, unless the address says `connect_timeout=SECONDS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The schema that has the tables, unless the address says `schema=NAME`.
const SCHEMA: &str = "flowglass";

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.label, f)
    }
}

impl DataPlace {
    /// Sets the time zone of the sessions of a server. A place that is opened again keeps its zone, because it reuses
    /// its sessions.
    pub(crate) fn set_time_zone(&self, zone: Option<&str>) {
        if let (DataPlace::Server(server), Some(zone)) = (self, zone) {
            let _ = server.time_zone.set(zone.to_owned());
        }
    }

    /// Reads `--data`: an address of a server (`postgres://user@host/database?schema=name`), or a file. The error says
    /// what is wrong with the address, without its password.
    pub fn parse(text: &Path) -> Result<DataPlace, String> {
        match text.to_str().filter(|text| is_address(text)) {
            Some(address) => Server::parse(address).map(|server| DataPlace::Server(Arc::new(server))),
            None => match other_address(&text.to_string_lossy()) {
                Some(why) => Err(why.to_owned()),
                None => Ok(DataPlace::File(text.to_owned())),
            },
        }
    }

    /// The file, or the address as it may be shown.
    pub fn path(&self) -> &Path {
        match self {
            DataPlace::File(path) => path,
            DataPlace::Server(server) => &server.label,
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            DataPlace::File(path) => Some(path),
            DataPlace::Server(_) => None,
        }
    }
}

impl<T: AsRef<Path> + ?Sized> From<&T> for DataPlace {
    fn from(path: &T) -> DataPlace {
        DataPlace::File(path.as_ref().to_owned())
    }
}

impl From<PathBuf> for DataPlace {
    fn from(path: PathBuf) -> DataPlace {
        DataPlace::File(path)
    }
}

impl Display for DataPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}

/// Whether a text is meant as the address of a server.
fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)))
}

/// Why a text is no file, if it looks like the address of something else.
fn other_address(text: &str) -> Option<&'static str> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if scheme.is_some_and(is_scheme) || text.contains("password=") {
        return Some("--data takes a file, or a server as postgres://user@host:5432/database");
    }
    if is_mistyped_address(text) {
        return Some(
            "--data is a mistyped address of a server: write it as postgres://user@host:5432/database; a file of such \
             a name is written with ./ before it",
        );
    }
    None
}

/// Whether a text is no file's name but an address with a slip: a letter too few, a blank, or no scheme. It would be
/// the name of a folder, with the password in it.
fn is_mistyped_address(text: &str) -> bool {
    let trimmed = text.trim_start();
    let word = trimmed.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = trimmed.split_at(word);
    let is_scheme = ["postgres", "postgresql", "postgre", "psql", "pgsql", "pg"]
        .iter()
        .any(|scheme| name.eq_ignore_ascii_case(scheme));
    let rest = rest.trim_start();
    let first = trimmed.split(['/', '\\']).next().unwrap_or_default();
    let has_user = first.split_once(':').is_some_and(|(_, after)| after.contains('@'));
    is_scheme && (rest.starts_with(':') || rest.starts_with("//")) || has_user
}

impl Server {
    /// The address without the password.
    pub(crate) fn path(&self) -> &Path {
        &self.label
    }

    /// Whether this process has all connections that it may ever have.
    pub(crate) fn has_all_connections(&self) -> bool {
        self.allowed.get().is_some_and(|few| self.open.load(Ordering::SeqCst) >= few.allowed)
    }

    fn parse(address: &str) -> Result<Server, String> {
        let scheme = address.find("://").unwrap_or_default();
        let address = &format!("{}{}", address[..scheme].to_ascii_lowercase(), &address[scheme..]);
        check_escapes(address)?;
        let (plain, mut own) = take_own(address)?;
        let schema = own.get("schema").cloned().unwrap_or_else(|| SCHEMA.to_owned());
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 63
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                && !name.starts_with(|first: char| first.is_ascii_digit())
        };
        if schema == "information_schema" || schema.starts_with("pg_") {
            return Err(format!(
                "schema \"{schema}\" of the database's address belongs to the server: name another, as in \
                 postgres://user@host/database?schema=my_team"
            ));
        }
        if !is_name(&schema) {
            return Err(format!(
                "schema \"{schema}\" of the database's address is not a valid name: use letters a-z, digits and _, \
                 as in postgres://user@host/database?schema=my_team"
            ));
        }
        let mut config: tokio_postgres::Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            format!("the database's address cannot be read ({why}): write it as postgres://user@host:5432/database")
        })?;
        let set = |variable: &str| std::env::var(variable).ok().filter(|value| !value.is_empty());
        let named_user = config.get_user().map(str::to_owned);
        if let Some(name) = own.get("service").cloned().or_else(|| set("PGSERVICE")) {
            let service = client_files::service(&name)?;
            client_files::apply(&service, "the service", &mut config)?;
            for name in ["sslmode", "sslrootcert"] {
                if let Some(value) = service.get(name) {
                    own.entry(name.to_owned()).or_insert_with(|| value.clone());
                }
            }
        }
        client_files::apply(&client_files::environment(set), "the environment", &mut config)?;
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        let own_or = |name: &str, variable: &str| {
            own.get(name).cloned().filter(|value| !value.is_empty()).or_else(|| set(variable))
        };
        let (mode, roots) = (own_or("sslmode", "PGSSLMODE"), own_or("sslrootcert", "PGSSLROOTCERT"));
        let connector = Tls::read(mode.as_deref(), roots.as_deref(), &mut config)?.connector()?;
        if config.get_user().is_none() {
            config.user(set("PGUSER").or_else(|| set("USER")).unwrap_or_else(|| "postgres".to_owned()));
        }
        let mut open_password_file = None;
        if config.get_password().is_none() {
            match set("PGPASSWORD").map_or_else(|| client_files::password(&config), Password::Known) {
                Password::Known(password) => _ = config.password(password),
                Password::Open(file) => open_password_file = Some(file),
                Password::None => {}
            }
        }
        let label = label(&config, named_user.as_deref(), &own);
        config.application_name("flowglass").tcp_user_timeout(LINK_TIMEOUT).keepalives_idle(LINK_TIMEOUT);
        let answers_within = config.get_connect_timeout().copied().unwrap_or(ANSWER_TIMEOUT);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(LINK_TIMEOUT);
        }
        Ok(Server {
            config,
            schema,
            spare: Mutex::default(),
            has_reserved: AtomicBool::default(),
            open: Arc::default(),
            allowed: OnceLock::new(),
            answers_within,
            open_password_file,
            has_read: AtomicBool::default(),
            connector,
            time_zone: OnceLock::new(),
            label: label.into(),
        })
    }
}

/// Settings of an address whose value may have an @.
const WITH_AT: [&str; 9] =
    ["user", "password", "dbname", "host", "options", "application_name", "service", "sslrootcert", "passfile"];

/// What an address says for this module, and not for the client of the server.
const OWN: [&str; 4] = ["service", "schema", "sslmode", "sslrootcert"];

/// Refuses an address whose password has a character that ends it. No part of the address is shown: the error cannot
/// tell which parts are of the password.
fn check_escapes(address: &str) -> Result<(), String> {
    let (_, rest) = address.split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let (path, query) = after.split_once('?').unwrap_or((after, ""));
    let is_setting = |pair: &str| match pair.split_once('=') {
        Some((name, value)) => !name.contains('@') && (!value.contains('@') || WITH_AT.contains(&name)),
        None => !pair.contains('@'),
    };
    let is_cut = match authority.rsplit_once('@') {
        Some((user, _)) => user.contains('@') || path.contains('@'),
        // Then `ann:p` is a host with its port.
        None => authority.contains(':') && (path.contains('@') || !has_ports(authority) && query.contains('@')),
    };
    if is_cut || path.contains('#') || !query.split('&').all(is_setting) {
        return Err("a user, a password or a database in the database's address has an unescaped character: \
                    percent-encode it (# as %23, / as %2F, ? as %3F, @ as %40), or put the password into PGPASSWORD \
                    or ~/.pgpass"
            .to_owned());
    }
    Ok(())
}

/// Whether each host of a list has a number after its `:`, if it has one.
fn has_ports(hosts: &str) -> bool {
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    hosts.split(',').all(|host| host.ends_with(']') || host.rsplit_once(':').is_none_or(|(_, port)| is_number(port)))
}

/// Takes the settings of [`OWN`] out of an address.
fn take_own(address: &str) -> Result<(String, HashMap<String, String>), String> {
    let Some((base, query)) = address.split_once('?') else { return Ok((address.to_owned(), HashMap::new())) };
    let mut own = HashMap::new();
    let mut others = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=').filter(|(name, _)| OWN.contains(name)) {
            Some((name, value)) => {
                let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
                if own.insert(name.to_owned(), value).is_some() {
                    return Err(format!("the database's address has more than one {name}=: leave one of them"));
                }
            }
            None => others.push(pair),
        }
    }
    let plain = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    Ok((plain, own))
}

/// The address as it may be shown, and as another process may be given it.
fn label(config: &tokio_postgres::Config, user: Option<&str>, own: &HashMap<String, String>) -> String {
    use tokio_postgres::config::Host;
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let name = match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        match ports.get(at).or(ports.first()) {
            Some(port) if *port != 5432 => format!("{name}:{port}"),
            _ => name,
        }
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    let shown = |name: &str| own.get(name).filter(|value| *value != SCHEMA).map(|value| setting(name, value));
    let settings: Vec<String> = OWN.into_iter().filter_map(shown).collect();
    let settings = if settings.is_empty() { String::new() } else { format!("?{}", settings.join("&")) };
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{hosts}/{database}{settings}")
}

/// A setting of an address. A file is named from the root, because another process may have another folder.
fn setting(name: &str, value: &str) -> String {
    /// What would end a value, or begin an escape.
    const RESERVED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'&').add(b'#').add(b'?').add(b'+');
    let file = (name == "sslrootcert" && value != SYSTEM).then(|| std::path::absolute(value).ok()).flatten();
    let value = file.map_or_else(|| value.to_owned(), |file| file.display().to_string());
    format!("{name}={}", utf8_percent_encode(&value, RESERVED))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let place =
            DataPlace::parse(Path::new("postgres://ann:secret@db.example:6000/runs?schema=team&connect_timeout=3"));
        let place = place.unwrap();
        assert_eq!(place.to_string(), "postgres://ann@db.example:6000/runs?schema=team");
        assert!(!format!("{place:?}").contains("secret"));
        assert!(place.file().is_none());
        let checked = "postgres://ann@h/d?schema=a&sslmode=verify-full&sslrootcert=system";
        assert_eq!(DataPlace::parse(Path::new(checked)).unwrap().to_string(), checked);
        assert!(DataPlace::parse(Path::new("runs.db")).unwrap().file().is_some());
        assert!(DataPlace::parse(Path::new("POSTGRES://h/d")).unwrap().file().is_none());
        for wrong in ["mysql://a:secret@h/d", "host=h password=secret", "postgres://a:se@secret@h/d"] {
            assert!(!DataPlace::parse(Path::new(wrong)).unwrap_err().contains("secret"));
        }
        for mistyped in [
            "postgres:/bob:secret@h:1/br",
            "postgresql:bob:secret@h/d",
            "postgres//bob:secret@h/d",
            " postgres://bob:secret@h/d",
            "\tPostgres: //bob:secret@h/d",
            "postgres ://bob:secret@h/d",
            "postgre:bob:secret@h/d",
            "bob:secret@h:1/d",
        ] {
            let why = DataPlace::parse(Path::new(mistyped)).unwrap_err();
            assert!(why.contains("postgres://user@host") && !why.contains("secret"), "{mistyped}: {why}");
        }
        for file in ["postgres.db", "postgres/runs.db", "pg/x.db", "./a:b@c", "a@b.db", "C:\\a@b.db", "runs 2:1.db"] {
            assert!(DataPlace::parse(Path::new(file)).unwrap().file().is_some(), "{file}");
        }
        for unescaped in
            ["se#cret", "se?cret", "se/cret", "se@cret", "1?cret", "1/cret", "cre?a=t", "cre&t?x", "#", "cret?"]
        {
            let why = DataPlace::parse(Path::new(&format!("postgres://ann:{unescaped}@h/d?schema=s"))).unwrap_err();
            assert!(why.contains("percent-encode") && !why.contains("cret"), "{unescaped}: {why}");
        }
        for right in ["postgres://a:s%23e%3F%2F%40@h/d", "postgres://h:1,[::1]:2/d?user=a@b", "postgres:///d?user=a"] {
            assert!(DataPlace::parse(Path::new(right)).is_ok(), "{right}");
        }
        let why = DataPlace::parse(Path::new("postgres://h/d?schema=a&schema=b")).unwrap_err();
        assert!(why.contains("more than one schema="), "{why}");
        assert!(DataPlace::parse(Path::new("postgres://h/d?schema=information_schema")).is_err());
        for wrong in
            ["postgres://a:secret@h/d?schema=a\"b", "postgres://a:secret@h/d?schema=", "postgres://a:secret@h:x/d"]
        {
            let why = DataPlace::parse(Path::new(wrong)).unwrap_err();
            assert!(!why.contains("secret") && why.contains("postgres://user@host"), "{why}");
        }
    }
}
