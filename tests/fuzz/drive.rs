//! Makes inputs, has them tried by a worker, and tells what failed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tests::bench::repository;

use crate::worker::{self, Failure, Worker};

/// How long inputs are made when nobody asks for more.
const SECONDS: u64 = 10;
/// The same in `make soak`.
const SOAK_SECONDS: u64 = 600;
/// How long a failing input may be shrunk.
const SHRINK: Duration = Duration::from_secs(60);

/// What is tested, and by which test of this program.
pub(crate) struct Target {
    /// The folder of its corpus.
    pub name: &'static str,
    /// The test that calls [`fuzz`] with it.
    pub test: &'static str,
    /// How long one input may take on a busy machine.
    pub patience: Duration,
}

/// Tries the corpus, then inputs of a strategy. `begin` makes what a worker tries inputs on, and `attempt` tries one:
/// whatever it answers as an error, a panic anywhere in the worker, its end and its silence fail the input.
pub(crate) fn fuzz<S>(
    target: &Target,
    inputs: impl FnOnce() -> BoxedStrategy<Vec<u8>>,
    begin: impl FnOnce() -> S + Send,
    attempt: impl Fn(&mut S, &[u8]) -> Result<(), String> + Send + Sync,
) {
    if worker::is_one() {
        worker::serve(begin, attempt);
    } else {
        drive(target, &inputs());
    }
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

fn drive(target: &Target, inputs: &BoxedStrategy<Vec<u8>>) {
    let is_soak = std::env::var_os("FLOWGLASS_SOAK").is_some();
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    // A change is judged by the same inputs as the change before it; a soak looks for new ones.
    let seed = number("FLOWGLASS_FUZZ_SEED").unwrap_or_else(|| if is_soak { fresh() } else { 1 });
    let seconds = number("FLOWGLASS_FUZZ_SECONDS").unwrap_or(if is_soak { SOAK_SECONDS } else { SECONDS });
    let mut bench = Bench { target, worker: None, tried: 0, slowest: Duration::ZERO };
    for file in corpus(target) {
        let input = std::fs::read(&file).expect("a file of the corpus is readable");
        if let Err(failure) = bench.attempt(&input) {
            panic!("{}: {}: {failure}", target.name, file.display());
        }
    }
    let kept = bench.tried;
    let mut runner = runner(seed);
    let began = Instant::now();
    let mut failed = None;
    while began.elapsed() < Duration::from_secs(seconds) {
        let tree = inputs.new_tree(&mut runner).expect("the strategy makes a value");
        if let Err(failure) = bench.attempt(&tree.current()) {
            failed = Some((tree, failure));
            break;
        }
    }
    say(&format!(
        "fuzz {}: {kept} inputs of the corpus and {} of seed {seed} in {:.0?}; the slowest took {:.1?}",
        target.name,
        bench.tried - kept,
        began.elapsed(),
        bench.slowest
    ));
    if let Some((tree, failure)) = failed {
        let (input, failure) = bench.shrunk(tree, failure);
        let file = keep(target, &input);
        panic!("{}: seed {seed}: an input failed, which is now {}\n{failure}", target.name, file.display());
    }
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// The inputs that are tried always.
fn corpus(target: &Target) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder(target)).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn folder(target: &Target) -> PathBuf {
    repository().join("tests/fuzz/corpus").join(target.name)
}

fn keep(target: &Target, input: &[u8]) -> PathBuf {
    let name = blake3::hash(input).to_hex();
    let file = folder(target).join(format!("found-{}", &name[..12]));
    std::fs::create_dir_all(folder(target)).expect("the corpus is writable");
    std::fs::write(&file, input).expect("the corpus is writable");
    file
}

/// A line that is seen also where the test passes.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct Bench<'t> {
    target: &'t Target,
    worker: Option<Worker>,
    tried: u64,
    slowest: Duration,
}

impl Bench<'_> {
    fn attempt(&mut self, input: &[u8]) -> Result<(), Failure> {
        self.tried += 1;
        let began = Instant::now();
        match self.once(input) {
            // The machine may have been busy with something else: what hangs, hangs twice.
            Err(Failure::Silent(_)) => self.once(input)?,
            answer => answer?,
        }
        self.slowest = self.slowest.max(began.elapsed());
        Ok(())
    }

    fn once(&mut self, input: &[u8]) -> Result<(), Failure> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(self.target.test),
        };
        let (answer, worker) = worker.attempt(input, self.target.patience);
        self.worker = worker;
        answer
    }

    /// The smallest input that fails as well.
    fn shrunk<T: ValueTree<Value = Vec<u8>>>(&mut self, mut tree: T, failure: Failure) -> (Vec<u8>, Failure) {
        let mut best = (tree.current(), failure);
        let end = Instant::now() + SHRINK;
        while Instant::now() < end && tree.simplify() {
            while Instant::now() < end {
                match self.once(&tree.current()) {
                    Err(failure) => {
                        best = (tree.current(), failure);
                        break;
                    }
                    Ok(()) if tree.complicate() => {}
                    Ok(()) => return best,
                }
            }
        }
        best
    }
}

/// Every file in some folders of the project with this ending, shortest first: what inputs are made from.
pub(crate) fn seeds(folders: &[&str], ending: &str) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(repository().join(folder)).into_iter().flatten().flatten();
        let is_wanted = |path: &Path| path.is_file() && path.to_string_lossy().ends_with(ending);
        found.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_wanted(path))
                .filter_map(|path| std::fs::read(path).ok()),
        );
    }
    found.sort_by_key(|bytes| (bytes.len(), bytes.clone()));
    found
}
