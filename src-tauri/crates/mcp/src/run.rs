//! `run`: the one tool that acts. Without `confirm` it tells what would happen; with it, a person must trust the
//! folder.
//!
//! `verify` and `replay` write nothing and ask nothing outside, so they need neither.

mod begin;
mod checked;

use std::time::{Duration, Instant as Clock};

use engine::event::RequestStatus;
use engine::suspension::Reply;
use runner::{Answered, At, Cancel, Edits, Fault, Mock, PlanRow, Resolution, RunOptions, Running};
use serde_json::{Map, Value, json};

use crate::address::Address;
use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Instant, Refused, on};
use crate::server::Door;
use crate::shown::{name, quoted, shown};

/// How long a call waits for the end of a request: clients give up after a minute.
const WAIT: Duration = Duration::from_secs(45);
/// How often it looks whether the client has cancelled.
const LOOK: Duration = Duration::from_millis(100);
/// How much of an output is shown.
const SHOWN: usize = 1_000;

/// What it can do.
const WORDS: [&str; 7] = ["verify", "replay", "run", "resume", "retry", "fork", "abort"];

/// What a call asked for.
struct Asked {
    what: &'static str,
    request: Option<String>,
    flow: Option<String>,
    action: Option<String>,
    input: Option<Value>,
    user: Option<String>,
    session: Option<String>,
    at: Option<Instant>,
    set: Map<String, Value>,
    output: Option<Value>,
    answer: Option<String>,
    data: Option<Value>,
    models: Option<String>,
    confirm: bool,
}

pub(crate) fn run(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let asked = Asked {
        what: arguments
            .word("do", &WORDS)?
            .ok_or_else(|| Refused(format!("argument `do` is missing: one of {}", WORDS.join(", "))))?,
        request: arguments.text("request")?,
        flow: arguments.text("flow")?,
        action: arguments.text("action")?,
        input: arguments.json("input"),
        user: arguments.text("user")?,
        session: arguments.text("session")?,
        at: arguments.at("at")?,
        set: arguments.object("set")?,
        output: arguments.json("output"),
        answer: arguments.text("answer")?,
        data: arguments.json("data"),
        models: arguments.text("models")?,
        confirm: arguments.flag("confirm")?,
    };
    arguments.finish()?;
    match asked.what {
        "verify" => checked::verify(door, asked.request, asked.flow, asked.session, page),
        "replay" => checked::replay(door, &named(&asked)?, page),
        _ if asked.confirm => act(door, &asked, page),
        _ => plan(door, &asked),
    }
}

fn named(asked: &Asked) -> Result<String, Refused> {
    let id = asked.request.clone();
    id.ok_or_else(|| Refused(format!("argument `request` is missing: the request to {}", asked.what)))
}

/// Who answers models.
fn models(asked: &Asked) -> Result<Mock, Refused> {
    match (asked.models.as_deref(), asked.what) {
        // A new run uses mock models unless the client asks for real ones.
        (Some("mock"), _) | (None, "run") => Ok(Mock::Beside),
        (Some("real"), _) => Ok(Mock::Off),
        (Some("recorded"), "run") => {
            Err(Refused("argument `models`: a new run has no recorded models; give mock or real".to_owned()))
        }
        (Some("recorded") | None, _) => Ok(Mock::Inherit),
        (Some(other), _) => {
            Err(Refused(format!("argument `models`: {} is none of recorded, mock, real", quoted(other, 40))))
        }
    }
}

fn resolution(asked: &Asked) -> Result<Option<Resolution>, Refused> {
    let Some(answer) = asked.answer.as_deref() else { return Ok(None) };
    let reply = match answer {
        "approve" => Reply::Approve,
        "reject" => Reply::Reject,
        "skip" => Reply::Skip,
        "submit" => Reply::Submit,
        other => {
            return Err(Refused(format!(
                "argument `answer`: {} is none of approve, reject, skip, submit",
                quoted(other, 40)
            )));
        }
    };
    Ok(Some(Resolution { reply: Some(reply), data: asked.data.clone(), ..Resolution::default() }))
}

fn edits(asked: &Asked) -> Edits {
    Edits {
        input: asked.input.clone(),
        output: asked.output.clone(),
        set: asked.set.clone().into_iter().collect(),
        ..Edits::default()
    }
}

fn fork_at(door: &Door, asked: &Asked, request: &str) -> Result<At, Refused> {
    let Some(at) = &asked.at else {
        return Err(Refused("argument `at` is missing: a finished block's path, or the number of an event".to_owned()));
    };
    at.of(door, request, "at")
}

fn new_run(door: &Door, asked: &Asked) -> Result<RunOptions, Refused> {
    let missing = |argument: &str, what: &str| Refused(format!("argument `{argument}` is missing: {what}"));
    let flow = asked.flow.clone().ok_or_else(|| missing("flow", "the kind of a flow"))?;
    let flows = door.workspace.flows()?;
    let Some(known) = flows.iter().find(|known| known.kind == flow) else {
        let kinds: Vec<String> = flows.iter().map(|flow| name(&flow.kind)).collect();
        return Err(Refused(format!(
            "argument `flow`: there is no {}; there are {}",
            quoted(&flow, 80),
            kinds.join(", ")
        )));
    };
    let actions: Vec<String> = known.actions.iter().map(|action| name(&action.name)).collect();
    let action = asked.action.clone().ok_or_else(|| missing("action", &format!("one of {}", actions.join(", "))))?;
    if !known.actions.iter().any(|known| known.name == action) {
        let all = actions.join(", ");
        return Err(Refused(format!("argument `action`: there is no {}; there are {all}", quoted(&action, 80))));
    }
    Ok(RunOptions {
        flow,
        action,
        user: asked.user.clone().unwrap_or_else(|| "agent".to_owned()),
        session: asked.session.clone(),
        input: asked.input.clone(),
        mock: models(asked)?,
        ..RunOptions::default()
    })
}

/// Tells what would happen, and runs nothing.
fn plan(door: &Door, asked: &Asked) -> Result<Answer, Refused> {
    const CONFIRM: &str = "Nothing has run; the same call with confirm: true does it.";
    if asked.what == "run" {
        let options = new_run(door, asked)?;
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
            "This would run {flow}.{action} for user {} in {session} with {models}. {CONFIRM}",
            name(&options.user)
        )));
    }
    let id = named(asked)?;
    let known = door.workspace.request(&id).map_err(on("request"))?;
    let plan = match asked.what {
        "resume" => door.workspace.plan_resume(&id, &models(asked)?, resolution(asked)?)?,
        "retry" => door.workspace.plan_retry(&id, &models(asked)?)?,
        "fork" => {
            let at = fork_at(door, asked, &id)?;
            door.workspace
                .plan_fork(&id, &at, edits(asked), &models(asked)?)
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
            return Ok(Answer::new(format!("This would abort {}, which is {status}. {CONFIRM}", name(&id))));
        }
    };
    let is_whole = known.status == RequestStatus::Completed;
    Ok(planned((asked.what, &id), &plan, is_whole, CONFIRM))
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
    // One rule for every door: the settings of a client or a command name the folder, and a repository can bring both
    // along, so only a person's trust counts.
    if !door.workspace.is_trusted_by_person() {
        return Err(Refused(
            "run acts only in a folder that a person trusts: start the server with `flowglass mcp --trust`, or trust \
             the folder in the window"
                .to_owned(),
        ));
    }
    let since = Clock::now();
    let (began, id) = if asked.what == "run" {
        let id = runner::new_request();
        let options = RunOptions { request: Some(id.clone()), ..new_run(door, asked)? };
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
        let id = named(asked)?;
        door.workspace.request(&id).map_err(on("request"))?;
        if asked.what == "abort" {
            let status = door.workspace.abort(&id)?;
            return Ok(Answer::new(format!("{} is {}.", name(&id), status.as_str())));
        }
        let began = begin_again(door, asked, &id, since)?;
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

/// Begins what goes on from a recorded request.
fn begin_again(door: &Door, asked: &Asked, id: &str, since: Clock) -> Result<Option<Answered>, Refused> {
    let (id, models) = (id.to_owned(), models(asked)?);
    match asked.what {
        "retry" => begin::begin(door, since, move |door| Ok(Answered::Resumed(door.workspace.retry(&id, &models)?))),
        "fork" => {
            let (at, edits) = (fork_at(door, asked, &id)?, edits(asked));
            begin::begin(door, since, move |door| {
                let forked = door.workspace.fork(&id, &at, edits, &models);
                forked.map(Answered::Resumed).map_err(on("at`, `set`, `input` or `output"))
            })
        }
        _ => {
            let resolution = resolution(asked)?.unwrap_or_default();
            begin::begin(door, since, move |door| {
                let cancel = Cancel::default();
                Ok(door.workspace.resume_or_answer(&id, &models, resolution, &cancel, || ())?)
            })
        }
    }
}

/// Waits for the end of a request, but not for long; a client that cancels aborts it.
fn ended(door: &Door, mut running: Running, since: Clock, page: Page) -> Result<Answer, Refused> {
    let id = running.request_id.clone();
    let _unfinished = door.begun.add(&id);
    let ended = loop {
        // A call that was cancelled while it waited for its turn has begun nothing that goes on.
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
        let text = format!("waits in {} for an answer: {}", name(&question.path), quoted(message, 300));
        answer.row(text, json!({ "suspension": question.id, "path": question.path, "allow": question.allow }));
    }
    Ok(answer.then("look", look))
}
