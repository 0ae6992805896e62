//! Bundling and first evaluation in a child process: what a parser or the JavaScript engine does with an author's text
//! ends at most that process, and one flow fails. A child is started when the first file needs it, serves several, and
//! ends with its [`BundleProcess`]. Must not look into bundles.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use script::{Bundle, BundleReply, BundleRequest, Bundler, FlowDescription, LoadError, LoadErrorKind, PARSER_STACK};

use crate::catalogue::STACK;
use crate::catalogue::fatal_signals::FATAL_SIGNALS;
use crate::catalogue::loading::{Loading, describe};

/// The program's command that serves requests to bundle.
pub const BUNDLE_COMMAND: &str = "bundle-worker";
/// Serves requests on standard input, as the child does, until it is closed.
pub fn serve_bundles() -> std::io::Result<()> {
    script::serve(BufReader::new(std::io::stdin()), std::io::stdout(), |request, bundle| {
        let failed = |message: &str| Err(LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, message));
        std::thread::scope(|scope| {
            let work = || describe(bundle, &request.workspace, request.limits, &request.env);
            let thread = std::thread::Builder::new().name("evaluation".to_owned()).stack_size(STACK);
            match thread.spawn_scoped(scope, work) {
                Ok(thread) => thread.join().unwrap_or_else(|_| failed("its evaluation panicked")),
                Err(error) => failed(&format!("the file could not be loaded: {error}")),
            }
        })
    })
}

/// How long a child may say nothing.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// How often it is checked whether loading was cancelled.
const LOOK: Duration = Duration::from_millis(100);

/// The result for a file.
pub(crate) struct Bundled {
    pub(crate) bundle: Result<Bundle, LoadError>,
    /// Its flows, if a child evaluated it.
    pub(crate) flows: Option<Result<Vec<FlowDescription>, LoadError>>,
    /// The files that were read for it.
    pub(crate) reads: Vec<PathBuf>,
    /// The signal of a fault that ended the child.
    pub(crate) ended_by: Option<i32>,
}

impl Bundled {
    fn failed(error: LoadError) -> Bundled {
        Bundled { bundle: Err(error), flows: None, reads: Vec::new(), ended_by: None }
    }
}

/// A child that has ended, or was ended.
struct LostChild {
    reason: String,
    /// The signal of a fault that ended it.
    ended_by: Option<i32>,
}

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

    /// Bundles one flow file of a workspace, and evaluates it where a child does both.
    pub(crate) fn bundle(&mut self, loading: &Loading<'_>, file: &Path) -> Bundled {
        let workspace = loading.workspace;
        // Told without a child, and with the place.
        if let Err(error) = script::check_nesting(workspace, file) {
            return Bundled::failed(error);
        }
        let shown = file.strip_prefix(workspace).unwrap_or(file).display().to_string();
        let failed = |message: String| LoadError::in_file(LoadErrorKind::Thrown, &shown, message);
        let Some(program) = self.program else { return self.bundle_here(workspace, file, failed) };
        let has_served = self.child.is_some();
        let worker = match self.child.take().map_or_else(|| Worker::start(program), Ok) {
            Ok(worker) => worker,
            Err(error) => return Bundled::failed(failed(format!("the bundler could not be started: {error}"))),
        };
        let mut reads = BTreeSet::new();
        let mut bundle: Option<Box<Bundle>> = None;
        let result = worker.load(loading, file, &mut reads, &mut bundle);
        // All that it was made from, once it is bundled: a change of any is tried.
        if let Some(bundle) = bundle.as_deref() {
            reads.extend(bundle.inputs.iter().cloned());
        }
        let reads = reads.into_iter().collect();
        let (flows, worker) = match result {
            Ok(done) => done,
            // An earlier file may have damaged that child.
            Err(LostChild { ended_by: Some(_), .. }) if has_served => return self.bundle(loading, file),
            // The next file gets another child.
            Err(LostChild { reason, ended_by }) => {
                let error = LoadError { kind: LoadErrorKind::Abnormal, ..failed(reason) };
                return Bundled { reads, ended_by, ..Bundled::failed(error) };
            }
        };
        self.child = Some(worker);
        match (bundle, flows) {
            (Some(bundle), flows) => Bundled { bundle: Ok(*bundle), flows: Some(flows), reads, ended_by: None },
            (None, Err(error)) => Bundled { reads, ..Bundled::failed(error) },
            (None, Ok(_)) => Bundled::failed(failed("the bundler sent no bundle".to_owned())),
        }
    }

    fn bundle_here(&mut self, workspace: &Path, file: &Path, failed: impl Fn(String) -> LoadError) -> Bundled {
        let bundler = match self.own.take().map_or_else(Bundler::new, Ok) {
            Ok(bundler) => self.own.insert(bundler),
            Err(error) => return Bundled::failed(failed(error.to_string())),
        };
        let reads: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let seen = reads.clone();
        let on_read = move |path: &Path| {
            crate::core::sync::lock(&seen).insert(path.to_owned());
        };
        let bundle = bundler.bundle(workspace, file, Arc::new(on_read));
        let reads = crate::core::sync::lock(&reads).iter().cloned().collect();
        Bundled { bundle, flows: None, reads, ended_by: None }
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

    /// Bundles and evaluates a file, and gives the child back if it can serve another.
    fn load(
        mut self,
        loading: &Loading<'_>,
        file: &Path,
        reads: &mut BTreeSet<PathBuf>,
        bundle: &mut Option<Box<Bundle>>,
    ) -> Result<(Result<Vec<FlowDescription>, LoadError>, Worker), LostChild> {
        let request = BundleRequest {
            workspace: loading.workspace.to_owned(),
            file: file.to_owned(),
            limits: loading.limits,
            env: loading.env.clone(),
        };
        let lost = |reason: String| LostChild { reason, ended_by: None };
        let mut line =
            serde_json::to_vec(&request).map_err(|error| lost(format!("its path cannot be sent: {error}")))?;
        line.push(b'\n');
        // A child that has ended is noticed below.
        let _ = self.requests.as_mut().map(|requests| requests.write_all(&line).and_then(|()| requests.flush()));
        loop {
            let evaluation = if bundle.is_some() { loading.limits.yield_ms } else { 0 };
            match self.reply(MAX_SILENCE + Duration::from_millis(evaluation), loading.is_cancelled) {
                Ok(BundleReply::Reads(path)) => drop(reads.insert(path)),
                Ok(BundleReply::Bundled(made)) => *bundle = Some(made),
                Ok(BundleReply::Done(result)) => return Ok((result, self)),
                Err(RecvTimeoutError::Timeout) if (loading.is_cancelled)() => {
                    return Err(lost("loading was cancelled".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(lost(format!(
                        "the parser said nothing for {} s and was ended: the file, or one that it imports, is too \
                         large or nested too deeply",
                        MAX_SILENCE.as_secs()
                    )));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(bundle.is_some())),
            }
        }
    }

    /// Waits for a reply: at most this long, and no longer once loading is cancelled.
    fn reply(
        &self,
        silence: Duration,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<BundleReply, RecvTimeoutError> {
        let until = Instant::now() + silence;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.replies.recv_timeout(left.min(LOOK)) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && !is_cancelled() => {}
                reply => return reply,
            }
        }
    }

    /// Why the child ended, while it evaluated a file or before.
    fn ended(&mut self, was_evaluating: bool) -> LostChild {
        let signal = self.process.wait().ok().and_then(signal_of);
        let by = signal.map_or_else(String::new, |number| format!(" (signal {number})"));
        let reason = if was_evaluating {
            format!("the file's top level ended the process that evaluated it{by}")
        } else {
            "the parser ended abnormally: the file, or one that it imports, is nested too deeply or takes more memory \
             than there is"
                .to_owned()
        };
        // A process that gets no memory is aborted, too, and others may have taken it.
        let is_fault = |signal: &i32| FATAL_SIGNALS.iter().any(|(known, name)| known == signal && *name != "SIGABRT");
        LostChild { reason, ended_by: signal.filter(|signal| was_evaluating && is_fault(signal)) }
    }
}

#[cfg(unix)]
fn signal_of(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: std::process::ExitStatus) -> Option<i32> {
    None
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
        let env = serde_json::json!({});
        let (limits, program) = (script::Limits::default(), None);
        let is_cancelled = &|| false;
        let loading = Loading { workspace: &dir, folders: None, cache: &dir, limits, env: &env, program, is_cancelled };
        for name in ["a.ts", "b.ts"] {
            std::fs::write(dir.join(name), "export default 1;\n").unwrap();
            let error = process.bundle(&loading, &dir.join(name)).bundle.unwrap_err();
            assert_eq!((error.kind, error.file.as_deref()), (LoadErrorKind::Abnormal, Some(name)));
            assert!(error.message.contains("the parser ended abnormally"), "{error}");
            assert!(process.child.is_none());
        }
    }

    /// A child that loads a file which never ends is ended when loading is cancelled.
    #[cfg(unix)]
    #[test]
    fn a_cancelled_load_ends_its_child() {
        let folder = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(folder.path()).unwrap();
        let program = dir.join("silent");
        // By another process: a program cannot be started while this one may still have it open.
        let text =
            r#"printf '#!/bin/sh\necho $$ > "$0.pid.new" && mv "$0.pid.new" "$0.pid"\nexec sleep 1000\n' > "$0""#;
        let write = format!("{text} && chmod 700 \"$0\"");
        assert!(Command::new("sh").args(["-c", &write]).arg(&program).status().unwrap().success());
        std::fs::write(dir.join("a.ts"), "export default 1;\n").unwrap();
        let pid_file = dir.join("silent.pid");
        let is_cancelled = || pid_file.exists();
        let env = serde_json::json!({});
        let (limits, cache) = (script::Limits::default(), dir.join("cache"));
        let loading = Loading {
            workspace: &dir,
            folders: None,
            cache: &cache,
            limits,
            env: &env,
            program: Some(&program),
            is_cancelled: &is_cancelled,
        };
        let catalogue = Mutex::new(crate::catalogue::Catalogue::default());
        crate::catalogue::loading::load_all(&catalogue, vec![dir.join("a.ts")], &loading);
        let rows = crate::core::sync::lock(&catalogue).rows(&dir).unwrap();
        assert!(rows.is_empty() && !cache.exists(), "a cancelled load leaves nothing");
        let pid = std::fs::read_to_string(&pid_file).unwrap();
        let is_alive = Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success();
        assert!(!is_alive, "the child {pid} of a cancelled load goes on");
    }
}
