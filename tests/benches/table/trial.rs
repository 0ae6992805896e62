//! How things are measured here: a workspace of the bench's own, the clock of the log, and medians.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use runner::{Durability, EventQuery, EventRow, OpenOptions, RunOptions, Workspace};
use serde_json::Value;
use tests::bench::Place;

/// The middle of several figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median of several goes, in milliseconds.
pub(crate) fn median_ms(times: usize, mut go: impl FnMut(usize)) -> f64 {
    median(
        (0..times)
            .map(|nth| {
                let begin = Instant::now();
                go(nth);
                ms(begin.elapsed())
            })
            .collect(),
    )
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The most memory of a process from its start to its end, in MB.
pub(crate) fn most_memory_mb(command: &mut Command) -> f64 {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = quiet.spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0_f64;
    // The kernel keeps the high-water mark, so the last look before the end is nearly the whole truth.
    while child.try_wait().expect("it is ours").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|mark| mark.split_whitespace().next());
        most = mark.and_then(|mark| mark.parse::<f64>().ok()).map_or(most, |mark| most.max(mark));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().expect("it is ours").success());
    most / 1_024.0
}

/// Opens a place in this process.
pub(crate) fn open(place: &Place, durability: Durability) -> Arc<Workspace> {
    let options = OpenOptions { dir: place.dir().to_owned(), durability: Some(durability), ..OpenOptions::default() };
    Workspace::open(options).expect("the workspace opens")
}

/// Runs `main.go` to its end, in a session of its own. Returns when it was answered, in milliseconds since the epoch:
/// then all of it is committed.
pub(crate) fn run(workspace: &Workspace, request: &str, input: Value) -> f64 {
    let running = workspace.run(wanted(request, input)).unwrap_or_else(|fault| panic!("{fault}"));
    let ended = running.wait().expect("it ends");
    assert_eq!(ended.status.as_str(), "completed", "{:?}", ended.error);
    now_ms()
}

/// `main.go` as a request of that id, in a session of its own.
pub(crate) fn wanted(request: &str, input: Value) -> RunOptions {
    RunOptions {
        flow: "main".to_owned(),
        action: "go".to_owned(),
        user: "bench".to_owned(),
        session: Some(format!("{request}-session")),
        request: Some(request.to_owned()),
        input: Some(input),
        ..RunOptions::default()
    }
}

/// All events of a request, as the command line shows them.
pub(crate) fn events(workspace: &Workspace, request: &str, kind: Option<&str>) -> Vec<EventRow> {
    let query = EventQuery { kind: kind.map(str::to_owned), ..EventQuery::default() };
    workspace.events(request, query).expect("the request is there")
}

/// Milliseconds since the epoch, by the clock that the log uses.
pub(crate) fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as f64
}

/// How long the steps of a chain took, each, in microseconds: from the first one's beginning to the answer of the
/// request, which comes after the commit of all of them.
pub(crate) fn step_us(workspace: &Workspace, request: &str, steps: usize, answered: f64) -> f64 {
    let started = events(workspace, request, Some("block_started"));
    // The chain itself begins before its first step.
    assert_eq!(started.len(), steps + 1);
    (answered - started[1].at as f64) * 1_000.0 / steps as f64
}

/// How many bytes the events of a step have, as they are written.
pub(crate) fn step_bytes(workspace: &Workspace, request: &str, steps: usize) -> usize {
    let all = events(workspace, request, None);
    let bytes: usize = all.iter().map(|event| event.payload.0.to_string().len()).sum();
    bytes / steps
}

/// The size of a place's database once nobody has it open.
pub(crate) fn bytes_on_disk(place: &Place) -> f64 {
    let folder = place.database().parent().expect("it is in a folder").to_owned();
    let name = place.database().file_name().expect("it has a name").to_owned();
    let files = std::fs::read_dir(folder).expect("the folder is there").flatten();
    let of_database = files.filter(|file| file.file_name().to_string_lossy().starts_with(&*name.to_string_lossy()));
    of_database.filter_map(|file| file.metadata().ok()).map(|file| file.len() as f64).sum()
}

/// What the reference line says: microseconds of a bare commit of so many bytes.
pub(crate) fn line_us(folder: &Path, durability: &str, steps: usize, bytes: usize) -> f64 {
    commit_us(folder, &[durability, &steps.to_string(), &bytes.to_string()])
}

/// The same of the rows that a step leaves in the log.
pub(crate) fn rows_us(folder: &Path, durability: &str, steps: usize, bytes: usize) -> f64 {
    commit_us(folder, &[durability, &steps.to_string(), &bytes.to_string(), "rows"])
}

fn commit_us(folder: &Path, args: &[&str]) -> f64 {
    let file = tempfile::tempdir_in(folder).expect("the folder is writable");
    reference_us(Command::new(reference("line")).arg(file.path().join("line.db")).args(args))
}

/// Microseconds of a chain's function in a bare interpreter.
///
/// `bytes` is how long the text is that it puts into the state; 0 where it counts up a number.
pub(crate) fn function_us(steps: usize, bytes: usize) -> f64 {
    reference_us(Command::new(reference("function")).args([steps.to_string(), bytes.to_string()]))
}

/// Microseconds of a step of the same kind in LangGraph with its SQLite checkpointer; none where `make bench` could not
/// install it.
pub(crate) fn peer_us(folder: &Path, steps: usize, bytes: usize) -> Option<f64> {
    let python = std::env::var_os("FLOWGLASS_PYTHON")?;
    let file = tempfile::tempdir_in(folder).expect("the folder is writable");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.py");
    let args = [steps.to_string(), bytes.to_string()];
    Some(reference_us(Command::new(python).arg(script).arg(file.path().join("peer.db")).args(args)) * 1_000.0)
}

/// A program of the reference lines.
fn reference(name: &str) -> PathBuf {
    tests::bench::program().with_file_name("examples").join(name)
}

/// What it says, in microseconds.
fn reference_us(program: &mut Command) -> f64 {
    let output = program.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))) / 1_000.0
}
