//! Bundling in a child process: what a parser does with an author's text ends at most that process, and one flow
//! fails. A child is started when the first file needs it, serves several, and is gone with its [`BundleProcess`].
//! Must not look into bundles.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use script::{Bundle, BundleReply, BundleRequest, Bundler, LoadError, LoadErrorKind, PARSER_STACK};

/// The program's command that serves requests to bundle.
pub const BUNDLE_COMMAND: &str = "bundle-worker";
/// Serves requests on standard input, as the child does, until it is closed.
pub fn serve_bundles() -> std::io::Result<()> {
    script::serve(BufReader::new(std::io::stdin()), std::io::stdout())
}

/// How long a child may say nothing.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// What came of a file, and the files that were read for it.
pub(crate) type Bundled = (Result<Bundle, LoadError>, Vec<PathBuf>);

/// Bundles files one after another, in a child where there is a program for it.
pub(crate) struct BundleProcess<'p> {
    program: Option<&'p Path>,
    child: Option<Worker>,
    own: Option<Bundler>,
}

impl<'p> BundleProcess<'p> {
    /// Starts nothing yet.
    pub(crate) fn new(program: Option<&'p Path>) -> Self {
        BundleProcess { program, child: None, own: None }
    }

    /// Bundles one flow file of a workspace.
    pub(crate) fn bundle(&mut self, workspace: &Path, file: &Path) -> Bundled {
        // Told without a child, and with the place.
        if let Err(error) = script::check_nesting(workspace, file) {
            return (Err(error), Vec::new());
        }
        let shown = file.strip_prefix(workspace).unwrap_or(file).display().to_string();
        let failed = |message: String| LoadError::in_file(LoadErrorKind::Thrown, &shown, message);
        let Some(program) = self.program else { return self.bundle_here(workspace, file, failed) };
        let worker = match self.child.take().map_or_else(|| Worker::start(program), Ok) {
            Ok(worker) => worker,
            Err(error) => return (Err(failed(format!("the bundler could not be started: {error}"))), Vec::new()),
        };
        let mut reads = BTreeSet::new();
        match worker.bundle(workspace, file, &mut reads) {
            Ok((result, worker)) => {
                self.child = Some(worker);
                (result, reads.into_iter().collect())
            }
            // The next file gets another child.
            Err(reason) => {
                (Err(LoadError { kind: LoadErrorKind::Abnormal, ..failed(reason) }), reads.into_iter().collect())
            }
        }
    }

    fn bundle_here(&mut self, workspace: &Path, file: &Path, failed: impl Fn(String) -> LoadError) -> Bundled {
        let bundler = match self.own.take().map_or_else(Bundler::new, Ok) {
            Ok(bundler) => self.own.insert(bundler),
            Err(error) => return (Err(failed(error.to_string())), Vec::new()),
        };
        let reads: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let seen = reads.clone();
        let on_read = move |path: &Path| {
            crate::core::sync::lock(&seen).insert(path.to_owned());
        };
        let result = bundler.bundle(workspace, file, Arc::new(on_read));
        let reads = crate::core::sync::lock(&reads).iter().cloned().collect();
        (result, reads)
    }
}

/// A child that bundles; killed when dropped.
struct Worker {
    process: Child,
    requests: Option<ChildStdin>,
    replies: Receiver<BundleReply>,
}

impl Worker {
    fn start(program: &Path) -> std::io::Result<Worker> {
        let mut process = Command::new(program)
            .arg(BUNDLE_COMMAND)
            .env("RUST_MIN_STACK", PARSER_STACK.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What a runtime says of its end is told as the flow's error.
            .stderr(Stdio::null())
            .spawn()?;
        let requests = process.stdin.take();
        let (sender, replies) = channel();
        let output = process.stdout.take();
        let worker = Worker { process, requests, replies };
        // It ends when the child does.
        std::thread::Builder::new().name("bundler".to_owned()).spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for line in lines.map_while(Result::ok) {
                let Ok(reply) = serde_json::from_str(&line) else { return };
                if sender.send(reply).is_err() {
                    return;
                }
            }
        })?;
        Ok(worker)
    }

    /// Bundles a file, and gives the child back where it can serve another.
    fn bundle(
        mut self,
        workspace: &Path,
        file: &Path,
        reads: &mut BTreeSet<PathBuf>,
    ) -> Result<(Result<Bundle, LoadError>, Worker), String> {
        let request = BundleRequest { workspace: workspace.to_owned(), file: file.to_owned() };
        let mut line = serde_json::to_vec(&request).map_err(|error| format!("its path cannot be told: {error}"))?;
        line.push(b'\n');
        // A child that is gone says so below.
        let _ = self.requests.as_mut().map(|requests| requests.write_all(&line).and_then(|()| requests.flush()));
        loop {
            match self.replies.recv_timeout(MAX_SILENCE) {
                Ok(BundleReply::Reads(path)) => drop(reads.insert(path)),
                Ok(BundleReply::Done(result)) => return Ok((result, self)),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!(
                        "the parser said nothing for {} s and was ended: the file, or one that it imports, is too \
                         large or nested too deeply",
                        MAX_SILENCE.as_secs()
                    ));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("the parser ended abnormally: the file, or one that it imports, is nested too deeply \
                                or takes more memory than there is"
                        .to_owned());
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.requests.take());
        // One that has ended already needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// A child that ends without an answer fails the file it was asked for, and the next file gets another child.
    #[cfg(unix)]
    #[test]
    fn a_child_that_ends_abnormally_fails_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(folder.path()).unwrap();
        let mut process = BundleProcess::new(Some(Path::new("/bin/false")));
        for name in ["a.ts", "b.ts"] {
            std::fs::write(dir.join(name), "export default 1;\n").unwrap();
            let error = process.bundle(&dir, &dir.join(name)).0.unwrap_err();
            assert_eq!((error.kind, error.file.as_deref()), (LoadErrorKind::Abnormal, Some(name)));
            assert!(error.message.contains("the parser ended abnormally"), "{error}");
            assert!(process.child.is_none());
        }
    }
}
