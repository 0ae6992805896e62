//! A run of the program that goes on beside the test, so that two processes meet on one database.
//!
//! A test waits for what it can see, never for a time. A run that is dropped is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Answer, Place, program};

/// Longer than anything takes that works.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A process of the program.
pub struct Going {
    child: Child,
    /// Reads standard output to its end.
    printed: Option<JoinHandle<String>>,
    /// The lines of standard output, as they come.
    documents: Receiver<String>,
    lines: Receiver<String>,
    heard: String,
}

impl Place {
    /// Starts a command line, its words parted by spaces, with `--json`, and does not wait for it.
    pub fn start(&self, line: &str) -> Going {
        self.start_with(line, &[])
    }

    /// As [`start`](Self::start), of a process that ends as in a power failure: before its write or sync of a database
    /// with the number `after`. What it had not synced is lost, or a part of it, by the chance that `seed` begins.
    pub fn start_until_power_cut(&self, line: &str, after: u64, seed: u64) -> Going {
        let library = program().with_file_name("examples").join("libpower_cut.so");
        assert!(library.is_file(), "{} is missing: run `cargo build --workspace --all-targets`", library.display());
        let settings = [
            ("LD_PRELOAD", library.display().to_string()),
            ("POWER_CUT_AFTER", after.to_string()),
            ("POWER_CUT_SEED", seed.to_string()),
        ];
        self.start_with(line, &settings)
    }

    fn start_with(&self, line: &str, environment: &[(&str, String)]) -> Going {
        let mut child = Command::new(program())
            .args(line.split(' ').chain(["--json"]))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("it is piped");
        let (each, documents) = channel();
        // While it runs: a full pipe would hold it up.
        let printed = std::thread::spawn(move || {
            let mut text = String::new();
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("standard output is UTF-8");
                text.push_str(&line);
                text.push('\n');
                // The test may have ended.
                let _ = each.send(line);
            }
            text
        });
        let stderr: ChildStderr = child.stderr.take().expect("it is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        Going { child, printed: Some(printed), documents, lines, heard: String::new() }
    }

    /// Waits until a question has this answer.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut answer: impl FnMut(&Place) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = answer(self) {
                return found;
            }
            assert!(start.elapsed() < WAIT_TIMEOUT, "waited for ever until {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a request has a status.
    #[track_caller]
    pub fn until_status(&self, request: &str, status: &str) {
        self.until(&format!("{request} is {status}"), |place| {
            let rows = place.get("requests");
            let row = rows.as_array()?.iter().find(|row| row["id"] == request)?;
            (row["status"] == status).then_some(())
        });
    }
}

impl Going {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the signal of that name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(sent.expect("kill can be run").success(), "the process is there");
    }

    /// Waits until standard error says these words.
    #[track_caller]
    pub fn until_it_says(&mut self, words: &str) {
        let start = Instant::now();
        while !self.heard.contains(words) {
            match self.lines.recv_timeout(WAIT_TIMEOUT.saturating_sub(start.elapsed())) {
                Ok(line) => self.heard.push_str(&format!("{line}\n")),
                Err(_) => panic!("it never said {words:?}, but\n{}", self.heard),
            }
        }
    }

    /// Waits until it prints a JSON document of which this is true.
    #[track_caller]
    pub fn until_it_prints(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let Ok(line) = self.documents.recv_timeout(WAIT_TIMEOUT.saturating_sub(start.elapsed())) else {
                panic!("it never printed {what}");
            };
            let document = serde_json::from_str(&line).expect("a document a line");
            if is_wanted(&document) {
                return document;
            }
        }
    }

    /// Ends it as a crash does: nothing of it runs on. Returns what it had printed.
    pub fn kill(mut self) -> String {
        self.child.kill().expect("the process is there");
        self.child.wait().expect("the process ends");
        self.printed()
    }

    fn printed(&mut self) -> String {
        self.printed.take().expect("it is read once").join().expect("nobody panicked")
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ended(mut self) -> Answer {
        let stdout = self.printed();
        let status = self.child.wait().expect("the process ends");
        self.heard.extend(self.lines.iter().map(|line| line + "\n"));
        Answer { code: status.code(), stdout, stderr: std::mem::take(&mut self.heard) }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
