//! `flowglass worker`, which goes on with what other processes left until a signal ends it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use runner::{Cancel, Fault, WorkerNews, WorkerOptions, Workspace};
use serde_json::json;

use crate::cli::args::Worker;
use crate::cli::{Outcome, exit};
use crate::print::counted;
use crate::signals::Signals;
use crate::terminal::{print, tell};

/// How long a database may be silent once the worker is to end and nothing goes on here.
const SILENCE: Duration = Duration::from_secs(1);

/// What a worker has done and does.
#[derive(Default)]
struct Counts {
    going_on: AtomicUsize,
    done: AtomicUsize,
}

/// `flowglass worker`.
pub(crate) fn work(workspace: &Arc<Workspace>, asked: &Worker, is_json: bool) -> Result<Outcome, Fault> {
    let stop = Cancel::default();
    let signals = Signals::listen()
        .map_err(|error| Fault::Internal { message: format!("signals cannot be received: {error}") })?;
    let (stopping, counts) = (stop.clone(), Arc::new(Counts::default()));
    let watched = counts.clone();
    signals.stop_with("ending; what goes on here is finished first", move || {
        stopping.cancel();
        end_if_silent(watched.clone(), is_json);
    });
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let concurrency = asked.concurrency.map_or(cores, std::num::NonZeroUsize::get);
    let options = WorkerOptions { concurrency, until_idle: asked.until_idle, stop };
    tell(&format!("flowglass: working on {}, {concurrency} at a time", workspace.row()?.data_file));
    let done = workspace.work(&options, |news| {
        match news {
            WorkerNews::Begun { .. } => _ = counts.going_on.fetch_add(1, SeqCst),
            WorkerNews::Ended { .. } => {
                counts.done.fetch_add(1, SeqCst);
                counts.going_on.fetch_sub(1, SeqCst);
            }
            WorkerNews::Waits { .. } | WorkerNews::Left { .. } => {}
        }
        show(&news, is_json);
    })?;
    Ok(Outcome::done(result(done), in_words(done)))
}

fn result(done: usize) -> serde_json::Value {
    json!({ "requests": done })
}

fn in_words(done: usize) -> String {
    format!("{}\n", counted(done as u64, "request"))
}

/// Ends the program if nothing goes on here and it has not ended by itself: the database may not answer for hours, and
/// what is asked of it then is only what else there is to do.
fn end_if_silent(counts: Arc<Counts>, is_json: bool) {
    let watch = move || {
        std::thread::sleep(SILENCE);
        while counts.going_on.load(SeqCst) > 0 {
            std::thread::sleep(SILENCE);
        }
        std::thread::sleep(SILENCE);
        tell("flowglass: the database does not answer; nothing goes on here, so the worker ends");
        let done = counts.done.load(SeqCst);
        print(&if is_json { format!("{}\n", result(done)) } else { in_words(done) });
        std::process::exit(exit::DONE.into());
    };
    // Without a thread it ends when the database answers, or with the next signal.
    drop(std::thread::Builder::new().name("ending".to_owned()).spawn(watch));
}

/// Tells what became of a request: a line for people, or one of JSON.
fn show(news: &WorkerNews, is_json: bool) {
    let (request, what, detail) = match news {
        WorkerNews::Waits { why } => {
            tell(&format!("flowglass: {why}; waiting for the database"));
            return;
        }
        WorkerNews::Begun { request } => (request, "resumed", None),
        WorkerNews::Ended { request, ended: Ok(ended) } => {
            (request, ended.status.as_str(), ended.error.as_ref().map(|error| error.message.clone()))
        }
        WorkerNews::Ended { request, ended: Err(fault) } => (request, "lost", Some(fault.to_string())),
        WorkerNews::Left { request, why } => (request, "skipped", Some(why.to_string())),
    };
    if is_json {
        tell(&json!({ "request": request, "status": what, "detail": detail }).to_string());
        return;
    }
    let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
    tell(&format!("{request} {what}{detail}"));
}
