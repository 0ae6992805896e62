//! The files in which PostgreSQL's own clients keep addresses and passwords: a connection service file
//! (`~/.pg_service.conf`), and a password file (`~/.pgpass`).
//!
//! The address comes first, then its service, then the environment, then the password file.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};

use tokio_postgres::config::Host;

/// The settings of a service that are used. The others of PostgreSQL's own clients are refused, because a connection
/// without them may not be what the service means.
const KNOWN: [&str; 9] =
    ["host", "port", "dbname", "user", "password", "sslmode", "sslrootcert", "connect_timeout", "options"];
/// Settings that change nothing here.
const IGNORED: [&str; 2] = ["application_name", "fallback_application_name"];

/// Reads the settings of a service. The error says which file is wrong, in which line, or where the service was looked
/// for.
pub(super) fn service(name: &str) -> Result<HashMap<String, String>, String> {
    let files = service_files();
    let mut looked = Vec::with_capacity(files.len());
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                looked.push(format!("{} (no such file)", file.display()));
                continue;
            }
            Err(error) => return Err(format!("the service file {} cannot be read: {error}", file.display())),
        };
        let found = section(&text, name).map_err(|why| format!("the service file {}, {why}", file.display()))?;
        if let Some(found) = found {
            return Ok(found);
        }
        looked.push(file.display().to_string());
    }
    if looked.is_empty() {
        return Err(format!(
            "there is no service file for the service \"{name}\" of the database's address: set PGSERVICEFILE to one"
        ));
    }
    Err(format!(
        "there is no service \"{name}\" of the database's address in {}: add a section [{name}] to one of them, or set \
         PGSERVICEFILE to another",
        looked.join(" or in ")
    ))
}

/// Where services are looked for, in this order.
fn service_files() -> Vec<PathBuf> {
    let own = env::var_os("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| env::home_dir().map(|home| home.join(".pg_service.conf")));
    let common = env::var_os("PGSYSCONFDIR").map(|folder| Path::new(&folder).join("pg_service.conf"));
    own.into_iter().chain(common).collect()
}

/// The settings of a section; `None` if the text has none of this name. The error names the line.
fn section(text: &str, name: &str) -> Result<Option<HashMap<String, String>>, String> {
    let mut found: Option<HashMap<String, String>> = None;
    for (line, at) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix('[').and_then(|head| head.strip_suffix(']')) {
            if found.is_some() {
                break;
            }
            found = (head == name).then(HashMap::new);
            continue;
        }
        let Some(settings) = &mut found else { continue };
        // Neither a value nor a line without a name is shown: it may be a password.
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("line {at}: write NAME=VALUE, as in host=db.example"));
        };
        let key = key.trim();
        if !KNOWN.contains(&key) && !IGNORED.contains(&key) {
            return Err(format!("line {at}: \"{key}\" is not supported; use {}", KNOWN.join(", ")));
        }
        settings.insert(key.to_owned(), value.trim().to_owned());
    }
    Ok(found)
}

/// What the environment says of the server, by the names that a service has for it.
pub(super) fn environment(set: impl Fn(&str) -> Option<String>) -> HashMap<String, String> {
    const VARIABLES: [(&str, &str); 3] = [("host", "PGHOST"), ("port", "PGPORT"), ("dbname", "PGDATABASE")];
    VARIABLES.iter().filter_map(|(name, variable)| Some(((*name).to_owned(), set(variable)?))).collect()
}

/// Sets what `settings` say and the address does not. `whose` they are is for an error.
pub(super) fn apply(
    settings: &HashMap<String, String>,
    whose: &str,
    config: &mut tokio_postgres::Config,
) -> Result<(), String> {
    let has_hosts = !config.get_hosts().is_empty();
    let has_ports = !config.get_ports().is_empty();
    let setting = |name: &str, is_set: bool| settings.get(name).filter(|_| !is_set);
    let numbers = |name: &str, text: &str| -> Result<Vec<u16>, String> {
        let numbers = text.split(',').map(|number| number.trim().parse());
        numbers.collect::<Result<_, _>>().map_err(|_| format!("the {name} \"{text}\" of {whose} is not a number"))
    };
    if let Some(hosts) = setting("host", has_hosts) {
        for host in hosts.split(',') {
            config.host(host.trim());
        }
    }
    // A port belongs to its host.
    if let Some(ports) = setting("port", has_ports || has_hosts) {
        for port in numbers("port", ports)? {
            config.port(port);
        }
    }
    if let Some(name) = setting("dbname", config.get_dbname().is_some()) {
        config.dbname(name);
    }
    if let Some(user) = setting("user", config.get_user().is_some()) {
        config.user(user);
    }
    if let Some(password) = setting("password", config.get_password().is_some()) {
        config.password(password);
    }
    if let Some(options) = setting("options", config.get_options().is_some()) {
        config.options(options);
    }
    if let Some(seconds) = setting("connect_timeout", config.get_connect_timeout().is_some()) {
        let seconds = numbers("connect_timeout", seconds)?.first().copied().unwrap_or_default();
        if seconds > 0 {
            config.connect_timeout(std::time::Duration::from_secs(seconds.into()));
        }
    }
    Ok(())
}

/// What the password file says of a connection.
pub(super) enum Password {
    /// This is it.
    Known(String),
    /// There is such a file, and others may read it: it is not used, as by PostgreSQL's own clients.
    Open(PathBuf),
    /// Nothing.
    None,
}

/// The password that the password file has for a connection.
pub(super) fn password(config: &tokio_postgres::Config) -> Password {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let Some(file) = named.or_else(|| env::home_dir().map(|home| home.join(".pgpass"))) else {
        return Password::None;
    };
    if !file.is_file() {
        return Password::None;
    }
    if !is_private(&file) {
        return Password::Open(file);
    }
    of_file(&file, config).map_or(Password::None, Password::Known)
}

fn of_file(file: &Path, config: &tokio_postgres::Config) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user()?;
    let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
    text.lines().find_map(|line| password_of(line, wanted))
}

/// The password of a line `host:port:database:user:password`, if the line is for this connection. `*` stands for
/// anything, and `\` takes the meaning of a `:` or a `\`.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // The password is the rest of the line.
            ':' if fields.len() <= wanted.len() => fields.push(String::new()),
            letter => {
                let letter = if letter == '\\' { letters.next().unwrap_or(letter) } else { letter };
                fields.last_mut()?.push(letter);
            }
        }
    }
    let password = fields.pop().filter(|_| fields.len() == wanted.len())?;
    fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted).then_some(password)
}

#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins_and_errors_name_the_line() {
        let text = "# ours\n[other]\nhost=a\n\n[shop]\n host = db.example \nport=6000\n[last]\nnothing";
        let shop = section(text, "shop").unwrap().unwrap();
        assert_eq!((shop["host"].as_str(), shop["port"].as_str(), shop.len()), ("db.example", "6000", 2));
        assert_eq!(section(text, "none").unwrap(), None);
        let why = section("[shop]\nsecret", "shop").unwrap_err();
        assert!(why.starts_with("line 2: ") && !why.contains("secret"), "{why}");
        let why = section("[shop]\nhost=a\nsslcert=b", "shop").unwrap_err();
        assert!(why.starts_with("line 3: \"sslcert\" is not supported"), "{why}");
    }

    #[test]
    fn an_address_is_before_its_service() {
        let shop = section("[s]\nhost=a,b\nport=1,2\ndbname=d\nuser=u\npassword=p\nconnect_timeout=3", "s");
        let shop = shop.unwrap().unwrap();
        let mut config: tokio_postgres::Config = "postgres://ann@/".parse().unwrap();
        apply(&shop, "the service", &mut config).unwrap();
        assert_eq!((config.get_hosts().len(), config.get_ports()), (2, [1, 2].as_slice()));
        assert_eq!((config.get_user(), config.get_dbname()), (Some("ann"), Some("d")));
        let mut config: tokio_postgres::Config = "postgres://c/e".parse().unwrap();
        apply(&shop, "the service", &mut config).unwrap();
        // An address with a host has the usual port, not the one of the service's host.
        assert_eq!((config.get_hosts().len(), config.get_ports()), (1, [5432].as_slice()));
        assert_eq!((config.get_user(), config.get_dbname()), (Some("u"), Some("e")));
        let wrong = HashMap::from([("port".to_owned(), "many".to_owned())]);
        let why = apply(&wrong, "the environment", &mut tokio_postgres::Config::new()).unwrap_err();
        assert!(why.contains("port \"many\" of the environment"), "{why}");
    }

    #[test]
    fn a_service_is_before_the_environment() {
        let given = [("PGHOST", "a, b"), ("PGPORT", "1,2"), ("PGDATABASE", "d")];
        let given = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let mut config: tokio_postgres::Config = "postgres://ann@/".parse().unwrap();
        apply(&environment(given), "the environment", &mut config).unwrap();
        let hosts = [Host::Tcp("a".to_owned()), Host::Tcp("b".to_owned())];
        assert_eq!((config.get_hosts(), config.get_ports()), (hosts.as_slice(), [1, 2].as_slice()));
        assert_eq!(config.get_dbname(), Some("d"));
        let shop = section("[s]\nhost=c\nport=3", "s").unwrap().unwrap();
        let mut config: tokio_postgres::Config = "postgres://ann@/".parse().unwrap();
        apply(&shop, "the service", &mut config).unwrap();
        apply(&environment(given), "the environment", &mut config).unwrap();
        assert_eq!((config.get_hosts().len(), config.get_ports()), (1, [3].as_slice()));
        assert_eq!(config.get_dbname(), Some("d"));
        let none = environment(|_| None);
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn a_line_of_passwords_fits_by_all_four() {
        let of = |line| password_of(line, ["h", "5432", "runs", "a:b"]);
        assert_eq!(of(r"h:5432:runs:a\:b:se:cr\\et").as_deref(), Some(r"se:cr\et"));
        assert_eq!(of("*:*:*:*:any").as_deref(), Some("any"));
        assert_eq!(of("h:5433:*:*:other"), None);
        assert_eq!(of("#*:*:*:*:no"), None);
        assert_eq!(of("h:5432:runs"), None);
    }
}
