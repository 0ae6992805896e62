//! `flowglass worker`: resumes requests of dead processes until a signal stops it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use runner::{Cancel, Fault, WorkerEvent, WorkerOptions, Workspace};
use serde_json::json;

use crate::cli::args::Worker;
use crate::cli::{Outcome, exit};
use crate::print::counted;
use crate::signals::Signals;
use crate::terminal::{print, tell};

/// How long the worker waits for the database after a signal if no request runs here.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// How many requests run in this worker and have ended in it.
#[derive(Default)]
struct Counts {
    running: AtomicUsize,
    done: AtomicUsize,
}

/// `flowglass worker`.
pub(crate) fn work(workspace: &Arc<Workspace>, asked: &Worker, is_json: bool) -> Result<Outcome, Fault> {
    let stop = Cancel::default();
    let signals = Signals::listen()
        .map_err(|error| Fault::Internal { message: format!("cannot install signal handlers: {error}") })?;
    let (stopping, counts) = (stop.clone(), Arc::new(Counts::default()));
    let watched = counts.clone();
    signals.stop_with("stopping after the requests that run here have ended", move || {
        stopping.cancel();
        exit_if_database_hangs(watched.clone(), is_json);
    });
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let concurrency = asked.concurrency.map_or(cores, std::num::NonZeroUsize::get);
    let options = WorkerOptions { concurrency, until_idle: asked.until_idle, stop };
    tell(&format!("flowglass: working on {}, {concurrency} at a time", workspace.row()?.data_file));
    let done = workspace.work(&options, |event| {
        match event {
            WorkerEvent::Resumed { .. } => _ = counts.running.fetch_add(1, SeqCst),
            WorkerEvent::Ended { .. } => {
                counts.done.fetch_add(1, SeqCst);
                counts.running.fetch_sub(1, SeqCst);
            }
            WorkerEvent::DatabaseDown { .. } | WorkerEvent::StorageFailed { .. } | WorkerEvent::Skipped { .. } => {}
        }
        show(&event, is_json);
    })?;
    Ok(Outcome::done(result(done), summary(done)))
}

fn result(done: usize) -> serde_json::Value {
    json!({ "requests": done })
}

fn summary(done: usize) -> String {
    format!("{}\n", counted(done as u64, "request"))
}

/// Exits the program when no request runs here, if it has not exited by then: a query that only looks for more requests
/// may hang for hours if the database does not answer.
fn exit_if_database_hangs(counts: Arc<Counts>, is_json: bool) {
    let watch = move || {
        std::thread::sleep(SHUTDOWN_GRACE);
        while counts.running.load(SeqCst) > 0 {
            std::thread::sleep(SHUTDOWN_GRACE);
        }
        std::thread::sleep(SHUTDOWN_GRACE);
        tell("flowglass: the database does not answer and no request runs here; exiting");
        let done = counts.done.load(SeqCst);
        print(&if is_json { format!("{}\n", result(done)) } else { summary(done) });
        std::process::exit(exit::DONE.into());
    };
    // If the thread cannot start, the worker ends when the database answers, or with the next signal.
    drop(std::thread::Builder::new().name("ending".to_owned()).spawn(watch));
}

/// Prints an event to stderr, as text or as JSON.
fn show(event: &WorkerEvent, is_json: bool) {
    let (request, what, detail) = match event {
        WorkerEvent::DatabaseDown { why } => {
            tell(&format!("flowglass: {why}; waiting for the database"));
            return;
        }
        WorkerEvent::StorageFailed { request, why } => {
            tell(&format!(
                "flowglass: request {request}: {why}; waiting before the next try, longer after each failure"
            ));
            return;
        }
        WorkerEvent::Resumed { request } => (request, "resumed", None),
        WorkerEvent::Ended { request, ended: Ok(ended) } => {
            (request, ended.status.as_str(), ended.error.as_ref().map(|error| error.message.clone()))
        }
        WorkerEvent::Ended { request, ended: Err(fault) } => (request, "lost", Some(fault.to_string())),
        WorkerEvent::Skipped { request, why } => (request, "skipped", Some(why.to_string())),
    };
    if is_json {
        tell(&json!({ "request": request, "status": what, "detail": detail }).to_string());
        return;
    }
    let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
    tell(&format!("{request} {what}{detail}"));
}
