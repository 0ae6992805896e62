//! The command line: a contract of names, flags, JSON fields and exit codes.
//!
//! Results go to stdout, everything else to stderr. With `--json` stdout is one JSON document.

pub(crate) mod args;
mod given;
mod options;

use std::path::PathBuf;
use std::process::ExitCode;

use engine::scope::{ScopeKey, ScopeKind};
use engine::views::history::Limit;
use runner::{Consent, Durability, Fault, OpenOptions, SearchQuery, SessionQuery, Workspace};
use serde_json::{Value, json};

use crate::terminal::{harmless, lost, print, print_help, tell};
use crate::{left_out, print, runs};
pub use args::Cli;
use args::{Command, Global, Run, Trigger};
use given::{read_edits, read_json};
use options::{options, place_of};

/// As the threads of flows have it: a value is read, printed and dropped by its depth.
pub(crate) const STACK: usize = 64 << 20;

/// Exit codes (ARCHITECTURE §9.1).
pub(crate) mod exit {
    pub(crate) const DONE: u8 = 0;
    pub(crate) const FAILURE: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const FLOW_FAILED: u8 = 3;
    pub(crate) const SUSPENDED: u8 = 4;
    pub(crate) const INTERRUPTED: u8 = 5;
    pub(crate) const NOT_FOUND: u8 = 6;
    pub(crate) const REFUSED: u8 = 7;
}

/// What a command came to: a JSON document, its text for people, and the exit code.
pub(crate) struct Outcome {
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) code: u8,
}

impl Outcome {
    pub(crate) fn done(json: Value, text: String) -> Self {
        Outcome { json, text, code: exit::DONE }
    }
}

/// Runs a program; `open` opens the window, on the first thread.
pub fn main(open: fn(Cli) -> ExitCode) -> ExitCode {
    // Hidden: what the program starts itself as, to bundle flows until the process that wants them is gone.
    if std::env::args_os().nth(1).is_some_and(|command| command == runner::BUNDLE_COMMAND) {
        return runner::serve_bundles().map_or(ExitCode::from(exit::FAILURE), |()| ExitCode::SUCCESS);
    }
    crate::signals::fail_large_writes();
    runner::record_fatal_signals();
    let cli = match args::read() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if matches!(cli.command, None | Some(Command::Open { .. })) {
        return open(cli);
    }
    crate::diagnostics::to_stderr();
    let thread = std::thread::Builder::new().name("command".to_owned()).stack_size(STACK);
    let thread = thread.spawn(|| answer(cli.global.json, dispatch(cli)));
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => if_written(code),
        // A panic has said what it was.
        Ok(Err(_)) => ExitCode::from(exit::FAILURE),
        Err(error) => {
            tell(&format!("flowglass: no thread can be started: {error}"));
            ExitCode::from(exit::FAILURE)
        }
    }
}

/// Returns the exit code of a command, or that of a failure if its result could not be written.
fn if_written(code: ExitCode) -> ExitCode {
    let Some(why) = lost() else { return code };
    tell(&format!("flowglass: the result could not be written whole: {why}"));
    ExitCode::from(exit::FAILURE)
}

/// Says what came of what was asked.
pub(crate) fn answer(json: bool, result: Result<Outcome, Stop>) -> ExitCode {
    match result {
        Ok(outcome) => {
            // What was said line by line is said already.
            if outcome.json.is_null() && outcome.text.is_empty() {
                return ExitCode::from(outcome.code);
            }
            if json {
                say(&outcome.json)
            } else {
                print(&harmless(&outcome.text))
            }
            ExitCode::from(outcome.code)
        }
        Err(Stop { fault, code }) => {
            tell(&format!("flowglass: {fault}"));
            if json {
                say(&fault_json(&fault));
            }
            ExitCode::from(code)
        }
    }
}

/// A JSON document on a line of its own.
pub(crate) fn say(document: &Value) {
    print(&harmless(&format!("{document}\n")));
}

/// Why a command ended early, and with which exit code.
pub(crate) struct Stop {
    pub(crate) fault: Fault,
    pub(crate) code: u8,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop { code: code_of(&fault), fault }
    }
}

/// Clap's own message; with `--json` also a document on stdout. Help and the version are results.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        print_help(error);
        return if_written(ExitCode::SUCCESS);
    }
    // Printing fails only when nobody reads.
    let _ = error.print();
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.to_string();
        // The first paragraph says what is wrong; which arguments are missing stands on lines of their own.
        let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
        let message = std::iter::once(lines.join(" ").as_str()).chain(tips).collect::<Vec<_>>().join("; ");
        let message = message.trim_start_matches("error: ");
        say(&json!({ "error": { "name": "UsageError", "code": "usage", "message": message } }));
    }
    ExitCode::from(exit::USAGE)
}

fn fault_json(fault: &Fault) -> Value {
    let mut error = json!({ "name": fault.name(), "code": fault.code(), "message": fault.to_string() });
    if let Fault::Invalid { details, .. } = fault
        && !details.is_empty()
    {
        error["details"] = json!(details);
    }
    json!({ "error": error })
}

fn code_of(fault: &Fault) -> u8 {
    match fault {
        Fault::NotFound { .. } => exit::NOT_FOUND,
        Fault::Refused { .. } => exit::REFUSED,
        Fault::Invalid { .. } => exit::USAGE,
        Fault::NotLoaded { .. } | Fault::Storage { .. } | Fault::Unavailable { .. } | Fault::Internal { .. } => {
            exit::FAILURE
        }
    }
}

/// What the window is opened with, and whether a folder was named. Whoever names it has decided to load its flows; any
/// other is asked for.
pub(crate) fn window_options(global: &Global, dir: Option<PathBuf>) -> Result<(OpenOptions, bool), Fault> {
    check_data_flag(global)?;
    let mut options = options(global)?;
    let is_named = dir.is_some() || global.dir.is_some();
    options.consent = if is_named { Consent::Given } else { Consent::Asked };
    options.dir = dir.unwrap_or(options.dir);
    Ok((options, is_named))
}

/// `--data ''` has a meaning for `check` alone.
fn check_data_flag(global: &Global) -> Result<(), Fault> {
    if global.data.as_ref().is_some_and(|data| data.as_os_str().is_empty()) {
        let message = "--data needs the name of a file; only check takes it without".to_owned();
        return Err(Fault::Invalid { message, details: Vec::new() });
    }
    Ok(())
}

fn dispatch(cli: Cli) -> Result<Outcome, Stop> {
    if !matches!(cli.command, Some(Command::Check { .. })) {
        check_data_flag(&cli.global)?;
    }
    let mut command = match cli.command {
        None | Some(Command::Open { .. }) => unreachable!("the window is opened before"),
        Some(Command::Check { .. }) if cli.global.data.is_some() => return check_data(&options(&cli.global)?),
        Some(Command::Dap(_)) => {
            return Ok(crate::debugger::serve(&|dir, data| {
                let mut options = OpenOptions { existing: true, ..options(&cli.global)? };
                options.dir = dir.unwrap_or(options.dir);
                options.data = data.as_deref().map(place_of).transpose()?.or(options.data);
                let dir = options.dir.clone();
                Ok((Workspace::open(options)?, dir))
            }));
        }
        Some(Command::Mcp(asked)) => return Ok(crate::mcp::mcp(&asked, options(&cli.global)?)?),
        Some(Command::Demo(demo)) if demo.synthetic.is_none() => return Ok(crate::demo::demo()?),
        Some(command) => command,
    };
    let settled = match &mut command {
        Command::Resume(resume) => resume.settle(),
        Command::Diff(diff) => diff.settle(),
        _ => Ok(()),
    };
    settled.map_err(|message| Fault::Invalid { message, details: Vec::new() })?;
    // Read before anything is opened: wrong usage must leave no trace.
    let given = match &command {
        Command::Run(Run { how, .. }) | Command::Trigger(Trigger { how, .. }) => {
            how.input.as_deref().map(|input| ("--input", input))
        }
        Command::Resume(resume) => resume.data(),
        _ => None,
    };
    let input = given.map(|(flag, given)| read_json(flag, given)).transpose()?;
    let edits = match &command {
        Command::Fork(fork) => Some(read_edits(fork)?),
        _ => None,
    };
    // Only what brings something makes a database where none is, if the command names it.
    let mut options = options(&cli.global)?;
    let is_server = options.data.as_ref().is_some_and(|data| data.file().is_none());
    let makes = match command {
        Command::Run(_) | Command::Trigger(_) | Command::Import { .. } | Command::Serve { .. } | Command::Demo(_) => {
            true
        }
        // It may be started before the first run of a team.
        Command::Worker(_) => is_server,
        _ => false,
    };
    options.existing = cli.global.data.is_some() && !makes;
    // Files are verified without the database of the folder: where they are, there may be none.
    let _folder = match &command {
        Command::Verify(verify) if verify.has_files() => {
            let folder = runner::Scratch::new().map_err(|error| Fault::Internal { message: error.to_string() })?;
            (options.data, options.existing) = (Some(folder.path().join("none.db").into()), false);
            options.durability = Some(Durability::Scratch);
            Some(folder)
        }
        _ => None,
    };
    let workspace = Workspace::open(options)?;
    crate::receiving::tell_left(&workspace, &command);
    match command {
        Command::Flows { page } => {
            let flows = page.cut(workspace.flows()?);
            Ok(Outcome::done(json!(flows), print::flows(&flows)))
        }
        Command::Check { load_anyway } => {
            let flows = match load_anyway {
                Some(file) => workspace.load_anyway(&file)?,
                None => workspace.flows()?,
            };
            if flows.is_empty() {
                tell(&format!("flowglass: {}", workspace.whereabouts_of_flows()));
            }
            let failed = flows.is_empty() || flows.iter().any(|flow| flow.error.is_some());
            let mut outcome = Outcome::done(json!(flows), print::check(&flows));
            outcome.code = if failed { exit::FAILURE } else { exit::DONE };
            Ok(outcome)
        }
        Command::Resume(resume) => runs::resume(&workspace, resume, input),
        Command::Retry { request, models } => runs::retry(&workspace, &request, &models),
        Command::Fork(fork) => runs::fork(&workspace, fork, edits.unwrap_or_default()),
        Command::Replay { request } => {
            let replay = workspace.replay(&request)?;
            let mut outcome = Outcome::done(json!(replay), print::replay(&replay));
            outcome.code = if replay.identical { exit::DONE } else { exit::FAILURE };
            Ok(outcome)
        }
        Command::Suspensions { session, request, status, samples, page } => {
            let rows = page.cut(match &request {
                Some(request) => workspace.suspensions_of(request, status)?,
                None => left_out::suspensions(&workspace, session.as_deref(), status, samples)?,
            });
            Ok(Outcome::done(json!(rows), print::suspensions(&rows)))
        }
        Command::Run(run) => runs::run(&workspace, run, input),
        Command::Trigger(trigger) => runs::trigger(&workspace, trigger, input),
        Command::Abort { request } => runs::abort(&workspace, &request),
        Command::Sessions { user, flow, project, status, search, tag, order, samples, page } => {
            let samples = left_out::samples(samples);
            let query =
                SessionQuery { user, flow, project, status, search, tag, order, samples, ..SessionQuery::default() };
            let query = SessionQuery { limit: page.limit, offset: page.offset, ..query };
            let sessions = left_out::sessions(&workspace, query)?;
            Ok(Outcome::done(json!(sessions), print::sessions(&sessions)))
        }
        Command::Requests(asked) => crate::run_list::requests(&workspace, asked, cli.global.json),
        Command::Tag(asked) => crate::run_list::tag(&workspace, asked),
        Command::Session(asked) => crate::run_list::session(&workspace, &asked),
        Command::Show { request, tree, .. } if tree.has_rows() => crate::looking::tree(&workspace, &request, &tree),
        Command::Show { request, source, .. } => {
            crate::looking::show(&workspace, &request, source.as_deref(), cli.global.json)
        }
        Command::Block { request, path, attempt } => crate::looking::block(&workspace, &request, &path, attempt),
        Command::Events { request, from, kind, path, page } => {
            crate::looking::events(&workspace, &request, from, kind, path, &page)
        }
        Command::Items { session, request, view, item_type, turns, tokens, page } => {
            let limit = turns.map(Limit::Turns).or(tokens.map(Limit::Tokens));
            let mut items = workspace.items(session.as_deref(), request.as_deref(), view, limit)?;
            if let Some(wanted) = &item_type {
                items.retain(|item| item.item_type == *wanted);
            }
            let items = page.cut(items);
            Ok(Outcome::done(json!(items), print::items(&items)))
        }
        Command::Journal { session, tag, page } => {
            let entries = page.cut(workspace.journal(&session, tag.as_deref())?);
            Ok(Outcome::done(json!(entries), print::journal(&entries)))
        }
        Command::Checkpoints { request, page } => {
            workspace.check_has_state(&request)?;
            let checkpoints = page.cut(workspace.checkpoints(&request)?);
            Ok(Outcome::done(json!(checkpoints), print::checkpoints(&checkpoints)))
        }
        Command::State { session, user, project, request, at } => {
            let key = |kind, id: String| ScopeKey::new(kind, id);
            let state = match (session, user, project, request) {
                (Some(id), ..) => workspace.check_session_has_state(&id).and_then(|()| workspace.session_state(&id))?,
                (_, Some(id), ..) => workspace.record_state(key(ScopeKind::User, id))?,
                (_, _, Some(id), _) => workspace.record_state(key(ScopeKind::Project, id))?,
                (.., Some(request)) => {
                    workspace.check_has_state(&request)?;
                    workspace.request_state(&request, at.as_ref())?
                }
                _ => unreachable!("clap requires one of them"),
            };
            Ok(Outcome::done(json!(state), print::state(&state)))
        }
        Command::Diff(diff) => crate::looking::diff(&workspace, &diff, cli.global.json),
        Command::Print(asked) => crate::inside::print(&workspace, asked),
        Command::Step(asked) => crate::inside::step(&workspace, asked),
        Command::Debug(asked) => {
            let dir = cli.global.dir.clone().unwrap_or_else(|| PathBuf::from("."));
            crate::debugger::debug(&workspace, &dir, &asked.request, asked.at.as_ref(), cli.global.json)
        }
        Command::Coverage(asked) => crate::inside::coverage(&workspace, &asked.request, asked.file.as_deref()),
        Command::Verify(verify) => crate::verify::verify(&workspace, &verify, cli.global.json),
        Command::Keep(keep) => crate::verify::keep(&workspace, &keep),
        Command::Try(given) => crate::experiment::try_out(&workspace, &given),
        Command::Experiments(given) => crate::experiment::experiments(&workspace, &given),
        Command::Adopt(given) => crate::experiment::adopt(&workspace, &given),
        Command::Culprit(given) => crate::experiment::culprit(&workspace, &given),
        Command::Export(export) => Ok(crate::moving::export(&workspace, export)?),
        Command::Import { file } => Ok(crate::moving::import(&workspace, &file)?),
        Command::Runnable { request, name, force } => {
            Ok(crate::receiving::runnable(&workspace, &request, &name, force)?)
        }
        Command::Serve { port } => Ok(crate::receiving::serve(&workspace, port, cli.global.json)?),
        Command::Worker(worker) => Ok(crate::working::work(&workspace, &worker, cli.global.json)?),
        Command::History { request, path, page } => {
            workspace.check_has_state(&request)?;
            let writes = page.cut(workspace.history(&request, &path)?);
            Ok(Outcome::done(json!(writes), print::writes(&writes)))
        }
        Command::Why(asked) => crate::looking::why(&workspace, asked),
        Command::Search { text, session, samples, page } => {
            let (limit, offset, samples) = (page.limit, page.offset, left_out::samples(samples));
            let hits =
                left_out::search(&workspace, &SearchQuery { text, session, request: None, samples, limit, offset })?;
            Ok(Outcome::done(json!(hits), print::hits(&hits)))
        }
        Command::Delete { session, forks: true } => {
            let deleted = workspace.delete_session_and_forks(&session)?;
            Ok(Outcome::done(json!(deleted), deleted.iter().map(print::deleted).collect::<String>()))
        }
        Command::Delete { session, forks: false } => {
            let deleted = workspace.delete_session(&session)?;
            Ok(Outcome::done(json!(deleted), print::deleted(&deleted)))
        }
        Command::Demo(demo) => Ok(crate::demo::synthesize(&workspace, &demo)?),
        Command::Compact => {
            let compacted = workspace.compact()?;
            Ok(Outcome::done(json!(compacted), print::compacted(compacted, is_server)))
        }
        Command::Stats => {
            let stats = workspace.stats()?;
            Ok(Outcome::done(json!(stats), print::stats(&stats)))
        }
        Command::Open { .. } | Command::Dap(_) | Command::Mcp(_) => unreachable!("handled above"),
    }
}

fn check_data(options: &OpenOptions) -> Result<Outcome, Stop> {
    let checked = Workspace::check_data(options)?;
    let code = if checked.ok { exit::DONE } else { exit::FAILURE };
    Ok(Outcome { code, ..Outcome::done(json!(checked), print::data_check(&checked)) })
}
