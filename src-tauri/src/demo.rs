//! `flowglass demo`: the main job without a display.
//!
//! A real process runs an example flow and is killed in the middle; this one finds the request
//! interrupted, resumes it, and prints its timeline and what it did to its state. Nothing is
//! staged: the same commands do the same to any flow. With `--synthetic` it makes requests up instead.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::event::RequestStatus;
use engine::views::blocks::BlockStatus;
use runner::{At, Fault, Mock, OpenOptions, Resolution, Shape, Synthetic, Workspace};
use serde_json::json;

use crate::cli::{Outcome, exit};
use crate::print;
use crate::terminal::tell as say;

/// What `demo` shows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Instead, write a made-up request of about so many events into the workspace's database
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    pub(crate) synthetic: Option<u64>,
    /// How many made-up requests, each in a session of its own
    #[arg(long, default_value_t = 1, value_name = "N", requires = "synthetic")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) requests: u32,
    /// The same seed makes the same requests
    #[arg(long, default_value_t = 1, value_name = "N", requires = "synthetic")]
    pub(crate) seed: u64,
    /// What made-up requests do
    #[arg(long, default_value = "mixed", requires = "synthetic", value_parser = shape())]
    pub(crate) shape: Shape,
    /// Write so many events a second, as a request that runs now
    #[arg(long, value_name = "EVENTS", requires = "synthetic")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: Option<u32>,
    /// Of a request with a rate, write so many events at once, and only what follows at the rate
    #[arg(long, value_name = "EVENTS", requires = "rate", default_value_t = 0, hide_default_value = true)]
    pub(crate) at_once: u64,
}

fn shape() -> impl TypedValueParser<Value = Shape> {
    let names = PossibleValuesParser::new(Shape::ALL.map(Shape::as_str));
    names.map(|name| Shape::ALL.into_iter().find(|shape| shape.as_str() == name).unwrap_or_default())
}

/// The example and the modules it imports, as they lie in `flows/`.
const FILES: &[(&str, &str)] = &[
    ("research.ts", include_str!("../../flows/research.ts")),
    ("lib/library.ts", include_str!("../../flows/lib/library.ts")),
    ("lib/words.ts", include_str!("../../flows/lib/words.ts")),
];
const REQUEST: &str = "demo";
/// Long enough to be cut in the middle, short enough not to bore.
const PAUSE_MS: u64 = 500;
/// How many blocks must have finished before the process is killed.
const FINISHED: usize = 4;
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the demo in a folder of its own.
pub(crate) fn demo() -> Result<Outcome, Fault> {
    let dir = std::env::temp_dir().join(format!("flowglass-demo-{}", std::process::id()));
    let result = tell(&dir);
    // What it made is its own; a leftover in the temporary folder is harmless.
    let _ = std::fs::remove_dir_all(&dir);
    result
}

/// Writes made-up requests into a workspace's database.
pub(crate) fn synthesize(workspace: &Workspace, args: &Args) -> Result<Outcome, Fault> {
    let Args { synthetic, requests, seed, shape, rate, at_once } = *args;
    let wanted = Synthetic { events: synthetic.unwrap_or_default(), requests, seed, shape, rate, at_once };
    let made = workspace.synthesize(&wanted)?;
    let ids = match made.requests.as_slice() {
        [only] => only.clone(),
        [first, .., last] => format!("{} requests, {first} to {last}", made.requests.len()),
        [] => "nothing".to_owned(),
    };
    let text = format!("made up {ids}: {}\n", print::counted(made.events, "event"));
    Ok(Outcome::done(json!(made), text))
}

fn internal(error: impl std::fmt::Display) -> Fault {
    Fault::Internal { message: format!("demo: {error}") }
}

fn tell(dir: &Path) -> Result<Outcome, Fault> {
    for (name, text) in FILES {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(dir)).map_err(internal)?;
        std::fs::write(file, text).map_err(internal)?;
    }
    let workspace = Workspace::open(OpenOptions { dir: dir.to_owned(), ..OpenOptions::default() })?;
    say("1. running research.research in a process of its own");
    let finished = run_and_kill(&workspace, dir)?;
    let before = workspace.show(REQUEST)?;
    if before.request.status != RequestStatus::Interrupted {
        return Err(internal(format!("the request is {}, not interrupted", before.request.status.as_str())));
    }
    say(&format!("2. killed it after {finished} finished blocks; the request is interrupted"));
    let ended = workspace.resume(REQUEST, &Mock::Inherit, Resolution::default())?.wait()?;
    let after = workspace.show(REQUEST)?;
    let is_before = |end: u64| end <= before.request.last_seq;
    let completed = after.blocks.iter().filter(|block| block.row.status == BlockStatus::Completed);
    let kept = completed.filter(|block| block.row.seq_end.is_some_and(is_before)).count();
    say(&format!("3. resumed it: {kept} finished blocks were taken from the log, not run again"));
    let changes = workspace.diff(REQUEST, Some(&At::Seq(before.request.last_seq)), None, None)?;
    let text =
        format!("{}\nWhat the resumed part did to the state\n{}", print::shown(&after), print::changes(&changes));
    let code = if ended.status == RequestStatus::Completed { exit::DONE } else { exit::FLOW_FAILED };
    let json = json!({
        "requestId": REQUEST,
        "interruptedAt": before.request.last_seq,
        "finishedBefore": finished,
        "kept": kept,
        "status": ended.status,
        "output": ended.output.to_option(),
        "blocks": after.blocks,
        "changes": changes,
    });
    Ok(Outcome { json, text, code })
}

/// Starts the request in another process and kills that process in the middle of it.
fn run_and_kill(workspace: &Workspace, dir: &Path) -> Result<usize, Fault> {
    let input =
        json!({ "question": "How do bees find flowers?", "depth": "thorough", "pauseMs": PAUSE_MS }).to_string();
    let mut child = Command::new(crate::programs::command_line().map_err(internal)?)
        .args([
            "run",
            "research",
            "research",
            "--user",
            "ada",
            "--session",
            "demo",
            "--request",
            REQUEST,
            "--input",
            &input,
        ])
        .arg("--dir")
        .arg(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(internal)?;
    let start = Instant::now();
    let finished = loop {
        let count = match workspace.show(REQUEST) {
            Ok(shown) => shown.blocks.iter().filter(|block| block.row.status == BlockStatus::Completed).count(),
            Err(_) => 0,
        };
        if count >= FINISHED {
            break count;
        }
        if let Some(status) = child.try_wait().map_err(internal)? {
            return Err(internal(format!("the process ended too early ({status})")));
        }
        if start.elapsed() > STEP_TIMEOUT {
            // It is ours and it is stuck; what it says about being killed no longer matters.
            let _ = child.kill();
            return Err(internal("the process did not get anywhere"));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    child.kill().map_err(internal)?;
    child.wait().map_err(internal)?;
    Ok(finished)
}
