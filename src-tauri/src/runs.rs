//! The commands that run something and wait for it: `run`, `resume`, `abort`.

use std::sync::Arc;
use std::time::Instant;

use engine::event::RequestStatus;
use runner::{ErrorInfo, Fault, Json, Mock, RunOptions, Running, Workspace};
use serde_json::{Value, json};

use crate::cli::args::Run;
use crate::cli::{Outcome, Stop, exit, say};
use crate::print;
use crate::signals::Signals;

/// `flowglass run`.
pub(crate) fn run(workspace: &Arc<Workspace>, run: Run, input: Option<Value>) -> Result<Outcome, Stop> {
    let (started, signals) = (Instant::now(), listen()?);
    let running = workspace.run(RunOptions {
        flow: run.flow,
        action: run.action,
        user: run.user,
        session: run.session,
        project: run.project,
        request: run.request,
        input,
        mock: mock_mode(run.mock.as_deref()),
    });
    let running = running.map_err(|fault| match fault {
        // A flow or an action that does not exist is bad input, like an argument that does not exist.
        Fault::NotFound { .. } => Stop { fault, code: exit::USAGE },
        _ => Stop::from(fault),
    })?;
    wait(workspace, running, Wait { signals, started, events: run.events, after: 0 })
}

/// `flowglass resume`.
pub(crate) fn resume(workspace: &Arc<Workspace>, request: &str, mock: Option<&str>) -> Result<Outcome, Stop> {
    let (started, signals) = (Instant::now(), listen()?);
    let after = workspace.request(request)?.last_seq;
    let running = workspace.resume(request, &mock_mode(mock))?;
    wait(workspace, running, Wait { signals, started, events: false, after })
}

/// `flowglass abort`.
pub(crate) fn abort(workspace: &Workspace, request: &str) -> Result<Outcome, Stop> {
    let status = workspace.abort(request)?;
    if status != RequestStatus::Aborted {
        eprintln!("flowglass: the flow has not yielded yet; the request ends when it does");
    }
    Ok(Outcome::done(json!({ "status": status }), format!("{}\n", status.as_str())))
}

fn listen() -> Result<Signals, Stop> {
    Ok(Signals::listen().map_err(|error| Fault::Internal { message: format!("signals cannot be heard: {error}") })?)
}

fn mock_mode(given: Option<&str>) -> Mock {
    match given {
        None => Mock::Off,
        Some("") => Mock::Beside,
        Some(file) => Mock::File(file.into()),
    }
}

/// How a request is waited for.
struct Wait {
    signals: Signals,
    started: Instant,
    /// Whether its events are shown as they happen.
    events: bool,
    /// What was in its log before.
    after: u64,
}

/// Waits for a request's end and says how it went.
fn wait(workspace: &Arc<Workspace>, running: Running, wait: Wait) -> Result<Outcome, Stop> {
    let Wait { signals, started, events, after } = wait;
    let (request_id, session_id) = (running.request_id.clone(), running.session_id.clone());
    let (stopping, id) = (workspace.clone(), request_id.clone());
    signals.stop_with(move || {
        // A request that has just ended needs no stopping.
        let _ = stopping.stop(&id);
    });
    if events {
        workspace.follow(&request_id, |event| say(&json!(event)))?;
    }
    let ended = running.wait()?;
    let mut result = json!({ "requestId": request_id, "sessionId": session_id, "status": ended.status });
    if let Some(output) = ended.output.as_value() {
        result["output"] = output.clone();
    }
    let error = ended.error.as_ref().map(ErrorInfo::from);
    if let Some(error) = &error {
        result["error"] = json!(error);
    }
    result["durationMs"] = json!(started.elapsed().as_millis() as u64);
    for warning in workspace.warnings(&request_id, after)? {
        eprintln!("warning: {warning}");
    }
    if let Some(error) = &error {
        print::flow_error(error);
    }
    let text = if events { format!("{result}\n") } else { print::result(&Json(result.clone())) };
    let code = match ended.status {
        RequestStatus::Completed => exit::DONE,
        RequestStatus::Suspended => exit::SUSPENDED,
        RequestStatus::Interrupted | RequestStatus::Aborted => exit::INTERRUPTED,
        _ => exit::FLOW_FAILED,
    };
    Ok(Outcome { json: result, text, code })
}
