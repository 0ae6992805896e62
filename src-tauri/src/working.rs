//! `flowglass worker`, which goes on with what other processes left until a signal ends it.

use std::sync::Arc;

use runner::{Cancel, Fault, WorkerNews, WorkerOptions, Workspace};
use serde_json::json;

use crate::cli::args::Worker;
use crate::cli::{Outcome, tell};
use crate::print::counted;
use crate::signals::Signals;

/// `flowglass worker`.
pub(crate) fn work(workspace: &Arc<Workspace>, asked: &Worker, is_json: bool) -> Result<Outcome, Fault> {
    let stop = Cancel::default();
    let signals = Signals::listen()
        .map_err(|error| Fault::Internal { message: format!("signals cannot be received: {error}") })?;
    let stopping = stop.clone();
    signals.stop_with("ending; what goes on here is finished first", move || stopping.cancel());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let concurrency = asked.concurrency.map_or(cores, std::num::NonZeroUsize::get);
    let options = WorkerOptions { concurrency, until_idle: asked.until_idle, stop };
    tell(&format!("flowglass: working on {}, {concurrency} at a time", workspace.row()?.data_file));
    let done = workspace.work(&options, |news| show(&news, is_json))?;
    Ok(Outcome::done(json!({ "requests": done }), format!("{}\n", counted(done as u64, "request"))))
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
