//! The process that inputs are tried in: this program again, with one test, told by the environment where its driver
//! listens. A message is its length, in four bytes, and its bytes.

use std::fmt::Display;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where the driver listens.
const DRIVER: &str = "FLOWGLASS_FUZZ_DRIVER";
/// How long a worker may take to begin.
const BEGINNING: Duration = Duration::from_secs(120);
/// As the program has it for a command.
const STACK: usize = 64 << 20;
/// How long a worker may take to end by itself.
const ENDING: Duration = Duration::from_secs(5);
/// Kilobytes of addresses, so that an input that wants all memory ends its worker and not the machine.
const MEMORY: u64 = 12 << 20;
/// How much of what a worker said is told.
const TOLD: usize = 6_000;
/// Where a panic was raised stands at the beginning of its trace.
const TRACE: usize = 2_500;

/// Why an input failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the worker says is wrong.
    Told(String),
    /// The worker said nothing for this long.
    Silent(Duration),
    /// The worker ended; how, and what it said.
    Ended(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Told(what) => write!(f, "{what}"),
            Failure::Silent(time) => write!(f, "it hangs: nothing came of it in {time:?}"),
            Failure::Ended(how) => write!(f, "the process ended: {how}"),
        }
    }
}

/// A running worker; it ends with the value.
pub(crate) struct Worker {
    process: Child,
    stream: UnixStream,
    dir: TempDir,
}

impl Worker {
    /// Starts this program for one of its tests.
    pub(crate) fn start(test: &str) -> Worker {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let socket = dir.path().join("driver");
        let listener = UnixListener::bind(&socket).expect("a socket can be made");
        let said = std::fs::File::create(dir.path().join("said")).expect("the folder is writable");
        let own = std::env::current_exe().expect("a test is a program");
        let mut process = Command::new("sh")
            .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$@\""), "sh"])
            .arg(own)
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(DRIVER, &socket)
            .env("TMPDIR", dir.path())
            .stdin(Stdio::null())
            .stdout(said.try_clone().expect("the file is open"))
            .stderr(said)
            .spawn()
            .expect("a worker starts");
        listener.set_nonblocking(true).expect("a socket can be asked");
        let began = Instant::now();
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(_) if began.elapsed() < BEGINNING && process.try_wait().is_ok_and(|end| end.is_none()) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => panic!("no worker for {test}:\n{}", said_in(&dir)),
            }
        };
        stream.set_nonblocking(false).expect("a socket can be asked");
        let mut worker = Worker { process, stream, dir };
        worker.stream.set_read_timeout(Some(BEGINNING)).expect("a socket takes a time");
        if let Err(error) = read(&mut worker.stream) {
            panic!("the worker for {test} does not begin: {error}\n{}", said_in(&worker.dir));
        }
        worker
    }

    /// Has an input tried. The worker comes back where it can try another.
    pub(crate) fn attempt(mut self, input: &[u8], patience: Duration) -> (Result<(), Failure>, Option<Worker>) {
        self.stream.set_read_timeout(Some(patience)).expect("a socket takes a time");
        let answer = write(&mut self.stream, input).and_then(|()| read(&mut self.stream));
        match answer {
            Ok(told) if told.is_empty() => (Ok(()), Some(self)),
            Ok(told) => (Err(Failure::Told(String::from_utf8_lossy(&told).into_owned())), None),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                (Err(Failure::Silent(patience)), None)
            }
            Err(_) => {
                let end = self.process.wait().expect("a child can be waited for");
                let how = match end.signal() {
                    Some(signal) => format!("by signal {signal}"),
                    None => format!("{end}"),
                };
                (Err(Failure::Ended(format!("{how}\n{}", said_in(&self.dir)))), None)
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker without its driver ends by itself, and takes what it has opened with it: killed, it would leave a
        // window behind. One that hangs is killed.
        let _ = self.stream.shutdown(Shutdown::Both);
        let began = Instant::now();
        while began.elapsed() < ENDING && self.process.try_wait().is_ok_and(|end| end.is_none()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn said_in(dir: &TempDir) -> String {
    let said = std::fs::read(dir.path().join("said")).unwrap_or_default();
    String::from_utf8_lossy(&said[said.len().saturating_sub(TOLD)..]).into_owned()
}

/// Whether this process is a worker.
pub(crate) fn is_one() -> bool {
    std::env::var_os(DRIVER).is_some()
}

/// What panicked since somebody asked, on any thread.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn panics() -> Vec<String> {
    std::mem::take(&mut *PANICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Tries inputs until the driver goes away.
pub(crate) fn serve<S>(
    begin: impl FnOnce() -> S + Send,
    attempt: impl Fn(&mut S, &[u8]) -> Result<(), String> + Send + Sync,
) {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let trace = std::backtrace::Backtrace::force_capture();
        let trace = trace.to_string();
        let trace = trace.lines().filter(|line| !line.contains("/rustc/")).collect::<Vec<_>>().join("\n");
        let told = format!("thread {:?}: {info}\n{trace:.TRACE$}", thread.name().unwrap_or_default());
        PANICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(told);
    }));
    let socket = std::env::var_os(DRIVER).expect("a worker has a driver");
    let mut stream = UnixStream::connect(socket).expect("the driver listens");
    let serving = || {
        let mut state = begin();
        assert_eq!(panics(), Vec::<String>::new(), "something panicked before the first input");
        write(&mut stream, b"ready").expect("the driver reads");
        while let Ok(input) = read(&mut stream) {
            let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| attempt(&mut state, &input)));
            let mut told = panics();
            told.extend(tried.unwrap_or(Ok(())).err());
            // An empty message is a success.
            if write(&mut stream, told.join("\n").as_bytes()).is_err() {
                break;
            }
        }
    };
    let ended = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("command".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, serving).expect("a thread can be started").join()
    });
    for told in panics() {
        let _ = writeln!(std::io::stderr(), "{told}");
    }
    // The driver is gone, or it cannot begin: nobody needs what is left.
    std::process::exit(i32::from(ended.is_err()));
}

fn write(stream: &mut UnixStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(&(bytes.len() as u32).to_le_bytes())?;
    stream.write_all(bytes)
}

fn read(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
