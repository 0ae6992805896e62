//! A PostgreSQL server of a test's own, in a temporary folder, from the programs that Debian's package installs.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than a server needs to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Where Debian's packages have the programs of each version.
const INSTALLED: &str = "/usr/lib/postgresql";

/// A running server; it ends with the value.
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
    process: Option<Child>,
}

impl Postgres {
    /// Starts one. `None` on a machine without one, which is told.
    pub fn start() -> Option<Postgres> {
        Postgres::start_with(&[])
    }

    /// As [`start`](Self::start), with settings of its own: `name=value`.
    pub fn start_with(settings: &[&str]) -> Option<Postgres> {
        let mut server = Postgres::new()?;
        server.settings.extend(settings.iter().map(|&setting| setting.to_owned()));
        server.resume();
        Some(server)
    }

    /// As [`start`](Self::start), with a certificate for `localhost`; connections that are not encrypted are refused.
    pub fn start_with_tls() -> Option<Postgres> {
        let mut server = Postgres::new()?;
        server.certify();
        let rules = "hostssl all all 127.0.0.1/32 trust\n";
        std::fs::write(server.data().join("pg_hba.conf"), rules).expect("the folder is writable");
        server.resume();
        Some(server)
    }

    /// As [`start`](Self::start), with a user `ada` who needs a password.
    pub fn start_with_password(password: &str) -> Option<Postgres> {
        let mut server = Postgres::new()?;
        let rules = "host all ada 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
        std::fs::write(server.data().join("pg_hba.conf"), rules).expect("the folder is writable");
        server.resume();
        server.query(&format!("CREATE ROLE ada LOGIN SUPERUSER PASSWORD '{password}'")).expect("it can be made");
        Some(server)
    }

    /// The certificate that signed the server's.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    fn new() -> Option<Postgres> {
        let Some(programs) = programs() else {
            eprintln!("no PostgreSQL server is installed below {INSTALLED}: what needs one is left out");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("pg").tempdir().expect("a temporary folder can be made");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free").port();
        let server = Postgres { programs, folder, port, settings: Vec::new(), process: None };
        if let Some((user, group)) = other_user() {
            std::os::unix::fs::chown(server.folder.path(), Some(user), Some(group)).expect("the superuser may");
        }
        let made = server
            .command("initdb")
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
            .arg(server.data())
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        Some(server)
    }

    /// Makes an authority, and a certificate of the server that it has signed. PostgreSQL's package brings `openssl`.
    fn certify(&self) {
        let openssl = |words: &str| {
            let mut command = self.command("openssl");
            let made = command.args(words.split(' ')).output().expect("openssl starts");
            assert!(made.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&made.stderr));
        };
        openssl(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.pem",
        );
        openssl("req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr");
        let names = self.folder.path().join("names");
        std::fs::write(names, "subjectAltName=DNS:localhost\n").expect("the folder is writable");
        openssl(
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile names \
             -out server.pem",
        );
    }

    /// The address of the database, with the tables in this schema.
    pub fn address(&self, schema: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?schema={schema}", self.port)
    }

    /// As [`address`](Self::address), with another host, and more said.
    pub fn address_at(&self, host: &str, schema: &str, more: &str) -> String {
        format!("postgres://postgres@{host}:{}/postgres?schema={schema}{more}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it, or starts it again.
    pub fn resume(&mut self) {
        let port = self.port.to_string();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &port, "-k", ""]).args(["-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "fsync=off", "-c", "max_connections=120"]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        if self.authority().exists() {
            command.args(["-c", "ssl=on", "-c", "ssl_cert_file=../server.pem", "-c", "ssl_key_file=../server.key"]);
        }
        self.process = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts"));
        let began = Instant::now();
        while self.query("SELECT 1").is_none_or(|answer| answer != "1") {
            assert!(began.elapsed() < START_TIMEOUT, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it as a power failure does: nothing is asked first.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // SIGQUIT: the server ends its own processes and keeps nothing that was not committed.
            let _ = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
            let _ = process.wait();
        }
    }

    /// The answer to a statement by `psql`, without headings; `None` if it fails.
    pub fn query(&self, sql: &str) -> Option<String> {
        let port = self.port.to_string();
        let words = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres", "-Atqc", sql];
        let answer = Command::new(self.programs.join("psql")).args(words).output().expect("psql starts");
        answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server, as a user that is not the superuser: those it refuses.
    fn command(&self, program: &str) -> Command {
        let own = self.programs.join(program);
        let mut command = Command::new(if own.exists() { own } else { program.into() });
        command.current_dir(self.folder.path());
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The folder of the newest version that is installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(INSTALLED).ok()?.flatten().map(|entry| entry.path().join("bin"));
    let number = |path: &Path| {
        let version = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        version.and_then(|version| version.parse::<u32>().ok())
    };
    versions.filter(|path| path.join("initdb").exists()).max_by_key(|path| number(path))
}

/// The user and group that the server runs as, if this is the superuser.
fn other_user() -> Option<(u32, u32)> {
    // SAFETY: it only tells who we are.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("users are listed");
    let of = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2).map_while(|field| field.parse::<u32>().ok());
        Some((fields.next()?, fields.next()?))
    };
    of("postgres").or_else(|| of("nobody"))
}
