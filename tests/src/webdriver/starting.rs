//! The programs that a window under test needs, and what waits for them.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a condition may take to come true, on the slowest machine.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_secs(90);

/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a person is told when a program is missing.
const INSTALL: &str = "`make setup` installs it";

/// A program in a process group of its own: what it starts itself ends with it.
pub(super) struct Running(pub(super) Child);

impl Running {
    pub(super) fn start(name: &str, command: &mut Command) -> Running {
        Running(command.process_group(0).spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}")))
    }

    pub(super) fn signal(&self, signal: &str) {
        let line = format!("kill -s {signal} -- -{}", self.0.id());
        // A group that is gone already is what was wanted.
        let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal("TERM");
        let ended = wait_until("a program to end", || match self.0.try_wait() {
            Ok(None) => Err("it runs".to_owned()),
            _ => Ok(()),
        });
        if ended.is_err() {
            self.signal("KILL");
            let _ = self.0.wait();
        }
    }
}

/// Looks until a condition holds; the error says what the last look saw.
pub(super) fn wait_until<R>(what: &str, mut attempt: impl FnMut() -> Result<R, String>) -> Result<R, String> {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        match attempt() {
            Ok(result) => return Ok(result),
            Err(error) if Instant::now() > end => {
                return Err(format!("waited {} s for {what}: {error}", WAIT_TIMEOUT.as_secs()));
            }
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

pub(super) fn virtual_display() -> (String, Running) {
    let program = tool("Xvfb", "/usr/bin", "Debian's package xvfb");
    let mut command = Command::new(program);
    // The server chooses a free number and says which.
    command.args(["-displayfd", "1", "-screen", "0", "1440x900x24", "-nolisten", "tcp"]);
    let mut running = Running::start("Xvfb", command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut number = String::new();
    let out = running.0.stdout.take().expect("it is piped");
    BufReader::new(out).read_line(&mut number).expect("Xvfb says its display");
    assert!(!number.trim().is_empty(), "Xvfb ended without a display");
    (format!(":{}", number.trim()), running)
}

pub(super) fn tool(name: &str, also: &str, origin: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).chain([also.into()]).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing, which the test of the window needs: {INSTALL} ({origin})"))
}

/// Two ports that nobody listened on a moment ago.
pub(super) fn free_ports() -> (u16, u16) {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = |listener: &TcpListener| listener.local_addr().expect("it is bound").port();
    let (one, other) = (bind(), bind());
    (port(&one), port(&other))
}
