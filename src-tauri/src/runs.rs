//! The commands that run something and wait for it: `run`, `resume`, `retry`, `abort`.

use std::sync::Arc;
use std::time::Instant;

use engine::error::FlowError;
use engine::event::RequestStatus;
use runner::{
    Answered, At, Cancel, Edits, ErrorInfo, Fault, Json, Mock, PlanRow, Resolution, RunOptions, Running,
    TriggerOptions, Workspace, defaults_instead,
};
use serde_json::{Value, json};

use crate::cli::args::{Fork, How, Models, Resume, Run, Trigger};
use crate::cli::{Outcome, Stop, exit, say};
use crate::print;
use crate::signals::Signals;
use crate::terminal::tell;

/// `flowglass run`.
pub(crate) fn run(workspace: &Arc<Workspace>, run: Run, input: Option<Value>) -> Result<Outcome, Stop> {
    let Run { flow, action, user, internal, how } = run;
    let How { session, project, request, mock, events, .. } = how;
    let mock = mock_mode(mock.as_deref());
    begin(workspace, &flow.clone(), events, || {
        workspace.run(RunOptions { flow, action, internal, user, session, project, request, input, mock })
    })
}

/// `flowglass trigger`.
pub(crate) fn trigger(workspace: &Arc<Workspace>, trigger: Trigger, input: Option<Value>) -> Result<Outcome, Stop> {
    let Trigger { flow, entry, user, how } = trigger;
    let How { session, project, request, mock, events, .. } = how;
    let mock = mock_mode(mock.as_deref());
    begin(workspace, &flow.clone(), events, || {
        workspace.trigger(TriggerOptions { flow, entry, user, session, project, request, input, mock })
    })
}

/// Says what looks odd in a flow, begins a request of it, and waits for that.
fn begin(
    workspace: &Arc<Workspace>,
    flow: &str,
    events: bool,
    begin: impl FnOnce() -> Result<Running, Fault>,
) -> Result<Outcome, Stop> {
    let (started, signals) = (Instant::now(), listen()?);
    for warning in workspace.load_warnings(flow)? {
        tell(&format!("warning: {}", print::place(&warning)));
    }
    if let Some(zone) = workspace.unknown_time_zone() {
        tell(&format!("warning: TZ is \"{zone}\", which names no time zone: local times are UTC"));
    }
    let running = begin().map_err(|fault| match fault {
        // A flow or an action that does not exist is bad input, like an argument that does not exist.
        Fault::NotFound { .. } => Stop { fault, code: exit::USAGE },
        _ => Stop::from(fault),
    })?;
    wait(workspace, running, Wait { signals, started, events, after: 0 })
}

/// `flowglass resume`.
pub(crate) fn resume(workspace: &Arc<Workspace>, resume: Resume, data: Option<Value>) -> Result<Outcome, Stop> {
    let (started, signals) = (Instant::now(), listen()?);
    let request = resume.request.clone().unwrap_or_default();
    let after = workspace.request(&request)?.last_seq;
    let reply = resume.reply();
    let data = resume.reason.map(Value::String).or(data);
    let asked = workspace.pending(&request)?;
    let answered = asked.iter().find(|one| resume.suspension.as_ref().is_none_or(|id| *id == one.id));
    if let (Some(question), Some(data)) = (answered, &data) {
        for sentence in defaults_instead(question, data) {
            tell(&format!("flowglass: {sentence}"));
        }
    }
    let given = Resolution { suspension: resume.suspension, reply, data, by: resume.by };
    if resume.models.plan {
        return Ok(planned(&workspace.plan_resume(&request, &going_on(&resume.models), Some(given))?));
    }
    let stop = Cancel::default();
    let withdraw = stop.clone();
    signals.stop_with("withdrawing the answer", move || withdraw.cancel());
    let on_wait = || tell("flowglass: the question can be answered when the request has stopped; waiting for that");
    let running = match workspace.resume_or_answer(&request, &going_on(&resume.models), given, &stop, on_wait)? {
        Answered::Resumed(running) => running,
        Answered::Taken { request_id, session_id, suspension } => {
            let text = format!("answered {suspension}; request {request_id} runs on\n");
            let status = RequestStatus::InProgress;
            let json =
                json!({ "requestId": request_id, "sessionId": session_id, "status": status, "answered": suspension });
            return Ok(Outcome::done(json, text));
        }
    };
    if reply.is_some() && answered.is_none() {
        tell("flowglass: the answer came after the timeout of its question; the flow gets the timeout");
    }
    for one in &running.open_effects {
        let (effect, ordinal, path) = (one.effect.as_str(), one.ordinal, &one.path);
        tell(&format!("may have happened: {effect} #{ordinal} of {path}, it will be made again"));
    }
    wait(workspace, running, Wait { signals, started, events: false, after })
}

/// `flowglass retry`.
pub(crate) fn retry(workspace: &Arc<Workspace>, request: &str, models: &Models) -> Result<Outcome, Stop> {
    if models.plan {
        return Ok(planned(&workspace.plan_retry(request, &going_on(models))?));
    }
    let (started, signals) = (Instant::now(), listen()?);
    let running = workspace.retry(request, &going_on(models))?;
    wait(workspace, running, Wait { signals, started, events: false, after: 0 })
}

/// `flowglass fork`.
pub(crate) fn fork(workspace: &Arc<Workspace>, fork: Fork, edits: Edits) -> Result<Outcome, Stop> {
    // Without an event it is the action's input that is edited.
    let at = fork.at.unwrap_or(At::Seq(0));
    if fork.models.plan {
        return Ok(planned(&workspace.plan_fork(&fork.request, &at, edits, &going_on(&fork.models))?));
    }
    let (started, signals) = (Instant::now(), listen()?);
    let running = workspace.fork(&fork.request, &at, edits, &going_on(&fork.models))?;
    wait(workspace, running, Wait { signals, started, events: false, after: 0 })
}

/// What `--plan` prints: the exit code says whether the command itself would be refused.
fn planned(plan: &PlanRow) -> Outcome {
    if let Some(error) = &plan.error {
        print::flow_error(error);
    }
    let code = match &plan.error {
        Some(_) if plan.is_refused_answer => exit::USAGE,
        Some(_) => exit::REFUSED,
        None => exit::DONE,
    };
    let mut document = json!(plan);
    // Which blocks those are is told to people, and shown in the window.
    document.as_object_mut().and_then(|fields| fields.shift_remove("again"));
    Outcome { json: document, text: print::plan(plan), code }
}

/// `flowglass abort`.
pub(crate) fn abort(workspace: &Workspace, request: &str) -> Result<Outcome, Stop> {
    let status = workspace.abort(request)?;
    if status != RequestStatus::Aborted {
        tell("flowglass: the flow has not yielded yet; the request ends when it does");
    }
    Ok(Outcome::done(json!({ "status": status }), format!("{}\n", status.as_str())))
}

pub(crate) fn listen() -> Result<Signals, Stop> {
    Ok(Signals::listen()
        .map_err(|error| Fault::Internal { message: format!("the signal handler cannot be installed: {error}") })?)
}

fn mock_mode(given: Option<&str>) -> Mock {
    match given {
        None => Mock::Off,
        Some("") => Mock::Beside,
        Some(file) => Mock::File(file.into()),
    }
}

/// The models of a request that goes on.
fn going_on(models: &Models) -> Mock {
    match (models.real, models.mock.as_deref()) {
        (true, _) => Mock::Off,
        (_, None) => Mock::Inherit,
        (_, given) => mock_mode(given),
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
    // Not kept open by the listener: closing the workspace folds its log into the database.
    let (stopping, id) = (Arc::downgrade(workspace), request_id.clone());
    signals.stop_with("aborting the request; repeat to exit at once", move || {
        // A request that has just ended needs no stopping.
        let _ = stopping.upgrade().map(|workspace| {
            workspace.stop_dispatched();
            workspace.stop(&id)
        });
    });
    if events {
        workspace.follow(&request_id, |event| say(&json!(event)))?;
    }
    let ended = running.wait().map_err(|fault| cut_off(fault, &request_id))?;
    let unreadable = |fault: Fault| match ended.status {
        RequestStatus::Interrupted => cut_off(fault, &request_id),
        _ => Stop::from(fault),
    };
    for sent in workspace.finish_dispatched() {
        tell(&print::dispatched(&sent));
    }
    let row = workspace.request(&request_id).map_err(unreadable)?;
    // Another process may have finished what was interrupted here.
    let status = if ended.status == RequestStatus::Interrupted { row.status } else { ended.status };
    let mut result = json!({ "requestId": request_id, "sessionId": session_id, "status": status });
    if let Some(output) = ended.output.as_value() {
        result["output"] = output.clone();
    }
    if let Some(from) = row.forked_from {
        result["forkedFrom"] = json!(from);
    }
    let pending = match ended.status {
        RequestStatus::Suspended => workspace.pending(&request_id)?,
        _ => Vec::new(),
    };
    if ended.status == RequestStatus::Suspended {
        result["suspensions"] = json!(pending);
    }
    let error = ended.error.as_ref().map(ErrorInfo::from);
    if let Some(error) = &error {
        result["error"] = json!(error);
    }
    result["durationMs"] = json!(started.elapsed().as_millis() as u64);
    for warning in workspace.warnings(&request_id, after).map_err(unreadable)? {
        tell(&format!("warning: {warning}"));
    }
    if let Some(error) = &error {
        print::flow_error(error);
    }
    let text = if events {
        format!("{result}\n")
    } else {
        format!("{}{}", print::result(&Json(result.clone())), print::waiting(&pending))
    };
    let is = |what: fn(&FlowError) -> bool| ended.error.as_ref().is_some_and(what);
    let code = match ended.status {
        // An answer that only the author's own schema could refuse is bad input like any other.
        _ if is(FlowError::is_refused_answer) => exit::USAGE,
        _ if is(FlowError::parks_request) || is(FlowError::is_taken_over) => exit::REFUSED,
        RequestStatus::Completed => exit::DONE,
        RequestStatus::Suspended => exit::SUSPENDED,
        RequestStatus::Interrupted | RequestStatus::Aborted => exit::INTERRUPTED,
        _ => exit::FLOW_FAILED,
    };
    Ok(Outcome { json: result, text, code })
}

/// The error of a request that was cut off: it names the request, and how to continue it.
fn cut_off(fault: Fault, request: &str) -> Stop {
    let when = match fault {
        Fault::Storage { .. } => "when the database can be used again, ",
        Fault::Internal { .. } => "",
        fault => return Stop::from(fault),
    };
    let next = format!(
        "; request \"{request}\" is interrupted after its last stored step: {when}run `flowglass resume {request}`"
    );
    Stop { fault: fault.followed_by(&next), code: exit::INTERRUPTED }
}
