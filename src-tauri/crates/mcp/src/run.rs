//! `run`: the only tool that acts. Without `confirm` it says what would happen; to act, a person must trust the folder.
//!
//! `verify` and `replay` write nothing and make no outside calls, so they need neither.

mod asked;
mod begin;
mod checked;

use std::time::{Duration, Instant as Clock};

use engine::event::RequestStatus;
use runner::{Answered, Cancel, Fault, Mock, PlanRow, RunOptions, Running, Workspace};
use serde_json::json;

use crate::address::Address;
use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Refused, on};
use crate::door::Door;
use crate::shown::{name, quoted, shown};
use asked::Asked;

/// How long a call waits for the end of a request: clients give up after a minute.
const WAIT: Duration = Duration::from_secs(45);
/// How often it checks whether the client has cancelled.
const LOOK: Duration = Duration::from_millis(100);
/// How many bytes of an output are shown.
const SHOWN: usize = 1_000;
/// The condition for acting in a folder that no person trusts.
const UNTRUSTED: &str = "a person trusts the folder: start the server with `flowglass mcp --trust`, or let agents run \
    flows in the window (Coding agents)";

pub(crate) fn run(door: &Door, arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let asked = Asked::read(arguments)?;
    match asked.what {
        "verify" => checked::verify(door, asked, page),
        "replay" => checked::replay(door, &asked.named()?, page),
        _ if asked.confirm => act(door, &asked, page),
        _ => plan(door, &asked),
    }
}

/// The argument that a refused resume is about.
fn argument_of_resume(asked: &Asked, status: RequestStatus) -> &'static str {
    match &asked.answer {
        // A running request accepts answers, too.
        _ if !Workspace::can_resume(status) && status != RequestStatus::InProgress => "request",
        Some(_) if asked.suspension.is_some() => "suspension`, `answer` or `data",
        Some(_) => "answer` or `data",
        None if status == RequestStatus::Suspended => "answer",
        None => "request",
    }
}

/// Says what would happen, and runs nothing.
fn plan(door: &Door, asked: &Asked) -> Result<Answer, Refused> {
    let mut confirm = if door.workspace.is_trusted_by_person() {
        "Nothing has run; the same call with confirm: true does it.".to_owned()
    } else {
        format!("Nothing has run; the same call with confirm: true does it once {UNTRUSTED}.")
    };
    if asked.what == "run" {
        let options = asked.new_run(door)?;
        let models = if options.mock == Mock::Off { "REAL models" } else { "mock models" };
        let session =
            options.session.as_deref().map_or("a new session".to_owned(), |id| format!("session {}", name(id)));
        let (flow, action) = (name(&options.flow), name(&options.action));
        if let Some(misfit) = door.workspace.misfit(&options.flow, &options.action, options.input.as_ref())? {
            return Ok(Answer::new(format!(
                "{flow}.{action} would not run: argument `input` does not fit its schema, unless its code converts it: \
                 {}. Nothing has run.",
                quoted(&misfit, 400)
            )));
        }
        return Ok(Answer::new(format!(
            "This would run {flow}.{action} for user {} in {session} with {models}. {confirm}",
            name(&options.user)
        )));
    }
    let id = asked.named()?;
    let known = door.workspace.request(&id).map_err(on("request"))?;
    asked.check_question(door, &id)?;
    let plan = match asked.what {
        "resume" if known.status == RequestStatus::InProgress && asked.resolution()?.is_some() => {
            if door.workspace.pending(&id)?.is_empty() {
                return Err(Refused(format!("argument `answer`: {} runs and asks nothing", name(&id))));
            }
            return Ok(Answer::new(format!("This would answer what {} asks, which runs. {confirm}", name(&id))));
        }
        "resume" => {
            let (models, given) = (asked.models()?, asked.resolution()?.unwrap_or_default());
            match door.workspace.plan_resume(&id, &models, Some(given)) {
                Ok(plan) => plan,
                // The plan does not depend on the answer.
                Err(fault) if asked.answer.is_none() && known.status == RequestStatus::Suspended => {
                    confirm = format!("Nothing has run: {}, and confirm: true", Refused::from(fault).0);
                    door.workspace.plan_resume(&id, &models, None).map_err(on("request"))?
                }
                Err(fault) => return Err(on(argument_of_resume(asked, known.status))(fault)),
            }
        }
        "retry" => door.workspace.plan_retry(&id, &asked.models()?).map_err(on("request"))?,
        "fork" => {
            let at = asked.fork_at(door, &id)?;
            door.workspace
                .plan_fork(&id, &at, asked.edits(), &asked.models()?)
                .map_err(on("at`, `set`, `input` or `output"))?
        }
        _ => {
            let status = known.status.as_str();
            // An interrupted request counts as ended, and can go on.
            if known.status.is_terminal() && known.status != RequestStatus::Interrupted {
                return Err(Refused(format!(
                    "argument `request`: {} is {status}; only one that is queued, in progress, suspended or \
                     interrupted can be aborted",
                    name(&id)
                )));
            }
            return Ok(Answer::new(format!("This would abort {}, which is {status}. {confirm}", name(&id))));
        }
    };
    let is_whole = known.status == RequestStatus::Completed;
    Ok(planned((asked.what, &id), &plan, is_whole, &confirm))
}

fn planned((what, id): (&str, &str), plan: &PlanRow, is_whole: bool, confirm: &str) -> Answer {
    if let Some(error) = &plan.error {
        let message = quoted(&error.message, 300);
        return Answer::new(format!("{what} of {} is not possible: {} {message}", name(id), name(&error.name)));
    }
    let more = if plan.may_ask_more { " or more" } else { "" };
    let unreached = match (plan.new.len(), is_whole) {
        (0, true) => String::new(),
        (0, false) => " Blocks that it has not reached yet run after these and are not counted.".to_owned(),
        (new, _) => format!(" {new} new blocks and what comes after them are not counted."),
    };
    let mut answer = Answer::new(format!(
        "{what} of {} would take {} blocks from the log, go on with {}, run {} again and ask models {}{more} times for \
         these.{unreached} {confirm}",
        name(id),
        plan.from_log,
        plan.goes_on.unwrap_or(0),
        plan.runs_again,
        plan.models_asked
    ));
    for open in &plan.may_have_happened {
        let text = format!(
            "may have happened already and is made again: {} #{} of {}",
            crate::shown::word(&open.kind),
            open.ordinal,
            name(&open.path)
        );
        answer.row(text, json!({ "mayHaveHappened": open }));
    }
    for again in &plan.again {
        let what = if again.goes_on { "goes on" } else { "runs again" };
        let text = format!("{what}: {} ({} model calls)", name(&again.path), again.models_asked);
        answer.row(text, json!({ "runsAgain": again }));
    }
    answer
}

fn act(door: &Door, asked: &Asked, page: Page) -> Result<Answer, Refused> {
    // Only a person's trust counts, because a repository can contain both the settings of a client and the command that
    // names the folder.
    if !door.workspace.is_trusted_by_person() {
        return Err(Refused(format!("argument `confirm`: run acts once {UNTRUSTED}")));
    }
    let since = Clock::now();
    let (began, id) = if asked.what == "run" {
        let id = runner::new_request();
        let options = RunOptions { request: Some(id.clone()), ..asked.new_run(door)? };
        let start = |door: &Door| {
            let running = door.workspace.run(options).map_err(|fault| match fault {
                Fault::Invalid { .. } => on("input")(fault),
                Fault::Refused { .. } => on("user` or `session")(fault),
                _ => Refused::from(fault),
            });
            running.map(Answered::Resumed)
        };
        (begin::begin(door, since, start)?, Some(id))
    } else {
        let id = asked.named()?;
        let status = door.workspace.request(&id).map_err(on("request"))?.status;
        if asked.what == "abort" {
            let status = door.workspace.abort(&id).map_err(on("request"))?;
            return Ok(Answer::new(format!("{} is {}.", name(&id), status.as_str())));
        }
        asked.check_question(door, &id)?;
        let began = begin_again(door, asked, (&id, status), since)?;
        (began, Some(id).filter(|_| asked.what == "resume"))
    };
    match began {
        Some(Answered::Resumed(running)) => ended(door, running, since, page),
        Some(Answered::Taken { request_id, suspension, .. }) => Ok(Answer::new(format!(
            "{} took the answer to {} and runs on in another process.",
            name(&request_id),
            name(&suspension)
        ))
        .then("look", json!({ "request": request_id }))),
        None => {
            let what = match (asked.what, &id) {
                ("run", Some(id)) => name(id),
                (what, Some(id)) => format!("the {what} of {}", name(id)),
                (what, None) => format!("the {what}"),
            };
            let answer = Answer::new(format!(
                "After {} s {what} has not begun: another process may keep the database locked. It begins as soon as \
                 it can while this server runs; do not repeat the call, look for it.",
                WAIT.as_secs()
            ));
            Ok(match id {
                Some(id) => answer.then("look", json!({ "request": id })),
                None => answer.then("find", json!({})),
            })
        }
    }
}

/// Starts a run that continues from a recorded request.
fn begin_again(
    door: &Door,
    asked: &Asked,
    (id, status): (&str, RequestStatus),
    since: Clock,
) -> Result<Option<Answered>, Refused> {
    let (id, models) = (id.to_owned(), asked.models()?);
    match asked.what {
        "retry" => begin::begin(door, since, move |door| {
            door.workspace.retry(&id, &models).map(Answered::Resumed).map_err(on("request"))
        }),
        "fork" => {
            let (at, edits) = (asked.fork_at(door, &id)?, asked.edits());
            begin::begin(door, since, move |door| {
                let forked = door.workspace.fork(&id, &at, edits, &models);
                forked.map(Answered::Resumed).map_err(on("at`, `set`, `input` or `output"))
            })
        }
        _ => {
            let resolution = asked.resolution()?.unwrap_or_default();
            let argument = argument_of_resume(asked, status);
            begin::begin(door, since, move |door| {
                let cancel = Cancel::default();
                door.workspace.resume_or_answer(&id, &models, resolution, &cancel, || ()).map_err(on(argument))
            })
        }
    }
}

/// Waits for the end of a request, up to `WAIT`; a client that cancels aborts it.
fn ended(door: &Door, mut running: Running, since: Clock, page: Page) -> Result<Answer, Refused> {
    let id = running.request_id.clone();
    let _unfinished = door.begun.add(&id);
    let ended = loop {
        // A call that was cancelled before its turn must leave nothing running.
        if (door.is_cancelled)() {
            door.workspace.abort(&id)?;
        }
        if let Some(ended) = running.wait_at_most(LOOK)? {
            break Some(ended);
        }
        if since.elapsed() >= WAIT {
            break None;
        }
    };
    let look = json!({ "request": id });
    let Some(ended) = ended else {
        let sentence =
            format!("{} still runs while this server does; look at it later, or run {{\"do\": \"abort\"}}.", name(&id));
        return Ok(Answer::new(sentence).then("look", look));
    };
    let mut answer = Answer::new(format!("{} is {}.", name(&id), ended.status.as_str()));
    if let Some(error) = &ended.error {
        let text = format!("error {}: {}", name(&error.name), quoted(&error.message, page.bytes_of_value(SHOWN)));
        answer.row(text, json!({ "error": { "name": error.name, "message": crate::find::short(&error.message) } }));
    }
    let (_, output) = door.workspace.asked_and_answered(&id)?;
    if let Some(output) = output {
        let shown = shown(&output.0, page.bytes_of_value(SHOWN), &Address::Output(id.clone()));
        answer.row(format!("output {}", shown.text), json!({ "output": shown.json }));
    }
    for question in door.workspace.pending(&id)? {
        let message = question.message.as_deref().unwrap_or(&question.reason);
        let (path, id) = (name(&question.path), name(&question.id));
        let text = format!("waits in {path} for an answer to {id}: {}", quoted(message, 300));
        answer.row(text, json!({ "suspension": question.id, "path": question.path, "allow": question.allow }));
    }
    Ok(answer.then("look", look))
}
